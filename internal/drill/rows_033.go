package drill

import (
	"fmt"

	"github.com/clewops/clew/internal/lab"
)

func init() {
	register(Row{
		ID:       "033a",
		Case:     "a rollout of limit 1, then one of limit 2, over three machines at once",
		Machines: 3,
		Expect: "one.admitted-at-once=1; one.refused=2; one.completed=1; one.refused-exit=3, 3; one.admitted-exit=0; " +
			"two.admitted-at-once=2; two.refused=1; two.completed=2; two.refused-exit=3; two.admitted-exit=0, 0",
		Script: func(s *Stage) {
			s.rolloutAtOnce("one", 1)
			s.rolloutAtOnce("two", 2)
		},
	})
	register(Row{
		ID:       "033b",
		Case:     "an unresolved operation keeps its slot",
		Machines: 2,
		Expect: "A.operation=unresolved; B.operation=none; B.refused=commitment 5; B.attempts=0; machine-2.landings=0; landings=0; " +
			"a.exit=4; b.exit=3",
		Script: func(s *Stage) {
			a, b := s.PlanOn(s.Machine(0), "A", InRollout("r", 1, 0)), s.PlanOn(s.Machine(1), "B", InRollout("r", 1, 0))
			s.meanwhile(GateCommitted, a, func(*Plan) { s.Freeze(s.Machine(0)) })
			s.Dispatch("b", b).Ends()
		},
	})
	register(Row{
		ID:       "033c",
		Case:     "a cancelled operation frees its slot",
		Machines: 2,
		Expect: "A.operation=cancelled; B.operation=completed; B.refused=none; B.attempts=1; landings=0; machine-2.landings=1; machine-2.runs=B; " +
			"a.exit=3; b.exit=0",
		Script: func(s *Stage) {
			a, b := s.PlanOn(s.Machine(0), "A", InRollout("r", 1, 0)), s.PlanOn(s.Machine(1), "B", InRollout("r", 1, 0))
			s.meanwhile(GateCommitted, a, s.Revoke)
			s.Dispatch("b", b).Ends()
		},
	})
	register(Row{
		ID:       "033d",
		Case:     "max_failed closes a rollout until an approver opens it again",
		Machines: 2,
		Expect: "A.operation=rejected; A.attempts=1; B.refused=commitment 5; B.operation=completed; B.attempts=1; landings=0; " +
			"machine-2.landings=1; machine-2.runs=B; a.exit=5; closed.exit=3; opened.exit=0",
		Needs: Needs{Faults: true},
		Script: func(s *Stage) {
			a, b := s.PlanOn(s.Machine(0), "A", InRollout("r", 2, 0)), s.PlanOn(s.Machine(1), "B", InRollout("r", 2, 0))
			s.Fault(lab.Order{Target: s.Machine(0).Name(), Kind: "refuse", Arg: "FailedPrecondition", Times: 1})
			s.Dispatch("a", a).Ends()
			s.Dispatch("closed", b).Ends()
			s.OpenRollout("r")
			s.Dispatch("opened", b).Ends()
		},
	})
}

// rolloutAtOnce dispatches plans of one rollout on all machines at once: each has its evidence before any commits, and none
// that is admitted goes on before the others have an answer.
func (s *Stage) rolloutAtOnce(rollout string, limit int) {
	var all []*Process
	for i := range s.machines {
		p := s.PlanOn(s.Machine(i), fmt.Sprintf("%s-%d", rollout, i+1), InRollout(rollout, limit, 0))
		all = append(all, s.Dispatch(fmt.Sprintf("%s-%d", rollout, i+1), p, GateEvidence, GateCommitted))
	}
	for _, p := range all {
		p.Reaches(GateEvidence)
	}
	for _, p := range all {
		p.Opens(GateEvidence)
	}
	admitted, refused := s.Race(GateCommitted, all...)
	s.Set(rollout+".admitted-at-once", s.Query("rollout.sql", "rollout", rollout)["open"])
	for _, p := range admitted {
		p.Opens(GateCommitted)
	}
	for _, p := range all {
		p.Ends()
	}
	found := s.Query("rollout.sql", "rollout", rollout)
	s.Set(rollout+".refused", found["refused"])
	s.Set(rollout+".completed", found["completed"])
	s.Set(rollout+".admitted-exit", statuses(admitted))
	s.Set(rollout+".refused-exit", statuses(refused))
}
