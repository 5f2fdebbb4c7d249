package store

import (
	"context"
	"errors"
	"testing"

	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// A refusal that cannot be recorded is still the refusal, and what became of its recording is never taken for what became
// of the transaction.
func TestARefusalStandsWhenItIsNotRecorded(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		r := &refusal.Refusal{Transaction: "commitment", Comparison: 1, Code: "plan-revoked", Message: "it was revoked"}
		b := binding{plan: "p-1", machine: "m-1"}
		for _, cause := range []error{errors.New("no space left"), &refusal.Unknown{What: "the refusal was recorded", Err: errors.New("gone")}} {
			err := s.refused(context.Background(), b, r, ledger.Actor{}, func(*Tx) error { return cause })
			if got, ok := refusal.As(err); !ok || got != r {
				t.Errorf("got %v, want the refusal", err)
			}
			if _, unknown := refusal.AsUnknown(err); unknown {
				t.Errorf("the outcome is said to be unknown: %v", err)
			}
		}
		if entries, err := s.Entries(context.Background(), EntryFilter{Scopes: []string{ledger.Machine}}); err != nil || len(entries) != 0 {
			t.Errorf("%d entries are left of recordings that failed, %v", len(entries), err)
		}
		// The caller's context does not cut the recording short.
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.refused(ctx, b, r, ledger.Actor{}, nil); !errors.Is(err, error(r)) {
			t.Errorf("got %v", err)
		}
		if entries, err := s.Entries(context.Background(), EntryFilter{Scopes: []string{ledger.Machine}}); err != nil || len(entries) != 1 {
			t.Errorf("%d entries, %v", len(entries), err)
		}
	})
}
