// Package config answers where things are and what the user has set: XDG directories, the configuration file, the
// environment and the store's location, each with the source it came from.
//
// It reads files and nothing else: it creates no directory, opens no store and contacts nobody. A secret is never a
// value in the configuration file; the file names the file that holds it.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// FileName is the configuration file's name inside the configuration directory.
const FileName = "config.yaml"

// Environment variables that Clew itself reads.
const (
	EnvConfig       = "CLEW_CONFIG"              // path of the configuration file
	EnvStore        = "CLEW_STORE"               // as --store
	EnvPasswordFile = "CLEW_STORE_PASSWORD_FILE" // as store.password_file
	EnvKeyFile      = "CLEW_KEY_FILE"            // as store.key_file
)

// maxFile is the largest configuration file read, in bytes: far above any real one, far below what would hurt.
const maxFile = 1 << 20

// Config is everything that can be set in the configuration file. Relative paths in it are relative to the file's
// directory, and a leading ~/ is the user's home.
type Config struct {
	// Identity is the asserted identity on a local store, as --as.
	Identity string `yaml:"identity"`
	// Talosconfig is the path of the talosconfig; empty means Talos' own search order.
	Talosconfig string `yaml:"talosconfig"`
	// Store says where the ledger is kept.
	Store StoreConfig `yaml:"store"`

	// Dirs are the user's directories, from the environment.
	Dirs Dirs `yaml:"-"`
	// File is the configuration file that was read, or would have been: it need not exist.
	File string `yaml:"-"`

	env Env
}

// StoreConfig says where the ledger and the key of its artifacts are kept.
type StoreConfig struct {
	// Location is a SQLite file or a PostgreSQL URL without a password; empty means the default file.
	Location string `yaml:"location"`
	// PasswordFile is a file whose first line is the database password.
	PasswordFile string `yaml:"password_file"`
	// KeyFile holds the key that artifacts are encrypted with; empty means the default file.
	KeyFile string `yaml:"key_file"`
}

// Env looks up an environment variable; "" means not set.
type Env func(key string) string

// Load reads the configuration file that env names, or the default one. A default file that does not exist is an
// empty configuration; one that CLEW_CONFIG names must exist. Unknown keys are errors that name the line.
func Load(env Env) (Config, error) {
	dirs, err := FindDirs(env)
	if err != nil {
		return Config{}, err
	}
	c := Config{Dirs: dirs, File: filepath.Join(dirs.Config, FileName), env: env}
	named := env(EnvConfig)
	if named != "" {
		if c.File, err = cleanPath(named); err != nil {
			return Config{}, fmt.Errorf("%s: %w", EnvConfig, err)
		}
	}
	b, err := readLimited(c.File)
	if errors.Is(err, fs.ErrNotExist) && named == "" {
		return c, nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	if err := decodeStrict(c.File, b, &c); err != nil {
		return Config{}, err
	}
	for _, p := range []*string{&c.Talosconfig, &c.Store.PasswordFile, &c.Store.KeyFile} {
		if *p, err = c.fromFile(*p); err != nil {
			return Config{}, fmt.Errorf("%s: %w", c.File, err)
		}
	}
	return c, nil
}

// KeyFile is the file that holds the artifacts' key: CLEW_KEY_FILE, the configuration's, or the default. It is kept
// apart from the database, so that a copy of the database alone opens nothing.
func (c Config) KeyFile() (string, error) {
	if p := c.getenv(EnvKeyFile); p != "" {
		return cleanPath(p)
	}
	if c.Store.KeyFile != "" {
		return c.Store.KeyFile, nil
	}
	return filepath.Join(c.Dirs.State, "artifact.key"), nil
}

func (c Config) getenv(key string) string {
	if c.env == nil {
		return ""
	}
	return c.env(key)
}

// fromFile resolves a path written in the configuration file.
func (c Config) fromFile(p string) (string, error) {
	if p == "" {
		return "", nil
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		p = filepath.Join(c.Dirs.Home, rest)
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(filepath.Dir(c.File), p)
	}
	return cleanPath(p)
}

// cleanPath makes a path absolute. Control characters are refused: no real path has them, and they would forge lines
// in logs and tables.
func cleanPath(p string) (string, error) {
	if strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("the path %q has control characters", p)
	}
	return filepath.Abs(p)
}

// readLimited reads a regular file of at most maxFile bytes.
// OpenRegular opens a regular file that a person named, and nothing else: to open a FIFO would wait for a writer that
// never comes, and a device has no end.
func OpenRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s %w", path, ErrNotRegular)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	// What was looked at may have been replaced before it was opened.
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ErrNotRegular says that a path names a directory, a device or a FIFO.
var ErrNotRegular = errors.New("is not a regular file")

func readLimited(path string) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return b, nil
}
