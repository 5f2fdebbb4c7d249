package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clewops/clew/internal/store"
)

// mostOutput is the most that an error may print, in bytes: an argument of any size is not played back.
const mostOutput = 4 << 10

// badWords are what no argument and no flag takes.
var badWords = []string{
	"\x1b[31mred\x1b[0m", "two\nlines", "a\x00b", "\xff\xfe", "a\u202eb", strings.Repeat("x", maxWord+1), strings.Repeat("y\n", maxWord),
}

// fixture is a home in which every command could succeed: what is tried on it must not.
type fixture struct {
	*home
	store *store.Store
	plan  string
	base  map[string][]string
}

// newFixture has an approved plan, so that a command that let a bad argument pass would show by what it does.
func newFixture(t *testing.T) *fixture {
	h := imported(t)
	plan := h.planned("-n", "worker-1", "-p", label("bad", t.Name()))
	change := []string{"-n", "worker-1", "-p", label("bad", "too")}
	return &fixture{home: h, store: h.open(), plan: plan, base: map[string][]string{
		"apply": change, "plan create": change, "show": {plan}, "plan cancel": {plan}, "plan revoke": {plan}, "approve": {plan},
		"dispatch": {plan}, "settle": {"op-none"}, "machine show": {"worker-1"}, "machine diff": {"worker-1"},
		"machine freeze": {"worker-1", "--reason", "x"}, "machine unfreeze": {"worker-1"}, "machine import": {"--dry-run"},
		"plan rollout open": {"spring", "--reason", "x"}, "admin identity create": {"newcomer"}, "admin identity revoke": {"tester", "--reason", "x"},
		"admin token create": {"robot"}, "admin token revoke": {"robot"}, "admin role add": {"tester", "viewer"}, "admin role remove": {"tester", "viewer"},
		"admin recovery enter": {"--reason", "x"}, "admin recovery attest": {"i-none", "--reason", "x"}, "admin recovery leave": {"--reason", "x"},
		"admin recovery mark": {"worker-1", "ready", "--reason", "x"}, "admin recovery release": {"worker-1", "--reason", "x"},
		"admin recovery clock": {"--reason", "x"},
	}}
}

// refuses runs a command that must end in an error of its own, print it harmlessly, and change nothing.
func (f *fixture) refuses(codes []int, args ...string) {
	f.t.Helper()
	entries := countEntries(f.t, f.store)
	r := f.run(args...)
	name := printable(shorten(strings.Join(args, " ")))
	if !slices.Contains(codes, r.code) {
		f.t.Errorf("clew %q: exit %d, want one of %v\n%s%s", name, r.code, codes, shorten(r.stdout), shorten(r.stderr))
	}
	if r.code != exitDone && !strings.HasPrefix(r.stderr, "clew: ") && !strings.Contains(r.stderr, "refused by clew") && !strings.Contains(r.stderr, "rejected by the node") {
		f.t.Errorf("clew %q says nothing of what is wrong: %q", name, shorten(r.stderr))
	}
	if out := r.stdout + r.stderr; strings.ContainsAny(out, "\x1b\x00") || strings.Contains(out, "\u202e") || len(out) > mostOutput {
		f.t.Errorf("clew %q prints what it was given (%d bytes)", name, len(out))
	}
	if got := countEntries(f.t, f.store); got != entries {
		f.t.Errorf("clew %q wrote %d entries", name, got-entries)
	}
}

// leaves calls f with every command that does something, and its path.
func leaves(root *cobra.Command, f func(path string, c *cobra.Command)) {
	for _, c := range root.Commands() {
		if c.HasSubCommands() {
			leaves(c, f)
			continue
		}
		if c.Name() == "help" || c.Hidden || strings.HasPrefix(c.CommandPath(), "clew completion") {
			continue
		}
		f(strings.TrimPrefix(c.CommandPath(), "clew "), c)
	}
}

func tree() *cobra.Command {
	return newRoot(newApp(strings.NewReader(""), io.Discard, io.Discard, nil))
}

// some takes n bad words, other ones each time, so that all are used without trying each on everything.
func some(turn *int, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = badWords[*turn%len(badWords)]
		*turn++
	}
	return out
}

// TestBadWordsChangeNothing gives every command bad words, as its arguments and as the value of each flag.
func TestBadWordsChangeNothing(t *testing.T) {
	f := newFixture(t)
	usage := []int{exitUsage}
	turn := 0
	leaves(tree(), func(path string, c *cobra.Command) {
		words, base := strings.Fields(path), f.base[path]
		for _, bad := range some(&turn, 3) {
			args := append(slices.Clone(words), bad)
			f.refuses(usage, append(args, onlyFlags(base)...)...)
			f.refuses(usage, append(append(slices.Clone(words), base...), bad)...)
		}
		many := append(slices.Clone(words), slices.Repeat([]string{"nothing-is-called-so"}, 300)...)
		f.refuses([]int{exitUsage, exitFailure}, append(many, onlyFlags(base)...)...)
		f.refuses([]int{exitUsage, exitFailure, exitRefused}, append(slices.Clone(words), "")...)
		c.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
			for _, bad := range badValues(flag, &turn) {
				f.refuses(usage, append(append(slices.Clone(words), without(base, flag)...), "--"+flag.Name+"="+bad)...)
			}
		})
	})
	if t.Failed() {
		return
	}
	// The control: without a bad word the same fixture lets the command through.
	f.person(exitDone, "approve", f.plan)
	f.want(exitDone, "dispatch", f.plan)
}

// onlyFlags drops a base's arguments, which a bad word replaces.
func onlyFlags(base []string) []string {
	for i, b := range base {
		if strings.HasPrefix(b, "-") {
			return base[i:]
		}
	}
	return nil
}

// without drops a flag of one value from a base: given twice, it would be refused whatever its value is.
func without(base []string, flag *pflag.Flag) []string {
	i := slices.IndexFunc(base, func(b string) bool { return b == "--"+flag.Name || b == "-"+flag.Shorthand })
	if i < 0 {
		return base
	}
	if flag.NoOptDefVal != "" { // it has no value of its own
		return slices.Concat(base[:i], base[i+1:])
	}
	return slices.Concat(base[:i], base[i+2:])
}

// badValues are what a flag of this kind does not take.
func badValues(flag *pflag.Flag, turn *int) []string {
	switch flag.Value.Type() {
	case "bool":
		return []string{"maybe", "\x1b[31m", "2"}
	case "int":
		return []string{"x", "", "-1", "1e3", "99999999999999999999", "\n"}
	case "duration":
		return []string{"x", "", "-1s", "1e9h", "9999999999d", "\x1b[31m"}
	}
	bad := some(turn, 2)
	if slices.Contains(multilineFlags, flag.Name) {
		bad = slices.DeleteFunc(bad, func(w string) bool { return w == "two\nlines" })
	}
	switch flag.Name {
	case "since":
		bad = append(bad, "x", "tomorrow", "99999999999h", "2026-13-45")
	case "rollout":
		bad = append(bad, "x", "=1", "a=0", "a=-1", "a=1,-1", "a=1,2,3", "a b=1", "-a=1", "a=99999999999999999999")
	case "route":
		bad = append(bad, "x", "via:", "direct ")
	case "address":
		bad = append(bad, "a b", "1.2.3.4:50000", "http://x", "..//x y")
	case "role":
		bad = append(bad, "") // an unknown role is refused by the store, or by the command
	case "break-glass", "judge", "route-gone", "since-checkpoint", "nodes":
		bad = append(bad, "")
	}
	return bad
}

// evilFiles makes files that no command takes, and returns their names by what is wrong with them.
func evilFiles(t *testing.T) map[string]string {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, content string) string {
		must(os.WriteFile(path(name), []byte(content), 0o600))
		return path(name)
	}
	must(os.Mkdir(path("directory"), 0o700))
	must(syscall.Mkfifo(path("fifo"), 0o600))
	must(os.Symlink("/dev/zero", path("device")))
	must(os.Symlink(path("fifo"), path("to-fifo")))
	must(os.Symlink(path("loop"), path("loop")))
	huge, err := os.Create(path("huge"))
	must(err)
	must(huge.Truncate(64 << 20))
	must(huge.Close())
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'k'; i++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	return map[string]string{
		"missing": path("missing"), "directory": path("directory"), "FIFO": path("fifo"), "device": path("device"),
		"link to a FIFO": path("to-fifo"), "loop of links": path("loop"), "huge": path("huge"), "empty": write("empty", ""),
		"only blanks": write("blank", " \n\n"), "binary": write("binary", "\x7fELF\x00\x01\x02\x03"), "not UTF-8": write("latin", "name: caf\xe9\n"),
		"YAML bomb": write("bomb", bomb), "deeply nested": write("deep", strings.Repeat("[", 100_000)), "no configuration": write("other", "kind: Deployment\napiVersion: apps/v1\n"),
		"escape sequences": write("escapes", "\"\x1b[31mred\": 1\n"), "a name with escapes": write("\x1b[31mred", "x: 1\n"), "a name of two lines": write("two\nlines", "x: 1\n"),
	}
}

// TestEvilFilesChangeNothing hands every file to every command and flag that takes one.
func TestEvilFilesChangeNothing(t *testing.T) {
	f := newFixture(t)
	files := evilFiles(t)
	long := strings.Repeat("n/", 2000) + "x"
	files["a path that is too long"] = long
	codes := []int{exitUsage, exitFailure, exitRefused}
	for what, file := range files {
		t.Run(what, func(t *testing.T) {
			f := &fixture{home: &home{t: t, dir: f.dir, env: f.env}, store: f.store, plan: f.plan, base: f.base}
			for _, args := range [][]string{
				{"apply", "-n", "worker-1", "-f", file},
				{"apply", "-n", "worker-1", "-f", file, "--dry-run"},
				{"apply", "-n", "worker-1", "-p", "@" + file},
				{"plan", "create", "-n", "worker-1", "-f", file},
				{"plan", "create", "-n", "worker-1", "-p", label("a", "b"), "-p", "@" + file},
				{"machine", "import", "--talosconfig", file},
				{"machine", "list", "--refresh", "--talosconfig", file},
				{"machine", "diff", "worker-1", "--talosconfig", file},
				{"apply", "-n", "worker-1", "-p", label("a", "b"), "--talosconfig", file},
				{"dispatch", f.plan, "--talosconfig", file},
				{"verify", file},
				{"verify", "--since-checkpoint", file},
			} {
				f.refuses(codes, args...)
			}
			if _, err := os.Lstat(file); err == nil {
				f.refuses(codes, "admin", "checkpoint", file)
				f.refuses(codes, "admin", "export", file)
			}
		})
	}
}

// TestBadStandardInput gives what commands read from standard input.
func TestBadStandardInput(t *testing.T) {
	h := imported(t)
	entries := h.entries()
	for what, in := range map[string]io.Reader{
		"empty": strings.NewReader(""), "huge": io.LimitReader(zeros{}, 64<<20), "binary": strings.NewReader("\x00\x01"),
		"no configuration": strings.NewReader("a: b\n"),
	} {
		r := h.runIn(t.Context(), in, "apply", "-n", "worker-1", "-f", "-")
		if r.code != exitFailure && r.code != exitRefused {
			t.Errorf("%s: exit %d: %s", what, r.code, r.stderr)
		}
	}
	if got := h.entries(); got != entries {
		t.Errorf("%d entries were written", got-entries)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestBadStores: what is no store is not made one, and not waited for.
func TestBadStores(t *testing.T) {
	files := evilFiles(t)
	for _, what := range []string{"directory", "FIFO", "device", "link to a FIFO", "loop of links", "huge", "binary", "not UTF-8", "escape sequences"} {
		before, _ := os.ReadFile(onlyRegular(files[what]))
		for _, args := range [][]string{{"machine", "list"}, {"admin", "identity", "list"}, {"verify"}, {"admin", "identity", "create", "x"}, {}} {
			h := newHome(t)
			r := h.run(append([]string{"--store", files[what]}, args...)...)
			if r.code != exitFailure || strings.ContainsRune(r.stderr, 0x1b) {
				t.Errorf("%s, %v: exit %d: %s", what, args, r.code, shorten(r.stderr))
			}
		}
		if after, _ := os.ReadFile(onlyRegular(files[what])); string(after) != string(before) {
			t.Errorf("%s: the file was changed", what)
		}
	}
}

// onlyRegular is the path when it is a regular file, else a file that is always empty.
func onlyRegular(path string) string {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path
	}
	return os.DevNull
}
