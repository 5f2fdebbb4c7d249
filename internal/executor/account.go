package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

// lateReadsApart is the least time between the two late reads of accounting by evidence: what a forwarding process holds
// in no queue has moved on by then.
const lateReadsApart = 5 * time.Second

// accountAll tries to account for every attempt without a conclusive response.
func (e *Executor) accountAll(ctx context.Context, s *settling, o SettleOptions) error {
	for _, a := range s.view.Attempts {
		if _, ok := a.Accounted(); ok {
			continue
		}
		e.say(Progress{
			Operation: a.Operation, Machine: s.view.Machine.Name, Step: "settle",
			Text: fmt.Sprintf("looking for evidence on attempt %d", a.Number),
		})
		missing, err := e.accountByEvidence(ctx, s, a)
		if err != nil {
			return err
		}
		switch {
		case missing == "":
		case o.Judge != nil:
			if missing, err = e.accountByDecision(ctx, s, a, o); err != nil {
				return err
			}
		default:
			e.startClock(ctx, s, a, o)
		}
		if missing != "" {
			s.missing("attempt %d is not accounted for: %s", a.Number, missing)
		}
	}
	return nil
}

// lateReads is the evidence that the two late reads give.
type lateReads struct {
	First  int64 `json:"first_basis"`
	Second int64 `json:"second_basis"`
}

// accountingEvidence is what an accounting by evidence rests on.
type accountingEvidence struct {
	Sender  string          `json:"sender"` // why the sending process no longer holds the connection
	Sockets json.RawMessage `json:"sockets"`
	Reads   lateReads       `json:"reads"`
}

// accountByEvidence shows that the attempt's bytes cannot arrive any more, and records it. The text says what is missing
// when that cannot be shown.
func (e *Executor) accountByEvidence(ctx context.Context, s *settling, a dispatch.Attempt) (string, error) {
	if a.Host != e.Host {
		s.way(judging(a.Operation))
		return fmt.Sprintf("evidence on its connection can only be had on host %s, since it has been up, in the same network namespace", a.Host.Name), nil
	}
	sender, err := e.senderGone(ctx, a)
	if err != nil {
		return "", err
	}
	if sender == "" { // no decision is admitted either
		s.way("clew settle "+a.Operation, "clew admin recovery attest "+a.By.Instance+" --reason TEXT")
		return "the sending process is not shown to have ended", nil
	}
	t := Target{Machine: s.view.Machine, Address: s.view.Plan.Address, Route: a.Route}
	sockCtx, cancel := context.WithTimeout(ctx, 2*readDeadline)
	defer cancel()
	verdict, err := e.Nodes.CannotArrive(sockCtx, t, a)
	if err != nil || verdict.Available { // what is missing may still come
		s.way("clew settle " + a.Operation)
	}
	s.way(judging(a.Operation))
	switch {
	case err != nil:
		return fmt.Sprintf("the hops' connections could not be read: %v", err), nil
	case !verdict.Available:
		return "evidence is not available: " + verdict.Missing, nil
	case !verdict.Holds:
		return verdict.Missing, nil
	}
	reads, missing := e.twoLateReads(ctx, s, t)
	if missing != "" {
		return missing, nil
	}
	evidence, err := json.Marshal(accountingEvidence{Sender: sender, Sockets: verdict.Evidence, Reads: reads})
	if err != nil {
		return "", err
	}
	op := s.view.Operation
	moved, err := e.Store.AccountByEvidence(ctx, op.ID, a.Number, op.Owner, dispatch.Accounting{
		Kind: dispatch.CannotArrive, By: e.Instance, Basis: reads.Second, Evidence: evidence,
		Reason: "its bytes cannot arrive any more",
	})
	if r, refused := refusal.As(err); refused && r.Comparison != 7 {
		return r.Message, nil
	}
	if err != nil {
		return "", err
	}
	s.moved(e, moved)
	return "", nil
}

// judging is the command of a decision; what it rests on is for the person to say.
func judging(operation string) string { return "clew settle " + operation + " --judge REASON" }

// startClock reads the machine on the attempt's own route, once in a settling: the settle time of a later decision runs
// from the first such reading after the transport deadline. That nobody may ever decide is no reason to start it late.
func (e *Executor) startClock(ctx context.Context, s *settling, a dispatch.Attempt, o SettleOptions) {
	now, err := e.Store.Now(ctx)
	if err != nil || o.clocks[a.Number] || !now.After(dispatch.Deadline(s.view.Plan, a)) {
		return
	}
	if _, err := e.readOnRoute(ctx, s, a, o); err != nil {
		s.missing("the settle time of a decision runs from a reading on the attempt's route (%s): %v", a.Route, err)
		return
	}
	o.clocks[a.Number] = true
}

// readOnRoute makes a recovery observation on the attempt's own route.
func (e *Executor) readOnRoute(ctx context.Context, s *settling, a dispatch.Attempt, o SettleOptions) (dispatch.Observation, error) {
	op := s.view.Operation
	readCtx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	t := s.target(o)
	t.Route = a.Route
	return e.observeAnew(readCtx, t, link{purpose: dispatch.ForRecovery, plan: op.Plan, operation: op.ID})
}

// senderGone says why the attempt's sending process cannot write any more: this executor aborted the connection itself,
// or the process that sent has ended.
func (e *Executor) senderGone(ctx context.Context, a dispatch.Attempt) (string, error) {
	if a.By.Instance == e.Instance {
		return "this process aborted the connection", nil
	}
	return e.Store.InstanceStopped(ctx, a.By.Instance)
}

// twoLateReads reads the machine twice on the route and demands that both resources agree within one boot.
func (e *Executor) twoLateReads(ctx context.Context, s *settling, t Target) (lateReads, string) {
	op := s.view.Operation
	l := link{purpose: dispatch.ForAccounting, plan: op.Plan, operation: op.ID}
	read := func() (dispatch.Observation, error) {
		readCtx, cancel := context.WithTimeout(ctx, readDeadline)
		defer cancel()
		return e.observeAnew(readCtx, t, l)
	}
	first, err := read()
	if err != nil {
		return lateReads{}, fmt.Sprintf("the machine could not be read on the route: %v", err)
	}
	if err := e.pause(ctx, lateReadsApart); err != nil {
		return lateReads{}, "the wait between the two late reads was interrupted"
	}
	second, err := read()
	if err != nil {
		return lateReads{}, fmt.Sprintf("the machine could not be read on the route a second time: %v", err)
	}
	a, b := first.Reading, second.Reading
	if a.BootID != b.BootID || a.NodeID != b.NodeID || a.Active != b.Active || a.Persistent != b.Persistent {
		return lateReads{}, "two readings on the route, five seconds apart, differ"
	}
	return lateReads{First: first.Basis, Second: second.Basis}, ""
}

// accountByDecision records the recovery-admin's decision. The store checks its conditions: the sender ended or attested,
// the settle time passed since the first read on the route, and this reading framing it.
func (e *Executor) accountByDecision(ctx context.Context, s *settling, a dispatch.Attempt, o SettleOptions) (string, error) {
	op := s.view.Operation
	obs, err := e.readOnRoute(ctx, s, a, o)
	if err != nil {
		return fmt.Sprintf("a decision needs a reading of the machine: %v", err), nil
	}
	moved, err := e.Store.AccountByDecision(ctx, op.ID, a.Number, o.Judge.Who, dispatch.Decision{
		Reason: o.Judge.Reason, RouteGone: o.Judge.RouteGone, Basis: obs.Basis, SettleFloor: max(e.SettleFloor, dispatch.MinimumSettle),
	})
	if r, refused := refusal.As(err); refused {
		if r.Code == "settle-time" {
			s.ways = []string{judging(op.ID)}
			return r.Message, nil // it passes by waiting
		}
		return "", err
	}
	if err != nil {
		return "", err
	}
	s.moved(e, moved)
	return "", nil
}
