package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// Tx is one transaction. It is used by one goroutine, inside the function that update or view was given, and not after.
type Tx struct {
	store  *Store
	ctx    context.Context
	conn   *conn
	time   time.Time
	heads  map[ledger.Scope]*lockedHead
	inst   *installation
	writes bool
	failed error // the first statement that failed: nothing commits after it
}

// update runs fn in a write transaction, under the locks l, and commits. what says in words what is being written, for
// errors: "the commitment of p-4fz".
//
// On PostgreSQL the locks are asked for along with the first statement of fn that is asked for its answer: they stand
// before anything is read, but not yet as fn begins.
//
// An error of fn, refusals included, rolls back and is returned as it is. A COMMIT whose outcome is open is a
// *refusal.Unknown; any other error means that nothing was committed.
func (s *Store) update(ctx context.Context, l locks, what string, fn func(tx *Tx) error) error {
	err := s.run(ctx, l, what, fn)
	if err == nil || isDecision(err) {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}

// isDecision: these carry their own words, and wrapping would only repeat them.
func isDecision(err error) bool {
	if _, ok := refusal.As(err); ok {
		return true
	}
	_, ok := refusal.AsUnknown(err)
	return ok
}

func (s *Store) run(ctx context.Context, l locks, what string, fn func(tx *Tx) error) error {
	if l.guarded {
		if err := s.Restored(); err != nil {
			return err
		}
	}
	c, err := s.engine.beginWrite(ctx)
	if err != nil {
		return err
	}
	tx := &Tx{store: s, ctx: ctx, conn: c, heads: map[ledger.Scope]*lockedHead{}, writes: true}
	open := true
	defer func() {
		if open { // an error, or a panic of fn
			rollback(ctx, c)
		}
	}()
	if err := tx.prepare(what, l); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	if tx.failed != nil {
		return fmt.Errorf("a statement failed before: %w", tx.failed)
	}
	if err := tx.saveHeads(); err != nil {
		return err
	}
	if err := tx.flush(); err != nil {
		return err
	}
	open = false
	if err := s.commit(ctx, c, what); err != nil {
		return err
	}
	s.committed(tx, l)
	return nil
}

func (tx *Tx) prepare(what string, l locks) error {
	if err := tx.store.take(tx, what, l); err != nil {
		return err
	}
	if err := tx.readClock(); err != nil {
		return err
	}
	tx.installationSoon()
	if !l.guarded {
		return nil
	}
	if err := tx.checkRestored(l.machines); err != nil {
		return err
	}
	return tx.checkClock(l.machines)
}

func (s *Store) commit(ctx context.Context, c *conn, what string) error {
	ctx, cancel := ending(ctx)
	defer cancel()
	commit := func() (bool, error) { return s.engine.commit(ctx, c) }
	if around := s.cfg.Committing; around != nil {
		plain := commit
		commit = func() (bool, error) { return around(what, plain) }
	}
	unknown, err := commit()
	switch {
	case err == nil:
		c.release(false)
		return nil
	case unknown:
		c.release(true)
		return &refusal.Unknown{
			What: what + " was recorded", Err: err,
			Remedy: "clew log", // once the store answers again
		}
	}
	rollback(ctx, c)
	return fmt.Errorf("commit: %w", err)
}

// lookup runs fn with a single query. It needs no transaction, and costs less without one.
func (s *Store) lookup(ctx context.Context, fn func(tx *Tx) error) error {
	c, err := s.engine.beginRead(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, c)
	if c.pipe != nil {
		c.pipe.begin = ""
	}
	return fn(&Tx{store: s, ctx: ctx, conn: c, heads: map[ledger.Scope]*lockedHead{}})
}

// view runs fn in a transaction that sees one snapshot and writes nothing.
func (s *Store) view(ctx context.Context, fn func(tx *Tx) error) error {
	c, err := s.engine.beginRead(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, c)
	tx := &Tx{store: s, ctx: ctx, conn: c, heads: map[ledger.Scope]*lockedHead{}}
	if err := fn(tx); err != nil {
		return err
	}
	return tx.failed // the clock's, for one, which Now cannot return
}

// Now is the transaction's time, UTC, in microseconds: read once, in a write transaction after the locks. What only reads
// asks for it when it needs it; where that fails, so does the transaction.
func (tx *Tx) Now() time.Time {
	if tx.time.IsZero() {
		if !tx.writes {
			_ = tx.readClock()
		}
		_ = tx.flush()
	}
	return tx.time
}

// Context is the context of the transaction, for calls that are made inside it.
func (tx *Tx) Context() context.Context { return tx.ctx }

func (tx *Tx) readClock() error {
	if p := tx.conn.pipe; p != nil {
		tx.later(postgresClock, nil, func(scan func(...any) error) error {
			var n int64
			err := scan(&n)
			tx.time = fromMicros(n)
			return err
		})
		return nil
	}
	now, err := tx.store.engine.now(tx.ctx, tx.conn)
	tx.time = now
	return tx.note(err)
}

// later sends a statement before the next one whose answer counts; row, unless nil, reads the first row of its answer.
func (tx *Tx) later(query string, args []any, row func(scan func(...any) error) error) {
	tx.conn.pipe.later(query, args, func(c *pgCursor) error {
		if row == nil || !c.Next() {
			return c.Close()
		}
		return cmp.Or(row(c.Scan), c.Close())
	})
}

// flush sends what waits.
func (tx *Tx) flush() error {
	if tx.conn.pipe == nil {
		return nil
	}
	return tx.note(tx.conn.pipe.flush(tx.ctx))
}

// note explains and remembers a failed statement: PostgreSQL would answer the COMMIT of its transaction with a silent rollback.
func (tx *Tx) note(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	err = tx.store.engine.explain(err)
	if tx.failed == nil {
		tx.failed = err
	}
	return err
}

// exec runs a statement and returns how many rows it changed.
func (tx *Tx) exec(query string, args ...any) (int64, error) {
	bound, err := bind(args)
	if err != nil {
		return 0, tx.note(err)
	}
	n, err := tx.conn.exec(tx.ctx, query, bound...)
	return n, tx.note(err)
}

// exec1 runs a statement that must change exactly one row, at the latest before the COMMIT: whatever it finds out fails
// the transaction.
func (tx *Tx) exec1(query string, args ...any) error {
	check := func(n int64) error {
		if n != 1 {
			return fmt.Errorf("store: %d rows changed where 1 was expected: %s", n, query)
		}
		return nil
	}
	p := tx.conn.pipe
	if p == nil {
		n, err := tx.exec(query, args...)
		if err != nil {
			return err
		}
		return tx.note(check(n))
	}
	bound, err := bind(args)
	if err != nil {
		return tx.note(err)
	}
	p.later(query, bound, func(c *pgCursor) error {
		n, err := c.affected()
		if err != nil {
			return err
		}
		return check(n)
	})
	return nil
}

// query runs a statement that returns rows. They must be read to their end before the next statement: use all.
func (tx *Tx) query(query string, args ...any) (cursor, error) {
	bound, err := bind(args)
	if err != nil {
		return nil, tx.note(err)
	}
	rows, err := tx.conn.query(tx.ctx, query, bound...)
	if err != nil {
		return nil, tx.note(err)
	}
	return rows, nil
}

// row runs a statement of which the first row counts. Its Scan returns sql.ErrNoRows when there is none.
func (tx *Tx) row(query string, args ...any) row {
	rows, err := tx.query(query, args...)
	return row{tx: tx, rows: rows, err: err}
}

type row struct {
	tx   *Tx
	rows cursor
	err  error
}

// Scan reads the row's columns and ends the statement.
func (r row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return r.tx.note(err)
		}
		return sql.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return r.tx.note(err)
	}
	return r.tx.note(r.rows.Close())
}

// all reads rows to their end. one reads a single row by calling scan once with a destination per column.
func all[T any](rows cursor, one func(scan func(dest ...any) error) (T, error)) ([]T, error) {
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := one(rows.Scan)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// ask is a query that is asked together with others, and what takes each of its rows.
type ask struct {
	query string
	args  []any
	row   func(scan func(dest ...any) error) error
}

// into asks for rows and appends them to what to points at.
func into[T any](to *[]T, one func(scan func(dest ...any) error) (T, error), query string, args ...any) ask {
	return ask{query: query, args: args, row: func(scan func(dest ...any) error) error {
		v, err := one(scan)
		if err == nil {
			*to = append(*to, v)
		}
		return err
	}}
}

// first is the first of a list, nil when it is empty.
func first[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// together runs queries none of which needs another's answer, one after the other.
func (tx *Tx) together(asks ...ask) error {
	for _, a := range asks {
		if tx.conn.pipe == nil {
			_, err := list(tx, func(scan func(...any) error) (struct{}, error) { return struct{}{}, a.row(scan) }, a.query, a.args...)
			if err != nil {
				return err
			}
			continue
		}
		bound, err := bind(a.args)
		if err != nil {
			return tx.note(err)
		}
		tx.conn.pipe.later(a.query, bound, func(c *pgCursor) error {
			for c.Next() {
				if err := a.row(c.Scan); err != nil {
					return err
				}
			}
			return c.Close()
		})
	}
	return tx.flush()
}

// list is query and all in one.
func list[T any](tx *Tx, one func(scan func(dest ...any) error) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.query(query, args...)
	if err != nil {
		return nil, err
	}
	out, err := all(rows, one)
	return out, tx.note(err)
}
