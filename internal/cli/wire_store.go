package cli

import (
	"context"

	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/store"
)

// executorStore is the store as the executor knows it.
type executorStore struct{ *store.Store }

// Epoch implements executor.Plans.
func (s executorStore) Epoch(ctx context.Context) (string, error) {
	epoch, _, err := s.Store.Epoch(ctx)
	return epoch, err
}

var _ executor.Store = executorStore{}
