//go:build !linux

package child

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const lastSignal = 31

func threadSignal(syscall.Signal) bool { return false }

// sentinel is nothing here: what came to the group is guessed.
type sentinel struct{}

func (*sentinel) begin() {}

func (*sentinel) end() {}

func (*sentinel) saw(sig syscall.Signal) bool { return fromTerminal(sig) }

// change waits until the program stops or ends.
func (ch *Child) change() (syscall.WaitStatus, error) {
	status, err := ch.reap(syscall.WUNTRACED)
	if errors.Is(err, errNothing) {
		return ch.change()
	}
	return status, err
}

// stopped is not known here; to continue what is not stopped does no harm.
func stopped(int) bool { return true }

// stopSelf stops this process; every stop looks like SIGSTOP.
func stopSelf(syscall.Signal) { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

// Die ends this process by a signal.
func Die(sig syscall.Signal) {
	signal.Reset(sig)
	_ = syscall.Kill(os.Getpid(), sig)
	time.Sleep(time.Second) // the signal comes to whichever thread; if it does not, the status says it
	os.Exit(128 + int(sig))
}

// WriteAsBackground lets the terminal treat what is written from here on as any program's.
func WriteAsBackground() { signal.Reset(syscall.SIGTTOU, syscall.SIGTTIN, syscall.SIGTSTP) }

// Environ is the environment as the caller passed it.
func Environ() []string { return os.Environ() }
