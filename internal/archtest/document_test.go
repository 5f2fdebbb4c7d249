package archtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated parts of ARCHITECTURE.md")

// Markers of the generated part of ARCHITECTURE.md.
const (
	tableBegin = "<!-- invariants: written by make docs -->\n"
	tableEnd   = "<!-- end of invariants -->\n"
)

// wholeInvariant is an entry of the contract's list, its continuation lines included.
var wholeInvariant = regexp.MustCompile(`(?m)^//\s+(I\d+)\s+(\S.*(?:\n//\t\s+[^I\s].*)*)`)

// invariantTable is the table of ARCHITECTURE.md: every invariant, the files with a line that enforces it, its tests.
func invariantTable(contract string, sources map[string]string) string {
	found := findPlaces(sources)
	var b strings.Builder
	b.WriteString("| | Invariant | Enforced in | Tested by |\n| --- | --- | --- | --- |\n")
	for _, m := range wholeInvariant.FindAllStringSubmatch(contract, -1) {
		text := strings.Join(strings.Fields(strings.ReplaceAll(m[2], "\n//", " ")), " ")
		p := found[m[1]]
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m[1], text, quoted(p.enforcing), quoted(p.tests))
	}
	return b.String()
}

func quoted(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

// replaceTable puts the table between the markers of a document.
func replaceTable(document, table string) (string, error) {
	before, rest, ok := strings.Cut(document, tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return "", fmt.Errorf("the markers %q and %q are not both there", tableBegin, tableEnd)
	}
	return before + tableBegin + "\n" + table + "\n" + tableEnd + after, nil
}

func TestArchitectureNamesThePlaces(t *testing.T) {
	file := filepath.Join(root(t), "ARCHITECTURE.md")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := replaceTable(string(b), invariantTable(contract(t), sources(t)))
	if err != nil {
		t.Fatal(err)
	}
	if string(b) == want {
		return
	}
	if !*update {
		t.Fatal("the table of invariants is not what the code says: run make docs")
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestInvariantTable(t *testing.T) {
	const list = "// Package x.\n//\n//\tI1  One.\n//\tI2  Two,\n//\t    longer.\n//\tI12 Twelve.\npackage x\n"
	got := invariantTable(list, map[string]string{"a.go": "x() // I2\n", "a_test.go": "func TestI2Holds(t *testing.T) {\n"})
	want := "| | Invariant | Enforced in | Tested by |\n| --- | --- | --- | --- |\n" +
		"| I1 | One. |  |  |\n| I2 | Two, longer. | `a.go` | `TestI2Holds` |\n| I12 | Twelve. |  |  |\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := replaceTable("no markers", got); err == nil {
		t.Error("a document without markers was accepted")
	}
}
