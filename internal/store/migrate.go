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
	if have > want {
		return fmt.Errorf("%w (schema version %d, this one knows %d)", ErrNewer, have, want)
	}
	if have == want {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	return nil
}
