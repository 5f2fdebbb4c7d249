package sim

import (
	"strconv"

	"github.com/clewops/clew/internal/dispatch"
)

// recoveryCommands are a backup, its restore, and what people do about it.
var recoveryCommands = map[string]command{
	"snapshot": {do: func(s *Sim, _ args) (text string, err error) {
		s.saved, err = s.place.snapshot()
		return "taken", err
	}},
	// restore: the store shows again what it showed at the snapshot. Nobody who has it open is told.
	"restore": {do: func(s *Sim, _ args) (string, error) {
		if s.saved == "" {
			return "", misuse("there is no snapshot")
		}
		if err := s.judge(); err != nil {
			return "", err
		}
		if err := s.place.restore(s.saved); err != nil {
			return "", err
		}
		for _, f := range s.flights {
			f.rewound = true
		}
		s.stale = true
		s.restores++
		return "restored", s.follows()
	}},
	// clock-step: a recovery-admin records that the clock was set
	"clock-step": {do: func(s *Sim, _ args) (string, error) {
		return "recorded", s.store(home).StepClock(background(), who(admin), "the clock was set")
	}},
	// enter: a recovery begins
	"enter": {do: func(s *Sim, _ args) (string, error) {
		_, err := s.store(home).EnterRecovery(background(), who(admin), "a restore")
		if err == nil {
			s.stale = false
		}
		return "entered", err
	}},
	// close PROCESS: the process takes over what was open, and marks every machine
	"close": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		p, err := a.living(0)
		if err != nil {
			return "", err
		}
		n, err := p.store().CloseMachines(background(), who(admin), p.id)
		return strconv.Itoa(n) + " machines", err
	}},
	// mark MACHINE ready|blocked|unresolved
	"mark": {least: 2, most: 2, do: func(s *Sim, a args) (string, error) {
		id, err := a.machine(0)
		if err != nil {
			return "", err
		}
		_, err = s.store(home).MarkMachine(background(), who(admin), id, dispatch.RecoveryMark(a.words[1]), dispatch.MinimumSettle, "looked at it")
		return "marked", err
	}},
	"release": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		id, err := a.machine(0)
		if err != nil {
			return "", err
		}
		_, err = s.store(home).ReleaseMachine(background(), who(admin), id, "it is well")
		return "released", err
	}},
	"leave": {do: func(s *Sim, _ args) (string, error) {
		return "left", s.store(home).LeaveRecovery(background(), who(admin), "all done")
	}},
}
