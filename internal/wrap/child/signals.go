package child

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// signals are those that this process catches.
type signals struct {
	c    chan os.Signal
	done chan struct{}
}

// notCaught cannot be caught, or mean something to this process alone.
var notCaught = map[syscall.Signal]bool{syscall.SIGKILL: true, syscall.SIGSTOP: true, syscall.SIGCHLD: true, syscall.SIGURG: true}

// common are the signals that are caught before the program starts. To catch one costs a turn of the runtime's threads;
// the others are caught when the program has run for a moment.
var common = []syscall.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGALRM,
	syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT, syscall.SIGWINCH,
}

// moment is how long a program runs before its wrapper does what only matters to those that stay.
const moment = 20 * time.Millisecond

// catchSignals begins to catch the common signals. Those that were ignored stay ignored, here and in the program.
func catchSignals() *signals {
	s := &signals{c: make(chan os.Signal, 256), done: make(chan struct{})}
	for n := syscall.Signal(1); n <= lastSignal; n++ {
		if ignoredAtStart&(1<<(n-1)) != 0 && !notCaught[n] {
			signal.Ignore(n)
		}
	}
	s.catch(func(n syscall.Signal) bool { return slices.Contains(common, n) })
	return s
}

// catch catches those of the signals that can be caught and were not ignored.
func (s *signals) catch(which func(syscall.Signal) bool) {
	var list []os.Signal
	for n := syscall.Signal(1); n <= lastSignal; n++ {
		if which(n) && !notCaught[n] && !threadSignal(n) && !signal.Ignored(n) {
			list = append(list, n)
		}
	}
	signal.Notify(s.c, list...)
}

// release ends the passing on. The signals stay caught: this process has only its end before it.
func (s *signals) release() { close(s.done) }

// forward passes on what came to this process alone.
func (ch *Child) forward() {
	later := time.NewTimer(moment)
	defer later.Stop()
	for {
		select {
		case <-ch.signals.done:
			return
		case <-later.C:
			ch.signals.catch(func(n syscall.Signal) bool { return !slices.Contains(common, n) })
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
