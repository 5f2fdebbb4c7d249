package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/ledger"
)

const revocationWorkers = 50

// Fifty workers record commitments without a pause, each on its own machine. A revocation gets its turn among them: few
// pass between its call and its end. With row locks it would starve.
func TestARevocationDoesNotStarve(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		admit(t, s)
		if _, err := s.CreateIdentity(ctx, ann, "bob", ledger.Asserted, []string{RoleApprover}); err != nil {
			t.Fatal(err)
		}
		var passed atomic.Int64
		work, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for i := range revocationWorkers {
			wg.Go(func() {
				machine := fmt.Sprintf("m-%03d", i)
				l := locks{machines: []string{machine}, identities: shared, installation: shared, guarded: true}
				for work.Err() == nil {
					err := s.update(ctx, l, "a commitment", func(tx *Tx) error {
						if _, err := tx.identity("bob"); err != nil {
							return err
						}
						_, err := tx.append(machineScope(machine), "test.written", ledger.Actor{}, nil, nil)
						return err
					})
					if err != nil {
						t.Error(err)
						return
					}
					passed.Add(1)
				}
			})
		}
		for passed.Load() < 2*revocationWorkers && !t.Failed() {
			time.Sleep(time.Millisecond) // polls a counter that the workers move
		}
		before, start := passed.Load(), time.Now()
		_, err := s.RevokeIdentity(ctx, ann, "bob", "left")
		took, between := time.Since(start), passed.Load()-before
		stop()
		wg.Wait()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("revoked in %s, %d commitments in between", took, between)
		limit := int64(revocationWorkers) + 10 // those that queued before it, and what the counter saw late
		if s.Engine() == string(config.Postgres) {
			limit = 4 * revocationWorkers // those that hold the lock or a connection
		}
		if between > limit {
			t.Errorf("%d commitments passed before the revocation, at most %d may", between, limit)
		}
	})
}
