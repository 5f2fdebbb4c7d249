package store

import (
	"database/sql"
	"errors"

	"github.com/clewops/clew/internal/dispatch"
)

// rolloutRow is a rollout, nil before a plan binds it.
func (tx *Tx) rolloutRow(id string) (*dispatch.RolloutRow, error) {
	r := dispatch.RolloutRow{ID: id}
	err := tx.row(`SELECT rlimit, max_failed, opened_revision, open_operations, failed FROM rollouts WHERE id = $1`, id).
		Scan(&r.Limit, &r.MaxFailed, &r.OpenedRevision, intoJSON(&r.Open), &r.Failed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

func (tx *Tx) saveRollout(r dispatch.RolloutRow) error {
	return tx.exec1(`INSERT INTO rollouts (id, rlimit, max_failed, opened_revision, open_operations, failed)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO UPDATE SET rlimit = excluded.rlimit, max_failed = excluded.max_failed,
		opened_revision = excluded.opened_revision, open_operations = excluded.open_operations, failed = excluded.failed`,
		r.ID, r.Limit, r.MaxFailed, r.OpenedRevision, asJSON(r.Open), r.Failed)
}

// openOf counts the operations of a rollout that hold a slot. Under the rollout's lock the number stands: every
// commitment into it and every end takes that lock.
func (tx *Tx) openOf(rollout string) (int, error) {
	var n int
	err := tx.row(`SELECT COUNT(*) FROM operations WHERE rollout = $1 AND state IN `+holding, rollout).Scan(&n)
	return n, err
}
