package bench

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/store/storetest"
)

var ctx = context.Background()

// table is what the capture must know of a table: how many of its first columns are its key, and which of its rows an
// operation touches, by its machine or its artifact. The order is one in which rows can be inserted.
type table struct {
	name string
	keys int
	rows string // "" where an operation touches none
	by   string // what $1 in rows is
}

var tables = []table{
	{name: "installation", keys: 1},
	{name: "identities", keys: 1},
	{name: "instances", keys: 1},
	{name: "machines", keys: 1, rows: "id = $1", by: "machine"},
	{name: "artifacts", keys: 1, rows: "digest = $1", by: "artifact"},
	{name: "plans", keys: 1, rows: "machine = $1", by: "machine"},
	{name: "approvals", keys: 1, rows: "plan IN (SELECT id FROM plans WHERE machine = $1)", by: "machine"},
	{name: "operations", keys: 1, rows: "machine = $1", by: "machine"},
	{name: "attempts", keys: 2, rows: "operation IN (SELECT id FROM operations WHERE machine = $1)", by: "machine"},
	{name: "observations", keys: 2, rows: "machine = $1", by: "machine"},
	{name: "drifts", keys: 1, rows: "machine = $1", by: "machine"},
	{name: "rollouts", keys: 1},
	{name: "scopes", keys: 2, rows: "kind = 'machine' AND id = $1", by: "machine"},
	{name: "entries", keys: 3, rows: "scope_kind = 'machine' AND scope_id = $1", by: "machine"},
	{name: "anchored", keys: 2},
}

// plain is a database used directly, by one connection with the settings that the store uses.
type plain struct {
	t      testing.TB
	engine config.Engine
	db     *sql.DB
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt
}

// sqliteSettings are those of the store's writing connection.
const sqliteSettings = "?mode=rw&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=fullfsync(1)" +
	"&_pragma=checkpoint_fullfsync(1)&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"

func openPlain(t testing.TB, p storetest.Place) *plain {
	t.Helper()
	driver, source := "sqlite", "file:"+p.Location.Path+sqliteSettings
	if p.Location.Engine == config.Postgres {
		driver, source = "pgx", p.Location.URL.Reveal()
	}
	db, err := sql.Open(driver, source)
	no(t, err)
	conn, err := db.Conn(ctx)
	no(t, err)
	d := &plain{t: t, engine: p.Location.Engine, db: db, conn: conn, stmts: map[string]*sql.Stmt{}}
	t.Cleanup(func() {
		for _, s := range d.stmts {
			_ = s.Close()
		}
		_ = conn.Close()
		_ = db.Close()
	})
	if d.engine == config.Postgres {
		d.exec(`SET synchronous_commit = on`)
	}
	return d
}

// exec runs a statement, prepared on first use. Parameters are $1, $2, ...
func (d *plain) exec(query string, args ...any) {
	d.t.Helper()
	s := d.stmts[query]
	if s == nil {
		text := query
		if d.engine == config.SQLite {
			text = strings.ReplaceAll(query, "$", "?")
		}
		var err error
		s, err = d.conn.PrepareContext(ctx, text)
		no(d.t, err)
		d.stmts[query] = s
	}
	if _, err := s.ExecContext(ctx, args...); err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
}

// change is one statement of a captured transaction.
type change struct {
	query string
	args  []any
}

// transaction runs the statements of one.
func (d *plain) transaction(changes []change) {
	d.t.Helper()
	begin := "BEGIN IMMEDIATE"
	if d.engine == config.Postgres {
		begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	}
	d.exec(begin)
	for _, c := range changes {
		d.exec(c.query, c.args...)
	}
	d.exec("COMMIT")
}

// content is rows by their keys.
type content map[string][]any

func (d *plain) read(t table, where string, args ...any) (columns []string, rows content) {
	d.t.Helper()
	if d.engine == config.SQLite {
		where = strings.ReplaceAll(where, "$", "?")
	}
	got, err := d.conn.QueryContext(ctx, "SELECT * FROM "+t.name+where, args...)
	no(d.t, err)
	defer got.Close()
	columns, err = got.Columns()
	no(d.t, err)
	rows = content{}
	for got.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		no(d.t, got.Scan(into...))
		rows[fmt.Sprint(row[:t.keys]...)] = row
	}
	no(d.t, got.Err())
	return columns, rows
}

// capture sees what each transaction of operations wrote, by comparing the rows before and after it.
type capture struct {
	*plain
	before map[string]content // by table
	subject
}

// subject is what an operation is about.
type subject struct{ machine, artifact string }

func newCapture(t testing.TB, p storetest.Place) *capture { return &capture{plain: openPlain(t, p)} }

// begin remembers the rows before an operation.
func (c *capture) begin(s subject) {
	c.subject, c.before = s, map[string]content{}
	c.since()
}

// since is what changed since begin or since it was called last.
func (c *capture) since() []change {
	var out []change
	for _, t := range tables {
		if t.rows == "" {
			continue
		}
		by := map[string]string{"machine": c.machine, "artifact": c.artifact}[t.by]
		columns, now := c.read(t, " WHERE "+t.rows, by)
		before, known := c.before[t.name]
		c.before[t.name] = now
		for _, key := range slices.Sorted(maps.Keys(now)) {
			if row := now[key]; !known || !slices.Equal(before[key], row) {
				out = append(out, writing(t, columns, before[key], row))
			}
		}
	}
	return out
}

// writing is the statement that makes a row of the one before: nil inserts it.
func writing(t table, columns []string, before, row []any) change {
	if before == nil {
		marks := make([]string, len(columns))
		for i := range marks {
			marks[i] = fmt.Sprintf("$%d", i+1)
		}
		return change{
			query: "INSERT INTO " + t.name + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")", args: row,
		}
	}
	var sets, keys []string
	var args []any
	bind := func(column string, value any) string {
		args = append(args, value)
		return fmt.Sprintf("%s = $%d", column, len(args))
	}
	for i := t.keys; i < len(columns); i++ {
		if row[i] != before[i] {
			sets = append(sets, bind(columns[i], row[i]))
		}
	}
	for i := range t.keys {
		keys = append(keys, bind(columns[i], row[i]))
	}
	return change{query: "UPDATE " + t.name + " SET " + strings.Join(sets, ", ") + " WHERE " + strings.Join(keys, " AND "), args: args}
}

// copyTo makes the other database hold the same rows, and no others.
func (d *plain) copyTo(other *plain) {
	d.t.Helper()
	for _, t := range slices.Backward(tables) {
		other.exec("DELETE FROM " + t.name)
	}
	other.exec("BEGIN")
	for _, t := range tables {
		columns, rows := d.read(t, "")
		for _, row := range rows {
			c := writing(t, columns, nil, row)
			other.exec(c.query, c.args...)
		}
	}
	other.exec("COMMIT")
}

func no(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
