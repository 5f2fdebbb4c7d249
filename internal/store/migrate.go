package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	dialectSQLite   = goose.DialectSQLite3
	dialectPostgres = goose.DialectPostgres
)

// ErrNewer says that a newer clew has written to the store.
var ErrNewer = errors.New("the store was written by a newer version of clew: use that version")

// errOtherSchema says that a store cannot be looked at as it is.
var errOtherSchema = errors.New("the database has not this version's tables: no store was ever made there, or an older version made it; " +
	"any command that uses the store brings it up to date")

// isCurrent says whether the schema is this binary's, by one query: what every command after the first finds. A database
// without a schema, or one that cannot be read, is left to migrate.
func isCurrent(ctx context.Context, db *sql.DB) (bool, error) {
	want, err := newestMigration()
	if err != nil {
		return false, err
	}
	var have int64
	if err := db.QueryRowContext(ctx, `SELECT MAX(version_id) FROM goose_db_version`).Scan(&have); err != nil {
		return false, nil
	}
	return have == want, newer(have, want)
}

func newer(have, want int64) error {
	if have > want {
		return fmt.Errorf("%w (schema version %d, this one knows %d)", ErrNewer, have, want)
	}
	return nil
}

// newestMigration is the version of the last file: the number that its name begins with.
func newestMigration() (int64, error) {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return 0, err
	}
	var newest int64
	for _, f := range files {
		v, err := goose.NumericComponent(f.Name())
		if err != nil {
			return 0, err
		}
		newest = max(newest, v)
	}
	return newest, nil
}

// migrate brings the schema to this binary's version. Migrations only go forward. The caller sees to it that no other
// process migrates at the same time.
func migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if err := newer(have, want); err != nil || have == want {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	return nil
}
