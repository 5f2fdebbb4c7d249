package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clewops/clew/internal/lab"
)

// killedAt says, for each place at which the executor can be stopped, what the store shows after it was killed there,
// what the next command makes of it, and which command then ends it.
var killedAt = map[string]struct {
	found     string // the plan's state, or its operation's
	next      []string
	exit      int
	then      string
	ending    []string // further commands to the end; nil: it has come
	byAPerson bool     // a recovery-admin decides, at a terminal
}{
	// Nothing is recorded but reads: the plan is still approved, another executor runs it.
	"evidence": {"approved", []string{"dispatch", "PLAN"}, exitDone, "completed", nil, false},
	"commit":   {"approved", []string{"dispatch", "PLAN"}, exitDone, "completed", nil, false},
	// An operation without an attempt: taken over, then sent when somebody says so.
	"committed": {"committed", []string{"settle", "OP"}, exitUnresolved, "unresolved", []string{"settle", "OP", "--retry"}, false},
	"attempt":   {"committed", []string{"settle", "OP"}, exitUnresolved, "unresolved", []string{"settle", "OP", "--retry"}, false},
	// An attempt that may have been sent: unresolved until it is accounted for. Over these links there is no evidence.
	"guard":    {"sending", []string{"settle", "OP"}, exitUnresolved, "unresolved", judged, true},
	"send":     {"sending", []string{"settle", "OP"}, exitUnresolved, "unresolved", judged, true},
	"response": {"sending", []string{"settle", "OP"}, exitUnresolved, "unresolved", judged, true},
	// Accepted and accounted for: a new observation completes it.
	"verify":   {"verifying", []string{"settle", "OP"}, exitDone, "completed", nil, false},
	"complete": {"verifying", []string{"settle", "OP"}, exitDone, "completed", nil, false},
}

var judged = []string{"settle", "OP", "--judge", "nothing of it is under way", "--retry", "--wait", "3m"}

// TestKilledAtEachStep kills the program at each place, with the signal that it cannot see, on each store. The next
// command finds what the contract names, the store verifies, and every change lands exactly once.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel() // it waits for the settle time
			k := newKills(t, engine)
			ops := map[string]string{}
			for _, gate := range slices.Sorted(maps.Keys(killedAt)) {
				ops[gate] = k.kill(gate)
			}
			for _, gate := range slices.Sorted(maps.Keys(killedAt)) {
				k.end(gate, ops[gate])
			}
		})
	}
}

// kills is one store, and a node for each gate.
type kills struct {
	*home
	lab     *lab.Lab
	program string
	plans   map[string]string
	nodes   map[string]*lab.Node
	before  map[string]int // landings
}

func newKills(t *testing.T, engine string) *kills {
	t.Helper()
	k := &kills{
		home: newHome(t), program: program(t), plans: map[string]string{}, nodes: map[string]*lab.Node{}, before: map[string]int{},
	}
	where := filepath.Join(k.dir, "store.db")
	if engine == "postgres" {
		where = drillDatabase(t)
	}
	k.env = append(k.env, "CLEW_STORE="+where)
	dir := filepath.Join(k.dir, "lab")
	var err error
	k.lab, err = lab.Up(t.Context(), lab.Config{Dir: dir, Links: lab.LinksUserland, Exe: k.program, Workers: len(killedAt), Tied: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.lab.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	k.person(exitDone, "machine", "import", "--talosconfig", k.lab.Talosconfig())
	var all []string
	for i, gate := range slices.Sorted(maps.Keys(killedAt)) {
		name := fmt.Sprintf("worker-%d", i+1)
		if k.nodes[gate], err = k.lab.Node(name); err != nil {
			t.Fatal(err)
		}
		k.before[gate] = k.landings(gate)
		k.plans[gate] = k.planned("-n", name, "-p", label("killed-at", gate), "--transport-deadline", "2s")
		all = append(all, k.plans[gate])
	}
	k.person(exitDone, append([]string{"approve"}, all...)...)
	return k
}

func (k *kills) landings(gate string) int {
	k.t.Helper()
	c, err := k.nodes[gate].Counters()
	if err != nil {
		k.t.Fatal(err)
	}
	return len(c.Landings)
}

// kill stops an executor at a gate, kills it, and sees what the next command makes of it. It returns the operation.
func (k *kills) kill(gate string) string {
	k.t.Helper()
	want := killedAt[gate]
	k.stopped(gate)
	state, op := k.state(gate)
	if state != want.found {
		k.t.Errorf("killed at %s: found %s, want %s", gate, state, want.found)
	}
	k.shipped(exitDone, "verify")
	k.shipped(want.exit, k.words(want.next, gate, op)...)
	state, op = k.state(gate)
	if state != want.then {
		k.t.Errorf("killed at %s: the next command left it %s, want %s", gate, state, want.then)
	}
	return op
}

// end brings what is not over to its end: completed, landed once.
func (k *kills) end(gate, op string) {
	k.t.Helper()
	want := killedAt[gate]
	switch {
	case want.byAPerson:
		k.person(exitDone, k.words(want.ending, gate, op)...)
	case want.ending != nil:
		k.shipped(exitDone, k.words(want.ending, gate, op)...)
	}
	if state, _ := k.state(gate); state != "completed" {
		k.t.Errorf("killed at %s: it ends %s", gate, state)
	}
	if n := k.landings(gate) - k.before[gate]; n != 1 {
		k.t.Errorf("killed at %s: it landed %d times", gate, n)
	}
	k.shipped(exitDone, "verify")
}

func (k *kills) words(args []string, gate, op string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		out[i] = strings.NewReplacer("PLAN", k.plans[gate], "OP", op).Replace(a)
	}
	return out
}

// state is the state of the gate's plan, or of its operation.
func (k *kills) state(gate string) (state, op string) {
	k.t.Helper()
	r := k.shipped(exitDone, "show", k.plans[gate], "-o", "json")
	v := decode[planView](k.t, r.recordOf(k.t))
	if v.Operation == "" {
		return string(v.Standing.State), ""
	}
	return string(v.OperationState), v.Operation
}

// shipped runs the program as it is shipped.
func (k *kills) shipped(code int, args ...string) result {
	k.t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(k.t.Context(), k.program, args...)
	c.Env, c.Stdout, c.Stderr = k.env, &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		k.t.Fatal(err)
	}
	r := result{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	k.demand(r, code, args)
	return r
}

// stopped starts the dispatch as a process that stops at the gate, waits until it stands there, and kills it.
func (k *kills) stopped(gate string) {
	k.t.Helper()
	// A store that may be stopped in is told by where its orders lie.
	dir := filepath.Join(k.dir, "executors", gate)
	gates := filepath.Join(dir, "gates")
	if err := os.MkdirAll(gates, 0o700); err != nil {
		k.t.Fatal(err)
	}
	orders, err := json.Marshal(map[string]string{"gates": gates})
	if err != nil {
		k.t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(dir, "orders.json"): string(orders), filepath.Join(gates, gate+".armed"): ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
	var output bytes.Buffer
	c := exec.CommandContext(k.t.Context(), k.program, "lab", "drill", "executor", filepath.Join(dir, "orders.json"), "--", "dispatch", k.plans[gate])
	c.Env, c.Stdout, c.Stderr = k.env, &output, &output
	stdin, err := c.StdinPipe() // it ends when its input does
	if err != nil {
		k.t.Fatal(err)
	}
	defer stdin.Close()
	if err := c.Start(); err != nil {
		k.t.Fatal(err)
	}
	reached := k.waitFor(filepath.Join(gates, gate+".reached"))
	if err := c.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	_ = c.Wait()
	status := c.ProcessState.Sys().(syscall.WaitStatus)
	k.t.Logf("at %-9s pid %d was killed, wait status %#x (%s)", gate, c.Process.Pid, uint32(status), c.ProcessState)
	if !reached || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		k.t.Fatalf("the executor was not killed at %s (reached: %t): %s\n%s", gate, reached, c.ProcessState, output.String())
	}
}

func (k *kills) waitFor(path string) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if _, err := os.Stat(path); err == nil {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

var gateName = regexp.MustCompile(`\.gate\((?:ctx, )?"(\w+)"\)`)

// TestEveryGateIsKilledAt: a gate that the code has and the table does not is a step that nobody was killed at.
func TestEveryGateIsKilledAt(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range []string{"../executor", "../store"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range gateName.FindAllStringSubmatch(string(text), -1) {
				found[m[1]] = true
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(killedAt)); !slices.Equal(got, want) {
		t.Errorf("the code has the gates %v, the table %v", got, want)
	}
}

// drillDatabase is a database by whose name it is known that an executor may be stopped in it.
func drillDatabase(t *testing.T) string {
	t.Helper()
	database(t) // starts the server
	url, err := sharedServer.server.CreateDatabase(t.Context(), "clew_drill_killed")
	if err != nil {
		t.Fatal(err)
	}
	return url.Reveal()
}

var builtProgram struct {
	once sync.Once
	path string
	err  error
}

// program is the program as it is shipped.
func program(t *testing.T) string {
	t.Helper()
	b := &builtProgram
	b.once.Do(func() {
		var dir string
		//lint:ignore usetesting it outlives the test that came first
		if dir, b.err = os.MkdirTemp("", "clew-cli-test-"); b.err != nil {
			return
		}
		b.path = filepath.Join(dir, "clew")
		c := exec.Command("go", "build", "-o", b.path, "./cmd/clew")
		c.Dir, c.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}
