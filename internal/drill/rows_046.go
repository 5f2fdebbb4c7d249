package drill

import (
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

func init() {
	drift := func(id, what, expect string, script func(s *Stage)) {
		register(Row{ID: "046" + id, Case: "machine drift: " + what, Expect: expect, Script: func(s *Stage) {
			script(s)
			s.setDrifts(s.Machine(0))
		}})
	}
	drift("a", "opened, once; a further differing reading is added; what does not bind it is refused; nothing is frozen or sent",
		"drifts=open; added>=1; drift-shows=what runs; P.operation=none; P.refused=precheck 6; P.attempts=0; frozen=no; "+
			"answered=OK 2; landings=2; runs=other; a.exit=3",
		func(s *Stage) {
			m := s.Machine(0)
			p := s.Plan("P")
			for range 2 {
				s.ForeignChange(m)
				s.Watch(m)
			}
			s.Dispatch("a", p).Ends()
			s.Set("frozen", s.frozen(m))
		})
	drift("b", "frozen meanwhile: the plan that binds it is refused, and goes once the freeze is lifted",
		"drifts=reverted; frozen=yes; R.operation=completed; R.refused=precheck 6; R.attempts=1; R.landings=1; landings=2; runs=before; "+
			"a.exit=3; b.exit=0",
		func(s *Stage) {
			m := s.Machine(0)
			s.drifted(m)
			r := s.Revert(m, "R")
			s.Freeze(m)
			s.Set("frozen", s.frozen(m))
			s.Dispatch("a", r).Ends()
			s.Unfreeze(m)
			s.Dispatch("b", r).Ends()
		})
	drift("c", "adopted, although the machine is frozen: nothing is sent",
		"drifts=adopted; A.operation=completed; A.states=completed; A.attempts=0; A.refused=none; answered=OK 1; landings=1; runs=A; a.exit=0",
		func(s *Stage) {
			m := s.Machine(0)
			s.drifted(m)
			a := s.adoption(m, "A")
			s.Freeze(m)
			s.Dispatch("a", a).Ends()
		})
	drift("d", "adoption refused on a stale read: one begun before the approval, and one older than the bound age",
		"drifts=open; early=refused; early.operation=none; early.refused=adoption 3; old.operation=none; old.refused=adoption 3; old.exit=3; "+
			"answered=OK 1; landings=1; runs=early", // both plans are for the same bytes
		staleAdoption)
	drift("e", "adoption refused because the machine changed again",
		"drifts=open; added>=1; drift-shows=what runs; A.operation=none; A.refused=adoption 3; A.attempts=0; landings=2; runs=other; a.exit=3",
		func(s *Stage) {
			m := s.Machine(0)
			s.drifted(m)
			a := s.adoption(m, "A")
			s.ForeignChange(m)
			s.Dispatch("a", a).Ends()
		})
	drift("f", "adoption refused because another configuration was selected",
		"drifts=open; A.operation=none; A.refused=adoption 2|precheck 2; A.attempts=0; P.operation=none; landings=1; runs=A; a.exit=3",
		func(s *Stage) {
			m := s.Machine(0)
			s.drifted(m)
			a := s.adoption(m, "A")
			s.Propose(m, "P", nil)
			s.Dispatch("a", a).Ends()
		})
	drift("g", "adoption refused because a revert closed the record",
		"drifts=reverted; R.operation=completed; R.landings=1; A.operation=none; A.refused=adoption 2|precheck 2; A.attempts=0; "+
			"landings=2; runs=before; r.exit=0; a.exit=3",
		func(s *Stage) {
			m := s.Machine(0)
			s.drifted(m)
			r := s.Revert(m, "R")
			a := s.adoption(m, "A")
			s.Dispatch("r", r).Ends()
			s.Dispatch("a", a).Ends()
		})
	drift("h", "reverted",
		"drifts=reverted; R.operation=completed; R.attempts=1; R.refused=none; R.landings=1; landings=2; runs=before; persistent=before; a.exit=0",
		func(s *Stage) {
			m := s.Machine(0)
			s.drifted(m)
			s.Dispatch("a", s.Revert(m, "R")).Ends()
		})
	drift("i", "a revert refused because the machine drifted once more",
		"drifts=open; added>=1; drift-shows=what runs; R.operation=none; R.refused=commitment 3; R.attempts=0; R.landings=0; landings=2; "+
			"runs=other; a.exit=3",
		func(s *Stage) {
			m := s.Machine(0)
			s.drifted(m)
			r := s.Revert(m, "R")
			s.ForeignChange(m)
			s.Dispatch("a", r).Ends()
		})
}

// drifted changes a machine behind the ledger's back and has that seen.
func (s *Stage) drifted(m *Machine) {
	s.ForeignChange(m)
	s.Watch(m)
}

// adoption is an approved plan to accept what a machine runs.
func (s *Stage) adoption(m *Machine, name string, terms ...Terms) *Plan {
	p := s.ProposeAdoption(m, name, terms...)
	s.Approve(p, approver)
	return p
}

// frozen is whether the machine's gate is closed by a freeze.
func (s *Stage) frozen(m *Machine) string {
	return s.Query("frozen.sql", "machine", m.ID)["frozen"]
}

// staleAdoption offers a reading from before the approval, and has a process adopt that cannot read in time.
func staleAdoption(s *Stage) {
	m := s.Machine(0)
	s.drifted(m)
	early := s.ProposeAdoption(m, "early")
	s.asInstance(func(instance string) {
		o, _ := s.read(instance, m, dispatch.Observation{Purpose: dispatch.ForAdoption, Route: dispatch.Direct, Plan: early.ID})
		s.Approve(early, approver)
		epoch, _, err := s.ledger.Epoch(s.ctx)
		s.must(err, "reading the epoch")
		_, err = s.ledger.Adopt(s.ctx, early.ID, dispatch.Owner{Instance: instance, Generation: 1, Epoch: epoch}, o.Basis)
		word := "recorded"
		if _, refused := refusal.As(err); refused {
			word = "refused"
		} else {
			s.must(err, "adopting")
		}
		s.Set("early", word)
	})
	s.Dispatch("old", s.adoption(m, "old", MaxAge(time.Microsecond))).Ends()
}
