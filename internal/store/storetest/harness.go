// Package storetest gives tests places for fresh stores, on SQLite and on a PostgreSQL server of their own, so that one
// test is the conformance test of both. It is used by tests only. It does not open stores itself, so that the tests of
// package store can use it too.
package storetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab/pgserver"
)

// EnvEngines narrows the engines of a test run, for quick repeats: "sqlite" or "postgres". Empty means both.
const EnvEngines = "CLEW_TEST_ENGINES"

// MovedClock is the schema in which a test may put a clock of its own before PostgreSQL's, see world.Pass.
const MovedClock = "moved_clock"

var (
	server    *pgserver.Server
	serverErr error
	once      sync.Once
	databases atomic.Int64
)

// Main runs the tests of a package and stops the server that they shared. Call it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if server != nil {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the test server:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

var durable bool

// Durable makes the server sync what it commits, which tests do without and measurements do not. Call it before its
// first use.
func Durable() { durable = true }

// Server is the process's one PostgreSQL server, started on first use. It fails the test, and does not skip it, where
// PostgreSQL is not installed: a conformance suite that ran on one engine says nothing of the other.
func Server(t testing.TB) *pgserver.Server {
	t.Helper()
	once.Do(func() {
		server, serverErr = pgserver.Start(context.Background(), pgserver.Options{
			Durable: durable,
			// The schema MovedClock comes before PostgreSQL's own, and is there only where a test moves the clock.
			Settings: map[string]string{"max_connections": "300", "search_path": "public, " + MovedClock + ", pg_catalog"},
		})
	})
	if serverErr != nil {
		t.Fatalf("PostgreSQL: %v", serverErr)
	}
	return server
}

// Place is where one test's store lives: what to put into store.Config. Several stores opened on one place are what
// several processes would be.
type Place struct {
	Location config.Location
	StateDir string
}

// New is a place for a store of this engine that nobody has opened yet.
func New(t testing.TB, engine config.Engine) Place {
	t.Helper()
	dir := t.TempDir()
	p := Place{StateDir: filepath.Join(dir, "state")}
	switch engine {
	case config.SQLite:
		p.Location = config.Location{Engine: engine, Path: filepath.Join(dir, "store", "store.db")}
	case config.Postgres:
		url, err := Server(t).CreateDatabase(context.Background(), fmt.Sprintf("test_%d", databases.Add(1)))
		if err != nil {
			t.Fatal(err)
		}
		p.Location = config.Location{Engine: engine, URL: url}
	default:
		t.Fatalf("no engine is called %q", engine)
	}
	return p
}

// Engines are the engines of this run.
func Engines(t testing.TB) []config.Engine {
	t.Helper()
	all := []config.Engine{config.SQLite, config.Postgres}
	only := os.Getenv(EnvEngines)
	if only == "" {
		return all
	}
	var out []config.Engine
	for name := range strings.SplitSeq(only, ",") {
		if !slices.Contains(all, config.Engine(name)) {
			t.Fatalf("%s: no engine is called %q", EnvEngines, name)
		}
		out = append(out, config.Engine(name))
	}
	return out
}

// Each runs a test on every engine, each time with a place of its own.
func Each(t *testing.T, test func(t *testing.T, p Place)) {
	t.Helper()
	for _, engine := range Engines(t) {
		t.Run(string(engine), func(t *testing.T) {
			test(t, New(t, engine))
		})
	}
}
