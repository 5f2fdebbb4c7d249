package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/secret"
)

// job is one dispatch under way: what was read for it and the connection that will send it.
type job struct {
	plan   dispatch.Plan
	target Target
	config secret.Bytes
	conn   Conn
	by     dispatch.Owner
	basis  int64  // of the evidence
	base   []byte // the sockets' baseline before the send
}

func (j *job) request() dispatch.Request {
	return dispatch.Request{
		Artifact: j.plan.Artifact, Operation: j.plan.Operation, Mode: j.plan.Mode, Route: j.plan.Route, Address: j.plan.Address,
	}
}

func (j *job) close() {
	if j.conn != nil {
		j.conn.Abort()
	}
}

// actor is who asks and what runs for them, as a refusal records it.
func (e *Executor) actor() ledger.Actor {
	who := e.Who
	who.Instance = e.Instance
	return who
}

// Dispatch runs one approved plan to an end, or to unresolved. wait bounds how long it then keeps looking for evidence.
// A refusal, an unknown commitment and a failure are errors; an operation that exists is always in the result.
func (e *Executor) Dispatch(ctx context.Context, planID string, wait time.Duration) (Result, error) {
	plan, machine, err := e.Store.PlanAndMachine(ctx, planID)
	if err != nil {
		return Result{Plan: planID}, err
	}
	res := Result{Plan: planID, Machine: machine.Name}
	if err := e.Store.Precheck(ctx, planID, e.actor()); err != nil {
		return res, err
	}
	by, err := e.owner(ctx)
	if err != nil {
		return res, err
	}
	j := &job{plan: plan, by: by, target: Target{
		Machine: machine, Address: plan.Address, Route: plan.Route, Patience: plan.TransportDeadline,
	}}
	defer j.close()
	if err := e.evidence(ctx, j, link{purpose: dispatch.ForEvidence, plan: plan.ID}); err != nil {
		return res, err
	}
	if err := e.gate(ctx, "evidence"); err != nil {
		return res, err
	}
	e.say(Progress{Plan: plan.ID, Machine: machine.Name, Step: "commit", Text: "committing"})
	op, err := e.commit(ctx, j)
	if err != nil {
		return res, err
	}
	if err := e.gate(ctx, "committed"); err != nil {
		return e.result(res, op), err
	}
	return e.attemptAndFollow(ctx, j, op, res, wait)
}

// evidence decrypts and checks the artifact, dials, and reads the machine on the very connection that will send.
func (e *Executor) evidence(ctx context.Context, j *job, l link) error {
	armored, err := e.Store.Artifact(ctx, j.plan.Artifact)
	if err != nil {
		return fmt.Errorf("fetching the artifact: %w", err)
	}
	j.config, err = e.Keeper.Unseal(armored)
	if err != nil {
		return fmt.Errorf("decrypting the artifact: %w", err)
	}
	if d := dispatch.Digest(j.config.Reveal()); d != j.plan.Artifact {
		return &refusal.Refusal{
			Transaction: "evidence", Comparison: 2, Code: "artifact-changed",
			Message: "the stored artifact does not have the digest that the plan binds", Remedy: "clew verify",
		}
	}
	e.say(Progress{Plan: j.plan.ID, Machine: j.target.Machine.Name, Step: "evidence", Text: "reading the machine"})
	if j.conn, err = e.Nodes.Dial(ctx, j.target); err != nil {
		return fmt.Errorf("reaching %s (%s): %w", j.target.Machine.Name, j.target.Route, err)
	}
	o, err := e.observe(ctx, j.conn, j.target, l)
	if err != nil {
		return err
	}
	j.basis = o.Basis
	if j.base, err = j.conn.Baseline(ctx); err != nil {
		// Not a reason not to send: the attempt can then be accounted for by a response or a decision only.
		e.log().Info("no socket baseline before the send", "machine", j.target.Machine.ID, "error", err)
		j.base = nil
	}
	return nil
}

// commit runs C; a COMMIT whose answer was lost is looked up until it is known.
func (e *Executor) commit(ctx context.Context, j *job) (dispatch.Operation, error) {
	token := e.Token()
	op, err := e.Store.Commit(ctx, dispatch.CommitRequest{Plan: j.plan.ID, By: j.by, Who: e.Who, Request: j.request(), Token: token})
	if err == nil {
		return op, nil
	}
	if _, unknown := refusal.AsUnknown(err); !unknown {
		return dispatch.Operation{}, err
	}
	found, ferr := e.lookUp(ctx, j, token)
	switch {
	case ferr != nil:
		return dispatch.Operation{}, &refusal.Unknown{
			What: "plan " + j.plan.ID + " was committed", Err: errors.Join(err, ferr), Remedy: "clew show " + j.plan.ID,
		}
	case !found.Found:
		return dispatch.Operation{}, fmt.Errorf("the commitment of %s did not take effect: %w", j.plan.ID, plain(err))
	}
	return *found.Operation, nil
}

// plain takes the Unknown off an error whose outcome was found out since.
func plain(err error) error {
	if u, ok := refusal.AsUnknown(err); ok {
		return u.Err
	}
	return err
}

// attemptAndFollow records an attempt, sends it, and follows the operation to its end.
func (e *Executor) attemptAndFollow(ctx context.Context, j *job, op dispatch.Operation, res Result, wait time.Duration) (Result, error) {
	res = e.result(res, op)
	op, err := e.attemptAndSend(ctx, j, op)
	res = e.result(res, op)
	if err != nil {
		if r, refused := refusal.As(err); refused && r.Comparison == 1 {
			// The approval is gone and nothing was sent: nothing else can become of the operation.
			if cancelled, cerr := e.Store.CancelOperation(ctx, op.ID, j.by, nil, r.Message); cerr == nil {
				res = e.result(res, cancelled)
			}
		}
		return res, err
	}
	return e.follow(ctx, j, op, res, wait)
}

// follow verifies an accepted operation and settles an unresolved one, until an end or until wait is over.
func (e *Executor) follow(ctx context.Context, j *job, op dispatch.Operation, res Result, wait time.Duration) (Result, error) {
	if op.State == dispatch.Verifying {
		var err error
		if op, err = e.verify(ctx, j, op); err != nil {
			return e.result(res, op), err
		}
	}
	if op.State != dispatch.Unresolved || wait <= 0 {
		return e.result(res, op), nil
	}
	return e.Settle(ctx, op.ID, SettleOptions{Wait: wait})
}

func (e *Executor) result(r Result, op dispatch.Operation) Result {
	if op.ID == "" {
		return r
	}
	r.Operation, r.State, r.Reason = op.ID, op.State, op.Reason
	if op.State == dispatch.Unresolved {
		r.Next = "clew settle " + op.ID
	}
	return r
}
