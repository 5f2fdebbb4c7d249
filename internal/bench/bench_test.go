package bench

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store/storetest"
)

var (
	full  = flag.Bool("full", false, "measure at full size, which takes many minutes; without it, a smoke test of the measuring")
	write = flag.String("write", "", "write the report to this file")
	times = flag.Int("operations", 0, "measure so many operations; 0 is what the size says")
	long  = flag.Int("entries", 0, "the long past has so many entries; 0 is what the size says")
)

// size is how much is measured.
type size struct {
	machines   int // of the operations and the verification
	operations int
	short      int // entries
	long       int
	middle     int // entries of the smaller verification
	fleet      int // machines of the rollout
	limit      int
	send       time.Duration
	floors     int
}

var (
	fullSize = size{
		machines: 100, operations: 1000, short: 10_000, middle: 100_000, long: 1_000_000, fleet: 1000, limit: 50, send: 2 * time.Second,
		floors: 500,
	}
	smokeSize = size{
		machines: 2, operations: 4, short: 100, middle: 200, long: 400, fleet: 6, limit: 3, send: 10 * time.Millisecond, floors: 5,
	}
)

// TestMeasure measures, and writes the report where it is asked for. It judges no times: the report says what held.
func TestMeasure(t *testing.T) {
	sz := smokeSize
	if *full {
		sz = fullSize
	}
	if *times > 0 {
		sz.operations = *times
	}
	if *long > 0 {
		sz.long, sz.middle = *long, *long/10
	}
	r := newReport(t, sz)
	for _, engine := range storetest.Engines(t) {
		t.Run(string(engine), func(t *testing.T) {
			measureOperations(t, r, engine, sz)
			measureFleet(t, r, engine, sz)
		})
		if *write != "" {
			no(t, os.WriteFile(*write, []byte(r.text()), 0o644))
		}
	}
	if *full {
		fmt.Println(r.text())
	}
	r.complete(t)
}

// measureOperations measures operations against bare transactions and against those in a store with a long past, and
// verifies that past. They take turns, so that whatever else the machine does falls on all alike.
func measureOperations(t *testing.T, r *report, engine config.Engine, sz size) {
	bare, list := record(t, engine, sz.machines, sz.operations, sz.short)
	r.floor(engine, floor(bare, sz.floors))
	brief, old := newDesk(t, engine, sz.machines), newDesk(t, engine, sz.machines)
	brief.fill(sz.short)
	old.fill(sz.middle)
	middle := old.verified()
	old.fill(sz.long)
	r.verify(engine, middle, old.verified())
	var samples []sample
	for n, rec := range list {
		var s sample
		s.operation, s.commitAttempt = brief.timed(n)
		s.bareOperation, s.bareCommitAttempt = rec.repeat(bare)
		s.longOperation, s.longCommitAttempt = old.timed(n)
		samples = append(samples, s)
	}
	r.operations(engine, samples, len(list[0].transactions))
}

// measureFleet dispatches a plan for each machine of a rollout, as many at a time as its limit admits.
func measureFleet(t *testing.T, r *report, engine config.Engine, sz size) {
	d := newDesk(t, engine, sz.fleet)
	d.send = sz.send
	d.w.Config(configuration(0))
	todo := make(chan dispatch.Plan, sz.fleet)
	for _, m := range d.machines {
		todo <- d.plan(m, digest(configuration(0)), func(p *dispatch.Plan) {
			p.Rollout = &dispatch.Rollout{ID: "everywhere", Limit: sz.limit}
			p.TransportDeadline, p.VerifyDeadline = time.Minute, 10*time.Minute
		})
	}
	close(todo)
	began := time.Now()
	var workers sync.WaitGroup
	for range sz.limit {
		workers.Go(func() {
			for p := range todo {
				d.dispatch(p)
			}
		})
	}
	workers.Wait()
	r.fleet(engine, time.Since(began))
}
