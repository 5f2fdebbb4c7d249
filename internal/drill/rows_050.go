package drill

import (
	"time"
)

func init() {
	register(Row{
		ID: "050",
		Case: "the clock steps an hour forward and back again. Forward: evidence that became old (stale) is refused. Back: commitment (C) and " +
			"attempt (A) fail until it catches up, and then go",
		Machines: 3,
		Expect: "stale.operation=none; stale.refused=commitment 3; stale.attempts=0; landings=0; a.exit=3; " +
			"back.C.operation=none; back.A.operation=committed; back.A.attempts=0; c.exit=1; d.exit=4; " +
			"C.operation=completed; C.refused=none; C.attempts=1; C.landings=1; c-later.exit=0; " +
			"A.operation=completed; A.refused=none; A.attempts=1; A.landings=1; d-later.exit=0; seen:read-1.exit; seen:read-2.exit",
		Script: clockSteps,
	})
}

// clockSteps has three executors stand at their gates while the clock goes forward and back. At the stepped time each
// machine gets an entry, which the clock is then behind of. A failure that leaves an operation open ends with 4.
func clockSteps(s *Stage) {
	s.TakeClock()
	life := Expires(24 * time.Hour)
	stale, c, a := s.PlanOn(s.Machine(0), "stale", life), s.PlanOn(s.Machine(1), "C", life), s.PlanOn(s.Machine(2), "A", life)
	first := s.Dispatch("a", stale, GateEvidence)
	second := s.Dispatch("c", c, GateEvidence)
	third := s.Dispatch("d", a, GateCommitted)
	first.Reaches(GateEvidence)
	second.Reaches(GateEvidence)
	third.Reaches(GateCommitted)

	s.StepClock(time.Hour)
	first.Opens(GateEvidence)
	first.Ends()
	for i, m := range []*Machine{s.Machine(1), s.Machine(2)} {
		s.Clew([]string{"read-1", "read-2"}[i], nil, []string{"machine", "show", m.Name(), "--refresh"}).Ends()
	}

	s.StepClock(0)
	second.Opens(GateEvidence)
	second.Ends()
	third.Opens(GateCommitted)
	third.Ends()
	s.Set("back.C.operation", s.Query("plan.sql", "plan", c.ID)["operation"])
	left := s.Query("plan.sql", "plan", a.ID)
	s.Set("back.A.operation", left["operation"])
	s.Set("back.A.attempts", left["attempts"])

	s.StepClock(2 * time.Hour)
	s.Dispatch("c-later", c).Ends()
	s.Settle("d-later", a, nil, []string{"--retry"}).Ends()
}
