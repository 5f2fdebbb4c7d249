package child

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sentinel is a process of the group that blocks all signals: what was sent to the group is pending at it.
type sentinel struct {
	mu      sync.Mutex
	pid     int
	carried uint64 // what was pending at one that was replaced, and is still to be asked for; bit n-1: signal n
}

// begin makes the first one.
func (s *sentinel) begin() { s.pid = forkSentinel() }

// end lets it go.
func (s *sentinel) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	dismiss(s.pid)
	s.pid = 0
}

func dismiss(pid int) {
	if pid <= 0 {
		return
	}
	_ = unix.Kill(pid, unix.SIGKILL) // it is this process' own child: its number is its own until it is waited for
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// saw says whether a signal came to the whole group, and has another sentinel then, at which it is not pending. Without
// a sentinel the guess has to do.
func (s *sentinel) saw(sig syscall.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid <= 0 {
		return fromTerminal(sig)
	}
	bit := uint64(1) << (sig - 1)
	now, ok := pending(s.pid)
	if !ok {
		return fromTerminal(sig)
	}
	if (now|s.carried)&bit == 0 {
		return false
	}
	runtime.LockOSThread() // see Start
	before := s.pid
	s.pid = forkSentinel()
	// What came meanwhile is pending at the one before, or at both.
	now, _ = pending(before)
	s.carried = (now | s.carried) &^ bit
	dismiss(before)
	return true
}

// pending are the signals that wait at a process. Not every sandbox lets that be seen.
func pending(pid int) (set uint64, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, false
	}
	_, rest, _ := bytes.Cut(b, []byte("\nShdPnd:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	set, err = strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	return set, err == nil
}

// forkSentinel makes the process: a copy of this one that makes system calls and nothing else, and holds no descriptor.
// Whoever kills this process without a word kills it, too. 0 means that there is none.
//
//go:norace
//go:noinline
func forkSentinel() int {
	all, before := ^uint64(0), uint64(0)
	parent := unix.Getpid()
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&before)), 8, 0, 0); e != 0 {
		return 0
	}
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e == 0 && pid == 0 {
		_, _, _ = unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0, 0)
		if _, _, e := unix.RawSyscall(unix.SYS_CLOSE_RANGE, 0, 1<<31, 0); e != 0 {
			for fd := uintptr(0); fd < 4096; fd++ { // an older kernel: a pipe must not stay open for this
				_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
			}
		}
		for {
			if now, _, _ := unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0); int(now) != parent {
				_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
			_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&before)), 0, 8, 0, 0)
	if e != 0 {
		return 0
	}
	return int(pid)
}
