package drill

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/config"
)

func TestGates(t *testing.T) {
	d := gateDir(t.TempDir())
	stop := func(g Gate) <-chan error {
		done := make(chan error, 1)
		go func() { done <- d.Stop(t.Context(), string(g)) }()
		return done
	}
	if err := <-stop(GateSend); err != nil {
		t.Fatalf("a gate that is not armed: %v", err)
	}
	for range 2 { // it acts once each time it is armed
		if err := d.arm(GateSend); err != nil {
			t.Fatal(err)
		}
		done := stop(GateSend)
		for reached := false; !reached; {
			var err error
			if reached, err = d.has(GateSend, "reached"); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case err := <-done:
			t.Fatalf("it did not stop: %v", err)
		default:
		}
		if err := d.open(GateSend); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := <-stop(GateSend); err != nil {
			t.Fatalf("it acts a second time: %v", err)
		}
	}
}

// TestGateThatCannotBeChecked: such a gate is an error, and never one that is not armed.
func TestGateThatCannotBeChecked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gates")
	if err := gateDir(dir).Stop(t.Context(), string(GateSend)); err == nil {
		t.Error("a directory that is not there says that nothing is armed")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := gateDir(file).Stop(t.Context(), string(GateSend)); err == nil {
		t.Error("a file in its place says that nothing is armed")
	}
	d := gateDir(t.TempDir())
	if err := d.Stop(t.Context(), "sent"); err == nil {
		t.Error("an unknown gate says that nothing is armed")
	}
	if err := d.arm("sent"); err == nil {
		t.Error("an unknown gate is armed")
	}
	if err := d.arm(GateSend); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Stop(ctx, string(GateSend)); err == nil {
		t.Error("a gate that is armed is passed when the executor is interrupted")
	}
}

func TestOrders(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "row", executorsDir, "a", "orders.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"", "{}", `{"gates":"x","without":["comparison-77"]}`} {
		write(bad)
		if _, err := ReadOrders(path); err == nil {
			t.Errorf("%q are orders", bad)
		}
	}
	write(`{"gates":"x","without":["comparison-4"]}`)
	o, err := ReadOrders(path)
	if err != nil {
		t.Fatal(err)
	}
	pg := func(name string) config.Location {
		u, err := config.ParseDatabaseURL("postgres://u@127.0.0.1:1/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return config.Location{Engine: config.Postgres, URL: u}
	}
	for name, tc := range map[string]struct {
		l  config.Location
		ok bool
	}{
		"the row's store":  {config.Location{Engine: config.SQLite, Path: filepath.Join(dir, "row", "store.db")}, true},
		"another row's":    {config.Location{Engine: config.SQLite, Path: filepath.Join(dir, "store.db")}, false},
		"somebody's":       {config.Location{Engine: config.SQLite, Path: filepath.Join(t.TempDir(), "store.db")}, false},
		"a drill's server": {pg(databasePrefix + "001_1"), true},
		"a server":         {pg("clew"), false},
	} {
		if err := o.Admit(tc.l); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKernelsLocks(t *testing.T) {
	const table = "1: FLOCK  ADVISORY  WRITE 4711 08:01:123 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 4712 08:01:123 0 EOF\n" +
		"2: POSIX  ADVISORY  READ 9 08:01:123 0 EOF\n3: FLOCK  ADVISORY  WRITE 5 08:01:1234 0 EOF\n"
	got, err := parseLocks(bufio.NewScanner(strings.NewReader(table)), 123)
	if err != nil || len(got) != 2 || got[0] != (fileLock{pid: 4711}) || got[1] != (fileLock{pid: 4712, waits: true}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestReadersPrint(t *testing.T) {
	const query = "-- reads: state!, list, count!\nSELECT ...;\n"
	got, err := parseRows(query, "state|a\nlist|x\nlist|y|z\ncount|0\n")
	if err != nil || got["state"] != "a" || got["list"] != "x, y|z" || got["count"] != "0" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err = parseRows(query, "state|a\ncount|0\n"); err != nil || got["list"] != "none" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, out := range []string{"", "state|a\n", "Error: no such table\n", "count|0\nlist|x\n"} {
		if got, err := parseRows(query, out); err == nil {
			t.Errorf("%q: a reader that did not read says %v", out, got)
		}
	}
	if _, err := parseRows("SELECT 1;\n", "a|b\n"); err == nil {
		t.Error("a query that declares nothing is taken")
	}
}

func TestQueriesTakeNamesOnly(t *testing.T) {
	s := &Stage{Store: config.SQLite}
	if _, err := s.sql("plan.sql", "plan", "p-1'; DROP TABLE plans; --"); err == nil {
		t.Error("SQL in an argument is taken")
	}
	if _, err := s.sql("plan.sql"); err == nil {
		t.Error("a query without its argument is taken")
	}
	text, err := s.sql("plan.sql", "plan", "p-1")
	if err != nil || !strings.Contains(text, "id = 'p-1'") {
		t.Errorf("got %v", err)
	}
}
