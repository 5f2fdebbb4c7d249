package drill

import (
	"strings"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

func init() {
	register(Row{
		ID: "047",
		Case: "the store fails while an operation is settled of which nothing was attempted (PostgreSQL killed; SQLite's write lock held by " +
			"another process): a failure, not a refusal, that leaves the operation open",
		Expect: "plan=committed; operation=completed; states=committed, unresolved, sending, verifying, completed; attempts=1; refused=none; " +
			"landings=1; answered=OK 1; runs=planned; before=unresolved; a.exit=killed; b.exit=4; c.exit=0",
		Needs: Needs{Crash: true}, OwnServer: true, Takes: 25 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateCommitted)
			a.Reaches(GateCommitted)
			a.Kill()
			b := s.Settle("b", p, []Gate{GateEvidence}, []string{"--retry"})
			b.Reaches(GateEvidence)
			back := s.loseStore()
			b.Opens(GateEvidence)
			b.Ends()
			back()
			s.Set("before", s.State(p))
			s.Settle("c", p, nil, []string{"--retry"}).Ends()
		},
	})
	register(Row{
		ID: "048",
		Case: "an executor loses its operation between its send guard and the socket, and tries every transition: each is refused; " +
			"what it still sends is the stated residual, and the late answer to it is recorded as a fact",
		Expect: "tried=8; refused-to-it=8; between.operation=unresolved; between.responses=none; after.operation=unresolved; after.responses=accepted; " +
			"late=true|1; operation=completed; states=committed, sending, unresolved, completed; generation=3; attempts=1; stale-attempts=0; " +
			"refused=attempt 7; landings=1; runs=planned; a.exit=4; b.exit=4; c.exit=0",
		Script: everyTransition,
	})
	register(Row{
		ID: "049",
		Case: "a late acceptance before a retry (retry), which is refused by 8; and after a terminal state (ended), which raises an alert: " +
			"senders held with the node's answer in hand are attested to have ended, and decided about",
		Machines: 2, Takes: dispatch.MinimumSettle + 15*time.Second,
		Expect: "retry.operation=unresolved; retry.attempts=1; retry.accounted=decision; retry.responses=accepted; retry.refused=attempt 8; " +
			"retry.landings=1; classified=yes; retry.alerts=0; ended.operation=completed; ended.accounted=decision; ended.responses=accepted; " +
			"ended.attempts=1; ended.alerts=1; ended.landings=1; b.exit=0; seen:a-retry.exit; seen:a-ended.exit",
		Script: lateAcceptance,
	})
	register(Row{
		ID: "049a",
		Case: "a late acceptance without its attempt's row: a restore took the attempt away while its sender had the node's answer in hand; " +
			"the answer is kept as an orphan fact, once",
		Expect: "operation=committed; attempts=0; orphans=accepted; landings=1; answered=OK 1; runs=planned; seen:a.exit",
		Needs:  Needs{Crash: true},
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateCommitted, GateResponse)
			a.Reaches(GateCommitted)
			s.Backup()
			a.Opens(GateCommitted)
			a.Reaches(GateResponse)
			s.Restore()
			a.Opens(GateResponse)
			a.Ends()
			s.Set("orphans", s.Query("late.sql", "plan", p.ID)["orphans"])
		},
	})
}

// everyTransition has the old owner, which is held right before the socket, ask for whatever an owner may ask, with a
// reading of its own that would admit a retry.
func everyTransition(s *Stage) {
	p := s.Plan("")
	a := s.Dispatch("a", p, GateSend)
	a.Reaches(GateSend)
	v := s.view(p)
	op, old := v.Operation, v.Operation.Owner
	s.Settle("b", p, nil, []string{"--takeover"}).Ends()
	o, _ := s.read(old.Instance, p.Machine, dispatch.Observation{
		Purpose: dispatch.ForEvidence, Route: dispatch.Direct, Plan: p.ID, Operation: op.ID,
	})
	_, attempt := s.ledger.Attempt(s.ctx, s.attemptOf(v, old, o))
	_, classify := s.ledger.Classify(s.ctx, op.ID, old, o.Basis)
	_, finish := s.ledger.Finish(s.ctx, op.ID, old, o.Basis)
	_, overdue := s.ledger.Overdue(s.ctx, op.ID, old)
	_, reject := s.ledger.LateReject(s.ctx, op.ID, old)
	_, cancel := s.ledger.CancelOperation(s.ctx, op.ID, old, nil, "the drill tries it")
	_, evidence := s.ledger.AccountByEvidence(s.ctx, op.ID, 1, old, dispatch.Accounting{Kind: dispatch.CannotArrive, Basis: o.Basis})
	_, takeover := s.ledger.TakeOver(s.ctx, op.ID, old.Generation, old.Instance, "the drill tries it")
	tried := []error{attempt, classify, finish, overdue, reject, cancel, evidence, takeover}
	refused := 0
	for _, err := range tried {
		s.Note("tried: %v", err)
		if _, yes := refusal.As(err); yes {
			refused++
		}
	}
	s.Set("tried", len(tried))
	s.Set("refused-to-it", refused)
	s.setStanding("between", p)
	a.Opens(GateSend)
	a.Ends()
	s.setStanding("after", p)
	s.Set("late", s.Query("late.sql", "plan", p.ID)["late"])
	s.Settle("c", p, nil, nil).Ends()
}

// setStanding reads where an operation stands in the middle of a row.
func (s *Stage) setStanding(when string, p *Plan) {
	found := s.Query("plan.sql", "plan", p.ID)
	s.Set(when+".operation", found["operation"])
	s.Set(when+".responses", found["responses"])
}

// attemptOf asks for an attempt as an executor does that has just made the reading.
func (s *Stage) attemptOf(v dispatch.OperationView, by dispatch.Owner, o dispatch.Observation) dispatch.AttemptRequest {
	return dispatch.AttemptRequest{
		Operation: v.Operation.ID, By: by, Token: strings.ReplaceAll("drill-"+s.name()+"-"+v.Operation.ID, ".", "-"),
		LocalAddr: o.LocalAddr, RemoteAddr: o.RemoteAddr,
		Request: dispatch.Request{
			Artifact: v.Plan.Artifact, Operation: v.Plan.Operation, Mode: v.Plan.Mode, Route: v.Plan.Route, Address: v.Plan.Address,
		},
	}
}

// lateAcceptance decides about two attempts whose senders still have the node's answer in hand: one is then classified for
// a retry, because somebody put the old bytes back, the other completed.
func lateAcceptance(s *Stage) {
	terms := Deadlines(5*time.Second, time.Minute)
	again, ended := s.PlanOn(s.Machine(0), "retry", terms), s.PlanOn(s.Machine(1), "ended", terms)
	var over time.Time
	var senders []*Process
	for _, p := range []*Plan{again, ended} {
		a := s.Dispatch("a-"+p.Name, p, GateResponse)
		a.Reaches(GateResponse)
		senders = append(senders, a)
		s.Attest(p)
	}
	s.ForeignApply(again.Machine, again.Machine.config)
	for _, p := range []*Plan{again, ended} {
		over = s.StartSettling(p)
	}
	s.UntilTime("the settle time is over", over)
	s.DecideLost(again)
	s.DecideLost(ended)
	s.Settle("b", ended, nil, nil).Ends()
	senders[1].Opens(GateResponse)
	senders[1].Ends()
	s.asInstance(func(instance string) { s.retryTooLate(again, instance, senders[0]) })
	for _, p := range []*Plan{again, ended} {
		s.Set(p.Name+".alerts", s.Query("late.sql", "plan", p.ID)["alerts"])
	}
}

// retryTooLate classifies an operation as safe to retry, lets the answer to its attempt come in, and then asks for another.
func (s *Stage) retryTooLate(p *Plan, instance string, sender *Process) {
	v := s.view(p)
	op, err := s.ledger.TakeOver(s.ctx, v.Operation.ID, v.Operation.Owner.Generation, instance, v.OwnerStopped)
	s.must(err, "taking %s over", v.Operation.ID)
	o, _ := s.read(instance, p.Machine, dispatch.Observation{
		Purpose: dispatch.ForEvidence, Route: dispatch.Direct, Plan: p.ID, Operation: op.ID,
	})
	op, err = s.ledger.Classify(s.ctx, op.ID, op.Owner, o.Basis)
	s.must(err, "classifying %s", op.ID)
	s.Set("classified", s.Query("late.sql", "plan", p.ID)["classified"])
	sender.Opens(GateResponse)
	sender.Ends()
	_, err = s.ledger.Attempt(s.ctx, s.attemptOf(v, op.Owner, o))
	s.Note("the attempt: %v", err) // the reader says what it was refused by, and that there is none
}
