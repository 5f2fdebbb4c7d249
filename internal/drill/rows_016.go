package drill

import (
	"strings"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
)

func init() {
	register(Row{
		ID:   "016",
		Case: "the store is away after the response, before its recording (PostgreSQL killed; SQLite's write lock held by another process)",
		Expect: "noticed=yes; responses-while-away=none; operation=completed; states=committed, sending, verifying, completed; attempts=1; " +
			"responses=accepted; landings=1; answered=OK 1; runs=planned; a.exit=0",
		Needs: Needs{Crash: true}, OwnServer: true, Takes: 15 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateResponse)
			a.Reaches(GateResponse)
			s.Set("responses-while-away", s.Query("plan.sql", "plan", p.ID)["responses"])
			back := s.loseStore()
			a.Opens(GateResponse)
			s.Until("the executor has tried to record", func() bool { return strings.Contains(a.output.String(), "the store is away") })
			s.Set("noticed", "yes")
			back()
			a.Ends()
		},
	})
	register(Row{
		ID:   "017",
		Case: "partition during verification",
		Expect: "failed-reads=1; operation=completed; states=committed, sending, verifying, completed; attempts=1; accepted=1; landings=1; " +
			"runs=planned; a.exit=0",
		Needs: Needs{Faults: true}, Takes: 20 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("")
			link := s.ClientLink(p.Machine)
			a := s.Dispatch("a", p, GateVerify)
			a.Reaches(GateVerify)
			s.Fault(lab.Order{Target: link, Kind: "cut"})
			a.Opens(GateVerify)
			s.Until("a read has failed", seldom(func() bool { return s.failedReads(p) != "0" }))
			s.Fault(lab.Order{Target: link, Kind: "heal"})
			a.Ends()
			s.Set("failed-reads", s.failedReads(p))
		},
	})
	register(Row{
		ID:   "018",
		Case: "SIGKILL at evidence; another executor runs the plan",
		Expect: "when-killed=none; plan=committed; operation=completed; generation=1; attempts=1; landings=1; runs=planned; " +
			"a.exit=killed; b.exit=0",
		Needs: Needs{Crash: true},
		Script: func(s *Stage) {
			p := s.Plan("")
			s.killedAt(p, GateEvidence)
			s.Dispatch("b", p).Ends()
		},
	})
	register(Row{
		ID:   "019",
		Case: "SIGKILL at committed; taken over, and one attempt",
		Expect: "when-killed=committed; operation=completed; states=committed, unresolved, sending, verifying, completed; generation=2; " +
			"stale-attempts=0; attempts=1; landings=1; runs=planned; a.exit=killed; b.exit=0",
		Needs: Needs{Crash: true},
		Script: func(s *Stage) {
			p := s.Plan("")
			s.killedAt(p, GateCommitted)
			s.Settle("b", p, nil, []string{"--retry"}).Ends()
		},
	})
	register(Row{
		ID:   "020",
		Case: "SIGKILL at response, before it is recorded: unresolved until accounted for, then completed",
		Expect: "when-killed=sending; operation=completed; attempts=1; responses=none; accounted=decision|cannot-arrive; landings=1; " +
			"answered=OK 1; runs=planned; a.exit=killed; early.exit=4; undecided.exit=4|not asked; settled.exit=0",
		Needs: Needs{Faults: true, Crash: true}, Takes: 50 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("", lossy(dispatch.Direct)...)
			s.killedAt(p, GateResponse)
			link := s.ClientLink(p.Machine)
			s.Fault(lab.Order{Target: link, Kind: "cut"}) // nobody can account for it while the node is away
			s.Settle("early", p, nil, nil).Ends()
			s.Fault(lab.Order{Target: link, Kind: "heal"})
			s.settleLost(p)
		},
	})
	register(Row{
		ID:   "021",
		Case: "SIGKILL at complete; taken over, observed anew, completed",
		Expect: "when-killed=verifying; operation=completed; states=committed, sending, verifying, unresolved, completed; generation=2; " +
			"attempts=1; responses=accepted; observed-anew=yes; landings=1; answered=OK 1; runs=planned; a.exit=killed; b.exit=0",
		Needs: Needs{Crash: true},
		Script: func(s *Stage) {
			p := s.Plan("")
			s.killedAt(p, GateComplete)
			s.Settle("b", p, nil, nil).Ends()
			s.Set("observed-anew", s.Query("observed_anew.sql", "plan", p.ID)["observed-anew"])
		},
	})
}

// killedAt dispatches p and ends the executor with SIGKILL at a gate.
func (s *Stage) killedAt(p *Plan, g Gate) {
	a := s.Dispatch("a", p, g)
	a.Reaches(g)
	s.Set("when-killed", s.State(p))
	a.Kill()
}
