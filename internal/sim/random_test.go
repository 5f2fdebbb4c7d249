package sim

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store/storetest"
)

var (
	scale = flag.Float64("scale", 0.1, "how much of the full number of random histories to run")
	first = flag.Uint64("first", 0, "the first seed of random histories")
	seed  = flag.Int64("seed", -1, "run the random history of this seed alone, and show it")
)

// full is how many histories a full run has on an engine.
func full(engine config.Engine) int {
	switch {
	case raced:
		return 500
	case engine == config.Postgres:
		return 2000
	}
	return 20000
}

// workers is how many histories run at a time, each in a place of its own.
const workers = 2

// Whatever happens in whatever order, every invariant holds after every step.
func TestRandomHistories(t *testing.T) {
	for _, engine := range storetest.Engines(t) {
		t.Run(string(engine), func(t *testing.T) {
			if *seed >= 0 {
				s := walkOf(t, newPlace(t, engine, nil), uint64(*seed))
				t.Logf("the history:\n%s", s.Script())
				report(t, engine, uint64(*seed), s)
				return
			}
			n := uint64(max(1, float64(full(engine))**scale))
			var steps atomic.Int64
			eachSeed(t, engine, nil, n, func(seed uint64, s *Sim) bool {
				steps.Add(int64(len(s.steps)))
				report(t, engine, seed, s)
				return !t.Failed()
			})
			t.Logf("%d histories of %d commands in all", n, steps.Load())
		})
	}
}

// eachSeed runs the histories of the seeds from 0 on, until then says that it is enough.
func eachSeed(t *testing.T, engine config.Engine, without dispatch.Without, n uint64, then func(seed uint64, s *Sim) bool) {
	t.Helper()
	var next atomic.Uint64
	var enough atomic.Bool
	var wg sync.WaitGroup
	for range workers {
		p := newPlace(t, engine, without)
		wg.Go(func() {
			for !enough.Load() {
				seed := *first + next.Add(1) - 1
				if seed >= *first+n {
					return
				}
				s, err := Random(p, seed)
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
				if !then(seed, s) {
					enough.Store(true)
				}
				if err := s.Close(); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
	wg.Wait()
}

func walkOf(t *testing.T, p *Place, seed uint64) *Sim {
	t.Helper()
	s, err := Random(p, seed)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// report fails the test for a history that does not hold: with the command that repeats it, and with its steps as a
// script for testdata/histories.
func report(t *testing.T, engine config.Engine, seed uint64, s *Sim) {
	t.Helper()
	if len(s.Broken()) == 0 {
		return
	}
	text := ""
	for _, f := range s.Broken() {
		text += f.Text + "\n"
	}
	t.Errorf("a history does not hold. To see it again:\n\tgo test ./internal/sim -run '^TestRandomHistories$/^%s$' -seed=%d -v\n"+
		"%sIts steps, for a file in internal/sim/testdata/histories:\n%s", engine, seed, text, s.Script())
}

// controls is which invariant breaks without a guard: any of these.
var controls = map[dispatch.Guard][]int{
	dispatch.GuardOneOperation:   {12},
	dispatch.GuardApproval:       {13, 18},
	dispatch.GuardBinding:        {14},
	dispatch.GuardEvidence:       {14},
	dispatch.GuardScope:          {1},
	dispatch.GuardRollout:        {15},
	dispatch.GuardGate:           {10},
	dispatch.GuardOwnership:      {2},
	dispatch.GuardOwner:          {2},
	dispatch.GuardOwnedState:     {17},
	dispatch.GuardClassification: {17},
	dispatch.GuardAttempts:       {16},
	dispatch.GuardExpiry:         {18},
	dispatch.GuardSend:           {2},
	dispatch.GuardAccounting:     {5, 6},
	dispatch.GuardAbort:          {6},
	dispatch.GuardBasisLock:      {14},
}

// With any one guard taken away in all its layers, some history of the same run breaks an invariant that it keeps.
func TestEveryGuardHasAControl(t *testing.T) {
	if raced {
		t.Skip("what the histories of a control show does not depend on the race detector")
	}
	for _, guard := range dispatch.Guards() {
		t.Run(string(guard), func(t *testing.T) {
			keeps := controls[guard]
			if len(keeps) == 0 {
				t.Fatal("the guard has no control: say which invariant breaks without it")
			}
			n := uint64(max(1, float64(full(config.SQLite))**scale))
			var found atomic.Pointer[string]
			eachSeed(t, config.SQLite, dispatch.Without{guard}, n, func(seed uint64, s *Sim) bool {
				for _, f := range s.Broken() {
					if slices.Contains(keeps, f.Invariant) {
						text := fmt.Sprintf("seed %d, command %d: %s", seed, len(s.steps), f.Text)
						found.Store(&text)
						return false
					}
				}
				return true
			})
			if found.Load() == nil {
				t.Fatalf("without it, %d histories broke none of the invariants %v", n, keeps)
			}
			t.Log(*found.Load())
		})
	}
}
