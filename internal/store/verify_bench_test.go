package store_test

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// EnvEntries is how many entries the benchmark verifies; 20000 without it.
const EnvEntries = "CLEW_TEST_ENTRIES"

// BenchmarkVerify verifies a store that mostly holds readings, as stores do, and reports the time for each entry.
func BenchmarkVerify(b *testing.B) {
	n := 20000
	if s := os.Getenv(EnvEntries); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	for _, engine := range storetest.Engines(b) {
		b.Run(string(engine), func(b *testing.B) {
			w := world.New(b, storetest.New(b, engine))
			w.Unchecked("the benchmark verifies it itself")
			desk := w.Process()
			const machines = 50
			x := tampering(b, w)
			for i := range machines {
				m := w.Machine("m" + strconv.Itoa(i))
				x.readings(m.ID, desk.ID, m.Node, n/machines/2)
			}
			b.ResetTimer()
			for range b.N {
				r := verify(b, w, store.VerifyOptions{})
				wantHolds(b, r)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(r.Entries), "ns/entry")
			}
		})
	}
}

// readings appends readings to a machine's timeline, as the store would, in one transaction.
func (x tamper) readings(machine, instance string, r dispatch.Reading, n int) {
	x.t.Helper()
	ok := func(err error) {
		x.t.Helper()
		if err != nil {
			x.t.Fatal(err)
		}
	}
	scope := ledger.Scope{Kind: ledger.Machine, ID: machine}
	last, err := x.w.Store.Entries(ctx, store.EntryFilter{Scope: &scope, Newest: true, Limit: 1})
	ok(err)
	head := last[0]
	tx, err := x.Begin()
	ok(err)
	entry, err := tx.Prepare(`INSERT INTO entries (scope_kind, scope_id, revision, kind, at, actor, links, body, prev, hash)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`)
	ok(err)
	defer entry.Close()
	row, err := tx.Prepare(`INSERT INTO observations (machine, basis, revision, started_at, purpose, plan, operation, instance, route,
		local_addr, remote_addr, read_address, reading, failed) VALUES ($1, $2, $3, $4, $5, '', '', $6, $7, '', '', '', $8, '')`)
	ok(err)
	defer row.Close()
	add := func(kind string, at time.Time, links []ledger.Link, o dispatch.Observation) {
		body, err := json.Marshal(dispatch.Body{Observation: &o})
		ok(err)
		e := ledger.Entry{
			Scope: scope, Revision: head.Revision + 1, Kind: kind, At: at, Actor: ledger.Actor{Instance: instance}, Links: links,
			Body: body, Prev: head.Hash,
		}
		e.Hash, err = e.Sum()
		ok(err)
		actor, err := json.Marshal(e.Actor)
		ok(err)
		var l []byte
		if links != nil {
			l, err = json.Marshal(links)
			ok(err)
		}
		_, err = entry.Exec(scope.Kind, scope.ID, e.Revision, e.Kind, at.UnixMicro(), string(actor), string(l), string(body), e.Prev.String(), e.Hash.String())
		ok(err)
		head = e
	}
	at := head.At
	for range n {
		at = at.Add(time.Millisecond)
		o := dispatch.Observation{Machine: machine, Basis: head.Revision + 1, StartedAt: at, Purpose: dispatch.ForDrift, Instance: instance, Route: dispatch.Direct}
		add(dispatch.EntryReadStarted, at, nil, o)
		o.Revision, o.Reading = head.Revision+1, r
		add(dispatch.EntryRead, at, []ledger.Link{{Rel: "started", Scope: scope, Revision: o.Basis}}, o)
		reading, err := json.Marshal(r)
		ok(err)
		_, err = row.Exec(machine, o.Basis, o.Revision, at.UnixMicro(), string(o.Purpose), instance, string(o.Route), string(reading))
		ok(err)
	}
	_, err = tx.Exec(`UPDATE scopes SET revision = $1, hash = $2, at = $3 WHERE kind = $4 AND id = $5`, head.Revision, head.Hash.String(),
		head.At.UnixMicro(), scope.Kind, scope.ID)
	ok(err)
	ok(tx.Commit())
}
