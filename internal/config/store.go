package config

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
)

// Engine is the kind of database a store lives in.
type Engine string

// The engines.
const (
	SQLite   Engine = "sqlite"
	Postgres Engine = "postgres"
)

// Location says where the store is. It can be printed, logged and encoded: a password never shows.
type Location struct {
	Engine Engine
	Path   string      // SQLite: the file's absolute path
	URL    DatabaseURL // PostgreSQL
	Source string      // what named it: "--store", "CLEW_STORE", the configuration file's path, or "default"
	// InlinePassword says that the command line or the environment carried the password itself, where other
	// processes of this machine may read it.
	InlinePassword bool
}

// String is the location as shown to the user.
func (l Location) String() string {
	if l.Engine == Postgres {
		return l.URL.String()
	}
	return l.Path
}

// LogValue is the location in a log.
func (l Location) LogValue() slog.Value { return slog.StringValue(l.String()) }

// StoreLocation resolves where the store is: the --store flag (nil when it was not given), CLEW_STORE, the
// configuration file, the default file in the state directory. It opens nothing.
//
// The value is "sqlite" (the default file), a path, or a postgres:// URL. For a URL without a password,
// CLEW_STORE_PASSWORD_FILE or store.password_file may name the file that holds it; PGPASSFILE works too, in the
// database driver.
func (c Config) StoreLocation(flag *string) (Location, error) {
	value, source := c.Store.Location, c.File
	if env := c.getenv(EnvStore); env != "" {
		value, source = env, EnvStore
	}
	if flag != nil {
		value, source = *flag, "--store"
		if value == "" {
			return Location{}, errors.New("--store is empty: give a SQLite file or a PostgreSQL URL")
		}
	}
	if value == "" {
		value, source = string(SQLite), "default"
	}
	l, err := c.parseLocation(value, source)
	if err != nil {
		return Location{}, fmt.Errorf("%s: %w", source, err)
	}
	l.Source = source
	return l, nil
}

func (c Config) parseLocation(value, source string) (Location, error) {
	if value == string(SQLite) {
		return Location{Engine: SQLite, Path: filepath.Join(c.Dirs.State, "store.db")}, nil
	}
	scheme, _, isURL := strings.Cut(value, "://")
	if !isURL {
		path, err := c.storePath(value, source)
		return Location{Engine: SQLite, Path: path}, err
	}
	if scheme != "postgres" && scheme != "postgresql" {
		return Location{}, errors.New("a store is a SQLite file's path or a postgres:// URL")
	}
	return c.databaseURL(value, source)
}

func (c Config) storePath(value, source string) (string, error) {
	if source == c.File {
		return c.fromFile(value)
	}
	return cleanPath(value)
}

// databaseURL parses a PostgreSQL URL and adds the password that a file holds, if it has none itself.
func (c Config) databaseURL(value, source string) (Location, error) {
	u, err := ParseDatabaseURL(value)
	if err != nil {
		return Location{}, err
	}
	inline := u.hasSecret()
	if inline && source == c.File {
		return Location{}, errors.New("store.location contains a password: put it into a file of its own and name that " +
			"in store.password_file")
	}
	if !u.hasPassword() {
		if u, err = c.addPassword(u); err != nil {
			return Location{}, err
		}
	}
	return Location{Engine: Postgres, URL: u, InlinePassword: inline}, nil
}

// addPassword puts the password that a file holds, if one is named, into the URL.
func (c Config) addPassword(u DatabaseURL) (DatabaseURL, error) {
	file := c.Store.PasswordFile
	if env := c.getenv(EnvPasswordFile); env != "" {
		file = env
	}
	if file == "" {
		return u, nil
	}
	b, err := readLimited(file)
	if err != nil {
		return DatabaseURL{}, fmt.Errorf("read the database password: %w", err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return DatabaseURL{}, fmt.Errorf("read the database password: the first line of %s is empty", file)
	}
	return u.withPassword(line), nil
}
