package contention

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// envProcess makes this test binary one of the processes.
const envProcess = "CLEW_TEST_CONTENDER"

// envSeconds is how long the processes work on each store; make procs asks for a minute.
const envSeconds = "CLEW_TEST_CONTENTION_SECONDS"

func TestMain(m *testing.M) {
	if os.Getenv(envProcess) != "" {
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	storetest.Main(m)
}

func seconds(t *testing.T) int {
	t.Helper()
	text := os.Getenv(envSeconds)
	if text == "" {
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q: a number of seconds", envSeconds, text)
	}
	return n
}

// longest is what no call may take.
const longest = 2 * time.Second

// TestManyProcesses: eight processes plan, approve, revoke, commit, attempt, take over, end and read at once. Every
// machine's history is linearizable, the store verifies, and no call takes longer than it may.
func TestManyProcesses(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		calls := contend(t, w, seconds(t))
		histories := byMachine(calls)
		for m, h := range histories {
			slices.SortFunc(h, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
			result, info := porcupine.CheckOperationsVerbose(model, h, 2*time.Minute)
			if result != porcupine.Ok {
				t.Errorf("the history of machine %d, %d calls, is %s\n%s", m, len(h), result, explain(info, h))
			}
		}
		report(t, calls)
		t.Run("control", func(t *testing.T) { doctored(t, histories) })
	})
}

// contend lets the processes work and returns all calls.
func contend(t *testing.T, w *world.World, seconds int) []call {
	const machines = 3
	o := order{
		Engine: w.Place.Location.Engine, Path: w.Place.Location.Path, StateDir: w.Place.StateDir, Dir: t.TempDir(),
		Host: w.Process().Host, Seconds: seconds, Seed: uint64(time.Now().UnixNano()),
	}
	if o.Engine == config.Postgres {
		o.Path = w.Place.Location.URL.Reveal()
	}
	t.Logf("seed %d", o.Seed)
	artifact := w.Config("next")
	for i := range machines {
		m := w.Machine(fmt.Sprintf("m%d", i))
		o.Drafts, o.Nodes = append(o.Drafts, m.Draft(artifact)), append(o.Nodes, m.Node)
	}
	for i := range processes {
		w.Person("approver-"+strconv.Itoa(i), store.RoleApprover)
	}
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		all     []call
	)
	for i := range processes {
		o.Process = i
		mine := o
		running.Go(func() {
			calls, err := run(t, mine)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, calls...)
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	return all
}

// run starts one process and reads what it wrote down.
func run(t *testing.T, o order) ([]call, error) {
	in, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envProcess+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("process %d: %w: %s", o.Process, err, stderr.String())
	}
	var calls []call
	for d := json.NewDecoder(&stdout); d.More(); {
		var c call
		if err := d.Decode(&c); err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// byMachine is one history for each machine.
func byMachine(calls []call) map[int][]porcupine.Operation {
	out := map[int][]porcupine.Operation{}
	for _, c := range calls {
		if slices.Contains(modelled, c.Kind) {
			out[c.Machine] = append(out[c.Machine], porcupine.Operation{ClientId: c.Process, Input: c, Call: c.Start, Return: c.End})
		}
	}
	return out
}

// report prints what was done and how long it took, and fails where a call took too long or a kind never succeeded.
func report(t *testing.T, calls []call) {
	t.Helper()
	type sum struct {
		n, ok int
		worst time.Duration
	}
	kinds := map[string]sum{}
	for _, c := range calls {
		s := kinds[c.Kind]
		s.n++
		if c.OK {
			s.ok++
		}
		s.worst = max(s.worst, time.Duration(c.End-c.Start))
		kinds[c.Kind] = s
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		s := kinds[kind]
		t.Logf("%-27s %6d calls, %6d done, the longest took %s", kind, s.n, s.ok, s.worst.Round(time.Millisecond))
		if s.worst > longest {
			t.Errorf("a call to %s took %s, at most %s may pass", kind, s.worst, longest)
		}
	}
	for _, kind := range append([]string{beginRead, endRead, admit, dismiss}, modelled...) {
		if kinds[kind].ok == 0 {
			t.Errorf("no call to %s ever succeeded: nothing is shown of it", kind)
		}
	}
}

// doctored is the control of the checker: each of these lies about a history makes it impossible.
func doctored(t *testing.T, histories map[int][]porcupine.Operation) {
	lies := map[string]struct {
		fits func(c call) bool
		lie  func(c *call)
	}{
		"a claim that was refused had won":   {func(c call) bool { return c.Kind == claim && c.Comparison == 0 && c.Code == "operation-exists" }, func(c *call) { c.OK, c.Operation = true, "op-lie" }},
		"a takeover that won had lost":       {func(c call) bool { return c.Kind == takeOver && c.OK }, func(c *call) { c.OK = false }},
		"an update that was made is lost":    {func(c call) bool { return c.Kind == read && c.Saw.State.Terminal() }, func(c *call) { c.Saw.State = dispatch.Sending }},
		"an approval after the end":          {func(c call) bool { return c.Kind == approve && !c.OK }, func(c *call) { c.OK = true }},
		"an attempt after a revocation":      {func(c call) bool { return c.Kind == attempt && c.Comparison == 1 && !c.OK }, func(c *call) { c.OK = true }},
		"a reading shows another generation": {func(c call) bool { return c.Kind == read && c.Saw.Generation > 1 }, func(c *call) { c.Saw.Generation += 7 }},
	}
	for name, lie := range lies {
		tried := false
		for _, h := range histories {
			i := slices.IndexFunc(h, func(o porcupine.Operation) bool { return lie.fits(o.Input.(call)) })
			if i < 0 {
				continue
			}
			tried = true
			spoiled := slices.Clone(h)
			c := spoiled[i].Input.(call)
			lie.lie(&c)
			spoiled[i].Input = c
			if got := porcupine.CheckOperationsTimeout(model, spoiled, 2*time.Minute); got != porcupine.Illegal {
				t.Errorf("%s: the checker says %s", name, got)
			}
			break
		}
		if !tried {
			t.Errorf("%s: no call to lie about in %s", name, strings.Join(slices.Sorted(maps.Keys(lies)), ", "))
		}
	}
}
