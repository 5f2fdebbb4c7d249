package sim

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// place makes a place for histories that lasts as long as the test.
func newPlace(t testing.TB, engine config.Engine, without dispatch.Without) *Place {
	t.Helper()
	dir := inMemory(t)
	location := config.Location{Engine: config.SQLite, Path: filepath.Join(dir, "store.db")}
	if engine == config.Postgres {
		location = storetest.New(t, engine).Location
	}
	p, err := NewPlace(location, dir, without)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// run runs a script of commands and returns what each came to.
func run(t testing.TB, p *Place, script string) (string, []Fault) {
	t.Helper()
	s, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var b strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", line, s.Do(line))
		if len(s.Broken()) > 0 {
			break
		}
	}
	for _, broken := range s.Broken() {
		fmt.Fprintf(&b, "BROKEN: %s\n", broken.Text)
	}
	return b.String(), s.Broken()
}

// Every script under testdata/histories runs on every engine, with the same outcome. "history" begins a history of its
// own; "history without=GUARD" one in which that guard is taken away.
func TestScriptedHistories(t *testing.T) {
	for _, engine := range storetest.Engines(t) {
		t.Run(string(engine), func(t *testing.T) {
			top := t // places outlive the subtests
			places := map[string]*Place{}
			datadriven.Walk(t, "testdata/histories", func(t *testing.T, path string) {
				datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
					if d.Cmd != "history" {
						d.Fatalf(t, "there is no %q", d.Cmd)
					}
					list := ""
					d.MaybeScanArgs(t, "without", &list)
					without, err := dispatch.ParseWithout(list)
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					if places[list] == nil {
						places[list] = newPlace(top, engine, without)
					}
					out, broken := run(t, places[list], d.Input)
					switch {
					case len(broken) > 0 && len(without) == 0:
						t.Errorf("%s: %v", d.Pos, broken)
					case len(broken) == 0 && len(without) > 0:
						t.Errorf("%s: without %s nothing broke", d.Pos, list)
					}
					return out
				})
			})
		})
	}
}
