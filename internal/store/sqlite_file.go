package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"
)

// applicationID marks the header of an SQLite file as a store of clew: "clew" in ASCII. A database without it belongs to
// another program, and nothing is written into it.
const applicationID = 0x636c6577

// ErrNotAStore says that what the path names is something else than a store, or was never made one.
var ErrNotAStore = errors.New("is no store of clew")

// settleFile returns the real path of the store's file, so that everybody who reaches it by whatever link queues at one
// lock. A file that does not exist is created, for the owner alone, unless the store is opened only to look. A file that
// is something else than a store is left as it is, and nothing is put beside it.
//
// An existing file is never opened here but by SQLite: closing it again would drop the locks that this process may hold
// on it.
func settleFile(ctx context.Context, path string, inspect bool) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return real, checkFile(ctx, real, inspect)
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s is a link to nothing and %w", path, ErrNotAStore)
	}
	if inspect {
		return "", err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	if err := refuseNetworkFS(dir); err != nil {
		return "", err
	}
	real = filepath.Join(dir, filepath.Base(path))
	f, err := os.OpenFile(real, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return real, checkFile(ctx, real, inspect) // another process was first
	}
	if err != nil {
		return "", err
	}
	return real, f.Close()
}

// checkFile refuses an existing file that is no store, and places where locks or syncs do not mean what they should.
func checkFile(ctx context.Context, path string, inspect bool) error {
	if err := refuseNetworkFS(filepath.Dir(path)); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file and %w", path, ErrNotAStore)
	}
	mark, empty, err := readMark(ctx, path)
	switch {
	case sqliteCode(err)&0xff == sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s %w, or it is damaged (then keep the file, and restore a backup): %w", path, ErrNotAStore, err)
	case err != nil:
		return err
	case mark == applicationID:
	case mark != 0 || !empty:
		return fmt.Errorf("%s is a database of another program and %w", path, ErrNotAStore)
	case inspect:
		return fmt.Errorf("%s is empty and %w", path, ErrNotAStore)
	}
	if inspect || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("the store is readable by others and stays so: %w", err)
	}
	return nil
}

// readMark reads the mark of an SQLite file and whether it holds nothing at all. It changes neither content nor mode.
// Where nothing can be put beside the file, as on a file system that is read-only, the file itself is read without locks.
func readMark(ctx context.Context, path string) (mark int64, empty bool, err error) {
	mark, empty, err = queryMark(ctx, plainDSN(path, "ro"))
	if sqliteCode(err)&0xff == sqlite3.SQLITE_CANTOPEN {
		mark, empty, err = queryMark(ctx, plainDSN(path, "ro")+"&immutable=1")
	}
	return mark, empty, err
}

func queryMark(ctx context.Context, dsn string) (mark int64, empty bool, err error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var objects int
	if err = db.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema`).Scan(&objects); err == nil {
		err = db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&mark)
	}
	return mark, objects == 0, err
}

// markFile makes an empty file a store's. The caller holds the queue. It comes before the first use of the write-ahead
// log, so that the mark is in the file itself.
func markFile(ctx context.Context, path string) error {
	mark, empty, err := readMark(ctx, path)
	if err != nil || mark == applicationID {
		return err
	}
	if !empty {
		return fmt.Errorf("%s is a database of another program and %w", path, ErrNotAStore)
	}
	db, err := sql.Open("sqlite", plainDSN(path, "rw"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID))
	return errors.Join(err, db.Close())
}

// plainDSN opens a file without changing anything about it.
func plainDSN(path, mode string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path}
	return u.String() + fmt.Sprintf("?mode=%s&_pragma=busy_timeout(%d)", mode, busyTimeout.Milliseconds())
}

func inode(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: no inode is known", path)
	}
	return st.Ino, nil
}
