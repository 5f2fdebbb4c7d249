package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// planted is a program with one fault for each analyzer whose findings the project relies on. A line that ends in
// "// want CHECK..." must be found by those checks, and no other line by any.
const planted = `package planted

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
)

type state int

const (
	open state = iota
	closed
)

var errGone = errors.New("gone")

func switches(s state) string {
	switch s { // want exhaustive
	case open:
		return "open"
	}
	switch s {
	case closed:
		return "closed"
	default:
		return ""
	}
}

func compares(err error) bool {
	return err == errGone // want errorlint
}

func drops(path string) {
	os.Remove(path) // want errcheck
	fmt.Fprintln(os.Stdout, path)
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	defer os.Remove(path)
	defer os.Chdir(path) // want errcheck
	g, err := os.Create(path)
	if err != nil {
		return
	}
	g.Close() // want errcheck
}

func assigns() int {
	n := 1 // want ineffassign
	n = 2
	return n
}

func logs(l *slog.Logger, who string) {
	l.Info("hello " + who) // want sloglint
	l.Info("hello", "who", who)
}

func requests(c *http.Client) (int, error) {
	r, err := c.Get("http://127.0.0.1") // want bodyclose
	if err != nil {
		return 0, err
	}
	return r.StatusCode, nil
}

func queries(db *sql.DB) error {
	rows, err := db.Query("SELECT 1") // want sqlclosecheck
	if err != nil {
		return err
	}
	rows.Next()
	return rows.Err()
}

func prints(w io.Writer) {
	fmt.Fprintf(w, "%d\n", "text") // want printf SA5009
}

func trims(s string) string {
	return strings.TrimLeft(s, "aa") // want SA1024
}

func dead() {} // want unused

func ignored(path string) {
	//lint:ignore errcheck it is a test of this comment
	os.Remove(path)
	os.Remove(path) //lint:ignore errcheck as above
	os.Remove(path) // want errcheck
	//lint:ignore errcheck
	os.Remove(path) // the directive above is reported: it has no reason
	//lint:ignore nosuchcheck because
	//nolint:all
	//lint:ignore errcheck nothing is wrong below
	_ = path
}

var _ = []any{switches, compares, drops, assigns, logs, requests, queries, prints, trims, ignored}
`

// plantedTest is its test file.
const plantedTest = `package planted

import (
	"os"
	"testing"
)

func TestX(t *testing.T) {
	dir, err := os.MkdirTemp("", "x") // want usetesting
	if err != nil {
		t.Fatal(err)
	}
	t.Log(dir)
}
`

func TestEveryFaultIsFound(t *testing.T) {
	dir := t.TempDir()
	lint := filepath.Join(dir, "lint")
	run(t, ".", "go", "build", "-o", lint, ".")
	for name, text := range map[string]string{
		"go.mod": "module example.com/planted\n\ngo 1.26\n", "planted.go": planted, "planted_test.go": plantedTest,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := findings(run(t, dir, "go", "vet", "-vettool="+lint, "./..."))
	want := append(wanted("planted.go", planted), wanted("planted_test.go", plantedTest)...)
	for needle, message := range map[string]string{
		"\t//lint:ignore errcheck\n": "needs a reason", "nosuchcheck": "names no check",
		"//nolint:all": "write //lint:ignore", "nothing is wrong below": "silences nothing",
	} {
		line := 1 + strings.Count(planted[:strings.Index(planted, needle)], "\n")
		if !slices.ContainsFunc(got, func(f finding) bool { return f.line == line && strings.Contains(f.text, message) }) {
			t.Errorf("line %d: no finding says %q", line, message)
		}
		got = slices.DeleteFunc(got, func(f finding) bool { return f.line == line && strings.Contains(f.text, message) })
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, w.is) {
			t.Errorf("%s:%d: %s found nothing", w.file, w.line, w.check)
		}
	}
	for _, g := range got {
		if !slices.ContainsFunc(want, g.is) {
			t.Errorf("not planted: %s:%d: %s (%s)", g.file, g.line, g.text, g.check)
		}
	}
}

// finding is one line of output, or one that is wanted.
type finding struct {
	file  string
	line  int
	check string
	text  string
}

func (f finding) is(other finding) bool {
	return f.file == other.file && f.line == other.line && f.check == other.check
}

// run runs a command and returns its output; that linting fails is what the tests are about.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil && args[0] == "build" {
		t.Fatalf("%v: %s", err, out.String())
	}
	return out.String()
}

var outputLine = regexp.MustCompile(`(?m)^(?:\./|.*/)?(\w+\.go):(\d+):\d+: (.*?)(?: \((\w+)\))?$`)

func findings(output string) []finding {
	var list []finding
	for _, m := range outputLine.FindAllStringSubmatch(output, -1) {
		list = append(list, finding{file: m[1], line: number(m[2]), text: m[3], check: m[4]})
	}
	return list
}

func number(digits string) int {
	n := 0
	for _, d := range digits {
		n = 10*n + int(d-'0')
	}
	return n
}

func wanted(file, text string) []finding {
	var list []finding
	line := 0
	for l := range strings.Lines(text) {
		line++
		_, checks, _ := strings.Cut(strings.TrimSpace(l), "// want ")
		for check := range strings.FieldsSeq(checks) {
			list = append(list, finding{file: file, line: line, check: check})
		}
	}
	return list
}
