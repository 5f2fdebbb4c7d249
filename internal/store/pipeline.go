package store

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"
)

// cursor reads the rows that a statement returns. *sql.Rows is one.
type cursor interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// pipeline sends statements whose answers nobody waits for together with the next one whose answer counts, in their
// order: one way to the server and back for all of them. The server runs them one after the other, so that a lock that
// one takes is held, and waited for, before the next one reads. The first that fails is the last that runs, and its error
// is returned by whatever sent it.
type pipeline struct {
	conn   *pgx.Conn
	begin  string // the BEGIN, sent with the first statement; "" outside a transaction
	begun  bool
	queued []queued
}

type queued struct {
	query string
	args  []any
	take  func(c *pgCursor) error // reads the answer
}

func (p *pipeline) later(query string, args []any, take func(c *pgCursor) error) {
	p.queued = append(p.queued, queued{query, args, take})
}

// query sends what is queued and the statement, and returns its rows once the answers before them are read.
func (p *pipeline) query(ctx context.Context, query string, args ...any) (*pgCursor, error) {
	if len(p.queued) == 0 && (p.begun || p.begin == "") {
		rows, err := p.conn.Query(ctx, query, args...)
		return &pgCursor{rows: rows}, err
	}
	results, err := p.send(ctx, queued{query: query, args: args})
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	return &pgCursor{rows: rows, of: results}, err
}

func (p *pipeline) exec(ctx context.Context, query string, args ...any) (int64, error) {
	c, err := p.query(ctx, query, args...)
	if err != nil {
		if c != nil {
			_ = c.Close()
		}
		return 0, err
	}
	err = c.Close()
	return c.rows.CommandTag().RowsAffected(), err
}

// flush sends what is queued.
func (p *pipeline) flush(ctx context.Context) error {
	if len(p.queued) == 0 {
		return nil
	}
	results, err := p.send(ctx)
	if err != nil {
		return err
	}
	return results.Close()
}

// send sends the queue and the statements after it, and reads the answers to the queue.
func (p *pipeline) send(ctx context.Context, more ...queued) (pgx.BatchResults, error) {
	all := append(p.queued, more...)
	if p.begin != "" && !p.begun {
		all = append([]queued{{query: p.begin, take: (*pgCursor).Close}}, all...)
	}
	answers := all[:len(all)-len(more)]
	p.queued, p.begun = nil, p.begin != ""
	b := &pgx.Batch{}
	for _, q := range all {
		b.Queue(q.query, q.args...)
	}
	results := p.conn.SendBatch(ctx, b)
	for _, q := range answers {
		rows, err := results.Query()
		c := &pgCursor{rows: rows}
		if err == nil {
			err = q.take(c)
		}
		if err = cmp.Or(err, c.Close()); err != nil {
			_ = results.Close()
			return nil, err
		}
	}
	return results, nil
}

// pgCursor is a cursor over what PostgreSQL answers; of is the pipeline's run whose last statement it belongs to.
type pgCursor struct {
	rows pgx.Rows
	of   pgx.BatchResults
}

func (c *pgCursor) Next() bool             { return c.rows.Next() }
func (c *pgCursor) Scan(dest ...any) error { return c.rows.Scan(dest...) }
func (c *pgCursor) Err() error             { return c.rows.Err() }

// Close reads to the end, and says what failed on the way.
func (c *pgCursor) Close() error {
	c.rows.Close()
	err := c.rows.Err()
	if c.of != nil {
		err = cmp.Or(err, c.of.Close())
		c.of = nil
	}
	return err
}

// affected is how many rows the statement changed, after its answer was read.
func (c *pgCursor) affected() (int64, error) {
	err := c.Close()
	return c.rows.CommandTag().RowsAffected(), err
}
