package store

import (
	"context"

	"github.com/clewops/clew/internal/dispatch"
)

// DropIndexesFor lists the statements that take the indexes of these guards away. A guard that a control removes must go
// in all its layers, or the control would only show that the next layer holds.
func DropIndexesFor(w dispatch.Without) []string {
	var out []string
	if w.Has(dispatch.GuardOneOperation) {
		out = append(out, `DROP INDEX IF EXISTS i12_one_operation_per_plan`)
	}
	if w.Has(dispatch.GuardScope) {
		out = append(out, `DROP INDEX IF EXISTS i1_one_uncertain_operation`)
	}
	return out
}

// dropIndexes takes guards' indexes away from a store in which nothing was ever registered: never from one that is in use.
func (s *Store) dropIndexes(ctx context.Context) error {
	drops := DropIndexesFor(s.cfg.Without)
	if len(drops) == 0 {
		return nil
	}
	return s.update(ctx, locks{}, "the removal of guards", func(tx *Tx) error {
		var machines int64
		err := tx.row(`SELECT COUNT(*) FROM machines`).Scan(&machines)
		if err != nil {
			return err
		}
		if machines > 0 {
			return nil // another process of the control was first, or the store is no control's: then its indexes stay
		}
		for _, d := range drops {
			if _, err := tx.exec(d); err != nil {
				return err
			}
		}
		return nil
	})
}
