package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/lab/pgserver"
	"github.com/clewops/clew/internal/store"
)

func TestMain(m *testing.M) {
	if code, was := lab.Child(os.Args[1:]); was { // this binary is also the lab's nodes and links
		os.Exit(code)
	}
	testscript.Main(suite{m}, map[string]func(){"clew": func() {
		os.Exit(Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}})
}

// suite removes what the tests shared when they have ended.
type suite struct{ m *testing.M }

func (s suite) Run() int {
	code := s.m.Run()
	if sharedLab.lab != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := sharedLab.lab.Down(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "take the lab down:", err)
			code = max(code, 1)
		}
		_ = os.RemoveAll(sharedLab.dir)
	}
	if sharedServer.server != nil {
		if err := sharedServer.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
			code = max(code, 1)
		}
	}
	if builtProgram.path != "" {
		_ = os.RemoveAll(filepath.Dir(builtProgram.path))
	}
	return code
}

var sharedLab struct {
	once sync.Once
	lab  *lab.Lab
	dir  string
	err  error
}

// theLab is one practice cluster for all tests: three nodes behind links that carry faults. Tests that use it do not run
// in parallel; each leaves the nodes reachable.
func theLab(t *testing.T) *lab.Lab {
	t.Helper()
	l := &sharedLab
	l.once.Do(func() {
		var exe string
		if exe, l.err = os.Executable(); l.err != nil {
			return
		}
		//lint:ignore usetesting the lab outlives the test that first asks for it
		if l.dir, l.err = os.MkdirTemp("", "clew-cli-lab-"); l.err != nil {
			return
		}
		l.lab, l.err = lab.Up(context.Background(), lab.Config{
			Dir: filepath.Join(l.dir, "lab"), Links: lab.LinksUserland, Exe: exe, Tied: true,
		})
	})
	if l.err != nil {
		t.Fatalf("the lab did not come up: %v", l.err)
	}
	return l.lab
}

var sharedServer struct {
	once   sync.Once
	server *pgserver.Server
	err    error
	n      int
}

// database is a fresh PostgreSQL database for one test.
func database(t *testing.T) config.DatabaseURL {
	t.Helper()
	s := &sharedServer
	s.once.Do(func() { s.server, s.err = pgserver.Start(context.Background(), pgserver.Options{}) })
	if s.err != nil {
		t.Fatalf("PostgreSQL: %v", s.err)
	}
	s.n++
	url, err := s.server.CreateDatabase(t.Context(), fmt.Sprintf("cli_%d", s.n))
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// home is a user's home with a store in it.
type home struct {
	t   *testing.T
	dir string
	env []string
}

func newHome(t *testing.T, env ...string) *home {
	dir := t.TempDir()
	return &home{t: t, dir: dir, env: append([]string{"HOME=" + dir, "USER=tester"}, env...)}
}

// run types a command where there is no terminal.
func (h *home) run(args ...string) result {
	h.t.Helper()
	return h.runIn(h.t.Context(), strings.NewReader(""), args...)
}

func (h *home) runIn(ctx context.Context, stdin io.Reader, args ...string) result {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	code := Main(ctx, args, stdin, &stdout, &stderr, h.env)
	return result{code, stdout.String(), stderr.String()}
}

// want runs a command and demands its exit code.
func (h *home) want(code int, args ...string) result {
	h.t.Helper()
	r := h.run(args...)
	h.demand(r, code, args)
	return r
}

func (h *home) demand(r result, code int, args []string) {
	h.t.Helper()
	if r.code != code {
		h.t.Fatalf("clew %s: exit %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), r.code, code, r.stdout, r.stderr)
	}
}

// question is how the program asks a person to type a confirmation.
var question = regexp.MustCompile(`type (\S+): $`)

// person types a command at a terminal and answers what is asked with what is asked for.
func (h *home) person(code int, args ...string) result {
	h.t.Helper()
	return h.answering(code, func(word string) string { return word }, args...)
}

// answering types a command at a terminal and answers each question.
func (h *home) answering(code int, answer func(word string) string, args ...string) result {
	h.t.Helper()
	keyboard, terminal, err := pty.Open()
	if err != nil {
		h.t.Fatal(err)
	}
	defer keyboard.Close()
	defer terminal.Close()
	var stdout bytes.Buffer
	screen := &screen{keyboard: keyboard, answer: answer}
	got := Main(h.t.Context(), args, terminal, &stdout, screen, h.env)
	r := result{got, stdout.String(), screen.String()}
	h.demand(r, code, args)
	return r
}

// screen is what a person sees of stderr, and where they see that they are asked.
type screen struct {
	mu       sync.Mutex
	seen     bytes.Buffer
	answered int
	keyboard io.Writer
	answer   func(word string) string
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.Write(b)
	if m := question.FindSubmatch(s.seen.Bytes()[s.answered:]); m != nil {
		s.answered = s.seen.Len()
		if _, err := fmt.Fprintln(s.keyboard, s.answer(string(m[1]))); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// decode reads a command's JSON.
func decode[T any](t *testing.T, r result) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		t.Fatalf("not the JSON that was expected: %v\n%s", err, r.stdout)
	}
	return v
}

// open opens the home's store beside the program.
func (h *home) open() *store.Store {
	h.t.Helper()
	a := newApp(strings.NewReader(""), io.Discard, io.Discard, h.env)
	newRoot(a)
	st, err := a.open(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { a.close() })
	return st
}

// entries counts the ledger's entries that people and commands make. Anchors come by themselves, at least every minute.
func (h *home) entries() int {
	h.t.Helper()
	a := newApp(strings.NewReader(""), io.Discard, io.Discard, h.env)
	newRoot(a)
	st, ok, err := a.openExisting(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	defer a.close()
	if !ok {
		return 0
	}
	return countEntries(h.t, st)
}

func countEntries(t *testing.T, st *store.Store) int {
	t.Helper()
	all, err := st.Entries(t.Context(), store.EntryFilter{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range all {
		if e.Kind != "installation.anchored" {
			n++
		}
	}
	return n
}

// imported is a home that knows the lab and has accepted what its workers run.
func imported(t *testing.T, env ...string) *home {
	t.Helper()
	h := newHome(t, env...)
	h.person(exitDone, "machine", "import", "--talosconfig", theLab(t).Talosconfig())
	return h
}

// worker is one of the lab's workers.
func worker(t *testing.T, name string) *lab.Node {
	t.Helper()
	n, err := theLab(t).Node(name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// runs counts what tests write to the shared lab.
var runs atomic.Int64

// unique makes a value that no test wrote to the lab before: what a node runs already is refused as a change.
func unique(value string) string { return fmt.Sprintf("%s-%d", value, runs.Add(1)) }

// label is a patch that gives a node a label, with a value that is always new.
func label(key, value string) string {
	return fmt.Sprintf(`{"machine":{"nodeLabels":{"%s":"%s"}}}`, key, unique(value))
}
