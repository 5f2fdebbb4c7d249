package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store/storetest"
)

var testScope = ledger.Scope{Kind: "test", ID: "one"}

// write appends n entries to a scope in one transaction.
func write(t testing.TB, s *Store, scope ledger.Scope, n int) ledger.Entry {
	t.Helper()
	var last ledger.Entry
	err := s.update(context.Background(), locks{others: []ledger.Scope{scope}}, "a test entry", func(tx *Tx) error {
		for i := range n {
			var err error
			if last, err = tx.append(scope, "test.written", ledger.Actor{Identity: "ann"}, nil, map[string]int{"n": i}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func headOf(t testing.TB, s *Store, scope ledger.Scope) ledger.Head {
	t.Helper()
	var h ledger.Head
	err := s.view(context.Background(), func(tx *Tx) (err error) {
		h, err = tx.head(scope)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// checkChain follows a scope's entries and fails where they do not hold together or do not end at the head.
func checkChain(t testing.TB, s *Store, scope ledger.Scope) []ledger.Entry {
	t.Helper()
	entries, err := s.Entries(context.Background(), EntryFilter{Scope: &scope})
	if err != nil {
		t.Fatal(err)
	}
	chain := ledger.Chain{Head: ledger.Head{Scope: scope}}
	for _, e := range entries {
		if err := chain.Next(e); err != nil {
			t.Fatal(err)
		}
	}
	if h := headOf(t, s, scope); h != chain.Head {
		t.Fatalf("the entries of %s end at %+v, its head says %+v", scope, chain.Head, h)
	}
	return entries
}

func TestAppendChains(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		write(t, s, testScope, 3)
		e := write(t, s, testScope, 2)
		if e.Revision != 5 {
			t.Fatalf("the fifth entry has revision %d", e.Revision)
		}
		if got := checkChain(t, s, testScope); len(got) != 5 || string(got[4].Body) != `{"n":1}` {
			t.Fatalf("read back %d entries, the last one says %s", len(got), got[len(got)-1].Body)
		}
	})
}

func TestNothingIsLeftOfATransactionThatFails(t *testing.T) {
	no := refusal.New("test", "no", "a rule says no", "")
	for name, fn := range map[string]func(tx *Tx) error{
		"refusal":                       func(*Tx) error { return no },
		"failure":                       func(*Tx) error { return errors.New("by accident") },
		"statement that failed, unsaid": func(tx *Tx) error { _, _ = tx.exec(`UPDATE nowhere SET a = 1`); return nil },
		"constraint, unsaid": func(tx *Tx) error {
			_, _ = tx.exec(`INSERT INTO installation (id, epoch, in_recovery, entered_revision, entered_at, last_before, database_identity, era)
				VALUES (2, '', 0, 0, 0, 0, '', 0)`)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *Store) {
				write(t, s, testScope, 1)
				err := s.update(context.Background(), locks{others: []ledger.Scope{testScope}}, "a test", func(tx *Tx) error {
					if _, err := tx.append(testScope, "test.lost", ledger.Actor{}, nil, nil); err != nil {
						return err
					}
					return fn(tx)
				})
				if err == nil {
					t.Fatal("the transaction committed")
				}
				if _, unknown := refusal.AsUnknown(err); unknown {
					t.Fatalf("a certain outcome is called unknown: %v", err)
				}
				if r, ok := refusal.As(err); (name == "refusal") != ok || ok && r != no {
					t.Fatalf("got %v", err)
				}
				if got := checkChain(t, s, testScope); len(got) != 1 {
					t.Fatalf("%d entries are left", len(got))
				}
			})
		})
	}
}

func TestAPanicRollsBackAndFreesTheStore(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = s.update(context.Background(), locks{}, "a test", func(tx *Tx) error {
				if _, err := tx.append(testScope, "test.lost", ledger.Actor{}, nil, nil); err != nil {
					t.Error(err)
				}
				panic("a mistake")
			})
		}()
		if e := write(t, s, testScope, 1); e.Revision != 1 {
			t.Fatalf("the entry after the panic has revision %d", e.Revision)
		}
	})
}

func TestWritersOfOneScopeTakeTurns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		stores := []*Store{openAt(t, p), openAt(t, p), openAt(t, p)} // as three processes
		const each = 20
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				for range each {
					write(t, stores[i%len(stores)], testScope, 1)
				}
			})
		}
		wg.Wait()
		if got := checkChain(t, stores[0], testScope); len(got) != 6*each {
			t.Fatalf("%d entries of %d", len(got), 6*each)
		}
	})
}

func TestAMachineThatWasNotLockedIsAMistake(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		m := machineScope("m-abc")
		err := s.update(context.Background(), locks{}, "a new machine", func(tx *Tx) error {
			_, err := tx.append(m, "test.written", ledger.Actor{}, nil, nil)
			return err
		})
		if err != nil {
			t.Fatalf("the first entry of a new machine: %v", err)
		}
		err = s.update(context.Background(), locks{}, "a test", func(tx *Tx) error {
			_, err := tx.append(m, "test.written", ledger.Actor{}, nil, nil)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "not locked") {
			t.Fatalf("got %v", err)
		}
		checkChain(t, s, m)
	})
}

func TestAViewWritesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		err := s.view(context.Background(), func(tx *Tx) error {
			_, err := tx.exec(`UPDATE installation SET epoch = 'x'`)
			return err
		})
		if err == nil {
			t.Fatal("a view wrote")
		}
		err = s.view(context.Background(), func(tx *Tx) error {
			_, err := tx.append(testScope, "test.written", ledger.Actor{}, nil, nil)
			return err
		})
		if err == nil {
			t.Fatal("a view appended")
		}
	})
}

func TestAViewSeesOneSnapshot(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		write(t, s, testScope, 1)
		err := s.view(context.Background(), func(tx *Tx) error {
			before, err := tx.head(testScope)
			if err != nil {
				return err
			}
			write(t, s, testScope, 1)
			after, err := tx.head(testScope)
			if err == nil && before != after {
				err = fmt.Errorf("the head moved from %d to %d within a view", before.Revision, after.Revision)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestColumnsBringBackWhatWasWritten(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		digest, text := "it's $1 ?1 FOR UPDATE", strings.Repeat("ä\x01", 1000)
		err := s.update(context.Background(), locks{}, "a test", func(tx *Tx) error {
			if err := tx.exec1(`INSERT INTO artifacts (digest, ciphertext, size, author, created_at)
				VALUES ($1, $2, $3, '$1', $4)`, digest, text, int64(1)<<62, tx.Now()); err != nil {
				return err
			}
			var got, author string
			var size int64
			at := tx.Now()
			err := tx.row(`SELECT ciphertext, size, author, created_at FROM artifacts WHERE digest = $1 AND author <> $2 AND digest = $1`,
				digest, "x").Scan(&got, &size, &author, intoTime(&at))
			if err != nil {
				return err
			}
			if got != text || size != 1<<62 || author != "$1" || !at.Equal(tx.Now()) {
				t.Errorf("read back %q (%d bytes), %d, %q, %s", got[:4], len(got), size, author, at)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestRebindNumbersByNumberAndDropsLocks(t *testing.T) {
	got := rebind(`SELECT a FROM t WHERE b = $2 AND c = '$1 FOR UPDATE' AND d = $1 AND e = $10 FOR UPDATE`)
	want := `SELECT a FROM t WHERE b = ?2 AND c = '$1 FOR UPDATE' AND d = ?1 AND e = ?10`
	if got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func TestBindRefusesWhatNoColumnHolds(t *testing.T) {
	for _, v := range []any{nil, 1.5, []byte("x"), struct{}{}, sql.NullString{}} {
		if _, err := bind([]any{v}); err == nil {
			t.Errorf("%T was bound", v)
		}
	}
}

func TestIDsGrowOnCollision(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		err := s.update(context.Background(), locks{}, "a test", func(tx *Tx) error {
			// Every three-character id is taken.
			_, err := tx.exec(`WITH RECURSIVE d (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM d WHERE n < 31)
				INSERT INTO artifacts (digest, ciphertext, size, author, created_at)
				SELECT 'x-' || substr($1, a.n + 1, 1) || substr($1, b.n + 1, 1) || substr($1, c.n + 1, 1), '', 0, '', 0
				FROM d a CROSS JOIN d b CROSS JOIN d c`, "0123456789abcdefghjkmnpqrstvwxyz")
			if err != nil {
				return err
			}
			id, err := tx.newID("x-", "artifacts", "digest")
			if err != nil {
				return err
			}
			if len(id) != len("x-")+4 || !IsID("x-", id) {
				t.Errorf("the id is %q", id)
			}
			return errors.New("rolled back")
		})
		if err == nil || !strings.HasSuffix(err.Error(), "rolled back") {
			t.Fatal(err)
		}
	})
}
