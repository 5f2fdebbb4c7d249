package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"golang.org/x/term"
	"sigs.k8s.io/yaml"
)

// emit writes a command's result to stdout: v as JSON or YAML, or what table writes. JSON is indented and ends with a
// newline; YAML has JSON's field names. Times in v are expected in UTC.
func (a *app) emit(v any, table func(w io.Writer) error) error {
	a.voice.hush()
	switch a.flags.output {
	case "json":
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false) // the reader is a program or a terminal, and "<" in a diff should stay "<"
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	case "yaml":
		b, err := yaml.Marshal(v)
		if err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
		_, err = a.stdout.Write(b)
		return err
	}
	return table(a.stdout)
}

// note tells the user something that is not the result: progress, advice. It goes to stderr, and -q silences it. Where
// JSON or YAML was asked for, stderr is a sequence of such documents too: one per note, and at most one error.
func (a *app) note(format string, args ...any) {
	a.mention(format, args...)
	a.voice.hush()
}

// mention is a note that nobody waits for.
func (a *app) mention(format string, args ...any) {
	if a.flags.quiet {
		return
	}
	text := printable(fmt.Sprintf(format, args...))
	if document, ok := a.document(map[string]string{"note": text}); ok {
		a.voice.say(document)
		return
	}
	a.voice.say(text + "\n")
}

// document is v as one line of JSON or one YAML document where -o asks for that, and whether it does.
func (a *app) document(v any) (string, bool) {
	switch a.flags.output {
	case "json":
		if b, err := json.Marshal(v); err == nil {
			return string(b) + "\n", true
		}
	case "yaml":
		if b, err := yaml.Marshal(v); err == nil {
			return "---\n" + string(b), true
		}
	}
	return "", false
}

// table writes aligned columns. Cells are made safe to print, because many come from a cluster.
type table struct{ w *tabwriter.Writer }

// newTable starts a table with a heading; no heading is written when there are no columns.
func newTable(w io.Writer, columns ...string) *table {
	t := &table{w: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
	if len(columns) > 0 {
		t.row(columns...)
	}
	return t
}

// row adds one row; an empty cell shows as "-", so that columns stay countable.
func (t *table) row(cells ...string) {
	shown := make([]string, len(cells))
	for i, c := range cells {
		shown[i] = strings.ReplaceAll(printable(c), "\n", " ")
		if shown[i] == "" {
			shown[i] = "-"
		}
	}
	// tabwriter buffers: a write error shows in flush.
	_, _ = fmt.Fprintln(t.w, strings.Join(shown, "\t"))
}

// flush aligns and writes what was added.
func (t *table) flush() error { return t.w.Flush() }

// printable replaces control characters, so that a name, an error text or a configuration cannot drive the user's
// terminal. Newlines stay; a tab becomes a space.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// showTime is a time as it appears on screen: the user's zone, to the second, zone offset included.
func showTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 -0700")
}

// isTerminal says whether a stream is a terminal. A stream that is no file (a test's buffer) is none.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// interactive says whether the user can be asked something: the question is read on stderr and answered on stdin.
func (a *app) interactive() bool { return isTerminal(a.stdin) && isTerminal(a.stderr) }

// colour says whether stdout may be coloured: a terminal, and the user has not opted out (NO_COLOR, TERM=dumb).
func (a *app) colour() bool {
	return isTerminal(a.stdout) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

// Styles for paint.
const (
	styleBold   = "1"
	styleRed    = "31"
	styleGreen  = "32"
	styleYellow = "33"
	styleDim    = "2"
)

// paint styles s when stdout may be coloured. It is not for table cells: the escapes would count as width.
func (a *app) paint(style, s string) string {
	if !a.colour() {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}
