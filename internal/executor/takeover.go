package executor

import (
	"context"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

// Recover takes over, at an executor's start, what stopped instances owned and left under way: committed, sending,
// verifying. What they left unresolved is taken over by whoever settles it: to own it without working on it would only
// keep that person waiting. It sends and classifies nothing. It returns the operations it now owns; one that another
// executor took first is left to it.
func (e *Executor) Recover(ctx context.Context) ([]string, error) {
	open, err := e.Store.OpenOperations(ctx)
	if err != nil {
		return nil, err
	}
	var taken []string
	for _, v := range open {
		if v.OwnerStopped == "" || v.Operation.Owner.Instance == e.Instance || v.Operation.State == dispatch.Unresolved {
			continue
		}
		op, err := e.Store.TakeOver(ctx, v.Operation.ID, v.Operation.Owner.Generation, e.Instance, v.OwnerStopped)
		if _, refused := refusal.As(err); refused {
			continue
		}
		if err != nil {
			return taken, err
		}
		taken = append(taken, op.ID)
	}
	return taken, nil
}
