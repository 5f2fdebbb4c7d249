package bench

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest"
)

// sample is what one operation took, and its commitment with its attempt: in the store; with the same rows in bare
// transactions; and in a store with a long past.
type sample struct {
	operation, commitAttempt         time.Duration
	bareOperation, bareCommitAttempt time.Duration
	longOperation, longCommitAttempt time.Duration
}

// recorded is what an operation wrote: its transactions in order, and which of them are the commitment and the attempt.
type recorded struct {
	transactions [][]change
	commit       int
	attempt      int
}

// record runs operations and captures what each transaction writes. The rows that were there before, with as long a past
// as the store has that it is compared with, are copied into a database of the same engine and settings, where the
// transactions can be repeated.
func record(t testing.TB, engine config.Engine, machines, operations, entries int) (*plain, []recorded) {
	t.Helper()
	d := newDesk(t, engine, machines)
	d.fill(entries)
	c := newCapture(t, d.w.Place)
	place := storetest.New(t, engine)
	s, err := store.Open(ctx, store.Config{Location: place.Location, StateDir: place.StateDir})
	no(t, err)
	no(t, s.Close(ctx)) // it made the tables
	bare := openPlain(t, place)
	c.copyTo(bare)
	var list []recorded
	for n := range operations {
		var r recorded
		c.begin(subject{machine: d.machines[n%len(d.machines)].ID, artifact: digest(configuration(n))})
		d.calls.around = func(call string, do func()) {
			do()
			switch call {
			case "commit":
				r.commit = len(r.transactions)
			case "attempt":
				r.attempt = len(r.transactions)
			}
			r.transactions = append(r.transactions, c.since())
		}
		d.operation(n)
		list = append(list, r)
	}
	d.calls.around = nil
	return bare, list
}

// repeat runs the recorded transactions, and says how long all of them, and the commitment with the attempt, took.
func (r recorded) repeat(bare *plain) (all, commitAttempt time.Duration) {
	for i, changes := range r.transactions {
		began := time.Now()
		bare.transaction(changes)
		took := time.Since(began)
		all += took
		if i == r.commit || i == r.attempt {
			commitAttempt += took
		}
	}
	return all, commitAttempt
}

// timed runs an operation and says how long it, and its commitment with its attempt, took.
func (d *desk) timed(n int) (all, commitAttempt time.Duration) {
	d.calls.around = func(call string, do func()) {
		began := time.Now()
		do()
		if call == "commit" || call == "attempt" {
			commitAttempt += time.Since(began)
		}
	}
	began := time.Now()
	d.operation(n)
	all = time.Since(began)
	d.calls.around = nil
	return all, commitAttempt
}

// quantile is the value that the share q of the measures does not exceed.
func quantile(measures []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(measures))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func median(measures []time.Duration) time.Duration { return quantile(measures, 0.5) }

// floor is the least that a transaction takes: one small row, with the engine and its settings.
func floor(bare *plain, n int) time.Duration {
	bare.exec(`CREATE TABLE floor (n BIGINT PRIMARY KEY)`)
	var took []time.Duration
	for i := range n {
		began := time.Now()
		bare.transaction([]change{{query: `INSERT INTO floor (n) VALUES ($1)`, args: []any{int64(i)}}})
		took = append(took, time.Since(began))
	}
	return median(took)
}

// syncFloor is the least that anything lasting takes: a page appended to a file, and synced.
func syncFloor(t testing.TB, n int) time.Duration {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "floor"))
	no(t, err)
	defer f.Close()
	page := make([]byte, 4096)
	var took []time.Duration
	for range n {
		began := time.Now()
		_, err := f.Write(page)
		no(t, err)
		no(t, f.Sync())
		took = append(took, time.Since(began))
	}
	return median(took)
}
