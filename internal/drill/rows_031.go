package drill

import "github.com/clewops/clew/internal/store"

func init() {
	register(Row{
		ID:     "031a",
		Case:   "the plan is cancelled after the evidence, before the commitment transaction",
		Expect: "plan=cancelled; operation=none; refused=commitment 1; attempts=0; landings=0; answered=none; runs=before; a.exit=3",
		Script: func(s *Stage) { s.meanwhile(GateEvidence, s.Plan(""), s.Cancel) },
	})
	register(Row{
		ID:   "031b",
		Case: "the plan is cancelled between commitment and attempt",
		Expect: "plan=committed; operation=cancelled; states=committed, unresolved, cancelled; refused=attempt 1; attempts=0; " +
			"landings=0; answered=none; runs=before; a.exit=3",
		Script: func(s *Stage) { s.meanwhile(GateCommitted, s.Plan(""), s.Cancel) },
	})
	register(Row{
		ID:     "031c",
		Case:   "the approver's identity is revoked after the evidence, before the commitment transaction",
		Expect: "plan=revoked; operation=none; refused=commitment 1; attempts=0; landings=0; answered=none; runs=before; a.exit=3",
		Script: func(s *Stage) { s.meanwhile(GateEvidence, s.approvedBySomebody(), s.revokeSomebody) },
	})
	register(Row{
		ID:   "031d",
		Case: "the approver's identity is revoked between commitment and attempt",
		Expect: "plan=committed; operation=cancelled; states=committed, unresolved, cancelled; refused=attempt 1; attempts=0; " +
			"landings=0; answered=none; runs=before; a.exit=3",
		Script: func(s *Stage) { s.meanwhile(GateCommitted, s.approvedBySomebody(), s.revokeSomebody) },
	})
	register(Row{
		ID:   "031e",
		Case: "the approver's identity is revoked after an attempt, which never left: it is not sent again",
		Expect: "plan=committed; operation=failed; states=committed, sending, unresolved, failed; attempts=1; accounted=never-left; " +
			"landings=0; answered=none; runs=before; a.exit=4; b.exit=5",
		Script: func(s *Stage) {
			p := s.approvedBySomebody()
			s.NeverLeft("a", p)
			s.revokeSomebody(p)
			s.Settle("b", p, nil, []string{"--retry"}).Ends()
		},
	})
}

// meanwhile does something while executor a stands at a gate, and then lets it end.
func (s *Stage) meanwhile(g Gate, p *Plan, do func(*Plan)) {
	a := s.Dispatch("a", p, g)
	a.Reaches(g)
	do(p)
	a.Opens(g)
	a.Ends()
}

// somebody approves nothing else, so that their revocation is about one plan.
const somebody = "somebody"

func (s *Stage) approvedBySomebody() *Plan {
	p := s.Propose(s.Machine(0), "", nil)
	s.Approve(p, s.Person(somebody, store.RoleApprover))
	return p
}

func (s *Stage) revokeSomebody(*Plan) { s.RevokePerson(somebody) }
