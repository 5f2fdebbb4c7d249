package node

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// ending is how a boot ends.
type ending int

const (
	endNone ending = iota
	endReboot
	endPowerOff
)

// sequence is a run of phases that ends the boot.
type sequence struct {
	name string
	// takeover names the running sequences that this one may interrupt; a forced one may interrupt any.
	takeover []string
	forced   bool
	stage    runtime.MachineStage
	phases   []string
	end      ending
	// stop and gap replace the configured times when they are not zero.
	stop, gap time.Duration
	// act is done once the API is away.
	act func() error
}

// Which sequences interrupt which.
var (
	rebootTakesOver = []string{"boot", "initialize", "reboot", "reset"}
	bootOnlyTaken   = []string{"boot"}
)

// The phases of every sequence that takes the node down. The API answers until stopEverything; an apply that is
// accepted after volumeFinalize is acknowledged and lost. A graceful sequence stops the pods before.
var (
	forcedPhases = []string{
		"stopServices", "umount", "unmountBind", "unmountSystem", phaseFinalize, "kexec", phaseStopAll,
	}
	downPhases = append([]string{"cleanup", "dbus"}, forcedPhases...)
)

const (
	takeoverWait     = time.Minute
	persistPatience  = 2 * time.Second
	phaseFinalize    = "volumeFinalize"
	phaseStopAll     = "stopEverything"
	taskStopServices = "stopAllServices"
)

func (b *boot) rebootSequence() sequence {
	return sequence{
		name: "reboot", takeover: rebootTakesOver, stage: runtime.MachineStageRebooting, phases: downPhases, end: endReboot,
	}
}

// sequencer runs one sequence at a time.
type sequencer struct {
	boot *boot

	mu      sync.Mutex
	running *run
}

type run struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
}

// start runs s in the background; its caller has answered already. A sequence that finds the lock taken leaves no
// trace but a NOOP event, and that one carries no actor.
func (q *sequencer) start(s sequence, actor string) {
	go func() {
		ctx, r, ok := q.enter(s)
		if !ok {
			q.boot.events.publish("", &machine.SequenceEvent{
				Sequence: s.name,
				Action:   machine.SequenceEvent_NOOP,
				Error:    &common.Error{Code: common.Code_LOCKED, Message: "sequence not started: locked"},
			})

			return
		}
		defer q.leave(r)

		q.boot.takeDown(ctx, s, actor)
	}()
}

// enter takes the lock, interrupting the sequence that holds it if s may.
func (q *sequencer) enter(s sequence) (context.Context, *run, bool) {
	deadline := time.After(takeoverWait)

	for {
		q.mu.Lock()
		held := q.running

		if held == nil {
			ctx, cancel := context.WithCancel(q.boot.ctx)
			q.running = &run{name: s.name, cancel: cancel, done: make(chan struct{})}
			r := q.running
			q.mu.Unlock()

			return ctx, r, true
		}
		q.mu.Unlock()

		if !s.forced && !slices.Contains(s.takeover, held.name) {
			return nil, nil, false
		}

		held.cancel()

		select {
		case <-held.done:
		case <-deadline:
			return nil, nil, false
		}
	}
}

func (q *sequencer) leave(r *run) {
	q.mu.Lock()
	defer q.mu.Unlock()

	r.cancel()
	q.running = nil
	close(r.done)
}

// takeDown walks the phases of s and then ends the boot. It stops early when another sequence takes over.
func (b *boot) takeDown(ctx context.Context, s sequence, actor string) {
	b.events.publish(actor, &machine.SequenceEvent{Sequence: s.name, Action: machine.SequenceEvent_START})

	for i, phase := range s.phases {
		b.events.publish(actor, &machine.PhaseEvent{Phase: phase, Action: machine.PhaseEvent_START})

		if i == 0 {
			b.setStage(s.stage)
		}

		if phase == phaseStopAll {
			b.events.publish(actor, &machine.TaskEvent{Task: taskStopServices, Action: machine.TaskEvent_START})
			b.finish(s)
			<-b.ctx.Done()

			return
		}

		// The time that the API still answers is spread over the phases before it stops.
		step := cmp.Or(s.stop, b.timing.Load().Stop) / time.Duration(len(s.phases)-1)
		interrupted := !b.downPhase(ctx, phase, step)

		b.events.publish(actor, &machine.PhaseEvent{Phase: phase, Action: machine.PhaseEvent_STOP})

		if interrupted {
			b.events.publish(actor, &machine.SequenceEvent{Sequence: s.name, Action: machine.SequenceEvent_STOP})
			b.events.publish(actor, &machine.SequenceEvent{
				Sequence: s.name, Action: machine.SequenceEvent_NOOP,
				Error: &common.Error{Code: common.Code_CANCELED, Message: "sequence failed: " + context.Canceled.Error()},
			})

			return
		}
	}
}

// downPhase does what a phase changes on a lab node and takes its time.
func (b *boot) downPhase(ctx context.Context, phase string, takes time.Duration) bool {
	switch phase {
	case phaseFinalize:
		wait, cancel := context.WithTimeout(ctx, persistPatience)
		b.persistence.finish(wait)
		cancel()
	case "stopServices":
		b.services.stopKubelet()
	}

	return pause(ctx, takes)
}

// bringUp is the initialize and boot sequence. It returns early when another sequence takes over.
func (b *boot) bringUp() {
	for _, name := range []string{"initialize", "boot"} {
		ctx, r, ok := b.sequences.enter(sequence{name: name})
		if !ok {
			return
		}

		finished := b.bootPhase(ctx, name)
		b.sequences.leave(r)

		if !finished {
			return
		}
	}
}

func (b *boot) bootPhase(ctx context.Context, name string) bool {
	b.events.publish("", &machine.SequenceEvent{Sequence: name, Action: machine.SequenceEvent_START})
	defer b.events.publish("", &machine.SequenceEvent{Sequence: name, Action: machine.SequenceEvent_STOP})

	if name != "boot" {
		return true
	}

	b.events.publish("", &machine.PhaseEvent{Phase: "startEverything", Action: machine.PhaseEvent_START})

	if !pause(ctx, b.timing.Load().Boot) {
		return false
	}

	b.services.startAll()
	b.events.publish("", &machine.PhaseEvent{Phase: "startEverything", Action: machine.PhaseEvent_STOP})
	b.setStage(runtime.MachineStageRunning)

	return true
}

// pause waits d and says whether it was let to.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()

	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
