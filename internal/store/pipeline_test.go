package store

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/store/storetest"
)

// onPostgres runs a test on a store whose statements may wait.
func onPostgres(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	if !slices.Contains(storetest.Engines(t), config.Postgres) {
		t.Skip("statements wait on PostgreSQL only")
	}
	test(t, openAt(t, storetest.New(t, config.Postgres)))
}

var errEnough = errors.New("enough")

const insertRollout = `INSERT INTO rollouts (id, rlimit, max_failed, opened_revision, open_operations, failed) VALUES ($1, 1, 0, 0, '', 0)`

func rollouts(t *testing.T, s *Store) []string {
	t.Helper()
	var out []string
	err := s.view(context.Background(), func(tx *Tx) (err error) {
		out, err = list(tx, scanText, `SELECT id FROM rollouts ORDER BY id`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What waits is seen by the next question, in order, and committed.
func TestStatementsThatWaitKeepTheirOrder(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		err := s.update(context.Background(), locks{}, "a test", func(tx *Tx) error {
			if err := tx.exec1(insertRollout, "a"); err != nil {
				return err
			}
			if err := tx.exec1(`UPDATE rollouts SET id = 'b' WHERE id = $1`, "a"); err != nil {
				return err
			}
			var n int64
			if err := tx.row(`SELECT COUNT(*) FROM rollouts WHERE id = 'b'`).Scan(&n); err != nil || n != 1 {
				t.Errorf("%d rows are seen (%v), want 1", n, err)
			}
			return tx.exec1(insertRollout, "c")
		})
		if got := rollouts(t, s); err != nil || !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("committed %v, %v", got, err)
		}
	})
}

// A statement that waits and fails, or changes no row, fails the transaction, whatever its function returns.
func TestAStatementThatWaitsAndFails(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		for name, wrong := range map[string]func(tx *Tx) error{
			"a row twice": func(tx *Tx) error { return errors.Join(tx.exec1(insertRollout, "a"), tx.exec1(insertRollout, "a")) },
			"no row":      func(tx *Tx) error { return tx.exec1(`UPDATE rollouts SET failed = 1 WHERE id = 'none'`) },
			"then a question": func(tx *Tx) error {
				_ = tx.exec1(`UPDATE rollouts SET failed = 1 WHERE id = 'none'`)
				_, _ = list(tx, scanText, `SELECT id FROM rollouts`)
				return nil
			},
		} {
			err := s.update(context.Background(), locks{}, "a test", func(tx *Tx) error {
				if err := tx.exec1(insertRollout, "before"); err != nil {
					return err
				}
				return wrong(tx)
			})
			if err == nil {
				t.Errorf("%s: committed", name)
			}
			if got := rollouts(t, s); len(got) != 0 {
				t.Errorf("%s: left %v", name, got)
			}
		}
	})
}

// A transaction that ends before anything was sent leaves its connection usable, and what waited undone.
func TestWhatWaitsIsUndone(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		for range 3 * postgresConns {
			err := s.update(context.Background(), locks{machines: []string{"m-1"}}, "a test", func(tx *Tx) error {
				if err := tx.exec1(insertRollout, "a"); err != nil {
					return err
				}
				return errEnough
			})
			if !errors.Is(err, errEnough) {
				t.Fatal(err)
			}
		}
		if got := rollouts(t, s); len(got) != 0 {
			t.Errorf("left %v", got)
		}
	})
}
