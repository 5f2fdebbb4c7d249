package drill_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/drill"
	"github.com/clewops/clew/internal/lab"
)

var update = flag.Bool("update", false, "write the generated part of docs/dispatch-safety.md")

var safetyPage = filepath.Join("..", "..", "docs", "dispatch-safety.md")

// between cuts a text at the lines of two marks.
func between(t *testing.T, text, begins, ends string) (before, inside, after string) {
	t.Helper()
	before, rest, ok := strings.Cut(text, begins+"\n")
	inside, after, ok2 := strings.Cut(rest, ends+"\n")
	if !ok || !ok2 {
		t.Fatalf("the page has no %s … %s", begins, ends)
	}
	return before, inside, after
}

// TestSafetyPage: what the page says about the rows is what the code has, and the run that it tells of had these rows.
func TestSafetyPage(t *testing.T) {
	b, err := os.ReadFile(safetyPage)
	if err != nil {
		t.Fatal(err)
	}
	before, inside, after := between(t, string(b), drill.SafetyCodeBegins, drill.SafetyCodeEnds)
	if *update {
		text := before + drill.SafetyCodeBegins + "\n" + drill.SafetyOfCode() + drill.SafetyCodeEnds + "\n" + after
		if err := os.WriteFile(safetyPage, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		inside = drill.SafetyOfCode()
	}
	if inside != drill.SafetyOfCode() {
		t.Error("docs/dispatch-safety.md does not say what the rows are: make docs")
	}
	_, run, _ := between(t, string(b), drill.SafetyRunBegins, drill.SafetyRunEnds)
	if !strings.Contains(run, "manifest: sha256 ") {
		t.Error("docs/dispatch-safety.md tells of no run: clew lab drill report DIR -o md")
	}
}

// TestTopicsCoverTheRows: each row belongs to one topic of the page.
func TestTopicsCoverTheRows(t *testing.T) {
	named, _, _ := strings.Cut(drill.SafetyOfCode(), "## What no row shows")
	for _, r := range drill.Rows() {
		n := 0
		for line := range strings.Lines(named) {
			_, list, _ := strings.Cut(line, "** (")
			list, _, _ = strings.Cut(list, ")")
			for name := range strings.SplitSeq(list, ", ") {
				if name == r.Label() {
					n++
				}
			}
		}
		if n != 1 {
			t.Errorf("row %s is in %d topics", r.ID, n)
		}
	}
}

// TestSafetyPageTellsWhatIsMissing renders the page of a run in which cells failed, were skipped or are missing.
func TestSafetyPageTellsWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.txt"), []byte("format: clew drill 1\nversion: v1|2\nbegan: then\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cell := func(row string, v drill.Verdict, why string) drill.Cell {
		return drill.Cell{Row: row, Store: config.SQLite, Net: lab.LinksNetns, Verdict: v, Reason: why}
	}
	r := drill.Result{Out: dir, Digest: "d1", Missing: []string{"a partial run: 002 on sqlite", "009 sqlite netns was skipped: no root"}, Cells: []drill.Cell{
		cell("001", drill.OK, ""), cell("003", drill.Mismatch, "waited is \"no\""), cell("009", drill.Skipped, "no root"),
		cell("010", drill.Errored, "no | reader"),
	}}
	var page bytes.Buffer
	if err := r.Safety(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`- version: v1\|2`, "- began: then", "1 as expected, 1 not, 1 not to be judged, 1 skipped", "| 1 of 2 | 003 sqlite netns: mismatch |",
		"| 0 of 2 | 009 sqlite netns: skipped, 010 sqlite netns: error |", "- skipped: no root (009 sqlite netns)",
		`- error: no \| reader (010 sqlite netns)`, "- a partial run: ", "001 on postgres, 002 on sqlite", "| 001 | ok |", "manifest: sha256 d1",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page.String(), "Every row that this program has ran") {
		t.Error("a partial run is called whole")
	}
	if t.Failed() {
		fmt.Fprintln(t.Output(), page.String())
	}
}
