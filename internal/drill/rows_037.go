package drill

import (
	"fmt"
	"time"

	"github.com/clewops/clew/internal/dispatch"
)

// decided is about how long a row takes in which a recovery-admin decides: the settle time can be no shorter.
const decided = 45 * time.Second

func init() {
	register(Row{
		ID: "037",
		Case: "the executor is suspended before its send guard, its attempt is taken over and accounted for by decision, a newer plan " +
			"completes, and it is resumed: it sends nothing",
		Expect: "A.operation=failed; A.attempts=1; A.accounted=decision; A.responses=none; A.landings=0; B.operation=completed; B.landings=1; " +
			"landings=1; answered=OK 1; runs=B; taken.exit=4; settled.exit=5; b.exit=0|4; seen:a.exit",
		Needs: Needs{Crash: true}, Takes: decided,
		Script: func(s *Stage) {
			a, _ := s.suspendedAndSuperseded(GateGuard, false)
			a.Opens(GateGuard)
			a.Continue()
			a.Ends()
		},
	})
	register(Row{
		ID: "037C", Control: true, Without: dispatch.Without{dispatch.GuardSend},
		Case: "the same without the send guard: it overwrites the newer plan",
		Expect: "A.operation=failed; A.attempts=1; A.accounted=decision; A.landings=1; B.operation=completed; B.landings=1; " +
			"landings=2; answered=OK 2; runs=A; b.exit=0|4; seen:a.exit",
		Needs: Needs{Crash: true}, Takes: decided,
		Script: func(s *Stage) {
			a, _ := s.suspendedAndSuperseded(GateGuard, false)
			a.Opens(GateGuard)
			a.Continue()
			a.Ends()
		},
	})
}

// suspendedAndSuperseded stops the process of plan A at a gate after its attempt was recorded, has the attempt taken over
// and accounted for by a decision that rests on an attestation which is not true, and then a plan B completed on the same
// machine, with identical bytes or its own. Executor a is left suspended, its gate shut.
func (s *Stage) suspendedAndSuperseded(at Gate, identical bool, armed ...Gate) (a *Process, first *Plan) {
	m := s.Machine(0)
	patch := fmt.Appendf(nil, "machine:\n  nodeLabels:\n    drill: \"%s-%d\"\n", s.Row.ID, s.run.plans.Add(1))
	first = s.Propose(m, "A", patch, Deadlines(2*time.Second, time.Minute), Attempts(1))
	s.Approve(first, approver)
	a = s.Dispatch("a", first, append(armed, at)...)
	a.Reaches(at)
	a.Pause()
	s.Settle("taken", first, nil, []string{"--takeover"}).Ends()
	s.Attest(first)
	s.UntilTime("the settle time is over", s.StartSettling(first))
	s.DecideLost(first)
	s.Settle("settled", first, nil, nil).Ends()
	if !identical {
		patch = nil
	}
	second := s.Propose(m, "B", patch)
	s.Approve(second, approver)
	s.Dispatch("b", second).Ends()
	if s.State(second) == dispatch.Unresolved {
		// On a machine under load its own send window may have passed: then it never left, and is sent once more.
		s.Settle("b-again", second, nil, []string{"--retry"}).Ends()
	}
	return a, first
}
