package wrap_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewops/clew/internal/wrap/journal"
)

// patience is how long a command of these tests may take on a loaded machine.
const patience = 60 * time.Second

// binaries has the wrapper and the programs that the tests build.
var binaries string

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "clewx-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -E clewx_entry", "-o", filepath.Join(dir, "clewx"), "../../cmd/clewx")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build clewx: %v: %s\n", err, out)
		return 1
	}
	return m.Run()
}

// tool is the program that is wrapped: a script that does what its arguments say and shows what it was given.
const tool = `#!/bin/bash
case "$1" in
exit) exit "$2" ;;
both) echo "out $*"; echo "err $*" >&2; exit "${2:-0}" ;;
cat) cat; exit "${2:-0}" ;;
big) head -c "$2" /dev/zero | tr '\0' x; exit "${3:-0}" ;;
args) printf '%s\n' "$0" "$@" | cksum; echo $# ;;
environ) tr '\0' '\n' < /proc/$$/environ ;;
die) # a shell ignores some signals
	ulimit -c 0
	(while kill -s "$2" $$; do :; done) > /dev/null 2>&1 &
	exec sleep 60 ;;
stdin) read -r line; echo "got $line" ;;
status) grep -E 'Sig(Blk|Ign)|Groups|Cpus_allowed_list' /proc/self/status; umask; ulimit -a ;;
fds) for f in /proc/$$/fd/*; do echo "${f##*/}"; done ;;
fd3) cat <&3 ;;
tty) for f in 0 1 2; do test -t $f && echo "$f is a terminal"; done; stty -a < /dev/tty ;;
group) read -r _ _ _ _ group _ _ front _ < /proc/$$/stat; [ "$group" = "$front" ] && echo front || echo back ;;
count)
	for s in INT TERM HUP QUIT USR2 TSTP CONT WINCH ALRM PIPE; do trap "echo got $s" "$s"; done
	trap 'echo bye; exit 9' USR1
	echo ready
	while :; do read -r -t 0.05 <> <(:); done ;;
plain) echo ready; while :; do read -r -t 0.2 <> <(:); done ;;
touch) echo ran > "$2" ;;
delete) echo ran > "$CLEW_TEST_MARKS/$3" ;;
down) echo "cannot connect" >&2; exit 1 ;;
diff) echo "- a"; exit 1 ;;
slow) echo ready; read -r line; echo "line: $line"; exit 4 ;;
*) echo "unknown $1" >&2; exit 1 ;;
esac
`

// rig is a home with a tool and a shim before it.
type rig struct {
	t                *testing.T
	dir, shims, real string
	env              []string // without PATH
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, dir: dir, shims: filepath.Join(dir, "shims"), real: filepath.Join(dir, "real")}
	for _, d := range []string{r.shims, r.real, filepath.Join(dir, "home"), filepath.Join(dir, "tmp")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.write(filepath.Join(r.real, "kubectl"), tool)
	if err := os.Symlink(filepath.Join(binaries, "clewx"), filepath.Join(r.shims, "kubectl")); err != nil {
		t.Fatal(err)
	}
	r.env = []string{
		"HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp"), "CLEW_SESSION=s-bob",
		"LANG=C.UTF-8", "TERM=dumb", "CLEW_TEST_MARKS=" + dir, "LC_ALL=C.UTF-8",
	}
	return r
}

func (r *rig) write(path, text string) {
	r.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		r.t.Fatal(err)
	}
}

// path is PATH with the shims first, or without them.
func (r *rig) path(wrapped bool) string {
	list := []string{r.real, os.Getenv("PATH")}
	if wrapped {
		list = slices.Insert(list, 0, r.shims)
	}
	return "PATH=" + strings.Join(list, ":")
}

// result is what a caller sees of a command.
type result struct {
	stdout, stderr string
	status         int // -1: by signal
	signal         syscall.Signal
}

// String shortens what is long.
func (x result) String() string {
	return fmt.Sprintf("status %d, signal %d, stdout %.2000q, stderr %.2000q", x.status, int(x.signal), x.stdout, x.stderr)
}

// sh runs a command line in a shell.
func (r *rig) sh(wrapped bool, line, stdin string) result {
	return r.exec(wrapped, "/bin/bash", []string{"bash", "-c", line}, stdin)
}

// program is the tool's file, or the shim's.
func (r *rig) program(wrapped bool) string {
	if wrapped {
		return filepath.Join(r.shims, "kubectl")
	}
	return filepath.Join(r.real, "kubectl")
}

// tool runs the tool itself, by execve.
func (r *rig) tool(wrapped bool, stdin string, args ...string) result {
	return r.exec(wrapped, r.program(wrapped), append([]string{"kubectl"}, args...), stdin)
}

func (r *rig) exec(wrapped bool, path string, argv []string, stdin string) result {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Env, cmd.Dir = argv, append(slices.Clone(r.env), r.path(wrapped)), r.dir
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	cmd.WaitDelay = time.Second // whoever is left holds the pipes
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("%v: %v", argv, err)
	}
	if ctx.Err() != nil {
		r.t.Fatalf("%.300q did not end; so far %.300q, %.300q", argv, out.String(), errs.String())
	}
	return resultOf(cmd.ProcessState, out.String(), shellPID.ReplaceAllString(errs.String(), "line 1: PID "))
}

func resultOf(state *os.ProcessState, out, errs string) result {
	x := result{stdout: out, stderr: errs, status: state.ExitCode()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		x.signal = ws.Signal()
	}
	return x
}

// shellPID is what a shell says of a process that died.
var shellPID = regexp.MustCompile(`line 1: +\d+ `)

// journalFile is the journal of the rig's session.
func (r *rig) journalFile() string {
	return journal.File(filepath.Join(r.dir, "home", ".local", "state", "clew", "journal"), "s-bob")
}

// delivered are the records of a journal.
func (r *rig) delivered(file string) []journal.Record {
	r.t.Helper()
	var list []journal.Record
	_, err := journal.Deliver(file, time.Now(), "", func(x journal.Record) error {
		list = append(list, x)
		return nil
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return list
}
