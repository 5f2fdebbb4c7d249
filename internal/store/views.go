package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/clewops/clew/internal/dispatch"
)

// PlanView is a plan as it counts now: its standing says expired once its time is over, and revoked once too few
// approvals of unrevoked identities are left, whether or not its timeline tells of it yet.
type PlanView struct {
	Plan      dispatch.Plan
	Standing  dispatch.Standing
	Approvals []dispatch.Approval // oldest first, revoked ones too
	Operation *dispatch.Operation // nil before the commitment
}

// PlanFilter narrows a list of plans. The zero filter takes all.
type PlanFilter struct {
	Machine string // its id
	Rollout string
}

// Plan reads one plan.
func (s *Store) Plan(ctx context.Context, id string) (PlanView, error) {
	var v PlanView
	err := s.view(ctx, func(tx *Tx) error {
		p, err := tx.plan(id)
		if err != nil {
			return err
		}
		v, err = tx.planView(p)
		return err
	})
	return v, err
}

// Plans lists plans, the newest first.
func (s *Store) Plans(ctx context.Context, f PlanFilter) ([]PlanView, error) {
	var out []PlanView
	err := s.view(ctx, func(tx *Tx) error {
		plans, err := list(tx, scanPlan, selectPlan+` WHERE ($1 = '' OR machine = $1) AND ($2 = '' OR rollout = $2)`,
			f.Machine, f.Rollout)
		if err != nil {
			return err
		}
		slices.SortFunc(plans, func(a, b planRow) int { // revisions of different machines have no common order
			return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.ID, b.ID))
		})
		for _, p := range plans {
			v, err := tx.planView(p)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		return nil
	})
	return out, err
}

func (tx *Tx) planView(p planRow) (PlanView, error) {
	v := PlanView{Plan: p.Plan}
	approvals, err := tx.approvals(p.ID)
	if err != nil {
		return v, err
	}
	v.Approvals = plainApprovals(approvals)
	if v.Operation, err = tx.operationOf(p.ID); err != nil {
		return v, err
	}
	epoch, err := tx.epoch()
	if err != nil {
		return v, err
	}
	v.Standing = dispatch.StandingNow(p.Plan, p.Standing, v.Approvals, epoch, tx.Now())
	return v, nil
}

// PlanAndMachine reads a plan and its machine.
func (s *Store) PlanAndMachine(ctx context.Context, id string) (dispatch.Plan, dispatch.Machine, error) {
	var p planRow
	var m dispatch.Machine
	err := s.view(ctx, func(tx *Tx) (err error) {
		if p, err = tx.plan(id); err != nil {
			return err
		}
		m, err = tx.machine(p.Machine)
		return err
	})
	return p.Plan, m, err
}

// Operation reads an operation with everything that its next step depends on, and whether its owner counts as stopped.
func (s *Store) Operation(ctx context.Context, id string) (dispatch.OperationView, error) {
	var v dispatch.OperationView
	err := s.view(ctx, func(tx *Tx) error {
		op, err := tx.operation(id)
		if err != nil {
			return err
		}
		v, err = tx.operationView(op)
		return err
	})
	return v, err
}

// OpenOperations are all that hold a machine's scope.
func (s *Store) OpenOperations(ctx context.Context) ([]dispatch.OperationView, error) {
	return s.operations(ctx, ` WHERE state IN `+holding+` ORDER BY machine`)
}

// MachineOperations are all of one machine, the newest first.
func (s *Store) MachineOperations(ctx context.Context, machine string) ([]dispatch.OperationView, error) {
	return s.operations(ctx, ` WHERE machine = $1 ORDER BY revision DESC`, machine)
}

func (s *Store) operations(ctx context.Context, where string, args ...any) ([]dispatch.OperationView, error) {
	var out []dispatch.OperationView
	err := s.view(ctx, func(tx *Tx) error {
		ops, err := list(tx, scanOperation, selectOperation+where, args...)
		if err != nil {
			return err
		}
		for _, op := range ops {
			v, err := tx.operationView(op)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		return nil
	})
	return out, err
}

func (tx *Tx) operationView(op dispatch.Operation) (dispatch.OperationView, error) {
	c, err := tx.caseOf(op)
	if err != nil {
		return dispatch.OperationView{}, err
	}
	v := dispatch.OperationView{
		Operation: op, Attempts: c.Attempts, Plan: c.Plan, Standing: c.Standing, Approvals: c.Approvals, Machine: c.Machine,
	}
	if op.State.Holding() {
		v.OwnerStopped, err = tx.instanceStopped(op.Owner.Instance)
	}
	return v, err
}

// Rollout reads a rollout; ErrNotFound before a plan binds it.
func (s *Store) Rollout(ctx context.Context, id string) (dispatch.RolloutRow, error) {
	var out dispatch.RolloutRow
	err := s.view(ctx, func(tx *Tx) error {
		r, err := tx.rolloutRow(id)
		if err == nil && r == nil {
			return unknownRecord("rollout", id)
		}
		if r != nil {
			out = *r
		}
		return err
	})
	return out, err
}

// Drifts are all drift records of a machine, the oldest first.
func (s *Store) Drifts(ctx context.Context, machine string) ([]dispatch.Drift, error) {
	var out []dispatch.Drift
	err := s.view(ctx, func(tx *Tx) (err error) {
		out, err = tx.drifts(machine)
		return err
	})
	return out, err
}
