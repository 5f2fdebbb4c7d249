package sim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// steps is the real store as one process sees it: before each call that writes, or that a decision rests on, the process
// can be stopped, and each call can fail or lose its answer. Between the send guard's last look and the write to the
// socket nothing can happen: that window is one that the contract leaves open.
type steps struct{ p *proc }

// through makes a call to the store as a step of its own.
func through[T any](p *proc, step string, call func() (T, error)) (T, error) {
	p.pause(step)
	return faulty(p, step, call)
}

// faulty makes a call as the process' fault says.
func faulty[T any](p *proc, step string, call func() (T, error)) (T, error) {
	var zero T
	f := p.fault
	p.fault = noFault
	p.s.wrote = true
	lost := &refusal.Unknown{What: step, Err: errAway}
	switch f {
	case failing:
		return zero, errAway
	case lostGone:
		return zero, lost
	case lostKept:
		if got, err := call(); err != nil {
			return got, err // it never came to the COMMIT
		}
		return zero, lost
	case noFault:
	}
	return call()
}

// nothing fits calls without a result into through.
type nothing = struct{}

func only(err error) (nothing, error) { return nothing{}, err }

func (x *steps) StartRead(ctx context.Context, o dispatch.Observation) (int64, error) {
	return through(x.p, "begin a read", func() (int64, error) { return x.p.store().StartRead(ctx, o) })
}

func (x *steps) RecordRead(ctx context.Context, o dispatch.Observation) (dispatch.Observation, dispatch.DriftChange, error) {
	change := dispatch.DriftNone
	o, err := through(x.p, "record the read", func() (got dispatch.Observation, err error) {
		got, change, err = x.p.store().RecordRead(ctx, o)
		return got, err
	})
	return o, change, err
}

func (x *steps) FailRead(ctx context.Context, machine string, basis int64, instance, reason string) error {
	_, err := through(x.p, "record a failed read", func() (nothing, error) {
		return only(x.p.store().FailRead(ctx, machine, basis, instance, reason))
	})
	return err
}

func (x *steps) Precheck(ctx context.Context, plan string, who ledger.Actor) error {
	_, err := through(x.p, "precheck", func() (nothing, error) { return only(x.p.store().Precheck(ctx, plan, who)) })
	return err
}

func (x *steps) Commit(ctx context.Context, q dispatch.CommitRequest) (dispatch.Operation, error) {
	return through(x.p, "commit", func() (dispatch.Operation, error) { return x.p.store().Commit(ctx, q) })
}

func (x *steps) Attempt(ctx context.Context, q dispatch.AttemptRequest) (dispatch.AttemptResult, error) {
	x.p.beganAt = x.p.s.elapsed
	return through(x.p, "attempt", func() (dispatch.AttemptResult, error) {
		r, err := x.p.store().Attempt(ctx, q)
		if err == nil {
			x.p.recorded(r.Attempt)
		}
		return r, err
	})
}

// recorded is the attempt that the process is about to send.
func (p *proc) recorded(a dispatch.Attempt) {
	p.sending, p.sentBy = dispatch.AttemptKey{Operation: a.Operation, Number: a.Number}, a.By
}

func (x *steps) FindToken(ctx context.Context, machine, token string, by dispatch.Owner) (dispatch.Found, error) {
	return through(x.p, "look up", func() (dispatch.Found, error) {
		f, err := x.p.store().FindToken(ctx, machine, token, by)
		if err == nil && f.Attempt != nil {
			x.p.recorded(*f.Attempt)
		}
		return f, err
	})
}

// StillMine is the send guard's last look, after which the request leaves at once.
func (x *steps) StillMine(ctx context.Context, operation string, attempt int, by dispatch.Owner) (bool, error) {
	return faulty(x.p, "look at the attempt", func() (bool, error) { return x.p.store().StillMine(ctx, operation, attempt, by) })
}

func (x *steps) SyncHead(ctx context.Context) error {
	_, err := through(x.p, "sync the head", func() (nothing, error) { return only(x.p.store().SyncHead(ctx)) })
	x.p.pause("look at the attempt")
	return err
}

func (x *steps) RecordResponse(ctx context.Context, operation string, attempt int, by dispatch.Owner, r dispatch.Response) (dispatch.Operation, error) {
	return through(x.p, "record the answer", func() (dispatch.Operation, error) {
		return x.p.store().RecordResponse(ctx, operation, attempt, by, r)
	})
}

func (x *steps) RecordOrphan(ctx context.Context, machine, operation string, attempt int, by dispatch.Owner, r dispatch.Response) error {
	_, err := through(x.p, "record an orphan", func() (nothing, error) {
		return only(x.p.store().RecordOrphan(ctx, machine, operation, attempt, by, r))
	})
	return err
}

func (x *steps) RecordNotSent(ctx context.Context, operation string, attempt int, by dispatch.Owner, reason string) (dispatch.Operation, error) {
	return through(x.p, "record that it was not sent", func() (dispatch.Operation, error) {
		return x.p.store().RecordNotSent(ctx, operation, attempt, by, reason)
	})
}

func (x *steps) AccountByEvidence(ctx context.Context, operation string, attempt int, by dispatch.Owner, a dispatch.Accounting) (dispatch.Operation, error) {
	return through(x.p, "account by evidence", func() (dispatch.Operation, error) {
		return x.p.store().AccountByEvidence(ctx, operation, attempt, by, a)
	})
}

func (x *steps) AccountByDecision(ctx context.Context, operation string, attempt int, who ledger.Actor, d dispatch.Decision) (dispatch.Operation, error) {
	return through(x.p, "account by decision", func() (dispatch.Operation, error) {
		return x.p.store().AccountByDecision(ctx, operation, attempt, who, d)
	})
}

func (x *steps) Classify(ctx context.Context, operation string, by dispatch.Owner, basis int64) (dispatch.Operation, error) {
	return through(x.p, "classify", func() (dispatch.Operation, error) { return x.p.store().Classify(ctx, operation, by, basis) })
}

func (x *steps) Finish(ctx context.Context, operation string, by dispatch.Owner, basis int64) (dispatch.Operation, error) {
	return through(x.p, "finish", func() (dispatch.Operation, error) { return x.p.store().Finish(ctx, operation, by, basis) })
}

func (x *steps) Overdue(ctx context.Context, operation string, by dispatch.Owner) (dispatch.Operation, error) {
	return through(x.p, "overdue", func() (dispatch.Operation, error) { return x.p.store().Overdue(ctx, operation, by) })
}

func (x *steps) LateReject(ctx context.Context, operation string, by dispatch.Owner) (dispatch.Operation, error) {
	return through(x.p, "late reject", func() (dispatch.Operation, error) { return x.p.store().LateReject(ctx, operation, by) })
}

func (x *steps) CancelOperation(ctx context.Context, operation string, by dispatch.Owner, who *ledger.Actor, reason string) (dispatch.Operation, error) {
	return through(x.p, "cancel", func() (dispatch.Operation, error) {
		return x.p.store().CancelOperation(ctx, operation, by, who, reason)
	})
}

func (x *steps) TakeOver(ctx context.Context, operation string, generation int64, instance, why string) (dispatch.Operation, error) {
	return through(x.p, "take over", func() (dispatch.Operation, error) {
		return x.p.store().TakeOver(ctx, operation, generation, instance, why)
	})
}

// Adopt implements executor.Adopter.
func (x *steps) Adopt(ctx context.Context, plan string, by dispatch.Owner, basis int64) (dispatch.Operation, error) {
	return through(x.p, "adopt", func() (dispatch.Operation, error) { return x.p.store().Adopt(ctx, plan, by, basis) })
}

// What follows only reads, and what is read is compared again by whatever transaction uses it: no steps of their own.

func (x *steps) Operation(ctx context.Context, id string) (dispatch.OperationView, error) {
	return x.p.store().Operation(ctx, id)
}

// OpenOperations come in an order that does not depend on random ids, so that a history repeats.
func (x *steps) OpenOperations(ctx context.Context) ([]dispatch.OperationView, error) {
	open, err := x.p.store().OpenOperations(ctx)
	slices.SortFunc(open, func(a, b dispatch.OperationView) int { return cmp.Compare(a.Machine.Name, b.Machine.Name) })
	return open, err
}

func (x *steps) InstanceStopped(ctx context.Context, instance string) (string, error) {
	return x.p.store().InstanceStopped(ctx, instance)
}

func (x *steps) PlanAndMachine(ctx context.Context, plan string) (dispatch.Plan, dispatch.Machine, error) {
	return x.p.store().PlanAndMachine(ctx, plan)
}

func (x *steps) Artifact(ctx context.Context, digest string) (string, error) {
	return x.p.store().Artifact(ctx, digest)
}

func (x *steps) Epoch(ctx context.Context) (string, bool, error) { return x.p.store().Epoch(ctx) }

func (x *steps) Now(ctx context.Context) (time.Time, error) { return x.p.store().Now(ctx) }
