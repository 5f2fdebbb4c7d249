package sim

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

// Place is one database that histories use one after the other, the stores that processes have open on it, and the
// clock that they see. Making a store and its first records takes many times as long as a history, so a place does it
// once and puts that beginning back before each history.
type Place struct {
	location config.Location
	dir      string
	dirs     map[string]string // state directory of each host
	without  dispatch.Without
	clock    time.Time
	db       *sql.DB   // past the stores: reads entries, takes and puts back snapshots, and sets PostgreSQL's clock
	after    *sql.Stmt // the entries after a place in their order
	pushed   time.Time

	stores  map[string]*store.Store // by host
	begins  snapshot
	heads   map[string][]byte // head files of the beginning, by path
	names   names             // of the beginning
	resets  int
	cleanup []func() error
}

// The hosts that processes run on.
const (
	desk   = "desk"
	laptop = "laptop"
)

var hosts = []string{desk, laptop}

// hostFacts is a host as processes record it.
func hostFacts(name string) dispatch.Host {
	return dispatch.Host{Name: name, ID: "id-of-" + name, BootID: "boot-of-" + name, NetNS: "net-of-" + name}
}

// NewPlace makes a place for histories on a fresh database: an empty directory for SQLite, which should be in memory, or
// an empty PostgreSQL database of its own.
func NewPlace(location config.Location, dir string, without dispatch.Without) (*Place, error) {
	p := &Place{
		location: location, dir: dir, dirs: map[string]string{}, stores: map[string]*store.Store{},
		clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
	for _, h := range hosts {
		p.dirs[h] = filepath.Join(dir, h)
	}
	if err := p.open(without); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Place) open(without dispatch.Without) (err error) {
	if p.location.Engine == config.SQLite {
		// The file is the store's to make: it refuses one that others can read.
		if _, err := p.store(desk); err != nil {
			return err
		}
		p.db, err = sql.Open("sqlite", p.location.Path+"?_pragma=busy_timeout(30000)&_pragma=synchronous(OFF)")
	} else {
		if p.db, err = sql.Open("pgx", p.location.URL.Reveal()); err == nil {
			err = p.ownClock()
		}
	}
	if err != nil {
		return err
	}
	p.db.SetMaxOpenConns(1)
	if p.location.Engine == config.Postgres {
		if _, err := p.store(desk); err != nil {
			return err
		}
		// The order in which entries were committed, which nothing in the store needs.
		if _, err := p.db.Exec(`ALTER TABLE entries ADD COLUMN sim_seq BIGSERIAL`); err != nil {
			return err
		}
	}
	// The beginning is made with every guard in place; then those that are to go, go.
	if p.names, err = begin(p); err != nil {
		return err
	}
	p.without = without
	for _, q := range store.DropIndexesFor(without) {
		if _, err := p.db.Exec(q); err != nil {
			return err
		}
	}
	for _, h := range hosts {
		if err := p.reopen(h); err != nil {
			return err
		}
	}
	if p.begins, err = p.snapshot(); err != nil {
		return err
	}
	return errors.Join(p.keepHeads(), p.prepareReader())
}

// ownClock gives the database a clock that is set from here. A function of this name in a schema that is searched before
// PostgreSQL's own stands in for it, in every session of this database.
func (p *Place) ownClock() error {
	for _, q := range []string{
		`CREATE TABLE sim_clock (at TIMESTAMPTZ NOT NULL)`,
		`INSERT INTO sim_clock VALUES (pg_catalog.clock_timestamp())`,
		`CREATE FUNCTION public.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql VOLATILE AS 'SELECT at FROM public.sim_clock'`,
		`DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || quote_ident(current_database()) || ' SET search_path = public, pg_catalog'; END $$`,
	} {
		if _, err := p.db.Exec(q); err != nil {
			return err
		}
	}
	return p.pushClock()
}

// setClock sets what every store sees as the time.
func (p *Place) setClock(at time.Time) { p.clock = at }

// pushClock lets PostgreSQL see it.
func (p *Place) pushClock() error {
	if p.location.Engine != config.Postgres || p.pushed.Equal(p.clock) {
		return nil
	}
	p.pushed = p.clock
	_, err := p.db.Exec(`UPDATE sim_clock SET at = $1`, p.clock)
	return err
}

// store is the store as the host's processes have it open.
func (p *Place) store(host string) (*store.Store, error) {
	if s := p.stores[host]; s != nil {
		return s, nil
	}
	s, err := store.Open(context.Background(), store.Config{
		Location: p.location, StateDir: p.dirs[host], Host: hostFacts(host), Without: p.without,
		Clock:       func() time.Time { return p.clock },
		AnchorEvery: 24 * time.Hour, // anchoring is a step of its own
	})
	if err == nil {
		p.stores[host] = s
	}
	return s, err
}

// reopen closes the host's store and opens it again, as a new process does.
func (p *Place) reopen(host string) error {
	if s := p.stores[host]; s != nil {
		delete(p.stores, host)
		if err := s.Close(context.Background()); err != nil {
			return err
		}
	}
	_, err := p.store(host)
	return err
}

// reset puts the beginning back. Stores that noticed a restore do not forget it, and are opened anew.
func (p *Place) reset() error {
	if err := p.restore(p.begins); err != nil {
		return err
	}
	for path, content := range p.heads {
		if err := replaceFile(path, content); err != nil {
			return err
		}
	}
	for _, h := range hosts {
		if s := p.stores[h]; s != nil && s.Restored() == nil {
			continue
		}
		if err := p.reopen(h); err != nil {
			return err
		}
	}
	p.resets++
	if p.location.Engine == config.Postgres && p.resets%20 == 0 {
		if _, err := p.db.Exec(`VACUUM`); err != nil {
			return err
		}
	}
	return nil
}

// keepHeads remembers the hosts' head files as they are now.
func (p *Place) keepHeads() error {
	p.heads = map[string][]byte{}
	pattern := p.location.Path + ".head"
	if p.location.Engine == config.Postgres {
		pattern = filepath.Join(filepath.Dir(p.dirs[desk]), "*", "heads", "*.head")
	}
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return errors.Join(err, fmt.Errorf("no head file at %s", pattern))
	}
	for _, path := range paths {
		if p.heads[path], err = os.ReadFile(path); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile puts another file in the place of one: whoever has the old one open notices.
func replaceFile(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Close ends the use of the place.
func (p *Place) Close() error {
	var errs []error
	for _, h := range hosts {
		if s := p.stores[h]; s != nil {
			errs = append(errs, s.Close(context.Background()))
		}
	}
	if p.after != nil {
		errs = append(errs, p.after.Close())
	}
	if p.db != nil {
		errs = append(errs, p.db.Close())
	}
	for _, f := range slices.Backward(p.cleanup) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// snapshot is the content of every table, as the statements that put it back.
type snapshot string

// order is how the entries of a table are ordered as they were committed.
func (p *Place) order() string {
	if p.location.Engine == config.SQLite {
		return "rowid"
	}
	return "sim_seq"
}

func (p *Place) tables() ([]string, error) {
	q := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite_%'`
	if p.location.Engine == config.Postgres {
		q = `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'goose%' AND tablename <> 'sim_clock'`
	}
	rows, err := p.db.Query(q + ` ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// snapshot takes what the database holds now, whatever tables it has.
func (p *Place) snapshot() (snapshot, error) {
	tables, err := p.tables()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if p.location.Engine == config.SQLite {
		b.WriteString("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE;\n")
	} else {
		b.WriteString("BEGIN; SET LOCAL session_replication_role = replica;\n") // no foreign keys are checked meanwhile
	}
	for _, t := range tables {
		if err := p.dump(&b, t); err != nil {
			return "", fmt.Errorf("snapshot of %s: %w", t, err)
		}
	}
	b.WriteString("COMMIT;\n")
	return snapshot(b.String()), nil
}

func (p *Place) dump(b *strings.Builder, table string) error {
	q := "SELECT * FROM " + table
	if table == "entries" {
		q += " ORDER BY " + p.order()
	}
	rows, err := p.db.Query(q)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return c == "sim_seq" })
	fmt.Fprintf(b, "DELETE FROM %s;\n", table)
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for n := 0; rows.Next(); n++ {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if n == 0 {
			fmt.Fprintf(b, "INSERT INTO %s (%s) VALUES\n", table, strings.Join(kept, ", "))
		} else {
			b.WriteString(",\n")
		}
		if err := writeRow(b, columns, values); err != nil {
			return err
		}
	}
	if s := b.String(); strings.HasSuffix(s, ")") {
		b.WriteString(";\n")
	}
	return rows.Err()
}

func writeRow(b *strings.Builder, columns []string, values []any) error {
	sep := "("
	for i, c := range columns {
		if c == "sim_seq" {
			continue
		}
		b.WriteString(sep)
		sep = ", "
		switch v := values[i].(type) {
		case int64:
			fmt.Fprintf(b, "%d", v)
		case string:
			b.WriteString("'" + strings.ReplaceAll(v, "'", "''") + "'")
		default:
			return fmt.Errorf("column %s holds a %T", c, v)
		}
	}
	b.WriteString(")")
	return nil
}

// restore puts a snapshot back: the database shows what it showed then, and nobody who has it open is told.
func (p *Place) restore(s snapshot) error {
	_, err := p.db.Exec(string(s))
	if err != nil {
		return fmt.Errorf("put a snapshot back: %w", err)
	}
	return nil
}
