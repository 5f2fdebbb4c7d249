package drill

import (
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
)

func TestJudge(t *testing.T) {
	readings := Readings{{"attempts", "1"}, {"operation", "completed"}, {"exit", "killed"}, {"empty", ""}}
	for expect, want := range map[string]Verdict{
		"attempts=1":                             OK,
		"attempts=1; operation=failed|completed": OK,
		"attempts>=1; attempts<=1":               OK,
		"seen:exit; attempts=1":                  OK,
		"attempts=2":                             Mismatch,
		"attempts>=2":                            Mismatch,
		"attempts<=0":                            Mismatch,
		"exit>=0":                                Mismatch,
		"operation=failed":                       Mismatch,
		"operation=complete":                     Mismatch,
		// What was not read is never a success, and no mismatch either: nothing can be said.
		"landings=0":               Errored,
		"landings=0; attempts=2":   Errored,
		"seen:landings; exit=0":    Errored,
		"seen:empty; attempts=1":   Errored,
		"landings<=5; attempts>=1": Errored,
	} {
		e, err := ParseExpectation(expect)
		if err != nil {
			t.Errorf("%q: %v", expect, err)
			continue
		}
		got, why := e.Judge(readings)
		if got != want || (want == OK) != (why == "") {
			t.Errorf("%q: %s (%s), want %s", expect, got, why, want)
		}
	}
}

func TestExpectationsThatSayNothing(t *testing.T) {
	for _, text := range []string{"", ";", "attempts", "attempts=", "=1", "seen:", "seen:attempts", "attempts>=many", ">=1", "attempts>=1|2"} {
		if e, err := ParseExpectation(text); err == nil {
			t.Errorf("%q is taken for an expectation: %v", text, e)
		}
	}
}

func TestCellsSurviveWriting(t *testing.T) {
	cells := []Cell{
		{Row: "001", Store: config.SQLite, Net: lab.LinksUserland, Expectation: "a=1; b>=2", Readings: Readings{{"a", "1"}, {"b", clean("x=y;\tz\n")}}, Verdict: OK},
		{Row: "001", Store: config.Postgres, Net: lab.LinksUserland, Expectation: "a=1", Verdict: Skipped, Reason: "no root"},
	}
	var b strings.Builder
	if err := writeCells(&b, cells); err != nil {
		t.Fatal(err)
	}
	got, err := readCells(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !slices.Equal(got[0].Readings, cells[0].Readings) || got[1].Reason != "no root" || got[1].Readings != nil {
		t.Errorf("got %+v", got)
	}
	for _, broken := range []string{"", "row\n", cellHeader + "\n001\tsqlite\n", cellHeader + "\n1\t2\t3\t4\tx\t6\t7\n"} {
		if _, err := readCells(strings.NewReader(broken)); err == nil {
			t.Errorf("%q is taken for cells", broken)
		}
	}
}

// TestNoEvidence: what was left out, could not run, could not be judged, or is a control that showed nothing, is said.
func TestNoEvidence(t *testing.T) {
	whole := func() []Cell {
		var cells []Cell
		for _, r := range Rows() {
			for _, s := range r.Stores {
				cells = append(cells, Cell{Row: r.ID, Control: r.Control, Store: s, Net: r.Nets[0], Verdict: OK})
			}
		}
		return cells
	}
	if m := missing(whole()); len(m) > 0 {
		t.Fatalf("a whole run is no evidence: %q", m)
	}
	control := slices.IndexFunc(whole(), func(c Cell) bool { return c.Control })
	for name, change := range map[string]func([]Cell) []Cell{
		"a row left out":        func(c []Cell) []Cell { return c[1:] },
		"everything left out":   func([]Cell) []Cell { return nil },
		"skipped":               func(c []Cell) []Cell { c[0].Verdict = Skipped; return c },
		"could not be judged":   func(c []Cell) []Cell { c[0].Verdict = Errored; return c },
		"control without":       func(c []Cell) []Cell { c[control].Verdict = Mismatch; return c },
		"control without cells": func(c []Cell) []Cell { return slices.Delete(c, control, control+1) },
	} {
		if m := missing(change(whole())); len(m) == 0 {
			t.Errorf("%s: still evidence", name)
		}
	}
	// A mismatch of a row that is no control is a finding: the run stays evidence of it.
	cells := whole()
	cells[0].Verdict = Mismatch
	if m := missing(cells); len(m) > 0 {
		t.Errorf("a mismatch: %q", m)
	}
}

func TestSelect(t *testing.T) {
	ids := func(list string) string {
		rows, err := Select(list)
		if err != nil {
			return "error"
		}
		var out []string
		for _, r := range rows {
			out = append(out, r.ID)
		}
		return strings.Join(out, " ")
	}
	for list, want := range map[string]string{
		"001":         "001",
		"002, 001":    "001 002",
		"008":         "008 008a 008b",
		"008a":        "008a",
		"001-003,002": "001 002 003",
		"007-008":     "007 008 008a 008b",
		"999":         "error",
		"990-999":     "error",
		"1":           "error",
		"001-":        "error",
		"001,":        "error",
	} {
		if got := ids(list); got != want {
			t.Errorf("%q: %s, want %s", list, got, want)
		}
	}
	if len(ids("")) == 0 {
		t.Error("no list is no row")
	}
}

func TestRowsThatCannotBe(t *testing.T) {
	good := Row{ID: "999", Case: "x", Expect: "a=1", Script: func(*Stage) {}}
	for name, change := range map[string]func(*Row){
		"id":             func(r *Row) { r.ID = "9" },
		"twice":          func(r *Row) { r.ID = "001" },
		"no case":        func(r *Row) { r.Case = "" },
		"no script":      func(r *Row) { r.Script = nil },
		"no expectation": func(r *Row) { r.Expect = "seen:a" },
		"unknown guard":  func(r *Row) { r.Control, r.Without = true, dispatch.Without{"comparison-77"} },
		"control as is":  func(r *Row) { r.Control = true },
		"not a control":  func(r *Row) { r.Without = dispatch.Without{dispatch.GuardScope} },
	} {
		r := good
		change(&r)
		if err := r.check(); err == nil {
			t.Errorf("%s: the row is taken", name)
		}
	}
	if err := good.check(); err != nil {
		t.Errorf("a row that can be: %v", err)
	}
}

func TestStoppedScripts(t *testing.T) {
	s := &Stage{}
	if err := s.guarded(func() { s.Fail("no %s", "luck") }); err == nil || err.Error() != "no luck" {
		t.Errorf("got %v", err)
	}
	if err := s.guarded(func() {}); err != nil {
		t.Errorf("got %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a mistake of a script is hidden")
		}
	}()
	_ = s.guarded(func() { panic("a mistake") })
}
