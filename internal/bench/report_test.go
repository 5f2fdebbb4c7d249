package bench

import (
	"database/sql"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/store/storetest"
)

var engineNames = map[config.Engine]string{config.SQLite: "SQLite", config.Postgres: "PostgreSQL"}

// report collects the rows of the page.
type report struct {
	size     size
	sync     time.Duration
	versions []string
	floors   []string
	rows     []row
	details  []string
}

// row is a measure that has a bound.
type row struct {
	what, engine    string
	measured, floor string
	value, bound    float64
	unit            string
}

func newReport(t testing.TB, sz size) *report {
	return &report{size: sz, sync: syncFloor(t, sz.floors), versions: versions(t)}
}

func versions(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, e := range storetest.Engines(t) {
		p := storetest.New(t, e)
		driver, source, query := "sqlite", ":memory:", `SELECT sqlite_version()`
		if e == config.Postgres {
			driver, source, query = "pgx", p.Location.URL.Reveal(), `SELECT split_part(current_setting('server_version'), ' ', 1)`
		}
		db, err := sql.Open(driver, source)
		no(t, err)
		var v string
		no(t, db.QueryRowContext(ctx, query).Scan(&v))
		no(t, db.Close())
		out = append(out, engineNames[e]+" "+v)
	}
	return out
}

func (r *report) floor(e config.Engine, transaction time.Duration) {
	r.floors = append(r.floors, fmt.Sprintf("| A transaction of one small row, %s | %s |", engineNames[e], short(transaction)))
}

func (r *report) add(e config.Engine, what string, measured, floor time.Duration, bound float64) {
	r.rows = append(r.rows, row{
		what: what, engine: engineNames[e], measured: short(measured), floor: short(floor),
		value: float64(measured) / float64(floor), bound: bound, unit: " ×",
	})
}

// operations are judged by their typical time, commitments with their attempts by what one in a hundred exceeds.
func (r *report) operations(e config.Engine, samples []sample, transactions int) {
	of := func(pick func(sample) time.Duration) func(q float64) time.Duration {
		var all []time.Duration
		for _, s := range samples {
			all = append(all, pick(s))
		}
		return func(q float64) time.Duration { return quantile(all, q) }
	}
	op, bareOp := of(func(s sample) time.Duration { return s.operation }), of(func(s sample) time.Duration { return s.bareOperation })
	ca, bareCA := of(func(s sample) time.Duration { return s.commitAttempt }), of(func(s sample) time.Duration { return s.bareCommitAttempt })
	longOp, longCA := of(func(s sample) time.Duration { return s.longOperation }), of(func(s sample) time.Duration { return s.longCommitAttempt })
	r.add(e, fmt.Sprintf("A whole operation, against its %d transactions bare: median", transactions), op(0.5), bareOp(0.5), 2)
	r.add(e, "Commitment and attempt, against both bare: p99", ca(0.99), bareCA(0.99), 3)
	r.add(e, fmt.Sprintf("Commitment and attempt with %s entries, against %s: p99", count(r.size.long), count(r.size.short)), longCA(0.99), ca(0.99), 1.3)
	for _, d := range []struct {
		what string
		of   func(float64) time.Duration
	}{
		{"a whole operation", op},
		{"its transactions bare", bareOp},
		{fmt.Sprintf("a whole operation, %s entries", count(r.size.long)), longOp},
		{"commitment and attempt", ca},
		{"both bare", bareCA},
		{fmt.Sprintf("commitment and attempt, %s entries", count(r.size.long)), longCA},
	} {
		r.details = append(r.details, fmt.Sprintf("| %s | %s | %s | %s | %s |", engineNames[e], d.what, short(d.of(0.5)), short(d.of(0.9)), short(d.of(0.99))))
	}
}

func (r *report) fleet(e config.Engine, took time.Duration) {
	ideal := r.size.send * time.Duration(r.size.fleet) / time.Duration(r.size.limit)
	r.add(e, fmt.Sprintf("A rollout over %s machines, %d at a time, each send %s, against the sends alone", count(r.size.fleet), r.size.limit, r.size.send),
		took, ideal, 1.3)
}

// secondsPerMillion is how long verifying a million entries may take.
const secondsPerMillion = 20

func (r *report) verify(e config.Engine, middle, long verification) {
	name := engineNames[e]
	r.rows = append(r.rows, row{
		what:   fmt.Sprintf("`clew verify` over %s entries", count(int(long.entries))),
		engine: name, measured: fmt.Sprintf("%s (%s of processor time)", short(long.took), short(long.user)), floor: "",
		value: long.took.Seconds(), bound: secondsPerMillion * float64(long.entries) / 1e6, unit: " s",
	})
	r.rows = append(r.rows, row{
		what:   fmt.Sprintf("Its memory, against that over %s entries", count(int(middle.entries))),
		engine: name, measured: fmt.Sprintf("%d MiB", long.peak>>20), floor: fmt.Sprintf("%d MiB", middle.peak>>20),
		value: float64(long.peak) / float64(middle.peak), bound: 1.3, unit: " ×",
	})
}

// complete fails the test where a row is missing or says nothing.
func (r *report) complete(t *testing.T) {
	t.Helper()
	if want := 6 * len(r.versions); len(r.rows) != want {
		t.Errorf("%d rows, want %d", len(r.rows), want)
	}
	for _, row := range r.rows {
		if math.IsNaN(row.value) || math.IsInf(row.value, 0) || row.value <= 0 {
			t.Errorf("%s, %s: %v", row.what, row.engine, row.value)
		}
	}
}

func (r *report) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# What the store costs\n")
	line("Written by `make bench-docs`; do not edit. Everything was measured in one run, and what is compared took turns, so that\nwhatever else the machine did fell on both sides.\n")
	line("Measured with %d processors, %s, %s on %s/%s.\n", runtime.NumCPU(), strings.Join(r.versions, ", "), goVersion(), runtime.GOOS, runtime.GOARCH)
	if r.size != fullSize {
		line("This run was smaller than `make bench-docs` is: %s operations, %s entries.\n", count(r.size.operations), count(r.size.long))
	}
	line("| The machine's floor | |\n| --- | --- |")
	line("| A page appended to a file and synced | %s |", short(r.sync))
	for _, f := range r.floors {
		line("%s", f)
	}
	line("\n| What | Engine | Measured | Against | | Bound | Held |\n| --- | --- | --- | --- | --- | --- | --- |")
	for _, row := range r.rows {
		held := "yes"
		if row.value > row.bound {
			held = "**no**"
		}
		line("| %s | %s | %s | %s | %.2f%s | %.3g%s | %s |", row.what, row.engine, row.measured, row.floor, row.value, row.unit, row.bound, row.unit, held)
	}
	line("\n%s\n", explanation)
	line("| Engine | What | Median | p90 | p99 |\n| --- | --- | --- | --- | --- |")
	for _, d := range r.details {
		line("%s", d)
	}
	return b.String()
}

const explanation = `A *whole operation* is everything from a plan to its completion: the configuration stored, the machine read, the plan,
its approval, and a dispatch by the real executor to a node that answers at once. *Bare* is the same rows, captured from
the same operations, in the same transactions with plain SQL and prepared statements, on the same engine with the same
settings, without a single read. The past consists of readings of a hundred machines and an anchor after each round.`

func goVersion() string { return strings.Replace(runtime.Version(), "go", "Go ", 1) }

func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// count is a number with its thousands apart.
func count(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", count(n/1000), n%1000)
}
