package executor

import (
	"context"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// faultStore is the store as a process that may crash inside a call sees it: then no call comes back.
type faultStore struct {
	Store
	p *process
}

func (s faultStore) StartRead(ctx context.Context, o dispatch.Observation) (basis int64, err error) {
	defer s.p.alive()
	return s.Store.StartRead(ctx, o)
}

func (s faultStore) RecordRead(ctx context.Context, o dispatch.Observation) (dispatch.Observation, dispatch.DriftChange, error) {
	defer s.p.alive()
	return s.Store.RecordRead(ctx, o)
}

func (s faultStore) FailRead(ctx context.Context, machine string, basis int64, instance, reason string) error {
	defer s.p.alive()
	return s.Store.FailRead(ctx, machine, basis, instance, reason)
}

func (s faultStore) Precheck(ctx context.Context, plan string, who ledger.Actor) error {
	defer s.p.alive()
	return s.Store.Precheck(ctx, plan, who)
}

func (s faultStore) Commit(ctx context.Context, r dispatch.CommitRequest) (dispatch.Operation, error) {
	defer s.p.alive()
	return s.Store.Commit(ctx, r)
}

func (s faultStore) Attempt(ctx context.Context, r dispatch.AttemptRequest) (dispatch.AttemptResult, error) {
	defer s.p.alive()
	return s.Store.Attempt(ctx, r)
}

func (s faultStore) FindToken(ctx context.Context, machine, token string, by dispatch.Owner) (dispatch.Found, error) {
	defer s.p.alive()
	return s.Store.FindToken(ctx, machine, token, by)
}

func (s faultStore) StillMine(ctx context.Context, operation string, attempt int, by dispatch.Owner) (mine bool, err error) {
	err = s.p.local("still mine", func() (err error) {
		mine, err = s.Store.StillMine(ctx, operation, attempt, by)
		return err
	})
	return mine, err
}

func (s faultStore) RecordResponse(ctx context.Context, operation string, attempt int, by dispatch.Owner, r dispatch.Response) (dispatch.Operation, error) {
	defer s.p.alive()
	return s.Store.RecordResponse(ctx, operation, attempt, by, r)
}

func (s faultStore) RecordOrphan(ctx context.Context, machine, operation string, attempt int, by dispatch.Owner, r dispatch.Response) error {
	defer s.p.alive()
	return s.Store.RecordOrphan(ctx, machine, operation, attempt, by, r)
}

func (s faultStore) RecordNotSent(ctx context.Context, operation string, attempt int, by dispatch.Owner, reason string) (dispatch.Operation, error) {
	defer s.p.alive()
	return s.Store.RecordNotSent(ctx, operation, attempt, by, reason)
}

func (s faultStore) AccountByEvidence(ctx context.Context, operation string, attempt int, by dispatch.Owner, a dispatch.Accounting) (dispatch.Operation, error) {
	defer s.p.alive()
	return s.Store.AccountByEvidence(ctx, operation, attempt, by, a)
}

func (s faultStore) AccountByDecision(ctx context.Context, operation string, attempt int, who ledger.Actor, d dispatch.Decision) (dispatch.Operation, error) {
	defer s.p.alive()
	return s.Store.AccountByDecision(ctx, operation, attempt, who, d)
}

func (s faultStore) Classify(ctx context.Context, operation string, by dispatch.Owner, basis int64) (dispatch.Operation, error) {
	defer s.p.alive()
	return s.Store.Classify(ctx, operation, by, basis)
}

func (s faultStore) Finish(ctx context.Context, operation string, by dispatch.Owner, basis int64) (dispatch.Operation, error) {
	defer s.p.alive()
	return s.Store.Finish(ctx, operation, by, basis)
}

func (s faultStore) Overdue(ctx context.Context, operation string, by dispatch.Owner) (dispatch.Operation, error) {
	defer s.p.alive()
	return s.Store.Overdue(ctx, operation, by)
}

func (s faultStore) LateReject(ctx context.Context, operation string, by dispatch.Owner) (dispatch.Operation, error) {
	defer s.p.alive()
	return s.Store.LateReject(ctx, operation, by)
}

func (s faultStore) CancelOperation(ctx context.Context, operation string, by dispatch.Owner, who *ledger.Actor, reason string) (dispatch.Operation, error) {
	defer s.p.alive()
	return s.Store.CancelOperation(ctx, operation, by, who, reason)
}

func (s faultStore) Operation(ctx context.Context, id string) (dispatch.OperationView, error) {
	defer s.p.alive()
	return s.Store.Operation(ctx, id)
}

func (s faultStore) OpenOperations(ctx context.Context) ([]dispatch.OperationView, error) {
	defer s.p.alive()
	return s.Store.OpenOperations(ctx)
}

func (s faultStore) TakeOver(ctx context.Context, operation string, generation int64, instance, why string) (dispatch.Operation, error) {
	defer s.p.alive()
	return s.Store.TakeOver(ctx, operation, generation, instance, why)
}

func (s faultStore) InstanceStopped(ctx context.Context, instance string) (string, error) {
	defer s.p.alive()
	return s.Store.InstanceStopped(ctx, instance)
}

func (s faultStore) PlanAndMachine(ctx context.Context, plan string) (dispatch.Plan, dispatch.Machine, error) {
	defer s.p.alive()
	return s.Store.PlanAndMachine(ctx, plan)
}

func (s faultStore) Artifact(ctx context.Context, digest string) (string, error) {
	defer s.p.alive()
	return s.Store.Artifact(ctx, digest)
}

func (s faultStore) Epoch(ctx context.Context) (epoch string, inRecovery bool, err error) {
	defer s.p.alive()
	return s.Store.Epoch(ctx)
}

func (s faultStore) Now(ctx context.Context) (time.Time, error) {
	defer s.p.alive()
	return s.Store.Now(ctx)
}

func (s faultStore) SyncHead(ctx context.Context) error {
	return s.p.local("sync head", func() error { return s.Store.SyncHead(ctx) })
}
