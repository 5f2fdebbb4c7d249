// Package pgserver starts private PostgreSQL servers from the machine's own installation, for tests, the lab and the
// drill: on loopback, in a directory of their own, with a random password.
//
// A server leaves nothing behind, however the process that started it ends: a small watcher holds the other end of a
// pipe and cleans up when the pipe closes (see watch.go). This package installs nothing and never touches a server
// that it did not start.
package pgserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/clewops/clew/internal/config"
)

// startLimit bounds the start of a server where the caller's context does not: generous, for a loaded machine.
const startLimit = 2 * time.Minute

// superuser owns the databases; maintenance is the database that every server has.
const (
	superuser   = "clew"
	maintenance = "postgres"
)

// Options says how a server is to run. The zero value is right for tests.
type Options struct {
	// Dir is where the server's directory is made; empty means the temporary directory. When the process is root, the
	// server runs as an unprivileged user, and Dir must be one that this user can reach.
	Dir string
	// Durable keeps fsync on. Without it the server is much faster and a crash of the machine (not of the server)
	// may lose data.
	Durable bool
	// Settings are further lines of the server's configuration, name to value, e.g. "max_connections": "200".
	Settings map[string]string
}

// Server is one running PostgreSQL server. Its methods are safe for concurrent use.
type Server struct {
	bin   string // directory of postgres and initdb
	dir   string // everything of this server: data, log
	user  *account
	port  int
	url   config.DatabaseURL
	watch *watcher

	mu   sync.Mutex
	proc *process // nil when stopped or killed
}

// ErrNotInstalled says that the machine has no PostgreSQL server.
var ErrNotInstalled = errors.New("no PostgreSQL server is installed (looked for initdb and postgres in PATH and " +
	"/usr/lib/postgresql): install it, on Debian with: apt-get install postgresql")

// Start makes a new, empty server and returns when it answers. It takes about a second on an idle machine. ctx bounds
// the start only.
func Start(ctx context.Context, o Options) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	user, err := serverAccount()
	if err != nil {
		return nil, err
	}
	dir, err := makeDir(o.Dir, user)
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, user: user}
	if s.watch, err = startWatcher(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.create(ctx, o); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// create initialises the data directory and starts the server on a port of its own.
func (s *Server) create(ctx context.Context, o Options) error {
	password := rand.Text()
	if err := s.initdb(ctx, password); err != nil {
		return err
	}
	if err := s.configure(o); err != nil {
		return err
	}
	// Between finding a free port and the server's bind another process may take it, so a few are tried.
	var failed error
	for range 5 {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
		u := url.URL{
			Scheme: "postgres", User: url.UserPassword(superuser, password),
			Host: fmt.Sprintf("127.0.0.1:%d", port), Path: "/" + maintenance, RawQuery: "sslmode=disable",
		}
		if s.url, err = config.ParseDatabaseURL(u.String()); err != nil {
			return err
		}
		if failed = s.launch(ctx); failed == nil || ctx.Err() != nil {
			return failed
		}
	}
	return failed
}

// URL is the connection URL of the maintenance database, as a superuser.
func (s *Server) URL() config.DatabaseURL { return s.url }

// Port is the server's TCP port on 127.0.0.1. It stays the same over restarts.
func (s *Server) Port() int { return s.port }

// Bin is the directory of this installation's programs (psql, pg_dump, ...).
func (s *Server) Bin() string { return s.bin }

// Dir is the data directory.
func (s *Server) Dir() string { return filepath.Join(s.dir, "data") }

// PID is the postmaster's process id, 0 when the server does not run.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return 0
	}
	return s.proc.cmd.Process.Pid
}

// CreateDatabase makes an empty database and returns its URL.
func (s *Server) CreateDatabase(ctx context.Context, name string) (config.DatabaseURL, error) {
	conn, err := pgx.Connect(ctx, s.url.Reveal())
	if err != nil {
		return config.DatabaseURL{}, fmt.Errorf("create database %s: %w", name, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return config.DatabaseURL{}, fmt.Errorf("create database %s: %w", name, err)
	}
	return s.url.WithDatabase(name), nil
}

// Stop ends the server (open connections are closed) and removes everything of it. It may be called more than once.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.end(syscall.SIGINT)
	return errors.Join(err, s.watch.finish())
}

// Kill ends the postmaster with SIGKILL, as a crash would, and returns when it is gone. The data stays: see Restart.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end(syscall.SIGKILL)
}

// Restart starts the server again, on the same port and data, after stopping it if it runs. ctx bounds it.
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.end(syscall.SIGINT); err != nil {
		return err
	}
	// After a kill, the old postmaster's children need a moment to notice; until they are gone a new one refuses to
	// start. Only the server itself can say so, hence the attempts.
	for {
		err := s.launch(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// end signals the postmaster and waits until it is gone. The caller holds mu.
func (s *Server) end(sig syscall.Signal) error {
	if s.proc == nil {
		return nil
	}
	err := s.proc.end(sig)
	s.proc = nil
	return err
}

// findBinaries returns the directory of the newest installation's programs.
func findBinaries() (string, error) {
	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	best, bestVersion := "", -1
	for _, p := range installed {
		var version int
		if n, _ := fmt.Sscanf(p, "/usr/lib/postgresql/%d/", &version); n == 1 && version > bestVersion {
			best, bestVersion = filepath.Dir(p), version
		}
	}
	if best != "" {
		return best, nil
	}
	p, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrNotInstalled
	}
	// Distributions link initdb into PATH; postgres and the shared files lie beside the real one.
	if p, err = filepath.EvalSymlinks(p); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotInstalled, err)
	}
	return filepath.Dir(p), nil
}
