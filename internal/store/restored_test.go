package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store/storetest"
)

const testMachine = "m-abc"

// guarded is a transaction as commitments and attempts are: checked against what this host saw last.
func guarded(s *Store) error {
	l := locks{machines: []string{testMachine}, identities: shared, installation: shared, guarded: true}
	return s.update(context.Background(), l, "a test", func(tx *Tx) error {
		_, err := tx.append(machineScope(testMachine), "test.written", ledger.Actor{}, nil, nil)
		return err
	})
}

func mustGuarded(t *testing.T, s *Store, n int) {
	t.Helper()
	for range n {
		if err := guarded(s); err != nil {
			t.Fatal(err)
		}
	}
}

func wantRestored(t *testing.T, err error, words string) {
	t.Helper()
	var r *LooksRestored
	if !errors.As(err, &r) || !strings.Contains(r.Why, words) {
		t.Fatalf("got %v, want a store that looks restored: %s", err, words)
	}
}

// copyStore copies an SQLite store that is not open, over what is there or to another place.
func copyStore(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func closeNow(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, p storetest.Place) *Store {
	t.Helper()
	s, err := Open(context.Background(), Config{Location: p.Location, StateDir: p.StateDir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The file is put back as it was earlier, in place: its inode stays, and its machine's timeline ends lower.
func TestARewoundFileLooksRestored(t *testing.T) {
	p := sqlitePlace(t, t.TempDir())
	path := p.Location.Path
	s := open(t, p)
	mustGuarded(t, s, 2)
	closeNow(t, s)
	copyStore(t, path, path+".backup")
	s = open(t, p)
	mustGuarded(t, s, 1)
	closeNow(t, s)
	copyStore(t, path+".backup", path)

	s = openAt(t, p)
	wantRestored(t, s.Restored(), "machine/m-abc ends at revision 2, and revision 3 was seen")
	wantRestored(t, guarded(s), "revision 3 was seen")
	wantRestored(t, s.SyncHead(context.Background()), "revision 3 was seen")
	if got := checkChain(t, s, machineScope(testMachine)); len(got) != 2 {
		t.Fatalf("reading a restored store: %d entries", len(got))
	}
}

// The same, but the restored store went on before this host looked: its timeline is as long and has another history.
func TestAnotherHistoryLooksRestored(t *testing.T) {
	p := sqlitePlace(t, t.TempDir())
	path := p.Location.Path
	s := open(t, p)
	mustGuarded(t, s, 2)
	closeNow(t, s)
	copyStore(t, path, path+".backup")
	head := path + ".head"
	then, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, p)
	mustGuarded(t, s, 1)
	closeNow(t, s)

	copyStore(t, path+".backup", path)
	if err := os.Rename(head, head+".kept"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(head, then, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, p) // as on another host, which did not see the lost entry
	mustGuarded(t, s, 5)
	closeNow(t, s)
	if err := os.Rename(head+".kept", head); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, p)
	wantRestored(t, guarded(s), "another history")
}

// The file is swapped for a copy while the store is open: noticed by the next commitment, and before a send.
func TestAFileSwappedUnderARunningStore(t *testing.T) {
	p := sqlitePlace(t, t.TempDir())
	path := p.Location.Path
	s := open(t, p)
	mustGuarded(t, s, 2)
	closeNow(t, s)
	copyStore(t, path, path+".backup")

	s = openAt(t, p)
	mustGuarded(t, s, 1)
	if err := s.SyncHead(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".backup", path); err != nil {
		t.Fatal(err)
	}
	wantRestored(t, s.SyncHead(context.Background()), "another file now")
	wantRestored(t, guarded(s), "another file now")
	if err := tryWrite(s, nil); err == nil {
		t.Fatal("an entry was written to a file that nobody will read")
	}
}

// A store that was copied elsewhere, without its head file, is still not the database that its epoch is bound to.
func TestACopyLooksRestored(t *testing.T) {
	dir := t.TempDir()
	p := sqlitePlace(t, dir)
	s := open(t, p)
	mustGuarded(t, s, 1)
	closeNow(t, s)
	other := sqlitePlace(t, t.TempDir())
	copyStore(t, p.Location.Path, other.Location.Path)
	s = openAt(t, other)
	wantRestored(t, s.Restored(), "bound to another database")
}

func TestADamagedHeadFileIsNotBelieved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		s := openAt(t, p)
		mustGuarded(t, s, 1)
		b, err := os.ReadFile(s.head.path)
		if err != nil {
			t.Fatal(err)
		}
		b[headLine+3] ^= 1
		if err := os.WriteFile(s.head.path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		wantRestored(t, guarded(s), "damaged")
	})
}

func TestALostHeadFileIsNoticedWhileOpen(t *testing.T) {
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		s := openAt(t, p)
		mustGuarded(t, s, 1)
		if err := os.Remove(s.head.path); err != nil {
			t.Fatal(err)
		}
		wantRestored(t, guarded(s), "is gone")
	})
}

// A file in use whose memory of the heads is gone could be rewound without a sign. A recovery begins to remember again.
func TestAFileWithoutItsHeadFileIsNotBelieved(t *testing.T) {
	p := sqlitePlace(t, t.TempDir())
	s := open(t, p)
	mustGuarded(t, s, 1)
	closeNow(t, s)
	if err := os.Remove(p.Location.Path + ".head"); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, p)
	wantRestored(t, s.Restored(), "is gone")
	wantRestored(t, guarded(s), "is gone")
	if _, err := os.Lstat(p.Location.Path + ".head"); err == nil {
		t.Error("looking made a new head file")
	}
}

// A PostgreSQL database that is restored from a dump: another entries table, and entries are missing.
func TestARestoredDatabaseLooksRestored(t *testing.T) {
	ctx := context.Background()
	p := storetestPostgres(t)
	s := openAt(t, p)
	mustGuarded(t, s, 2)
	admin, err := sql.Open("pgx", storetest.Server(t).URL().Reveal())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	closeNow(t, open(t, p))
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(p.Location.URL.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	// A copy takes the name of the original, as a restored dump would.
	for _, q := range []string{
		"ALTER DATABASE " + name + " RENAME TO " + name + "_lost",
		"CREATE DATABASE " + name + " TEMPLATE " + name + "_lost",
	} {
		if _, err := admin.ExecContext(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	again := open(t, p)
	if err := again.Restored(); err != nil {
		t.Fatalf("a copy of the whole database has the same table: %v", err)
	}
	err = again.update(ctx, locks{}, "a test", func(tx *Tx) error {
		// What a dump does: the table is made anew.
		for _, q := range []string{
			`CREATE TABLE copied AS SELECT * FROM entries`, `DROP TABLE entries`, `ALTER TABLE copied RENAME TO entries`,
		} {
			if _, err := tx.exec(q); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	closeNow(t, again)
	again = openAt(t, p)
	wantRestored(t, again.Restored(), "bound to another database")
	wantRestored(t, guarded(again), "bound to another database")
}

// Two processes move the head file on in turns; neither takes the other's progress for a restore.
func TestTwoProcessesShareAHeadFile(t *testing.T) {
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		a, b := openAt(t, p), openAt(t, p)
		for range 5 {
			mustGuarded(t, a, 1)
			mustGuarded(t, b, 2)
		}
		seen, err := a.head.load()
		if err != nil {
			t.Fatal(err)
		}
		if got := seen.Heads[machineScope(testMachine)].Revision; got != 15 {
			t.Fatalf("the head file says %d", got)
		}
		closeNow(t, open(t, p))
	})
}

func TestAHeadNeverMovesDown(t *testing.T) {
	h := &headFile{path: t.TempDir() + "/x.head"}
	scope := machineScope(testMachine)
	if err := h.replace(headState{Epoch: "e", Database: "d", Heads: nil}); err != nil {
		t.Fatal(err)
	}
	for _, rev := range []int64{3, 7, 5} {
		h.note(ledger.Head{Scope: scope, Revision: rev})
		if err := h.flush(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := h.load()
	if err != nil || got.Heads[scope].Revision != 7 || got.Epoch != "e" || got.Database != "d" {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
}

// Anchors move the installation's chain under no lock of a commitment's, and the head file with it: neither a commitment
// nor an opening may take for a restore what only came in between.
func TestAnchorsInBetweenAreNoRestore(t *testing.T) {
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		ctx := context.Background()
		anchoring := openAt(t, p)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		defer wg.Wait()
		defer close(stop)
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				machine := fmt.Sprintf("m-%d", n%3)
				l := locks{machines: []string{machine}, identities: shared, installation: shared, guarded: true}
				err := anchoring.update(ctx, l, "a test", func(tx *Tx) error {
					_, err := tx.append(machineScope(machine), "test.written", ledger.Actor{}, nil, nil)
					return err
				})
				if err == nil {
					_, err = anchoring.Anchor(ctx)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
		s := openAt(t, p)
		for range 30 {
			mustGuarded(t, s, 1)
			again := open(t, p)
			if err := again.Restored(); err != nil {
				t.Fatal(err)
			}
			closeNow(t, again)
		}
	})
}
