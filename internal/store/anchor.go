package store

import (
	"context"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

const (
	anchorEvery = 30 * time.Second

	// anchorsPerEntry bounds one entry; a large backlog takes several.
	anchorsPerEntry = 2000
)

// AnchorBody is the body of an EntryAnchored: the heads that moved since they were last anchored. A scope's entry up to
// such a head can no longer be cut off or lost without that showing.
type AnchorBody struct {
	Heads []ledger.Head `json:"heads"`
}

// Anchor records the heads that moved, in the installation's chain, and says how many there were. It runs outside
// commitments and attempts and waits for none of them.
func (s *Store) Anchor(ctx context.Context) (int, error) {
	total := 0
	for {
		n, err := s.anchorSome(ctx)
		total += n
		if err != nil || n < anchorsPerEntry {
			return total, err
		}
	}
}

func (s *Store) anchorSome(ctx context.Context) (int, error) {
	if s.Restored() != nil {
		return 0, nil // recovery begins the chain's next part; anchors of a restored state would hide it
	}
	s.moved.Store(false)
	var n int
	err := s.update(ctx, locks{others: []ledger.Scope{installationScope}}, "the anchoring of heads", func(tx *Tx) error {
		heads, err := tx.unanchored(anchorsPerEntry)
		if err != nil || len(heads) == 0 {
			return err
		}
		for _, h := range heads {
			if _, err := tx.exec(`INSERT INTO anchored (kind, id, revision) VALUES ($1, $2, $3)
				ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision`, h.Scope.Kind, h.Scope.ID, h.Revision); err != nil {
				return err
			}
		}
		epoch, err := tx.epoch()
		if err != nil {
			return err
		}
		n = len(heads)
		_, err = tx.append(installationScope, dispatch.EntryAnchored, ledger.Actor{Epoch: epoch}, nil, AnchorBody{Heads: heads})
		return err
	})
	if err != nil {
		s.moved.Store(true)
		return 0, err
	}
	return n, nil
}

// unanchored are the committed heads of scopes that moved since they were anchored, in the order of kind and id.
func (tx *Tx) unanchored(limit int) ([]ledger.Head, error) {
	return list(tx, scanHead, `SELECT s.kind, s.id, s.revision, s.hash FROM scopes s
		LEFT JOIN anchored a ON a.kind = s.kind AND a.id = s.id
		WHERE s.kind <> $1 AND s.revision > COALESCE(a.revision, 0) ORDER BY s.kind, s.id LIMIT $2`,
		ledger.Installation, limit)
}

func (s *Store) startAnchoring() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.anchorer.Go(func() {
		t := time.NewTicker(s.cfg.AnchorEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				if s.moved.Load() {
					s.anchorQuietly(ctx)
				}
			}
		}
	})
}

// stopAnchoring ends the goroutine and anchors what this process left. A process that only read writes nothing.
func (s *Store) stopAnchoring(ctx context.Context) {
	if s.stop == nil {
		return // opened to be inspected
	}
	s.stop()
	s.anchorer.Wait()
	if s.moved.Load() {
		s.anchorQuietly(ctx)
	}
}

// anchorQuietly: work that was done stays done when an anchor fails; the next one catches up.
func (s *Store) anchorQuietly(ctx context.Context) {
	if _, err := s.Anchor(ctx); err != nil && ctx.Err() == nil {
		s.cfg.Log.Warn("the heads were not anchored", "error", err)
	}
}
