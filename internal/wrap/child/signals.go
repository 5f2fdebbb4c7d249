package child

import (
	"os"
	"os/signal"
	"syscall"
)

// signals are those that this process catches.
type signals struct {
	c    chan os.Signal
	done chan struct{}
}

// notCaught cannot be caught, or mean something to this process alone.
var notCaught = map[syscall.Signal]bool{syscall.SIGKILL: true, syscall.SIGSTOP: true, syscall.SIGCHLD: true, syscall.SIGURG: true}

// catchSignals begins to catch every signal that was not ignored before. Those stay ignored, here and in the program.
func catchSignals() *signals {
	s := &signals{c: make(chan os.Signal, 256), done: make(chan struct{})}
	var list []os.Signal
	for n := syscall.Signal(1); n <= lastSignal; n++ {
		switch {
		case notCaught[n] || threadSignal(n):
		case ignoredAtStart&(1<<(n-1)) != 0 || signal.Ignored(n):
			signal.Ignore(n)
		default:
			list = append(list, n)
		}
	}
	signal.Notify(s.c, list...)
	return s
}

// release ends the passing on. The signals stay caught: this process has only its end before it.
func (s *signals) release() { close(s.done) }

// forward passes on what came to this process alone.
func (ch *Child) forward() {
	for {
		select {
		case <-ch.signals.done:
			return
		case got := <-ch.signals.c:
			sig, ok := got.(syscall.Signal)
			switch {
			case !ok || ch.sentinel.saw(sig):
			case sig == syscall.SIGCONT && !stopped(ch.pid):
				// It came to the group, or there is nothing to go on with.
			default:
				ch.send(sig)
			}
		}
	}
}

// stopLike stops this process as the program was stopped. The shell sees it, and takes the terminal; when it lets both
// go on, this returns.
func (ch *Child) stopLike(sig syscall.Signal) {
	stopSelf(sig)
	// Who continued this process alone meant the program.
	if stopped(ch.pid) {
		ch.send(syscall.SIGCONT)
	}
}
