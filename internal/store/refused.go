package store

import (
	"context"
	"fmt"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// recordRefusalFor bounds the recording of a refusal, which does not end with the caller's context.
const recordRefusalFor = 30 * time.Second

// refused records a refusal in a transaction of its own, with what then follows from it, and returns the refusal. The
// refusal stands whether or not it could be recorded; its text says so when it could not.
func (s *Store) refused(ctx context.Context, b binding, r *refusal.Refusal, actor ledger.Actor, then func(tx *Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordRefusalFor)
	defer cancel()
	err := s.update(ctx, b.locks(), "the refusal of "+b.plan, func(tx *Tx) error {
		body := dispatch.Body{Code: r.Code, Tx: r.Transaction, Text: r.Message, PlanID: b.plan}
		if r.Comparison != refusal.None {
			body.Comparison = &r.Comparison
		}
		if _, err := tx.append(b.scope(), dispatch.EntryRefused, actor, b.links(), body); err != nil {
			return err
		}
		if then == nil {
			return nil
		}
		return then(tx)
	})
	if err != nil {
		// Not wrapped: what became of the recording must not be taken for what became of the transaction.
		return fmt.Errorf("%w (this refusal was not recorded: %v)", r, err)
	}
	return r
}
