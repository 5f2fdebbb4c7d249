package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// busyTimeout is how long SQLite itself waits for a lock that a program without our queue holds.
const busyTimeout = 5 * time.Second

// sqliteReaders is how many snapshots may be read at a time beside the writer.
const sqliteReaders = 4

// sqliteEngine is one SQLite file: one connection that writes, behind the queue, and a few that read.
type sqliteEngine struct {
	path    string
	ino     uint64
	clock   func() time.Time
	queue   *queue
	writer  *sql.DB
	readers *sql.DB
	idle    chan *reader         // holds a place for every snapshot that may still be opened; nil where no connection is kept
	held    *sql.Conn            // the writing connection, kept with its prepared statements
	stmts   map[string]*sql.Stmt // of held; both belong to whoever holds the queue
	damaged atomic.Pointer[damage]
}

// reader is a connection for snapshots, kept with its prepared statements.
type reader struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// readerStatements bounds what a reading connection keeps: listings are asked for in many words.
const readerStatements = 200

// forget closes what is prepared.
func (r *reader) forget() {
	for _, s := range r.stmts {
		_ = s.Close()
	}
	clear(r.stmts)
}

// damage is the first sign that the file is not a sound database any more; nothing is written after it.
type damage struct{ err error }

func openSQLite(ctx context.Context, path string, inspect bool, clock func() time.Time) (*sqliteEngine, error) {
	path, err := settleFile(ctx, path, inspect)
	if err != nil {
		return nil, (&sqliteEngine{path: path}).explain(err)
	}
	q, err := openQueue(path + ".lock")
	if err != nil {
		return nil, err
	}
	e := &sqliteEngine{path: path, clock: clock, queue: q}
	if e.writer, err = sql.Open("sqlite", e.dsn("")); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.writer.SetMaxOpenConns(1)
	if e.readers, err = sql.Open("sqlite", e.dsn("&_pragma=query_only(1)")); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.readers.SetMaxOpenConns(sqliteReaders + 1) // one for what is asked outside a snapshot
	e.idle = make(chan *reader, sqliteReaders)
	for range sqliteReaders {
		e.idle <- nil
	}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(e.explain(err), e.close())
	}
	return e, nil
}

// start makes the first connection under the queue, so that two processes do not both turn a new file into WAL mode,
// and checks that the settings that durability rests on took effect.
func (e *sqliteEngine) start(ctx context.Context) error {
	before, err := inode(e.path)
	if err != nil {
		return err
	}
	release, err := e.queue.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := markFile(ctx, e.path); err != nil {
		return err
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := e.writer.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s: SQLite did not accept %s = %s (it says %s)", e.path, pragma, want, got)
		}
	}
	if e.ino, err = inode(e.path); err != nil {
		return err
	}
	if e.ino != before {
		return fmt.Errorf("%s was replaced while it was opened", e.path)
	}
	return nil
}

func (e *sqliteEngine) dsn(more string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: e.path}
	// journal_mode comes after busy_timeout, because it needs the file alone for a moment.
	return u.String() + fmt.Sprintf("?mode=rw&_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)"+
		"&_pragma=synchronous(FULL)&_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)&_pragma=foreign_keys(1)"+
		"&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)", busyTimeout.Milliseconds()) + more
}

func (e *sqliteEngine) name() string { return "sqlite" }

func (e *sqliteEngine) beginWrite(ctx context.Context) (*conn, error) {
	if d := e.damaged.Load(); d != nil {
		return nil, fmt.Errorf("nothing is written any more: %w", d.err)
	}
	release, err := e.queue.acquire(ctx)
	if err != nil {
		return nil, err
	}
	// What is written to a file that another one has replaced is lost, and its log may be the other one's by now.
	err = e.replaced()
	var c *conn
	if err == nil {
		c, err = e.writeConn(ctx)
	}
	if err == nil {
		_, err = c.exec(ctx, "BEGIN IMMEDIATE")
		if err != nil {
			e.drop() // whether it began is not certain after an interrupt
		}
	}
	if err != nil {
		release()
		return nil, e.explain(err)
	}
	c.release = func(broken bool) {
		if broken {
			e.drop()
		}
		release()
	}
	return c, nil
}

// writeConn is the one writing connection. The caller holds the queue.
func (e *sqliteEngine) writeConn(ctx context.Context) (*conn, error) {
	if e.held == nil {
		c, err := e.writer.Conn(ctx)
		if err != nil {
			return nil, err
		}
		e.held, e.stmts = c, map[string]*sql.Stmt{}
	}
	return &conn{sql: e.held, rewrite: rebind, stmts: e.stmts}, nil
}

// drop closes the writing connection. The caller holds the queue.
func (e *sqliteEngine) drop() {
	if e.held == nil {
		return
	}
	for _, s := range e.stmts {
		_ = s.Close()
	}
	discard(e.held)
	e.held, e.stmts = nil, nil
}

func (e *sqliteEngine) beginRead(ctx context.Context) (*conn, error) {
	var r *reader
	select {
	case r = <-e.idle:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r == nil {
		sc, err := e.readers.Conn(ctx)
		if err != nil {
			e.idle <- nil
			return nil, e.explain(err)
		}
		r = &reader{conn: sc, stmts: map[string]*sql.Stmt{}}
	}
	c := &conn{sql: r.conn, rewrite: rebind, stmts: r.stmts}
	c.release = func(broken bool) {
		if broken || len(r.stmts) > readerStatements {
			r.forget()
		}
		if broken {
			discard(r.conn)
			r = nil
		}
		e.idle <- r
	}
	if _, err := c.exec(ctx, "BEGIN"); err != nil {
		c.release(true)
		return nil, e.explain(err)
	}
	return c, nil
}

func (e *sqliteEngine) commit(ctx context.Context, c *conn) (bool, error) {
	_, err := c.exec(ctx, "COMMIT")
	if err == nil {
		return false, nil
	}
	return sqliteCommitOpen(err), e.explain(err)
}

// sqliteCommitOpen says whether a failed COMMIT may still have taken effect: the log may hold all of it when the write
// or the sync after it is what failed. What SQLite refuses before it writes is certain.
func sqliteCommitOpen(err error) bool {
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE:
		return false
	}
	return true
}

func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return -1
}

// explained is an error of SQLite with what it means for the user.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text + ": " + e.err.Error() }
func (e *explained) Unwrap() error { return e.err }

// Away says that a failure is the disk's or another program's doing: the same may succeed once that is seen to.
func Away(err error) bool {
	var e *explained
	return errors.As(err, &e)
}

// explain puts what an error means beside SQLite's own words, once, and remembers damage.
func (e *sqliteEngine) explain(err error) error {
	var done *explained
	if errors.As(err, &done) {
		return err
	}
	text := ""
	code := sqliteCode(err) & 0xff
	if sqliteCode(err) == sqlite3.SQLITE_IOERR_SHMSIZE { // what the processes share could not grow
		code = sqlite3.SQLITE_FULL
	}
	switch code {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		text = "the store %s is damaged: stop, keep the file, and restore a backup"
	case sqlite3.SQLITE_FULL:
		text = "the disk of %s is full: make room, and try again"
	case sqlite3.SQLITE_READONLY:
		text = "the store %s or its file system is read-only: SQLite needs to write beside it, also to read it; work on a copy"
	case sqlite3.SQLITE_IOERR:
		text = "the disk of %s fails"
	case sqlite3.SQLITE_BUSY:
		text = "another program holds the store %s: try again when it has ended"
	case sqlite3.SQLITE_CANTOPEN:
		text = "the store %s cannot be opened"
	default:
		return err
	}
	err = &explained{text: fmt.Sprintf(text, e.path), err: err}
	if code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB {
		e.damaged.CompareAndSwap(nil, &damage{err})
	}
	return err
}

func (e *sqliteEngine) now(context.Context, *conn) (time.Time, error) {
	return e.clock().UTC().Truncate(time.Microsecond), nil
}

// A write transaction excludes every other one: there is nothing more to lock.
func (e *sqliteEngine) lock(context.Context, *conn, lockMode, lockMode) error { return nil }

func (e *sqliteEngine) identity(context.Context, *conn) (string, error) {
	return fmt.Sprintf("sqlite inode %d", e.ino), nil
}

func (e *sqliteEngine) replaced() error {
	ino, err := inode(e.path)
	if err != nil {
		return fmt.Errorf("the store's file is gone: %w", err)
	}
	if ino != e.ino {
		return fmt.Errorf("%s is another file now than the one that this process opened", e.path)
	}
	return nil
}

func (e *sqliteEngine) migrate(ctx context.Context, look bool) error {
	if done, err := isCurrent(ctx, e.readers); done || err != nil {
		return err
	}
	if look {
		return errOtherSchema
	}
	release, err := e.queue.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return e.explain(migrate(ctx, e.writer, dialectSQLite))
}

func (e *sqliteEngine) close() error {
	var errs []error
	if e.held != nil {
		for _, s := range e.stmts {
			errs = append(errs, s.Close())
		}
		errs = append(errs, e.held.Close())
	}
	for range cap(e.idle) {
		select {
		case r := <-e.idle:
			if r != nil {
				r.forget()
				errs = append(errs, r.conn.Close())
			}
		default: // a snapshot that is still open ends by itself
		}
	}
	for _, db := range []*sql.DB{e.readers, e.writer} { // the writer last: it checkpoints
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, e.queue.close())...)
}
