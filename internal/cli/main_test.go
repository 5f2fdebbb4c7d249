package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/refusal"
)

// result is what one run left behind.
type result struct {
	code           int
	stdout, stderr string
}

// runCLI runs the real command tree with a fresh home and no terminal.
func runCLI(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := []string{"HOME=" + t.TempDir()}
	code := Main(t.Context(), args, strings.NewReader(""), &stdout, &stderr, env)
	return result{code, stdout.String(), stderr.String()}
}

// runWith runs a tree that has one more command, "probe", whose code is run.
func runWith(t *testing.T, run func(context.Context, *app) error, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := newApp(strings.NewReader(""), &stdout, &stderr, []string{"HOME=" + t.TempDir()})
	root := newRoot(a)
	probe := &cobra.Command{
		Use: "probe", GroupID: groupDaily, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), a) },
	}
	root.AddCommand(probe)
	a.prepare(probe)
	code := a.run(t.Context(), root, append([]string{"probe"}, args...))
	return result{code, stdout.String(), stderr.String()}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"no-such-command"},
		{"--no-such-flag"},
		{"version", "--no-such-flag"},
		{"version", "too", "many"},
		{"version", "-o", "xml"},
		{"version", "-o"},
		{"version", "-o", ""},
		{"completion"},
		{"completion", "no-such-shell"},
		{"help", "no-such-command"},
		{"help", "version", "x"},
		{"--quiet=maybe"},
		{""},
		{"\xff\xfe"},
		{"a\x1b[31mb\nc"},
		{strings.Repeat("x", 100<<10)},
	} {
		r := runCLI(t, args...)
		name := strings.Join(args, " ")
		if len(name) > 40 {
			name = name[:40] + "..."
		}
		if r.code != exitUsage || r.stdout != "" {
			t.Errorf("%q: exit %d, stdout %q; want %d and nothing", name, r.code, r.stdout, exitUsage)
		}
		if !strings.Contains(r.stderr, "next: clew") {
			t.Errorf("%q does not say what to type next: %s", name, r.stderr)
		}
		if strings.ContainsRune(r.stderr, 0x1b) {
			t.Errorf("%q: an escape sequence from the argument reaches the terminal", name)
		}
	}
}

func TestHelpNamesTheCommandThatWasMistyped(t *testing.T) {
	for _, args := range [][]string{{"version", "x"}, {"version", "--zz"}, {"version", "-o", "xml"}} {
		if r := runCLI(t, args...); !strings.Contains(r.stderr, "next: clew version --help") {
			t.Errorf("%q: %s", args, r.stderr)
		}
	}
}

func TestExitCodes(t *testing.T) {
	refused := &refusal.Refusal{Transaction: "commitment", Comparison: 4, Code: "held", Message: "held by op-1", Remedy: "clew settle op-1"}
	unknown := &refusal.Unknown{What: "p-1 was committed", Err: io.ErrUnexpectedEOF, Remedy: "clew show p-1"}
	for name, tc := range map[string]struct {
		err    error
		code   int
		stderr string
	}{
		"done":              {nil, exitDone, ""},
		"failure":           {errors.New("boom"), exitFailure, "clew: boom\n"},
		"refusal":           {refused, exitRefused, "refused by clew (comparison 4): held by op-1\n  next: clew settle op-1\n"},
		"wrapped refusal":   {fmt.Errorf("send: %w", refused), exitRefused, "refused by clew (comparison 4): held by op-1\n  next: clew settle op-1\n"},
		"rule without one":  {refusal.New("import", "x", "no", ""), exitRefused, "refused by clew: no\n"},
		"unknown":           {unknown, exitUnresolved, "clew: unknown whether p-1 was committed: unexpected EOF\n  next: clew show p-1\n"},
		"silent code":       {exitWith(exitNeedsYou), exitNeedsYou, ""},
		"code with a cause": {&exitError{exitNotHeld, errors.New("chain broken")}, exitNotHeld, "clew: chain broken\n"},
		"usage":             {usagef("--for needs a time"), exitUsage, "clew: --for needs a time\n  next: clew probe --help\n"},
		"with advice":       {withNext(errors.New("no node"), "clew machine list"), exitFailure, "clew: no node\n  next: clew machine list\n"},
		"advice keeps code": {withNext(refused, "wait"), exitRefused, "refused by clew (comparison 4): held by op-1\n  next: wait\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runWith(t, func(context.Context, *app) error { return tc.err })
			if r.code != tc.code || r.stderr != tc.stderr || r.stdout != "" {
				t.Errorf("exit %d, stderr %q, stdout %q; want %d, %q", r.code, r.stderr, r.stdout, tc.code, tc.stderr)
			}
		})
	}
}

func TestErrorsAsJSON(t *testing.T) {
	refused := &refusal.Refusal{Transaction: "attempt", Comparison: 0, Code: "again", Message: "no", Remedy: "r"}
	r := runWith(t, func(context.Context, *app) error { return refused }, "-o", "json")
	var got map[string]map[string]any
	if err := json.Unmarshal([]byte(r.stderr), &got); err != nil {
		t.Fatalf("stderr %q: %v", r.stderr, err)
	}
	e := got["error"]
	if e["kind"] != "refused" || e["comparison"] != float64(0) || e["code"] != "again" || e["exit"] != float64(exitRefused) {
		t.Errorf("got %v", e)
	}
	if y := runWith(t, func(context.Context, *app) error { return refused }, "-o", "yaml"); !strings.HasPrefix(y.stderr, "---\nerror:\n") {
		t.Errorf("as YAML: %q", y.stderr)
	}
}

func TestEmit(t *testing.T) {
	emit := func(_ context.Context, a *app) error {
		return a.emit(map[string]string{"diff": "<a&b>"}, func(w io.Writer) error {
			tab := newTable(w, "NAME", "STATE")
			tab.row("a\x1b[2J\tb\nc", "")
			return tab.flush()
		})
	}
	for form, want := range map[string]string{
		"table": "NAME       STATE\na\uFFFD[2J b c  -\n",
		"json":  "{\n  \"diff\": \"<a&b>\"\n}\n",
		"yaml":  "diff: <a&b>\n",
	} {
		if r := runWith(t, emit, "-o", form); r.code != 0 || r.stdout != want {
			t.Errorf("%s: exit %d, %q, want %q", form, r.code, r.stdout, want)
		}
	}
}

func TestQuietSilencesNotesOnly(t *testing.T) {
	speak := func(_ context.Context, a *app) error {
		a.note("reading cp-1")
		return errors.New("boom")
	}
	if r := runWith(t, speak); r.stderr != "reading cp-1\nclew: boom\n" {
		t.Errorf("stderr %q", r.stderr)
	}
	if r := runWith(t, speak, "-q"); r.stderr != "clew: boom\n" {
		t.Errorf("with -q: stderr %q", r.stderr)
	}
	if r := runWith(t, speak, "-o", "json"); r.stderr != `{"note":"reading cp-1"}`+"\n"+`{"error":{"kind":"failed","message":"boom","exit":1}}`+"\n" {
		t.Errorf("with -o json: stderr %q", r.stderr)
	}
	if r := runWith(t, speak, "-o", "yaml"); !strings.HasPrefix(r.stderr, "---\nnote: reading cp-1\n---\nerror:\n") {
		t.Errorf("with -o yaml: stderr %q", r.stderr)
	}
}

func TestNothingIsColouredOrAskedWithoutATerminal(t *testing.T) {
	r := runWith(t, func(_ context.Context, a *app) error {
		if a.interactive() {
			t.Error("asks without a terminal")
		}
		_, err := fmt.Fprint(a.stdout, a.paint(styleRed, "red"))
		return err
	})
	if r.stdout != "red" {
		t.Errorf("stdout %q", r.stdout)
	}
}

func TestClosersRunLastFirst(t *testing.T) {
	var order []string
	r := runWith(t, func(_ context.Context, a *app) error {
		a.onClose(func() error { order = append(order, "first"); return errors.New("left open") })
		a.onClose(func() error { order = append(order, "second"); return nil })
		return nil
	})
	if got := strings.Join(order, " "); got != "second first" || r.code != 0 {
		t.Errorf("order %q, exit %d", got, r.code)
	}
	if !strings.Contains(r.stderr, "left open") {
		t.Errorf("an error of closing was swallowed: %q", r.stderr)
	}
}

func TestSignalCancelsTheCommand(t *testing.T) {
	var stderr bytes.Buffer
	a := newApp(strings.NewReader(""), io.Discard, &stderr, []string{"HOME=" + t.TempDir()})
	root := newRoot(a)
	root.AddCommand(&cobra.Command{Use: "wait", RunE: func(c *cobra.Command, _ []string) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		select {
		case <-c.Context().Done():
			return c.Context().Err()
		case <-time.After(time.Minute):
			return errors.New("the signal was not noticed")
		}
	}})
	ctx, stop := withSignals(t.Context())
	defer stop()
	a.started = true
	if code := a.run(ctx, root, []string{"wait"}); code != exitFailure {
		t.Errorf("exit %d", code)
	}
	if got := stderr.String(); !strings.HasPrefix(got, "clew: interrupted") {
		t.Errorf("stderr %q", got)
	}
}

func TestHelpSections(t *testing.T) {
	short, all := runCLI(t, "--help"), runCLI(t, "help", "all")
	if short.code != 0 || all.code != 0 || short.stderr != "" {
		t.Fatalf("exit %d and %d, stderr %q", short.code, all.code, short.stderr)
	}
	if strings.Contains(short.stdout, "version") || !strings.Contains(short.stdout, "clew help all") {
		t.Errorf("the first screen shows setup, or hides that there is more:\n%s", short.stdout)
	}
	if !strings.Contains(all.stdout, "  version ") || strings.Contains(all.stdout, "more with") {
		t.Errorf("help all is not all:\n%s", all.stdout)
	}
}

// TestEveryCommandIsPresentable walks the tree: each command has one line of help, a place on the help screen, and
// takes -o.
func TestEveryCommandIsPresentable(t *testing.T) {
	a := newApp(strings.NewReader(""), io.Discard, io.Discard, nil)
	root := newRoot(a)
	groups := map[string]bool{}
	for _, g := range helpGroups {
		groups[g.id] = true
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no one-line help", c.CommandPath())
		}
		if c.Parent() == root && !c.Hidden && c.Name() != "help" && !groups[c.GroupID] {
			t.Errorf("%s is in no help section", c.CommandPath())
		}
		if c.InheritedFlags().Lookup("output") == nil && c != root {
			t.Errorf("%s has no -o", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := runCLI(t, "completion", shell); r.code != 0 || len(r.stdout) < 500 {
			t.Errorf("%s: exit %d, %d bytes", shell, r.code, len(r.stdout))
		}
	}
	if r := runCLI(t, "__complete", "vers"); r.code != 0 || !strings.Contains(r.stdout, "version") {
		t.Errorf("completing: exit %d, %q", r.code, r.stdout)
	}
}
