package store

import (
	"context"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// bindRollout makes a rollout's limits the smallest that its plans bind. It runs under the rollout's lock and writes an
// entry only when a limit becomes smaller, or at the first plan.
func (tx *Tx) bindRollout(p dispatch.Plan, actor ledger.Actor) error {
	if p.Rollout == nil {
		return nil
	}
	r, err := tx.rolloutRow(p.Rollout.ID)
	if err != nil {
		return err
	}
	after := dispatch.RolloutRow{ID: p.Rollout.ID, Limit: p.Rollout.Limit, MaxFailed: p.Rollout.MaxFailed}
	if r != nil {
		after = *r
		after.Limit, after.MaxFailed = min(r.Limit, p.Rollout.Limit), min(r.MaxFailed, p.Rollout.MaxFailed)
		if after.Limit == r.Limit && after.MaxFailed == r.MaxFailed {
			return nil
		}
	}
	return tx.writeRollout(after, dispatch.EntryRolloutBound, actor, nil, "")
}

// OpenRollout lets a rollout go on after failures: it takes an approver and a reason, and counts failures anew.
func (s *Store) OpenRollout(ctx context.Context, who Who, rolloutID, reason string) (dispatch.RolloutRow, error) {
	var out dispatch.RolloutRow
	if reason == "" {
		return out, refusal.New("rollout", "no-reason", "opening a rollout again needs a reason", "")
	}
	l := locks{identities: shared, rollout: rolloutID}
	err := s.update(ctx, l, "the opening of rollout "+rolloutID, func(tx *Tx) error {
		actor, err := tx.acting(who, RoleApprover)
		if err != nil {
			return err
		}
		r, err := tx.rolloutRow(rolloutID)
		if err != nil {
			return err
		}
		if r == nil {
			return unknownRecord("rollout", rolloutID)
		}
		out = *r
		out.Failed = 0
		if out.OpenedRevision, err = tx.next(rolloutScope(rolloutID)); err != nil {
			return err
		}
		return tx.writeRollout(out, dispatch.EntryRolloutOpened, actor, nil, reason)
	})
	return out, err
}
