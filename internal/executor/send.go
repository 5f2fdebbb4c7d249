package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

// attemptAndSend records the attempt, passes the send guard, sends once and records what came of it. The operation is
// returned as last known, also beside an error.
func (e *Executor) attemptAndSend(ctx context.Context, j *job, op dispatch.Operation) (dispatch.Operation, error) {
	local, remote := j.conn.Addrs()
	token := e.Token()
	began := e.Elapsed()
	e.say(Progress{Plan: j.plan.ID, Operation: op.ID, Machine: j.target.Machine.Name, Step: "attempt", Text: "recording the attempt"})
	res, err := e.Store.Attempt(ctx, dispatch.AttemptRequest{
		Operation: op.ID, By: j.by, Request: j.request(), Token: token,
		LocalAddr: local, RemoteAddr: remote, Host: e.Host, Sockets: j.base,
	})
	sendable := true
	if _, unknown := refusal.AsUnknown(err); unknown {
		found, ferr := e.lookUp(ctx, j, token)
		switch {
		case ferr != nil:
			return op, &refusal.Unknown{
				What: "an attempt of " + op.ID + " was recorded (nothing was sent)", Err: errors.Join(err, ferr),
				Remedy: "clew settle " + op.ID,
			}
		case !found.Found:
			return e.reload(ctx, op), fmt.Errorf("the attempt was not recorded, nothing was sent: %w", plain(err))
		}
		res, sendable, err = dispatch.AttemptResult{Operation: *found.Operation, Attempt: *found.Attempt}, found.Sendable, nil
	}
	if err != nil {
		return e.reload(ctx, op), err
	}
	// From here on an attempt is on record: what becomes of it is recorded whether or not the caller still waits.
	ctx = context.WithoutCancel(ctx)
	return e.send(ctx, j, res, began, sendable)
}

// send passes the guard, sends and records. Nothing that may block stands between the guard and the request, nor between
// the answer and its record: whoever shows progress to a terminal that was stopped, or to a pipe that nobody reads, waits.
func (e *Executor) send(ctx context.Context, j *job, res dispatch.AttemptResult, began time.Duration, sendable bool) (dispatch.Operation, error) {
	op, number := res.Operation, res.Attempt.Number
	e.say(Progress{Plan: j.plan.ID, Operation: op.ID, Machine: j.target.Machine.Name, Step: "send", Text: "sending"})
	if err := e.gate(ctx, "guard"); err != nil {
		return op, err
	}
	if why := e.guard(ctx, j, op, number, began, sendable); why != "" {
		return e.recordNotSent(ctx, j, op, number, why)
	}
	if err := e.gate(ctx, "send"); err != nil {
		return op, err
	}
	sendCtx, cancel := context.WithTimeout(ctx, j.plan.TransportDeadline)
	out := j.conn.Apply(sendCtx, j.config, j.plan.Mode)
	cancel()
	if err := e.gate(ctx, "response"); err != nil {
		return op, err
	}
	moved, err := e.recordOutcome(ctx, j, op, number, out)
	if out.Err != nil {
		e.log().Info("send", "operation", op.ID, "attempt", number, "class", string(out.Response.Class), "error", out.Err)
	}
	e.say(Progress{Plan: j.plan.ID, Operation: op.ID, Machine: j.target.Machine.Name, Step: "response", Text: describe(out)})
	return moved, err
}

// recordOutcome writes down what became of the request.
func (e *Executor) recordOutcome(ctx context.Context, j *job, op dispatch.Operation, number int, out Outcome) (dispatch.Operation, error) {
	if out.NeverLeft {
		return e.recordNotSent(ctx, j, op, number, "nothing of the request was written to the connection")
	}
	if out.Response.Class == dispatch.Inconclusive && !e.Without.Has(dispatch.GuardAbort) {
		j.conn.Abort()
	}
	moved, err := e.record(ctx, j, op, func(ctx context.Context) (dispatch.Operation, error) {
		return e.Store.RecordResponse(ctx, op.ID, number, j.by, out.Response)
	})
	if r, refused := refusal.As(err); refused && r.Code == "unknown-operation" {
		// A restore took the operation away while it was under way: the answer is kept as a fact all the same.
		_, oerr := e.record(ctx, j, op, func(ctx context.Context) (dispatch.Operation, error) {
			return op, e.Store.RecordOrphan(ctx, op.Machine, op.ID, number, j.by, out.Response)
		})
		return moved, errors.Join(err, oerr)
	}
	return moved, err
}

func describe(out Outcome) string {
	switch {
	case out.NeverLeft:
		return "nothing was sent"
	case out.Response.Class == dispatch.Accepted:
		return "accepted by the node"
	case out.Response.Class == dispatch.RejectedDef:
		return strings.TrimSuffix("rejected by the node: "+out.Response.Text, ": ") // the text may be withheld
	}
	return "no conclusive answer: unresolved"
}

// guard is the send guard: "" when the executor may write to the socket now. It sends only if its attempt transaction is
// known to have committed, less than the send window has passed since that transaction began, the head is durable, and an
// unlocked read still shows the attempt as its own. I2
func (e *Executor) guard(ctx context.Context, j *job, op dispatch.Operation, number int, began time.Duration, sendable bool) string {
	if e.Without.Has(dispatch.GuardSend) {
		return ""
	}
	if !sendable {
		return "the attempt was found recorded, but it is no longer this executor's to send"
	}
	if err := e.Store.SyncHead(ctx); err != nil {
		return "the local record of the ledger's head could not be written"
	}
	mine, err := e.Store.StillMine(ctx, op.ID, number, j.by)
	if err != nil {
		return "it could not be read whether the attempt is still this executor's"
	}
	if !mine {
		return "the attempt is no longer this executor's to send"
	}
	if since := e.Elapsed() - began; since >= dispatch.SendWindow {
		return fmt.Sprintf("%s have passed since the attempt was begun, at most %s may", since.Round(time.Millisecond), dispatch.SendWindow)
	}
	return ""
}

func (e *Executor) recordNotSent(ctx context.Context, j *job, op dispatch.Operation, number int, why string) (dispatch.Operation, error) {
	return e.record(ctx, j, op, func(ctx context.Context) (dispatch.Operation, error) {
		return e.Store.RecordNotSent(ctx, op.ID, number, j.by, why)
	})
}

// recordFor is how long recording is retried while the store is away. The outcome is in nobody else's memory.
const recordFor = 30 * time.Minute

// record writes an outcome, and retries while the store fails; a refusal is final. Nothing is sent again.
func (e *Executor) record(ctx context.Context, j *job, op dispatch.Operation, write func(context.Context) (dispatch.Operation, error)) (dispatch.Operation, error) {
	var said bool
	got, err := again(ctx, e, recordFor, func() (dispatch.Operation, error) {
		got, err := write(ctx)
		if _, refused := refusal.As(err); !refused && err != nil && !said {
			said = true
			e.say(Progress{Plan: op.Plan, Operation: op.ID, Machine: j.target.Machine.Name, Step: "wait", Text: "the store is away: the outcome is recorded when it is back"})
		}
		return got, err
	})
	if err != nil {
		if _, refused := refusal.As(err); refused {
			return e.reload(ctx, op), err
		}
		return op, &refusal.Unknown{What: "the outcome of " + op.ID + " was recorded", Err: err, Remedy: "clew settle " + op.ID}
	}
	return got, nil
}

// again calls a function that may be repeated until it succeeds or refuses, or the limit is over. It waits as the
// executor waits everywhere, by Pause, and counts by Elapsed.
func again[T any](ctx context.Context, e *Executor, limit time.Duration, call func() (T, error)) (T, error) {
	until := e.Elapsed() + limit
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval = 100*time.Millisecond, 2*time.Second
	for {
		got, err := call()
		if _, refused := refusal.As(err); err == nil || refused {
			return got, err
		}
		nap := pace.NextBackOff()
		if e.Elapsed()+nap > until {
			return got, err
		}
		if perr := e.pause(ctx, nap); perr != nil {
			return got, errors.Join(err, perr)
		}
	}
}

// lookUpFor is how long a lost COMMIT is looked up before its outcome is reported as unknown.
const lookUpFor = 2 * time.Minute

// lookUp finds out, under the scope lock, whether a transaction took effect. It is read-only and retried while the store
// is away.
func (e *Executor) lookUp(ctx context.Context, j *job, token string) (dispatch.Found, error) {
	ctx = context.WithoutCancel(ctx)
	e.say(Progress{Plan: j.plan.ID, Machine: j.target.Machine.Name, Step: "wait", Text: "the store's answer was lost: looking up what took effect"})
	return again(ctx, e, lookUpFor, func() (dispatch.Found, error) {
		return e.Store.FindToken(ctx, j.target.Machine.ID, token, j.by)
	})
}

// reload is the operation as the store has it, or as last known when the store cannot say.
func (e *Executor) reload(ctx context.Context, op dispatch.Operation) dispatch.Operation {
	if v, err := e.Store.Operation(ctx, op.ID); err == nil {
		return v.Operation
	}
	return op
}
