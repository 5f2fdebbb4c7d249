package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store/storetest"
)

var identityActor = ledger.Actor{Identity: "ann"}

func sqlitePlace(t *testing.T, dir string) storetest.Place {
	t.Helper()
	if !onEngine(t, config.SQLite) {
		t.Skip("this run is narrowed to PostgreSQL")
	}
	return storetest.Place{Location: config.Location{Engine: config.SQLite, Path: filepath.Join(dir, "store.db")}}
}

func TestSQLiteFilesAreTheOwnersAlone(t *testing.T) {
	p := sqlitePlace(t, filepath.Join(t.TempDir(), "new", "dir"))
	s := openAt(t, p)
	write(t, s, testScope, 1)
	dir := filepath.Dir(p.Location.Path)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", f.Name(), info.Mode().Perm())
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
}

func TestSQLiteSettings(t *testing.T) {
	s := openAt(t, sqlitePlace(t, t.TempDir()))
	ctx := context.Background()
	c, err := s.engine.beginWrite(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(ctx, c)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
		var got string
		if err := c.sql.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", pragma, got, err, want)
		}
	}
}

// A program that is not ours holds the write lock: a failure in the end, not a refusal and not unknown.
func TestBusyIsAFailure(t *testing.T) {
	p := sqlitePlace(t, t.TempDir())
	s := openAt(t, p)
	write(t, s, testScope, 1)
	other, err := sql.Open("sqlite", "file:"+p.Location.Path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	err = tryWrite(s, nil)
	if err == nil || !strings.Contains(err.Error(), "another program holds the store") {
		t.Fatalf("got %v", err)
	}
	if _, ok := refusal.AsUnknown(err); ok {
		t.Fatal("busy is called unknown")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	write(t, s, testScope, 1)
	checkChain(t, s, testScope)
}

func TestAWaitingWriterGivesUpWithItsContext(t *testing.T) {
	p := sqlitePlace(t, t.TempDir())
	a, b := openAt(t, p), openAt(t, p) // as two processes
	release, err := a.engine.(*sqliteEngine).queue.acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.update(ctx, locks{}, "a test", func(*Tx) error { return nil }) }()
	for b.WaitingWriters() == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if n := b.WaitingWriters(); n != 0 {
		t.Fatalf("%d writers wait", n)
	}
	release()
	// What waited for the lock gives it back: both write again.
	write(t, b, testScope, 1)
	write(t, a, testScope, 1)
	checkChain(t, a, testScope)
}

// A writer that comes back at once does not overtake one that waits, in another process.
func TestNoWriterStarves(t *testing.T) {
	p := sqlitePlace(t, t.TempDir())
	turn := func(s *Store) bool {
		release, err := s.engine.(*sqliteEngine).queue.acquire(context.Background())
		if err != nil {
			t.Error(err)
			return false
		}
		release()
		return true
	}
	greedy, patient := openAt(t, p), openAt(t, p)
	var turns atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if turn(greedy) {
					turns.Add(1)
				}
			}
		}
	})
	for turns.Load() == 0 {
		runtime.Gosched()
	}
	var worst int64
	for range 200 {
		before := turns.Load()
		turn(patient)
		worst = max(worst, turns.Load()-before)
	}
	close(stop)
	wg.Wait()
	// While one waits, the other gets at most the turn that it has; what comes on top happens before the wait begins or
	// after it has ended.
	if worst > 2000 {
		t.Errorf("one turn waited for %d turns of the neighbour", worst)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		s := openAt(t, p)
		err := s.update(context.Background(), locks{}, "a test", func(tx *Tx) error {
			_, err := tx.exec(`INSERT INTO goose_db_version (version_id, is_applied) SELECT 99999, is_applied FROM goose_db_version
				WHERE version_id = 1`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(context.Background(), s.cfg)
		if !errors.Is(err, ErrNewer) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestThePasswordIsInNoError(t *testing.T) {
	u, err := config.ParseDatabaseURL("postgres://clew:hunter2secret@127.0.0.1:1/none?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(context.Background(), Config{Location: config.Location{Engine: config.Postgres, URL: u}, StateDir: t.TempDir()})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("got %v", err)
	}
}

// A page of the entries is overwritten: it is noticed, the file is named, and nothing more is written.
func TestADamagedPageStopsEveryWrite(t *testing.T) {
	p := sqlitePlace(t, t.TempDir())
	path := p.Location.Path
	s := open(t, p)
	write(t, s, testScope, 50)
	var root, size int64
	ctx := context.Background()
	err := s.view(ctx, func(tx *Tx) error {
		if err := tx.row(`SELECT rootpage FROM sqlite_master WHERE name = 'entries'`).Scan(&root); err != nil {
			return err
		}
		return tx.row(`PRAGMA page_size`).Scan(&size)
	})
	if err != nil {
		t.Fatal(err)
	}
	closeNow(t, s)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("\xff", int(size))), (root-1)*size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, Config{Location: p.Location}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("got %v", err)
	}
	if err := os.Remove(path + ".head"); err != nil { // opening compares the last entry seen: here nothing was seen
		t.Fatal(err)
	}
	s = openAt(t, p)
	err = tryWrite(s, nil)
	if err == nil || !strings.Contains(err.Error(), path) || strings.Count(err.Error(), "damaged") != 1 {
		t.Fatalf("got %v", err)
	}
	err = s.update(ctx, locks{}, "a harmless write", func(tx *Tx) error {
		return tx.exec1(`UPDATE installation SET era = era`)
	})
	if err == nil || !strings.Contains(err.Error(), "nothing is written any more") {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Entries(ctx, EntryFilter{}); err == nil {
		t.Fatal("damaged entries were read")
	}
}
