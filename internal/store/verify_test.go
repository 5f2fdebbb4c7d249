package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// eventful is a world with records of every kind: what verification reads.
func eventful(t *testing.T, p storetest.Place) *world.World {
	t.Helper()
	w := world.New(t, p)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	desk := w.Process()
	_, _, err := w.Store.CreateToken(ctx, w.Author, store.TokenSpec{Name: "ci", Kind: store.Token, Roles: []string{store.RoleAuthor}})
	ok(err)

	done := w.Machine("done")
	done.Complete(desk, done.Approved(w.Config("next")))
	done.Runs(w.Config("by-hand"))
	done.Read(desk, dispatch.ForDrift)
	back := w.Machine("back")
	back.Runs(w.Config("by-hand"))
	back.Read(desk, dispatch.ForDrift)
	back.Runs(w.Config(world.Base))
	back.Read(desk, dispatch.ForDrift)

	rejected := w.Machine("rejected")
	weekly := func(p *dispatch.Plan) { p.Rollout = &dispatch.Rollout{ID: "weekly", Limit: 2} }
	rejected.Respond(rejected.Sending(desk, rejected.Approved(w.Config("next"), weekly)), 1, dispatch.RejectedDef)
	_, err = w.Store.Freeze(ctx, w.Author, rejected.ID, "broken disk")
	ok(err)

	lost := w.Machine("lost")
	op := lost.Respond(lost.Sending(desk, lost.Approved(w.Config("next"))), 1, dispatch.Inconclusive)
	desk.End()
	other := w.Process()
	op, err = w.Store.TakeOver(ctx, op.ID, op.Owner.Generation, other.ID, "it recorded its end")
	ok(err)
	ok(w.Store.FailRead(ctx, lost.ID, lost.Begin(other, dispatch.ForAccounting, op.Plan, op.ID).Basis, other.ID, "no route to host"))
	lost.Begin(other, dispatch.ForAccounting, op.Plan, op.ID)

	idle := w.Machine("idle")
	ok(w.Store.CancelPlan(ctx, w.Author, idle.Plan(w.Config("next")).ID, "not needed"))
	ok(w.Store.RevokeApproval(ctx, w.Approver, idle.Approved(w.Config("next")).ID, "a mistake"))
	second := idle.Plan(w.Config("third"))
	_, _, err = w.Store.Approve(ctx, w.Second, second.ID, store.ApproveOptions{})
	ok(err)
	_, err = w.Store.RevokeIdentity(ctx, w.Admin, w.Second.Identity, "left")
	ok(err)
	_, err = w.Store.RecordRevocations(ctx)
	ok(err)
	_, err = w.Store.Anchor(ctx) // the store then writes no anchor of its own while the test tampers
	ok(err)
	return w
}

// tamper is a connection of the database's own, on which nothing keeps the rules of the store.
type tamper struct {
	*sql.DB
	t    testing.TB
	w    *world.World
	kept map[string]bool // tables of which there is a copy
}

func tampering(t testing.TB, w *world.World) tamper {
	t.Helper()
	driver, source := "sqlite", w.Place.Location.Path
	if w.Place.Location.Engine == config.Postgres {
		driver, source = "pgx", w.Place.Location.URL.Reveal()
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	x := tamper{db, t, w, map[string]bool{}}
	if driver == "pgx" {
		x.exec(`SET session_replication_role = replica`) // no foreign keys
	} else {
		x.exec(`PRAGMA busy_timeout = 10000`)
	}
	return x
}

func (x tamper) exec(query string, args ...any) {
	x.t.Helper()
	if _, err := x.Exec(query, args...); err != nil {
		x.t.Fatalf("%s: %v", query, err)
	}
}

func (x tamper) one(query string, args ...any) any {
	x.t.Helper()
	var v any
	if err := x.QueryRow(query, args...).Scan(&v); err != nil {
		x.t.Fatalf("%s: %v", query, err)
	}
	return v
}

func (x tamper) columns(table string) []string {
	x.t.Helper()
	rows, err := x.Query(`SELECT * FROM ` + table + ` LIMIT 1`)
	if err != nil {
		x.t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		x.t.Fatal(err)
	}
	return names
}

// undo puts back what the change did to these tables, from copies that are made once.
func (x tamper) undo(change func(), tables ...string) {
	x.t.Helper()
	for _, table := range tables {
		if !x.kept[table] {
			x.exec(`CREATE TEMPORARY TABLE kept_` + table + ` AS SELECT * FROM ` + table)
			x.kept[table] = true
		}
	}
	defer func() {
		for _, table := range tables {
			x.exec(`DELETE FROM ` + table)
			x.exec(`INSERT INTO ` + table + ` SELECT * FROM kept_` + table)
		}
	}()
	change()
}

// append adds an entry to a timeline and moves its head, as the store does and without its knowing.
func (x tamper) append(s ledger.Scope, kind string, actor ledger.Actor, body dispatch.Body) ledger.Entry {
	x.t.Helper()
	last, err := x.w.Store.Entries(ctx, store.EntryFilter{Scope: &s, Newest: true, Limit: 1})
	if err != nil || len(last) != 1 {
		x.t.Fatalf("the last entry of %s: %v, %v", s, last, err)
	}
	e := ledger.Entry{Scope: s, Revision: last[0].Revision + 1, Kind: kind, At: last[0].At, Actor: actor, Prev: last[0].Hash}
	if e.Body, err = json.Marshal(body); err != nil {
		x.t.Fatal(err)
	}
	a, err := json.Marshal(actor)
	if err != nil {
		x.t.Fatal(err)
	}
	if e.Hash, err = e.Sum(); err != nil {
		x.t.Fatal(err)
	}
	x.exec(`INSERT INTO entries (scope_kind, scope_id, revision, kind, at, actor, links, body, prev, hash)
		VALUES ($1, $2, $3, $4, $5, $6, '', $7, $8, $9)`,
		s.Kind, s.ID, e.Revision, kind, e.At.UnixMicro(), string(a), string(e.Body), e.Prev.String(), e.Hash.String())
	x.exec(`UPDATE scopes SET revision = $1, hash = $2, at = $3 WHERE kind = $4 AND id = $5`,
		e.Revision, e.Hash.String(), e.At.UnixMicro(), s.Kind, s.ID)
	return e
}

func verify(t testing.TB, w *world.World, o store.VerifyOptions) store.Report {
	t.Helper()
	r, err := w.Store.Verify(context.Background(), o)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return r
}

// wantHolds fails the test for everything that a verification finds.
func wantHolds(t testing.TB, r store.Report) {
	t.Helper()
	for _, p := range r.Problems {
		t.Errorf("an untouched history does not hold: %s", p)
	}
}

// wantNamed fails the test unless the report names the entry.
func wantNamed(t testing.TB, r store.Report, s ledger.Scope, revision int64) {
	t.Helper()
	for _, p := range r.Problems {
		if p.Scope == s && p.Revision == revision {
			return
		}
	}
	t.Errorf("%s revision %d is not named; found: %v", s, revision, r.Problems)
}

func eachEventful(t *testing.T, test func(t *testing.T, w *world.World, x tamper)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		w := eventful(t, p)
		test(t, w, tampering(t, w))
		wantHolds(t, verify(t, w, store.VerifyOptions{})) // the control: everything was put back
	})
}

func TestVerifyHolds(t *testing.T) {
	eachEventful(t, func(t *testing.T, w *world.World, x tamper) {
		idle := idleScope(t, w)
		late := x.append(idle, dispatch.EntryAlert, ledger.Actor{}, dispatch.Body{Text: "not anchored yet"})
		r := verify(t, w, store.VerifyOptions{})
		wantHolds(t, r)
		if !r.Holds() || r.Entries < 80 || r.Scopes < 12 || r.HeadFile != "compared" || r.Engine != w.Store.Engine() {
			t.Errorf("the report says %+v", r)
		}
		if r.AnchoredRevision == 0 || r.AnchoredAt.IsZero() || r.Installation.Revision < r.AnchoredRevision {
			t.Errorf("the report knows no anchor: %+v", r)
		}
		if want := (store.Unanchored{Scope: idle, From: late.Revision, Entries: 1}); len(r.Unanchored) != 1 || r.Unanchored[0] != want {
			t.Errorf("not anchored are %v, want %v", r.Unanchored, want)
		}
	})
}

func idleScope(t *testing.T, w *world.World) ledger.Scope {
	t.Helper()
	m, err := w.Store.Machine(ctx, "idle")
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Scope{Kind: ledger.Machine, ID: m.ID}
}

// someEntries are the last entry of the longest scope of every kind, and a middle one of a machine's, as the database has
// them.
func (x tamper) someEntries() []ledger.Head {
	x.t.Helper()
	var out []ledger.Head
	for _, kind := range dispatch.HistoryOrder {
		var h ledger.Head
		var n int64
		err := x.QueryRow(`SELECT scope_id, COUNT(*) FROM entries WHERE scope_kind = $1 GROUP BY scope_id
			ORDER BY COUNT(*) DESC, scope_id LIMIT 1`, kind).Scan(&h.Scope.ID, &n)
		if err != nil {
			x.t.Fatal(err)
		}
		h.Scope.Kind = kind
		if kind == ledger.Machine {
			h.Revision = n/2 + 1
			out = append(out, h)
		}
		h.Revision = n
		out = append(out, h)
	}
	return out
}

// changes are what a column's value may be changed to.
func changes(column string, old any) []any {
	switch v := old.(type) {
	case int64:
		return []any{v + 1000, v + 1, v - 1, int64(0), int64(1)}
	case string:
		out := []any{v + "x"}
		if column == "hash" || column == "prev" { // the first of a scope has no prev to spell otherwise
			out = []any{flipped(v), strings.ToUpper(v), ""}
		}
		if strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[") {
			out = append(out, " "+v, "")
		}
		if strings.HasSuffix(column, "kind") || strings.HasPrefix(column, "state") {
			out = append(out, "completed", "failed", "cancelled", "committed", "approved", "proposed", "person", "agent")
		}
		return out
	}
	return nil
}

func flipped(hash string) string {
	if hash == "" || hash[0] != 'f' {
		return "f" + hash[min(1, len(hash)):]
	}
	return "e" + hash[1:]
}

func TestVerifyFindsChangedEntries(t *testing.T) {
	eachEventful(t, func(t *testing.T, w *world.World, x tamper) {
		for _, h := range x.someEntries() {
			for _, column := range x.columns("entries") {
				t.Run(fmt.Sprintf("%s %d %s", h.Scope, h.Revision, column), func(t *testing.T) { x.changeEntry(t, h, column) })
			}
		}
	})
}

// changeEntry changes a column of one entry: a number to the first other one that the database takes, a text in each way.
func (x tamper) changeEntry(t *testing.T, h ledger.Head, column string) {
	const where = ` WHERE scope_kind = $1 AND scope_id = $2 AND revision = $3`
	key := []any{h.Scope.Kind, h.Scope.ID, h.Revision}
	old := x.one(`SELECT `+column+` FROM entries`+where, key...)
	values := changes(column, old)
	if _, number := old.(int64); !number {
		values = values[:min(len(values), 3)]
	}
	taken := 0
	for _, value := range values {
		if value == old {
			continue
		}
		x.undo(func() {
			if _, err := x.Exec(`UPDATE entries SET `+column+` = $4`+where, append(slices.Clone(key), value)...); err != nil {
				return
			}
			taken++
			r := verify(t, x.w, store.VerifyOptions{})
			wantNamed(t, r, h.Scope, h.Revision)
		}, "entries")
		if _, number := old.(int64); number && taken > 0 {
			break
		}
	}
	if taken == 0 {
		t.Fatalf("the database takes no other %s than %v", column, old)
	}
}

func TestVerifyFindsChangedHeads(t *testing.T) {
	eachEventful(t, func(t *testing.T, w *world.World, x tamper) {
		for _, h := range x.someEntries() {
			if x.one(`SELECT MAX(revision) FROM entries WHERE scope_kind = $1 AND scope_id = $2`, h.Scope.Kind, h.Scope.ID) != h.Revision {
				continue
			}
			for _, column := range x.columns("scopes") {
				old := x.one(`SELECT `+column+` FROM scopes WHERE kind = $1 AND id = $2`, h.Scope.Kind, h.Scope.ID)
				values := changes(column, old)
				for _, value := range values[:1] {
					t.Run(fmt.Sprintf("%s %s %.12v", h.Scope, column, value), func(t *testing.T) {
						x.undo(func() {
							x.exec(`UPDATE scopes SET `+column+` = $3 WHERE kind = $1 AND id = $2`, h.Scope.Kind, h.Scope.ID, value)
							r := verify(t, w, store.VerifyOptions{})
							if !slices.ContainsFunc(r.Problems, func(p store.Problem) bool { return p.Scope == h.Scope && p.Revision >= h.Revision }) {
								t.Errorf("the head of %s is not named; found: %v", h.Scope, r.Problems)
							}
						}, "scopes")
					})
				}
			}
			t.Run(h.Scope.String()+" deleted", func(t *testing.T) {
				x.undo(func() {
					x.exec(`DELETE FROM scopes WHERE kind = $1 AND id = $2`, h.Scope.Kind, h.Scope.ID)
					wantNamed(t, verify(t, w, store.VerifyOptions{}), h.Scope, h.Revision)
				}, "scopes")
			})
		}
	})
}

func TestVerifyFindsMissingEntries(t *testing.T) {
	eachEventful(t, func(t *testing.T, w *world.World, x tamper) {
		for _, h := range x.someEntries() {
			t.Run(fmt.Sprintf("%s %d", h.Scope, h.Revision), func(t *testing.T) {
				x.undo(func() {
					x.exec(`DELETE FROM entries WHERE scope_kind = $1 AND scope_id = $2 AND revision = $3`, h.Scope.Kind, h.Scope.ID, h.Revision)
					wantNamed(t, verify(t, w, store.VerifyOptions{}), h.Scope, h.Revision)
				}, "entries")
			})
		}
	})
}

func TestVerifyFindsSwappedEntries(t *testing.T) {
	eachEventful(t, func(t *testing.T, w *world.World, x tamper) {
		const set = `UPDATE entries SET revision = $1 WHERE scope_kind = $2 AND scope_id = $3 AND revision = $4`
		for _, h := range x.someEntries() {
			if h.Revision == 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s %d and before", h.Scope, h.Revision), func(t *testing.T) {
				x.undo(func() {
					x.exec(set, 1<<40, h.Scope.Kind, h.Scope.ID, h.Revision)
					x.exec(set, h.Revision, h.Scope.Kind, h.Scope.ID, h.Revision-1)
					x.exec(set, h.Revision-1, h.Scope.Kind, h.Scope.ID, 1<<40)
					r := verify(t, w, store.VerifyOptions{})
					wantNamed(t, r, h.Scope, h.Revision-1)
					wantNamed(t, r, h.Scope, h.Revision)
				}, "entries")
			})
		}
	})
}

// cut removes a scope's entries from a revision on and sets its head back, as if they had never been written.
func (x tamper) cut(s ledger.Scope, from int64) {
	x.t.Helper()
	x.exec(`DELETE FROM entries WHERE scope_kind = $1 AND scope_id = $2 AND revision >= $3`, s.Kind, s.ID, from)
	x.exec(`UPDATE scopes SET revision = $1, hash = (SELECT hash FROM entries WHERE scope_kind = $2 AND scope_id = $3 AND revision = $1),
		at = (SELECT at FROM entries WHERE scope_kind = $2 AND scope_id = $3 AND revision = $1) WHERE kind = $2 AND id = $3`, from-1, s.Kind, s.ID)
}

// A cut tail is found by the anchors, a removed scope too; the tail of the installation's own chain by what this host
// remembers.
func TestVerifyFindsWhatIsGone(t *testing.T) {
	eachEventful(t, func(t *testing.T, w *world.World, x tamper) {
		for _, h := range x.someEntries() {
			last := x.one(`SELECT revision FROM scopes WHERE kind = $1 AND id = $2`, h.Scope.Kind, h.Scope.ID).(int64)
			if h.Revision != last {
				continue
			}
			if h.Scope.Kind == ledger.Installation {
				h.Revision-- // the last head that a commitment of this host saw is before the anchor
			}
			t.Run(h.Scope.String()+" cut", func(t *testing.T) {
				x.undo(func() {
					if h.Revision == 1 {
						x.exec(`DELETE FROM entries WHERE scope_kind = $1 AND scope_id = $2`, h.Scope.Kind, h.Scope.ID)
						x.exec(`DELETE FROM scopes WHERE kind = $1 AND id = $2`, h.Scope.Kind, h.Scope.ID)
					} else {
						x.cut(h.Scope, h.Revision)
					}
					r := verify(t, w, store.VerifyOptions{})
					if !slices.ContainsFunc(r.Problems, func(p store.Problem) bool { return p.Scope == h.Scope }) {
						t.Errorf("the cut of %s is not named; found: %v", h.Scope, r.Problems)
					}
				}, "entries", "scopes")
			})
			if h.Scope.Kind == ledger.Installation {
				continue
			}
			t.Run(h.Scope.String()+" removed", func(t *testing.T) {
				x.undo(func() {
					x.exec(`DELETE FROM entries WHERE scope_kind = $1 AND scope_id = $2`, h.Scope.Kind, h.Scope.ID)
					x.exec(`DELETE FROM scopes WHERE kind = $1 AND id = $2`, h.Scope.Kind, h.Scope.ID)
					r := verify(t, w, store.VerifyOptions{})
					if !slices.ContainsFunc(r.Problems, func(p store.Problem) bool {
						return p.Scope == h.Scope && p.Revision > 0 && p.Revision <= last && strings.Contains(p.Text, "scope is missing")
					}) {
						t.Errorf("%s is not missed; found: %v", h.Scope, r.Problems)
					}
				}, "entries", "scopes")
			})
		}
	})
}

// projectedTables are the tables that entries tell, each with the columns that can have one value only.
var projectedTables = map[string][]string{
	"machines": nil, "drifts": nil, "plans": nil, "approvals": nil, "operations": nil, "attempts": nil, "observations": nil,
	"rollouts": nil, "identities": nil, "instances": nil, "installation": {"id"}, "anchored": nil,
	"artifacts": {"ciphertext", "size", "created_at"}, // proved by whoever decrypts; bookkeeping
}

func TestVerifyFindsChangedRows(t *testing.T) {
	eachEventful(t, func(t *testing.T, w *world.World, x tamper) {
		for table, fixed := range projectedTables {
			columns := x.columns(table)
			for _, column := range columns {
				if slices.Contains(fixed, column) {
					continue
				}
				t.Run(table+" "+column, func(t *testing.T) { x.changeRow(t, table, column) })
			}
			if table != "installation" {
				t.Run(table+" deleted", func(t *testing.T) {
					x.undo(func() {
						n := x.rowid(table)
						x.exec(`DELETE FROM ` + table + ` WHERE ` + n)
						wantRow(t, verify(t, w, store.VerifyOptions{}), table)
					}, table)
				})
			}
		}
	})
}

// rowid names one row of the table, in the engine's own way.
func (x tamper) rowid(table string) string {
	if x.w.Place.Location.Engine == config.Postgres {
		return fmt.Sprintf("ctid = '%v'", x.one(`SELECT CAST(MAX(ctid) AS TEXT) FROM `+table))
	}
	return fmt.Sprintf("rowid = %v", x.one(`SELECT MAX(rowid) FROM `+table))
}

// changeRow changes a column of one row to whatever the database takes.
func (x tamper) changeRow(t *testing.T, table, column string) {
	x.undo(func() {
		row := x.rowid(table)
		old := x.one(`SELECT ` + column + ` FROM ` + table + ` WHERE ` + row)
		for _, value := range changes(column, old) {
			if value == old {
				continue
			}
			if _, err := x.Exec(`UPDATE `+table+` SET `+column+` = $1 WHERE `+row, value); err != nil {
				continue
			}
			r := verify(t, x.w, store.VerifyOptions{})
			wantRow(t, r, table)
			return
		}
		t.Fatalf("the database takes no other %s than %v", column, old)
	}, table)
}

// wantRow fails the test unless the report names a row of the table.
func wantRow(t testing.TB, r store.Report, table string) {
	t.Helper()
	for _, p := range r.Problems {
		if strings.HasPrefix(p.Record, table+" ") && p.Scope.Kind != "" {
			return
		}
	}
	t.Errorf("no row of %s is named; found: %v", table, r.Problems)
}

// A history that is rewritten to its end, heads with it, shows against a checkpoint, and only there.
func TestVerifyFindsRewrites(t *testing.T) {
	eachEventful(t, func(t *testing.T, w *world.World, x tamper) {
		scope := idleScope(t, w)
		e := x.append(scope, dispatch.EntryAlert, ledger.Actor{}, dispatch.Body{Text: "as it was"}) // tells of no row
		var file bytes.Buffer
		taken, err := w.Store.Checkpoint(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := taken.Write(&file); err != nil {
			t.Fatal(err)
		}
		checkpoint, err := store.ReadCheckpoint(&file)
		if err != nil {
			t.Fatal(err)
		}
		wantHolds(t, verify(t, w, store.VerifyOptions{Checkpoint: &checkpoint}))
		x.undo(func() {
			e.Body = bytes.Replace(e.Body, []byte("as it was"), []byte("as it suits"), 1)
			sum, err := e.Sum()
			if err != nil {
				t.Fatal(err)
			}
			x.exec(`UPDATE entries SET body = $1, hash = $2 WHERE scope_kind = $3 AND scope_id = $4 AND revision = $5`,
				string(e.Body), sum.String(), scope.Kind, scope.ID, e.Revision)
			x.exec(`UPDATE scopes SET hash = $1 WHERE kind = $2 AND id = $3`, sum.String(), scope.Kind, scope.ID)
			wantHolds(t, verify(t, w, store.VerifyOptions{}))
			wantNamed(t, verify(t, w, store.VerifyOptions{Checkpoint: &checkpoint}), scope, e.Revision)
		}, "entries", "scopes")
	})
}

func TestVerifyBoundsItsReport(t *testing.T) {
	eachEventful(t, func(t *testing.T, w *world.World, x tamper) {
		x.undo(func() {
			x.exec(`UPDATE entries SET kind = 'x'`)
			r := verify(t, w, store.VerifyOptions{MaxProblems: 5})
			if len(r.Problems) != 5 || r.More == 0 || r.Holds() || len(r.Unjudged) == 0 {
				t.Errorf("%d problems, %d more, %d timelines not judged", len(r.Problems), r.More, len(r.Unjudged))
			}
		}, "entries")
	})
}
