package drill

import (
	"context"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
)

func init() {
	register(Row{
		ID:   "001",
		Case: "no revocation",
		Expect: "plan=committed; operation=completed; states=committed, sending, verifying, completed; attempts=1; accepted=1; " +
			"refused=none; revocation=none; landings=1; answered=OK 1; runs=planned; persistent=planned; a.exit=0",
		Script: func(s *Stage) {
			p := s.Plan("")
			s.Dispatch("a", p).Ends()
		},
	})
	register(Row{
		ID:   "002",
		Case: "revoked after the evidence, before the commitment transaction",
		Expect: "plan=revoked; operation=none; refused=commitment 1; attempts=0; revocation=before commitment; " +
			"landings=0; answered=none; runs=before; a.exit=3",
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateEvidence)
			a.Reaches(GateEvidence)
			s.Revoke(p)
			a.Opens(GateEvidence)
			a.Ends()
		},
	})
	register(Row{
		ID: "003",
		Case: "revocation starts while the commitment transaction (C) is held, and while the attempt transaction (A) is: " +
			"the revoker waits, and either order holds",
		Machines: 2,
		Expect: "C.waited=yes; C.held-by-the-executor=true; C.plan=committed; C.revocation=before attempt; C.refused=attempt 1; C.attempts=0; " +
			"C.operation=cancelled; C.landings=0; c.exit=3; " +
			"A.waited=yes; A.held-by-the-executor=true; A.attempts=1; A.attempts-after-revocation=0; A.revocation=after attempt; " +
			"seen:A.operation; seen:A.landings; seen:a.exit",
		Script: func(s *Stage) {
			c := s.PlanOn(s.Machine(0), "C")
			s.revokeWhileHeld(c, s.Dispatch("c", c, GateCommit, GateCommitted), GateCommit, GateCommitted)
			a := s.PlanOn(s.Machine(1), "A")
			s.revokeWhileHeld(a, s.Dispatch("a", a, GateAttempt), GateAttempt)
		},
	})
	register(Row{
		ID:   "004",
		Case: "revoked between commitment and attempt",
		Expect: "plan=committed; states=committed, unresolved, cancelled; operation=cancelled; refused=attempt 1; attempts=0; " +
			"revocation=before attempt; landings=0; answered=none; runs=before; a.exit=3",
		Script: revokedBetween,
	})
	register(Row{
		ID:   "005",
		Case: "revoked after the attempt is recorded, before the send: the stated residual",
		Expect: "plan=committed; operation=completed; attempts=1; accepted=1; revocation=after attempt; attempts-after-revocation=0; " +
			"landings=1; runs=planned; a.exit=0",
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateSend)
			a.Reaches(GateSend)
			s.Revoke(p)
			a.Opens(GateSend)
			a.Ends()
		},
	})
	register(Row{
		ID: "006", Control: true, Without: dispatch.Without{dispatch.GuardApproval},
		Case: "comparison 1 only once, early: revoked between commitment and attempt",
		Expect: "operation=completed; attempts=1; attempts-after-revocation=1; revocation=before attempt; landings=1; runs=planned; " +
			"a.exit=0",
		Script: revokedBetween,
	})
}

// revokedBetween revokes while the executor stands between its two transactions.
func revokedBetween(s *Stage) {
	p := s.Plan("")
	a := s.Dispatch("a", p, GateCommitted)
	a.Reaches(GateCommitted)
	s.Revoke(p)
	a.Opens(GateCommitted)
	a.Ends()
}

// revokeWhileHeld starts a revocation while an executor holds the machine at the first gate, reads that it waits, lets the
// executor go on, and waits for both. At the gates that follow the executor stands until the revocation is committed.
func (s *Stage) revokeWhileHeld(p *Plan, e *Process, held Gate, then ...Gate) {
	e.Reaches(held)
	revoked := s.Background("the revocation of "+p.ID, func(ctx context.Context) error { return s.RevokeWith(ctx, p) })
	s.Until("the revocation waits", func() bool {
		// On SQLite the revoker's own counter, beside the kernel's table.
		return s.Waiting() > 0 && (s.Store == config.Postgres || s.Ledger().WaitingWriters() > 0)
	})
	s.Set(p.Name+".waited", "yes")
	s.Set(p.Name+".held-by-the-executor", s.HeldBy(e))
	e.Opens(held)
	s.must(revoked(), "revoking %s", p.ID)
	for _, g := range then {
		e.Reaches(g)
		e.Opens(g)
	}
	e.Ends()
}
