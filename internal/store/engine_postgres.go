package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/clewops/clew/internal/config"
)

const (
	// idleInTransaction ends a session that holds locks and does nothing, such as that of a suspended process.
	idleInTransaction = "60s"

	// postgresConns bounds the pool. Waiting for a connection is not fair, waiting for a lock is: so it is generous.
	postgresConns = 48

	// advisorySpace is the first key of our advisory locks, "clew" in ASCII, so that other programs' locks in the same
	// database are not ours.
	advisorySpace = 0x636c6577
)

// postgresEngine is one PostgreSQL database through one pool.
type postgresEngine struct {
	db *sql.DB

	mu       sync.Mutex
	expected string // the identity of the database that was opened; "" before it is known
	changed  error  // set by the first connection that reached another one
}

func openPostgres(ctx context.Context, u config.DatabaseURL) (*postgresEngine, error) {
	cfg, err := pgx.ParseConfig(u.Reveal())
	if err != nil {
		// The parser's error can contain the URL.
		return nil, fmt.Errorf("the database URL %s is not valid", u)
	}
	cfg.RuntimeParams["synchronous_commit"] = "on"
	cfg.RuntimeParams["idle_in_transaction_session_timeout"] = idleInTransaction
	cfg.RuntimeParams["application_name"] = "clew"
	e := &postgresEngine{}
	e.db = stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(e.greet))
	e.db.SetMaxOpenConns(postgresConns)
	e.db.SetMaxIdleConns(postgresConns)
	e.db.SetConnMaxIdleTime(time.Minute)
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", u, err), e.close())
	}
	return e, nil
}

// start checks what durability rests on. A pooler in between may have dropped the parameter.
func (e *postgresEngine) start(ctx context.Context) error {
	var got string
	if err := e.db.QueryRowContext(ctx, "SHOW synchronous_commit").Scan(&got); err != nil {
		return err
	}
	if got != "on" && got != "remote_apply" {
		return fmt.Errorf("synchronous_commit is %s, and setting it to on had no effect: connect to PostgreSQL directly, "+
			"or set it for the role", got)
	}
	return nil
}

const postgresIdentity = `SELECT 'postgres system ' || (SELECT system_identifier FROM pg_control_system())
	|| ' timeline ' || CASE WHEN pg_is_in_recovery() THEN 'standby'
		ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END
	|| ' entries ' || COALESCE(to_regclass('entries')::oid::text, 'none')`

// greet compares every new connection with the database that was opened: the pool reconnects by itself, and after a
// failover it would reach another one under a running executor.
func (e *postgresEngine) greet(ctx context.Context, c *pgx.Conn) error {
	e.mu.Lock()
	expected := e.expected
	e.mu.Unlock()
	if expected == "" {
		return nil
	}
	var got string
	if err := c.QueryRow(ctx, postgresIdentity).Scan(&got); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if got != e.expected && e.changed == nil {
		e.changed = fmt.Errorf("the database is another one now (%s) than the one that was opened (%s)", got, e.expected)
	}
	return nil
}

func (e *postgresEngine) name() string { return "postgres" }

func (e *postgresEngine) beginWrite(ctx context.Context) (*conn, error) {
	// READ COMMITTED is named, whatever the role's default: a statement after a lock must see what was committed
	// while it waited for it.
	return e.begin(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
}

func (e *postgresEngine) beginRead(ctx context.Context) (*conn, error) {
	return e.begin(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
}

func (e *postgresEngine) begin(ctx context.Context, begin string) (*conn, error) {
	sc, err := e.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{sql: sc}
	c.release = func(broken bool) {
		if broken {
			discard(sc)
			return
		}
		_ = sc.Close()
	}
	err = sc.Raw(func(dc any) error {
		// It is used outside this function, but only as long as sc is held.
		c.pipe = &pipeline{conn: dc.(*stdlib.Conn).Conn(), begin: begin}
		return nil
	})
	if err != nil {
		c.release(true)
		return nil, err
	}
	return c, nil
}

func (e *postgresEngine) commit(ctx context.Context, c *conn) (bool, error) {
	var tag pgconn.CommandTag
	sent := false
	err := c.sql.Raw(func(dc any) (err error) {
		pg := dc.(*stdlib.Conn).Conn()
		if pg.IsClosed() {
			return errors.New("the connection was lost before the COMMIT")
		}
		sent = true
		tag, err = pg.Exec(ctx, "COMMIT")
		return err
	})
	if err != nil {
		return sent && postgresCommitOpen(err), err
	}
	if tag.String() != "COMMIT" {
		return false, fmt.Errorf("the server answered COMMIT with %s", tag)
	}
	return false, nil
}

// postgresCommitOpen says whether a failed COMMIT may still have taken effect. An ERROR that the server answers with is
// certain, unless it is about the machine under it; a session that ends, by its own FATAL or by silence, is not.
//
// pgconn.SafeToRetry is not asked: for a connection that is lost while the answer is awaited, the driver's error claims
// that nothing was sent.
func postgresCommitOpen(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.SeverityUnlocalized != "ERROR" {
		return true
	}
	for _, class := range []string{"08", "40003", "53", "57", "58", "XX"} {
		if strings.HasPrefix(pg.Code, class) {
			return true
		}
	}
	return false
}

func (e *postgresEngine) explain(err error) error { return err }

const postgresClock = `SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint`

func (e *postgresEngine) now(ctx context.Context, c *conn) (time.Time, error) {
	rows, err := c.query(ctx, postgresClock)
	if err != nil {
		return time.Time{}, err
	}
	at, err := all(rows, func(scan func(...any) error) (int64, error) {
		var n int64
		err := scan(&n)
		return n, err
	})
	if err != nil {
		return time.Time{}, err
	}
	return fromMicros(at[0]), nil
}

// lock takes advisory locks: shared by commitments and attempts, exclusively by what must stop them. PostgreSQL queues
// them in order, so that an exclusive one is not overtaken; behind row locks it would starve.
func (e *postgresEngine) lock(_ context.Context, c *conn, identities, installation lockMode) error {
	var calls []string
	for key, mode := range []lockMode{identities, installation} {
		switch mode {
		case shared:
			calls = append(calls, fmt.Sprintf("pg_advisory_xact_lock_shared(%d, %d)", advisorySpace, key+1))
		case exclusive:
			calls = append(calls, fmt.Sprintf("pg_advisory_xact_lock(%d, %d)", advisorySpace, key+1))
		case unlocked:
		}
	}
	if len(calls) == 0 {
		return nil
	}
	// A SELECT list is evaluated from left to right: the order of locks holds.
	c.pipe.later("SELECT "+strings.Join(calls, ", "), nil, (*pgCursor).Close)
	return nil
}

func (e *postgresEngine) identity(ctx context.Context, c *conn) (string, error) {
	rows, err := c.query(ctx, postgresIdentity)
	if err != nil {
		return "", err
	}
	got, err := all(rows, func(scan func(...any) error) (string, error) {
		var s string
		err := scan(&s)
		return s, err
	})
	if err != nil {
		return "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.expected == "" {
		e.expected = got[0]
	}
	return got[0], nil
}

func (e *postgresEngine) replaced() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changed
}

// migrate runs under an advisory lock of the session, so that two processes do not migrate at once.
func (e *postgresEngine) migrate(ctx context.Context, look bool) error {
	if done, err := isCurrent(ctx, e.db); done || err != nil {
		return err
	}
	if look {
		return errOtherSchema
	}
	lock, err := e.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer discard(lock) // ends the session, and with it the lock
	if _, err := lock.ExecContext(ctx, fmt.Sprintf("SELECT pg_advisory_lock(%d, 0)", advisorySpace)); err != nil {
		return err
	}
	return migrate(ctx, e.db, dialectPostgres)
}

func (e *postgresEngine) close() error { return e.db.Close() }
