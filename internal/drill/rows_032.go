package drill

import (
	"slices"

	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

func init() {
	register(Row{
		ID:     "032a",
		Case:   "the machine is frozen after the evidence, before the commitment transaction",
		Expect: "plan=approved; operation=none; refused=commitment 6; attempts=0; landings=0; answered=none; runs=before; a.exit=3",
		Script: func(s *Stage) {
			s.meanwhile(GateEvidence, s.Plan(""), func(*Plan) { s.Freeze(s.Machine(0)) })
		},
	})
	register(Row{
		ID:   "032b",
		Case: "the machine is frozen between commitment and attempt, and the freeze is lifted later: not failed meanwhile",
		Expect: "plan=committed; operation-while-frozen=unresolved; operation=completed; states=committed, unresolved, sending, verifying, completed; " +
			"refused=attempt 6, precheck 6; attempts=1; landings=1; runs=planned; a.exit=4; frozen.exit=3; lifted.exit=0",
		Script: func(s *Stage) {
			p := s.Plan("")
			s.meanwhile(GateCommitted, p, func(*Plan) { s.Freeze(s.Machine(0)) })
			s.Settle("frozen", p, nil, []string{"--retry"}).Ends()
			s.Set("operation-while-frozen", s.State(p))
			s.Unfreeze(s.Machine(0))
			s.Settle("lifted", p, nil, []string{"--retry"}).Ends()
		},
	})
	register(Row{
		ID:     "032c",
		Case:   "a drift record is open that the plan does not bind",
		Expect: "plan=approved; operation=none; refused=precheck 6; attempts=0; drift=open; landings=1; answered=OK 1; runs=other; a.exit=3",
		Script: func(s *Stage) {
			p := s.Plan("")
			s.ForeignChange(s.Machine(0))
			s.Watch(s.Machine(0))
			s.Dispatch("a", p).Ends()
		},
	})
	register(Row{
		ID:     "032d",
		Case:   "the drift record that the plan binds is closed: what runs returned to what was applied",
		Expect: "plan=approved; operation=none; refused=precheck 6; attempts=0; drift=none; landings=2; runs=before; a.exit=3",
		Script: func(s *Stage) {
			m := s.Machine(0)
			s.ForeignChange(m)
			s.Watch(m)
			p := s.Plan("") // it binds the record
			s.ForeignApply(m, m.config)
			s.Watch(m)
			s.Dispatch("a", p).Ends()
		},
	})
	register(Row{
		ID:   "032e",
		Case: "the assignment does not change while the machine is held, and does afterwards",
		Expect: "answer-while-held=refused; assignment-while-held=unmoved; operation=completed; attempts=1; landings=1; runs=planned; " +
			"answer-afterwards=done; assignment-afterwards=moved; a.exit=0",
		Script: func(s *Stage) {
			m := s.Machine(0)
			before := s.Query("machine.sql", "machine", m.ID)["assignment"]
			reads := func(when string) {
				s.Set("answer-"+when, s.reassign(m))
				moved := "moved"
				if s.Query("machine.sql", "machine", m.ID)["assignment"] == before {
					moved = "unmoved"
				}
				s.Set("assignment-"+when, moved)
			}
			s.meanwhile(GateCommitted, s.Plan(""), func(*Plan) { reads("while-held") })
			reads("afterwards")
		},
	})
}

// reassign gives a machine one more address and says what the ledger answered.
func (s *Stage) reassign(m *Machine) string {
	known, err := s.ledger.Machine(s.ctx, m.ID)
	s.must(err, "reading the record of %s", m.Name())
	a := known.Assignment
	a.Addresses = append(slices.Clone(a.Addresses), "192.0.2.1")
	_, err = s.ledger.ChangeAssignment(s.ctx, s.As(founder, store.RoleOperator), m.ID, a, store.MachineUpdate{})
	if _, refused := refusal.As(err); refused {
		return "refused"
	}
	s.must(err, "changing the assignment of %s", m.Name())
	return "done"
}
