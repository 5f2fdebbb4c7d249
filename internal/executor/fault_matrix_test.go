package executor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// transactionNames are the names of all transactions of the table, by which a COMMIT is recognised.
var transactionNames []string

func init() {
	for _, s := range scenarios {
		for _, r := range s.rows {
			transactionNames = append(transactionNames, r.step)
		}
	}
}

// planned is a cell of the table that is to be run.
type planned struct {
	fault
	want string
}

// cells are the cells of a scenario that apply.
func (s scenario) cells() []planned {
	var out []planned
	for _, r := range s.rows {
		for i, want := range []string{r.fails, r.lost, r.took, r.crash} {
			if want != "-" {
				out = append(out, planned{fault{r.step, r.nth, fails + mode(i)}, want})
			}
		}
	}
	return out
}

// together is how many cells share a world: verification reads all of it, after each fault and each recovery.
const together = 10

// TestFaultMatrix runs every cell of the table on every engine: the step goes wrong, the store is opened anew and
// verified, the normal path is run again, and the end is what the table says. Under the race detector, which slows it
// down too much, every sixth cell does; make faults runs all.
func TestFaultMatrix(t *testing.T) {
	for _, engine := range storetest.Engines(t) {
		t.Run(string(engine), func(t *testing.T) {
			var running sync.WaitGroup
			slots := make(chan struct{}, 4) // much of a case is waiting for syncs
			for _, s := range scenarios {
				size := together
				if s.alone {
					size = 1
				}
				for cells := range slices.Chunk(s.cells(), size) {
					slots <- struct{}{}
					running.Go(func() {
						defer func() { <-slots }()
						t.Run(s.name, func(t *testing.T) { s.run(t, engine, cells) })
					})
				}
			}
			running.Wait()
		})
	}
}

var cellCount atomic.Int64

func (s scenario) run(t *testing.T, engine config.Engine, cells []planned) {
	w := world.New(t, storetest.New(t, engine))
	for i, cell := range cells {
		if raceEnabled && cellCount.Add(1)%6 != 1 {
			continue
		}
		t.Run(fmt.Sprintf("%s %d %s", strings.TrimSpace(cell.step), cell.nth, cell.mode), func(t *testing.T) {
			s.cell(t, w.In(t), fmt.Sprintf("m%d", i), cell.fault, cell.want)
		})
	}
}

// cell is one case.
func (s scenario) cell(t *testing.T, w *world.World, name string, f fault, want string) {
	m := w.Machine(name)
	c := &faultCase{
		t: t, w: w, m: m, clock: &clock{}, key: "change-of-" + name, who: w.Approver, host: w.Process().Host,
		node: &node{m: m, verdict: SocketVerdict{Available: true, Holds: true, Evidence: json.RawMessage(`{"hop1":"gone"}`)}},
	}
	act, state := s.act, s.state
	if act == nil {
		act = (*process).job
	}
	if state == nil {
		state = (*faultCase).state
	}
	if len(s.before) > 0 {
		c.first = c.start(s.before...)
		c.first.run((*process).job)
	}
	if s.prepare != nil {
		s.prepare(c)
	}
	p := c.start(append(slices.Clone(s.during), f)...)
	p.run(act)
	if !slices.Contains(p.hit, f.step) || p.seen[f.step] < f.nth {
		t.Fatalf("the step did not come: its process did %v and gave up with %v", p.seen, p.err)
	}
	found, end, both := strings.Cut(want, " > ")
	if !both {
		end = found
	}
	c.wantState(c.reload(), state, found, fmt.Sprintf("after the fault (it gave up with: %v)", p.err))
	if s.act == nil && c.adapt == nil && f.mode != crash && dispatch.State(found).Terminal() && p.err != nil {
		t.Errorf("it brought the operation to its end, and said: %v", p.err)
	}
	if s.between != nil {
		s.between(c)
	}
	again := c.start()
	again.run(act)
	c.wantState(c.reload(), state, end, fmt.Sprintf("after the recovery (it gave up with: %v)", again.err))
	if c.node.landings != s.landings {
		t.Errorf("%d landings on the node, want %d", c.node.landings, s.landings)
	}
}

// reload opens the store anew and verifies it.
func (c *faultCase) reload() *store.Store {
	c.t.Helper()
	st := c.w.Open()
	r, err := st.Verify(background, store.VerifyOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, problem := range r.Problems {
		c.t.Errorf("the store does not verify: %s", problem)
	}
	return st
}

func (c *faultCase) wantState(st *store.Store, state func(*faultCase, *store.Store) string, want, when string) {
	c.t.Helper()
	if got := state(c, st); got != want {
		c.t.Fatalf("%s %s: %q, want %q", c, when, got, want)
	}
}
