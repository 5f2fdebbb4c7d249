package child

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// Command is a program to run.
type Command struct {
	Path string
	Argv []string
	Env  []string
}

// Exit is how a program ended: by status, or by a signal.
type Exit struct {
	Status int
	Signal syscall.Signal // 0: by status
}

// Code is the exit as a shell shows it.
func (e Exit) Code() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return e.Status
}

// Child is a program that runs.
type Child struct {
	pid      int
	signals  *signals
	mu       sync.Mutex // a process that was waited for has no number any more
	gone     bool
	sentinel sentinel
}

// Caught are the signals that this process catches, and holds for the program that it is going to start.
type Caught <-chan *signals

// Catch begins to catch signals. It takes a while, which passes beside what is to be done before the program.
func Catch() Caught {
	c := make(chan *signals, 1)
	go func() { c <- catchSignals() }()
	return c
}

// Start starts a program with this process' own descriptors, and from then on passes signals on to it. An error says
// that it was not started.
func Start(c Command, caught Caught) (*Child, error) {
	ch := &Child{signals: <-caught}
	runtime.LockOSThread() // the sentinel ends with the thread that made it
	ch.sentinel.begin()
	pid, err := forkExec(c)
	if err != nil {
		ch.sentinel.end()
		ch.signals.release()
		return nil, err
	}
	ch.pid = pid
	go ch.forward()
	return ch, nil
}

// forkExec starts the program; text without an interpreter's name is a shell's, as for every caller of execvp.
func forkExec(c Command) (int, error) {
	attr := &syscall.ProcAttr{Env: c.Env, Files: descriptors()}
	for {
		pid, err := syscall.ForkExec(c.Path, c.Argv, attr)
		switch {
		case errors.Is(err, syscall.ENOEXEC):
			c.Argv = append([]string{"sh", c.Path}, c.Argv[min(1, len(c.Argv)):]...)
			c.Path = "/bin/sh"
			return syscall.ForkExec(c.Path, c.Argv, attr)
		case errors.Is(err, syscall.EINTR):
			continue
		default:
			return pid, err
		}
	}
}

// descriptors are the first three, but for those that the caller had closed: the runtime has put /dev/null there.
func descriptors() []uintptr {
	files := []uintptr{0, 1, 2}
	for fd := range files {
		if closedAtStart&(1<<fd) != 0 {
			files[fd] = ^uintptr(0)
		}
	}
	return files
}

// Stderr is where to say something to the caller; nil if the caller had closed it.
func Stderr() *os.File {
	if closedAtStart&(1<<2) != 0 {
		return nil
	}
	return os.Stderr
}

// Wait waits for the program's end, and stops whenever it stops.
func (ch *Child) Wait() (Exit, error) {
	for {
		status, err := ch.change()
		if err != nil {
			return Exit{}, err
		}
		if status.Stopped() {
			ch.stopLike(status.StopSignal())
			continue
		}
		ch.sentinel.end()
		ch.signals.release()
		if status.Signaled() {
			return Exit{Status: -1, Signal: status.Signal()}, nil
		}
		return Exit{Status: status.ExitStatus()}, nil
	}
}

// reap takes the program's status, and from then on no signal goes to its number.
func (ch *Child) reap(options int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(ch.pid, &status, options, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return status, err
		case pid == 0:
			return status, errNothing
		}
		ch.gone = status.Exited() || status.Signaled()
		return status, nil
	}
}

// errNothing says that nothing has changed after all.
var errNothing = errors.New("nothing changed")

// send passes one signal on, unless the program has ended.
func (ch *Child) send(sig syscall.Signal) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if !ch.gone {
		// It may have ended this moment, or belong to somebody else by now: then there is nobody to tell.
		_ = syscall.Kill(ch.pid, sig)
	}
}
