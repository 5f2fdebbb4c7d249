package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest"
	"github.com/clewops/clew/internal/store/storetest/world"
)

const deadlockDetected = "40P01"

// TestOneOrderOfLocks: approvals and revocations of one machine's plans at once never wait for each other in a circle. The
// control lets one of the two transactions take its locks in the reverse order: PostgreSQL then has to end some of them.
func TestOneOrderOfLocks(t *testing.T) {
	for _, reversed := range []bool{false, true} {
		t.Run(map[bool]string{false: "in order", true: "control, one transaction in reverse"}[reversed], func(t *testing.T) {
			w := world.New(t, storetest.New(t, config.Postgres))
			n, err := deadlocks(w, reversed)
			if err != nil {
				t.Fatal(err)
			}
			if (n > 0) != reversed {
				t.Errorf("PostgreSQL ended %d transactions as deadlocked", n)
			}
		})
	}
}

// deadlocks lets revocations and approvals of one plan meet until PostgreSQL ends one, or long enough, and counts those.
func deadlocks(w *world.World, reversed bool) (int, error) {
	plan := w.Machine("w1").Approved(w.Config("next"))
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		found   int
		failed  error
	)
	end := time.Now().Add(3 * time.Second)
	if reversed {
		end = time.Now().Add(time.Minute)
	}
	over := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return found > 0 || failed != nil || time.Now().After(end)
	}
	work := func(name string, st *store.Store, call func(st *store.Store) error) {
		for !over() {
			err := call(st)
			var pg *pgconn.PgError
			mu.Lock()
			switch _, refused := refusal.As(err); {
			case err == nil || refused:
			case errors.As(err, &pg) && pg.Code == deadlockDetected:
				found++
			default:
				failed = fmt.Errorf("%s: %w", name, err)
			}
			mu.Unlock()
		}
	}
	for range 4 {
		approving, revoking := w.Open(), w.Open()
		if reversed {
			store.ReverseLocks(revoking, "the revocation of ")
		}
		running.Go(func() {
			work("approve", approving, func(st *store.Store) error {
				_, _, err := st.Approve(ctx, w.Second, plan.ID, store.ApproveOptions{})
				return err
			})
		})
		running.Go(func() {
			work("revoke", revoking, func(st *store.Store) error { return st.RevokeApproval(ctx, w.Approver, plan.ID, "no") })
		})
	}
	running.Wait()
	return found, failed
}
