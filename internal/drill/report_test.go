package drill

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab"
)

func TestReports(t *testing.T) {
	cell := func(row string, store config.Engine, v Verdict) Cell {
		return Cell{Row: row, Store: store, Net: lab.LinksUserland, Expectation: "a=1", Verdict: v, Reason: "because <of> it"}
	}
	r := Result{Cells: []Cell{
		cell("001", config.SQLite, OK), cell("001", config.Postgres, Mismatch), cell("002", config.SQLite, Skipped), cell("004", config.SQLite, Errored),
	}, Missing: []string{"a partial run"}}
	m := r.Matrix()
	if len(m.Lines) != 3 || strings.Join(m.Columns, " ") != "postgres/userland sqlite/userland" || strings.Join(m.Lines[0].Verdicts, " ") != "mismatch ok" {
		t.Errorf("got %+v", m)
	}
	var b strings.Builder
	if err := r.JUnit(&b); err != nil {
		t.Fatal(err)
	}
	var s junitSuite
	if err := xml.Unmarshal([]byte(b.String()), &s); err != nil {
		t.Fatal(err)
	}
	if s.Tests != 5 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 2 || len(s.Cases) != 5 {
		t.Errorf("got %+v", s)
	}
	r.Leaks = []string{"a password"}
	b.Reset()
	if err := r.JUnit(&b); err != nil || strings.Count(b.String(), "<failure") != 2 {
		t.Errorf("a leak is no failure: %v\n%s", err, b.String())
	}
}
