package drill

import "time"

// short is a plan's life, long enough for a loaded machine to bring an executor to its gate, and then waited for.
const short = 15 * time.Second

func init() {
	register(Row{
		ID:   "030a",
		Case: "the plan expires after the evidence, before the commitment transaction",
		Expect: "plan=approved|expired; operation=none; refused=commitment 1; attempts=0; landings=0; answered=none; runs=before; " +
			"a.exit=3",
		Takes: short,
		Script: func(s *Stage) {
			p := s.Plan("", Expires(short))
			a := s.Dispatch("a", p, GateEvidence)
			a.Reaches(GateEvidence)
			s.UntilExpired(p)
			a.Opens(GateEvidence)
			a.Ends()
		},
	})
	register(Row{
		ID:   "030b",
		Case: "the plan expires between commitment and attempt",
		Expect: "plan=committed; operation=cancelled; states=committed, unresolved, cancelled; refused=attempt 1; attempts=0; " +
			"landings=0; answered=none; runs=before; a.exit=3",
		Takes: short,
		Script: func(s *Stage) {
			p := s.Plan("", Expires(short))
			a := s.Dispatch("a", p, GateCommitted)
			a.Reaches(GateCommitted)
			s.UntilExpired(p)
			a.Opens(GateCommitted)
			a.Ends()
		},
	})
	register(Row{
		ID:       "030c",
		Case:     "the observation is too old: at the commitment (C), and at the attempt (A), which can pass later",
		Machines: 2,
		Expect: "C.plan=approved; C.operation=none; C.refused=commitment 3; C.attempts=0; c.exit=3; " +
			"A.plan=committed; A.operation=completed; A.states=committed, unresolved, sending, verifying, completed; A.refused=attempt 3; " +
			"A.attempts=1; a.exit=4; a-again.exit=0; landings=0; machine-2.landings=1; runs=before; machine-2.runs=A",
		Takes: short,
		Script: func(s *Stage) {
			c := s.PlanOn(s.Machine(0), "C", MaxAge(time.Second))
			a := s.PlanOn(s.Machine(1), "A", MaxAge(short))
			first := s.Dispatch("c", c, GateEvidence)
			second := s.Dispatch("a", a, GateCommitted)
			first.Reaches(GateEvidence)
			second.Reaches(GateCommitted)
			s.UntilTime("both readings are too old", s.Now().Add(short))
			first.Opens(GateEvidence)
			first.Ends()
			second.Opens(GateCommitted)
			second.Ends()
			s.Settle("a-again", a, nil, []string{"--retry"}).Ends()
		},
	})
	register(Row{
		ID:       "030d",
		Case:     "a newer observation contradicts the evidence: at the commitment (C), and at the attempt (A)",
		Machines: 2,
		Expect: "C.plan=approved; C.operation=none; C.refused=commitment 3; C.attempts=0; C.drift=open; C.landings=0; c.exit=3; " +
			"A.plan=committed; A.operation=unresolved; A.refused=attempt 3; A.attempts=0; A.drift=none; A.landings=0; a.exit=4; " +
			"landings=1; machine-2.landings=1; runs=other; machine-2.runs=other",
		Script: func(s *Stage) {
			for i, name := range []string{"C", "A"} {
				m, gate := s.Machine(i), []Gate{GateEvidence, GateCommitted}[i]
				p := s.PlanOn(m, name)
				e := s.Dispatch([]string{"c", "a"}[i], p, gate)
				e.Reaches(gate)
				s.ForeignChange(m)
				s.Watch(m) // the scope is held at the attempt: no drift record opens
				e.Opens(gate)
				e.Ends()
			}
		},
	})
	register(Row{
		ID:   "030e",
		Case: "the attempt bound is reached: the only attempt never left, and no second one is admitted",
		Expect: "operation=failed; states=committed, sending, unresolved, failed; attempts=1; accounted=never-left; landings=0; " +
			"answered=none; runs=before; a.exit=4; b.exit=5",
		Script: func(s *Stage) {
			p := s.Plan("", Attempts(1))
			s.NeverLeft("a", p)
			s.Settle("b", p, nil, []string{"--retry"}).Ends()
		},
	})
}
