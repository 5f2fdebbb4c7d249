package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

// engine is what differs between the two databases. There are two implementations, engine_sqlite.go and
// engine_postgres.go, and nothing else in this package knows which one runs, nor reads an error code.
type engine interface {
	name() string

	// beginWrite opens a write transaction. On SQLite it waits for its turn first, as long as ctx lets it.
	beginWrite(ctx context.Context) (*conn, error)

	// beginRead opens a transaction that sees one snapshot and writes nothing.
	beginRead(ctx context.Context) (*conn, error)

	// commit ends a write transaction. open means that the outcome is not known: it may have been committed. Without
	// open, an error means that it was not.
	commit(ctx context.Context, c *conn) (open bool, err error)

	// now is the time inside a transaction: the database's, or on SQLite the host's.
	now(ctx context.Context, c *conn) (time.Time, error)

	// lock takes the two locks that are no rows, in this order, until the transaction ends.
	lock(ctx context.Context, c *conn, identities, installation lockMode) error

	// identity is what this database is, apart from its content: the same text as long as it is the same database.
	identity(ctx context.Context, c *conn) (string, error)

	// replaced says that the open database is no longer the one that was opened, by what can be seen without a query.
	replaced() error

	// explain puts what the user can do beside the words of a database error, and remembers signs of damage.
	explain(err error) error

	// migrate brings the schema to this binary's version; with look it only says when that is not so.
	migrate(ctx context.Context, look bool) error
	close() error
}

// conn is one connection inside one transaction.
type conn struct {
	sql     *sql.Conn
	rewrite func(query string) string
	stmts   map[string]*sql.Stmt // SQLite: prepared statements kept with the connection
	pipe    *pipeline            // PostgreSQL: what may wait waits here, and the driver keeps what it prepared
	release func(broken bool)    // gives the connection back; broken ones are thrown away
}

func (c *conn) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	s, err := c.sql.PrepareContext(ctx, c.rewrite(query))
	if err == nil {
		c.stmts[query] = s
	}
	return s, err
}

func (c *conn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	if c.pipe != nil {
		return c.pipe.exec(ctx, query, args...)
	}
	//lint:ignore sqlclosecheck the statement is kept with its connection
	s, err := c.prepared(ctx, query)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (c *conn) query(ctx context.Context, query string, args ...any) (cursor, error) {
	if c.pipe != nil {
		rows, err := c.pipe.query(ctx, query, args...)
		if err != nil {
			if rows != nil {
				_ = rows.Close()
			}
			return nil, err
		}
		return rows, nil
	}
	//lint:ignore sqlclosecheck the statement is kept with its connection
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// discard makes the pool throw the connection away: what state its transaction is in is not known.
func discard(c *sql.Conn) {
	_ = c.Raw(func(any) error { return driver.ErrBadConn })
	_ = c.Close()
}

// endTimeout bounds a COMMIT or a ROLLBACK. Neither is cut short by the caller's context: a COMMIT that is given up
// half-way only makes an unknown outcome out of a known one.
const endTimeout = 30 * time.Second

func ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
}

// rollback ends a transaction without committing it. Where that fails the connection goes, and the database rolls back
// by itself.
func rollback(ctx context.Context, c *conn) {
	if c.pipe != nil {
		c.pipe.queued = nil
		if !c.pipe.begun {
			c.release(false)
			return
		}
	}
	ctx, cancel := ending(ctx)
	defer cancel()
	_, err := c.exec(ctx, "ROLLBACK")
	c.release(err != nil)
}
