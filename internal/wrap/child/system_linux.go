package child

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const lastSignal = 64

// threadSignal says whether a signal belongs to threads libraries and the runtime.
func threadSignal(n syscall.Signal) bool { return n == 32 || n == 33 }

// change waits until the program stops or ends.
func (ch *Child) change() (syscall.WaitStatus, error) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, ch.pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return 0, err
		}
		ch.mu.Lock()
		status, err := ch.reap(syscall.WNOHANG | syscall.WUNTRACED)
		ch.mu.Unlock()
		if !errors.Is(err, errNothing) {
			return status, err
		}
	}
}

// stopped says whether a process is stopped.
func stopped(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	i := bytes.LastIndexByte(b, ')')
	return err == nil && i >= 0 && i+2 < len(b) && b[i+2] == 'T'
}

// action is room for the kernel's struct sigaction on every architecture; all zero is the default action.
type action [8]uint64

func sigaction(sig syscall.Signal, set, old *action) {
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

// stopSelf stops this process by the signal that stopped the program, and returns when it goes on.
func stopSelf(sig syscall.Signal) {
	if sig == syscall.SIGSTOP {
		_ = unix.Kill(unix.Getpid(), sig)
		return
	}
	var old, byDefault action
	sigaction(sig, &byDefault, &old)
	_ = unix.Kill(unix.Getpid(), sig)
	sigaction(sig, &old, nil)
}

// Die ends this process by a signal. Without a core: the program has left its own, if it was to.
func Die(sig syscall.Signal) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &limit)
	}
	var byDefault action
	sigaction(sig, &byDefault, nil)
	none := uint64(0)
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&none)), 0, 8, 0, 0)
	_ = unix.Kill(unix.Getpid(), sig)
	time.Sleep(time.Second) // the signal comes to whichever thread; if it does not, the status says it
	os.Exit(128 + int(sig))
}

// WriteAsBackground lets the terminal treat what is written from here on as any program's: caught, its stop signals
// would be sent again and again.
func WriteAsBackground() {
	var byDefault action
	for _, sig := range []syscall.Signal{syscall.SIGTTOU, syscall.SIGTTIN, syscall.SIGTSTP} {
		sigaction(sig, &byDefault, nil)
	}
}

// Environ is the environment as the caller passed it, with what is odd about it.
func Environ() []string {
	b, err := os.ReadFile("/proc/self/environ")
	if err != nil || len(b) == 0 {
		return os.Environ()
	}
	var list []string
	for _, v := range bytes.Split(bytes.TrimSuffix(b, []byte{0}), []byte{0}) {
		list = append(list, string(v))
	}
	return list
}
