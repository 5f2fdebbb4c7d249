package executor

import (
	"context"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

// pollEvery is the pause between completion observations.
const pollEvery = time.Second

// verify polls completion observations until one shows the postconditions or the verification deadline passes. It reads
// on the sending connection while that lasts, and dials anew when it is gone. A failed read decides nothing.
func (e *Executor) verify(ctx context.Context, j *job, op dispatch.Operation) (dispatch.Operation, error) {
	if err := e.gate(ctx, "verify"); err != nil {
		return op, err
	}
	e.say(Progress{Plan: j.plan.ID, Operation: op.ID, Machine: j.target.Machine.Name, Step: "verify", Text: "verifying on the node"})
	for {
		o, err := e.observeOnce(ctx, j, op)
		if err == nil {
			if gerr := e.gate(ctx, "complete"); gerr != nil {
				return op, gerr
			}
			done, ferr := e.Store.Finish(ctx, op.ID, j.by, o.Basis)
			if ferr == nil {
				return done, nil
			}
			if !mayWait(ferr) {
				return e.reload(ctx, op), ferr
			}
			if mayHaveEnded(ferr) {
				if now := e.reload(ctx, op); now.State != dispatch.Verifying && now.Owner == op.Owner {
					return now, nil
				}
			}
		} else {
			e.log().Info("completion observation failed", "operation", op.ID, "error", err)
		}
		if ctx.Err() != nil {
			return op, ctx.Err()
		}
		now, err := e.Store.Now(ctx)
		if err == nil && now.After(op.VerifyUntil) {
			return e.overdue(ctx, j, op)
		}
		if err := e.pause(ctx, pollEvery); err != nil {
			return op, err
		}
	}
}

// mayWait says whether an end that was refused or failed may still come: the rule may be met later, the store may come
// back. Only lost ownership is final.
func mayWait(err error) bool {
	r, refused := refusal.As(err)
	return !refused || r.Comparison != 7
}

// mayHaveEnded says whether an end that reported an error may have taken effect all the same: its answer was lost, now or
// at an earlier try.
func mayHaveEnded(err error) bool {
	r, refused := refusal.As(err)
	return !refused || r.Code == "no-transition"
}

func (e *Executor) observeOnce(ctx context.Context, j *job, op dispatch.Operation) (dispatch.Observation, error) {
	l := link{purpose: dispatch.ForCompletion, plan: j.plan.ID, operation: op.ID}
	readCtx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	o, err := e.observe(readCtx, j.conn, j.target, l)
	if err == nil {
		return o, nil
	}
	conn, derr := e.Nodes.Dial(readCtx, j.target)
	if derr != nil {
		return o, err
	}
	j.conn.Abort()
	j.conn = conn
	return e.observe(readCtx, conn, j.target, l)
}

// readDeadline bounds one read of a node.
const readDeadline = 10 * time.Second

// overdue ends the verification at its deadline: a last contradiction fails it, otherwise it is unresolved.
func (e *Executor) overdue(ctx context.Context, j *job, op dispatch.Operation) (dispatch.Operation, error) {
	if o, err := e.observeOnce(ctx, j, op); err == nil {
		if done, err := e.Store.Finish(ctx, op.ID, j.by, o.Basis); err == nil {
			return done, nil
		}
	}
	moved, err := e.Store.Overdue(ctx, op.ID, j.by)
	if err == nil {
		return moved, nil
	}
	now := e.reload(ctx, op)
	if mayHaveEnded(err) && now.State != dispatch.Verifying && now.Owner == op.Owner {
		return now, nil
	}
	return now, err
}

// pause waits d or until the context ends.
func (e *Executor) pause(ctx context.Context, d time.Duration) error {
	if e.Pause != nil {
		return e.Pause(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
