package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// SettleOptions say how far settling may go.
type SettleOptions struct {
	Wait     time.Duration // keep looking for evidence this long; 0 looks once
	Retry    bool          // send again where that is safe and admitted
	Takeover bool          // take over from an owner that is not shown to have stopped
	Judge    *Judge        // account by decision where there is no evidence
	Address  string        // read the machine here instead of at the plan's address

	clocks map[int]bool // attempts whose route was read after their deadline, in this settling
}

// Judge is a recovery-admin's decision about what no evidence shows.
type Judge struct {
	Who       ledger.Actor
	Reason    string
	RouteGone string // attestation that the attempt's endpoint restarted or is gone
}

// Settle closes an unresolved operation on evidence: it takes over where the owner is stopped, accounts for lost
// attempts, observes, and completes, fails, cancels or retries; otherwise the result says what is missing. Settling an
// operation that has ended reports its end.
func (e *Executor) Settle(ctx context.Context, opID string, o SettleOptions) (Result, error) {
	until := e.Elapsed() + o.Wait
	o.clocks = map[int]bool{}
	nap := time.Second
	for {
		s, err := e.settleOnce(ctx, opID, o)
		if _, unknown := refusal.AsUnknown(err); unknown && e.load(ctx, s) == nil && !s.view.Operation.State.Holding() {
			err = nil // the answer to its end was lost, and it has ended
		}
		if err != nil || s.done || e.Elapsed() >= until {
			return s.res, err
		}
		if len(s.res.Missing) > 0 {
			e.say(Progress{Operation: opID, Machine: s.res.Machine, Step: "wait", Text: s.res.Missing[0]})
		}
		if err := e.pause(ctx, min(nap, max(until-e.Elapsed(), 0))); err != nil {
			return s.res, nil // leaving is safe: the operation stays unresolved
		}
		nap = min(2*nap, 10*time.Second)
	}
}

// settling is one round's findings. done means that another round would find the same.
type settling struct {
	view dispatch.OperationView
	res  Result
	done bool
	ways []string // commands that may account for what is not accounted for
}

// way adds commands that may account for what is not accounted for.
func (s *settling) way(commands ...string) {
	for _, c := range commands {
		if !slices.Contains(s.ways, c) {
			s.ways = append(s.ways, c)
		}
	}
}

func (s *settling) missing(format string, args ...any) {
	s.res.Missing = append(s.res.Missing, fmt.Sprintf(format, args...))
}

func (s *settling) moved(e *Executor, op dispatch.Operation) {
	s.view.Operation = op
	s.res = e.result(s.res, op)
	if !op.State.Holding() {
		s.done, s.res.Missing, s.res.Next = true, nil, ""
	}
}

// settleOnce is one round: own, account, then end.
func (e *Executor) settleOnce(ctx context.Context, opID string, o SettleOptions) (*settling, error) {
	s := &settling{res: Result{Operation: opID}}
	if err := e.load(ctx, s); err != nil {
		return s, err
	}
	if s.done {
		return s, nil
	}
	if err := e.own(ctx, s, o); err != nil || s.done {
		return s, err
	}
	if err := e.accountAll(ctx, s, o); err != nil {
		return s, err
	}
	if err := e.load(ctx, s); err != nil || s.done {
		return s, err
	}
	return s, e.end(ctx, s, o)
}

// load reads the operation anew. What is missing is found out again each round.
func (e *Executor) load(ctx context.Context, s *settling) error {
	v, err := e.Store.Operation(ctx, s.res.Operation)
	if err != nil {
		return err
	}
	s.res.Plan, s.res.Machine, s.res.Attempts = v.Plan.ID, v.Machine.Name, len(v.Attempts)
	s.view = v
	s.moved(e, v.Operation)
	return nil
}

// own makes this executor the owner of an unresolved operation.
func (e *Executor) own(ctx context.Context, s *settling, o SettleOptions) error {
	op := s.view.Operation
	if op.Owner.Instance == e.Instance && op.State == dispatch.Unresolved {
		return nil
	}
	why := s.view.OwnerStopped
	switch {
	case op.Owner.Instance == e.Instance:
		why = "this executor gave it up"
	case why == "" && o.Takeover:
		why = "an operator took it over from an owner not shown to have stopped"
	case why == "":
		s.done = true
		return refusal.New("settling", "owner-running",
			fmt.Sprintf("operation %s is owned by an executor that is not shown to have stopped: wait for it, or take the operation over", op.ID),
			"clew show "+op.ID+"\nclew settle "+op.ID+" --takeover")
	}
	taken, err := e.Store.TakeOver(ctx, op.ID, op.Owner.Generation, e.Instance, why)
	if err != nil {
		return err
	}
	s.moved(e, taken)
	return nil
}

// target is where the machine of the operation is read.
func (s *settling) target(o SettleOptions) Target {
	t := Target{
		Machine: s.view.Machine, Address: s.view.Plan.Address, Route: s.view.Plan.Route, Patience: s.view.Plan.TransportDeadline,
	}
	if o.Address != "" {
		t.Address = o.Address
	}
	return t
}

// end brings an operation whose attempts are all accounted for to what its facts admit.
func (e *Executor) end(ctx context.Context, s *settling, o SettleOptions) error {
	op := s.view.Operation
	if _, all := dispatch.AllAccounted(s.view.Attempts); !all {
		s.res.Next = strings.Join(s.ways, "\n")
		return nil // accountAll said what is missing
	}
	if len(s.view.Attempts) == 0 {
		if done, err := e.cancel(ctx, s, o); done || err != nil {
			return err
		}
	} else {
		if rejected, err := e.Store.LateReject(ctx, op.ID, op.Owner); err == nil {
			s.moved(e, rejected)
			return nil
		} else if _, refused := refusal.As(err); !refused {
			return err
		}
		if done, err := e.observeAndFinish(ctx, s, o); done || err != nil {
			return err
		}
	}
	if !o.Retry {
		if len(s.view.Attempts) == 0 {
			s.missing("nothing was attempted yet, and its approval may still admit an attempt")
		}
		s.res.Next = "clew settle " + op.ID + " --retry"
		s.done = len(s.view.Attempts) == 0
		return nil
	}
	return e.retry(ctx, s)
}

// cancel ends an operation that nothing was ever attempted of, where the rules admit it.
func (e *Executor) cancel(ctx context.Context, s *settling, o SettleOptions) (bool, error) {
	var who *ledger.Actor
	reason := "nothing was attempted, and nothing can be any more"
	if o.Judge != nil {
		who, reason = &o.Judge.Who, o.Judge.Reason
	}
	done, err := e.Store.CancelOperation(ctx, s.view.Operation.ID, s.view.Operation.Owner, who, reason)
	if _, refused := refusal.As(err); refused {
		if o.Judge != nil {
			return false, err
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.moved(e, done)
	return true, nil
}

// observeAndFinish makes a completion observation and offers it as an end.
func (e *Executor) observeAndFinish(ctx context.Context, s *settling, o SettleOptions) (bool, error) {
	op := s.view.Operation
	readCtx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	obs, err := e.observeAnew(readCtx, s.target(o), link{purpose: dispatch.ForCompletion, plan: op.Plan, operation: op.ID})
	if err != nil {
		s.missing("the machine could not be read: %v", err)
		return true, nil // a retry needs a reading too
	}
	done, err := e.Store.Finish(ctx, op.ID, op.Owner, obs.Basis)
	if err == nil {
		s.moved(e, done)
		return true, nil
	}
	r, refused := refusal.As(err)
	if !refused {
		return true, err
	}
	if r.Comparison == 7 {
		s.done = true
		return true, err
	}
	s.missing("%s", r.Message)
	if obs.Reading.Active.Digest == s.view.Plan.Expected && dispatch.NeverAgain(s.caseNow(obs)) == "" {
		// Nothing landed and nothing is under way: only a retry moves it. Another round would read the same.
		s.done = !o.Retry
	}
	return false, nil
}

// caseNow is the loaded case at the observation's time, for a forecast of what the store will decide by its own clock.
func (s *settling) caseNow(o dispatch.Observation) dispatch.Case {
	v := s.view
	return dispatch.Case{
		Op: v.Operation, Plan: v.Plan, Standing: v.Standing, Approvals: v.Approvals, Attempts: v.Attempts, Machine: v.Machine,
		Epoch: v.Operation.Owner.Epoch, Now: o.StartedAt,
	}
}

// retry gathers new evidence, classifies, and sends once more. A reading of the artifact's digest completes instead.
func (e *Executor) retry(ctx context.Context, s *settling) error {
	op := s.view.Operation
	j := &job{plan: s.view.Plan, by: op.Owner, target: s.target(SettleOptions{})}
	defer j.close()
	if err := e.Store.Precheck(ctx, op.Plan, e.actor()); err != nil {
		s.done = true
		return err
	}
	if err := e.evidence(ctx, j, link{purpose: dispatch.ForEvidence, plan: op.Plan, operation: op.ID}); err != nil {
		if _, refused := refusal.As(err); refused {
			return err
		}
		s.missing("no evidence for a retry: %v", err)
		return nil
	}
	if err := e.gate(ctx, "evidence"); err != nil {
		return err
	}
	if done, err := e.Store.Finish(ctx, op.ID, op.Owner, j.basis); err == nil {
		s.moved(e, done)
		return nil
	}
	classified, err := e.Store.Classify(ctx, op.ID, op.Owner, j.basis)
	if err != nil {
		if r, refused := refusal.As(err); refused {
			s.missing("%s", r.Message)
			return nil
		}
		return err
	}
	moved, err := e.attemptAndSend(ctx, j, classified)
	s.moved(e, moved)
	if err != nil {
		s.done = true
		return err
	}
	if moved.State == dispatch.Verifying {
		moved, err = e.verify(ctx, j, moved)
		s.moved(e, moved)
	}
	s.res.Attempts++
	return err
}
