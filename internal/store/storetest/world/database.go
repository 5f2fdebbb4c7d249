package world

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// database opens the store's database past the store, for what a test must see or spoil behind its back.
func (w *World) database() *sql.DB {
	w.T.Helper()
	driver, source := "sqlite", w.Place.Location.Path+"?_pragma=busy_timeout(30000)"
	if w.Place.Location.Engine == config.Postgres {
		driver, source = "pgx", w.Place.Location.URL.Reveal()
	}
	db, err := sql.Open(driver, source)
	w.no(err)
	return db
}

// Spoil runs a statement behind the store's back. Parameters are $1, $2, ...; the history is not checked afterwards.
func (w *World) Spoil(query string, args ...any) {
	w.T.Helper()
	w.Unchecked("the database was changed behind the store's back")
	db := w.database()
	defer db.Close()
	if w.Place.Location.Engine == config.SQLite {
		query = strings.ReplaceAll(query, "$", "?")
	}
	_, err := db.ExecContext(context.Background(), query, args...)
	w.no(err)
}

// SetRetry puts a classification into an operation's row that no owner made.
func (w *World) SetRetry(op dispatch.Operation, c dispatch.Classification) {
	w.T.Helper()
	b, err := json.Marshal(c)
	w.no(err)
	w.Spoil(`UPDATE operations SET retry = $1, state = 'unresolved' WHERE id = $2`, string(b), op.ID)
}

// Waiting is closed as soon as somebody waits for a lock of the store: PostgreSQL says so in its lock view, on SQLite the
// waiting writer holds the turnstile before the writers' lock. It gives up with the test.
func (w *World) Waiting() <-chan struct{} {
	w.T.Helper()
	seen := make(chan struct{})
	look := w.turnstileHeld
	if w.Place.Location.Engine == config.Postgres {
		db := w.database()
		w.T.Cleanup(func() { _ = db.Close() })
		look = func() bool {
			var n int
			err := db.QueryRow(`SELECT COUNT(*) FROM pg_locks WHERE NOT granted`).Scan(&n)
			return err == nil && n > 0
		}
	}
	done := w.T.Context().Done()
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if look() {
					close(seen)
					return
				}
			}
		}
	}()
	return seen
}

func (w *World) turnstileHeld() bool {
	f, err := os.OpenFile(w.Place.Location.Path+".lock-next", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// Head is the revision of the machine's last entry.
func (m *Machine) Head() int64 {
	m.w.T.Helper()
	heads, err := m.w.Store.Heads(context.Background())
	m.w.no(err)
	for _, h := range heads {
		if h.Scope == (ledger.Scope{Kind: ledger.Machine, ID: m.ID}) {
			return h.Revision
		}
	}
	return 0
}
