package drill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/lab/pgserver"
)

// Options of a run.
type Options struct {
	Rows   []Row
	Stores []config.Engine
	Nets   []lab.LinkMode
	Out    string // directory of the evidence; it must be empty or not exist, and not lie in a work tree
	Exe    string // the program, started as lab nodes, links and executors

	Version     string        // of the program, for run.txt
	SettleFloor time.Duration // of the executors; 0 is the least
	Parallel    int           // how many groups at once; 0 is a number that two cores can bear
	Real        *Real         // a machine of the user's own instead of labs; Nets is not used then
	Progress    func(c Cell)  // hears of every cell that has ended
	Warn        io.Writer     // hears of what failed beside the cells; nil hears nothing
}

// run is one drill under way.
type run struct {
	o          Options
	work       string // removed at the end
	out        string
	began      time.Time
	injections *injections
	secrets    *secrets
	plans      atomic.Int64 // numbers them, so that no two on a machine are alike

	mu    sync.Mutex
	cells []Cell
	files map[string]*transcript
	pools map[lab.LinkMode]*pool
	pg    *pgserver.Server
}

// group is what plays one after the other: the rows of one number, on one store over one net.
type group struct {
	rows  []Row
	store config.Engine
	net   lab.LinkMode
}

func (g group) name() string {
	return g.rows[0].Group() + "." + string(g.store) + "." + string(g.net)
}

// Run plays the rows and writes the evidence. An error means that there is none; what cells found is in the result.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.Real != nil {
		o.Rows, o.Nets = RealRows(o.Rows), []lab.LinkMode{NetTalos}
		if err := o.Real.learn(ctx); err != nil {
			return Result{}, err
		}
	}
	r, err := start(o)
	if err != nil {
		return Result{}, err
	}
	defer func() { r.warn(os.RemoveAll(r.work)) }()
	groups, err := r.announce()
	if err != nil {
		return Result{}, err
	}
	err = r.setUp(ctx, groups)
	switch {
	case err != nil:
	case o.Real != nil:
		err = r.playReal(ctx, groups)
	default:
		r.playAll(ctx, groups)
	}
	err = errors.Join(err, r.tearDown(ctx))
	if err != nil {
		return Result{}, err
	}
	return r.finish(ctx.Err() != nil)
}

func start(o Options) (*run, error) {
	if o.SettleFloor == 0 {
		o.SettleFloor = dispatch.MinimumSettle
	}
	if o.Parallel == 0 {
		o.Parallel = sharedWorkers
	}
	out, err := prepareOut(o.Out)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "clew-drill-")
	if err != nil {
		return nil, err
	}
	if work, err = filepath.EvalSymlinks(work); err != nil {
		return nil, err
	}
	r := &run{
		o: o, work: work, out: out, began: time.Now(), files: map[string]*transcript{}, pools: map[lab.LinkMode]*pool{},
		secrets: newSecrets(),
	}
	f, err := os.OpenFile(filepath.Join(out, injectionsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	r.injections = &injections{file: f}
	return r, nil
}

// announce writes down what is expected of which cell before anything runs, and returns the groups, longest first.
func (r *run) announce() ([]group, error) {
	var groups []group
	var planned []Cell
	for _, net := range r.o.Nets {
		for _, store := range r.o.Stores {
			byNumber := map[string]*group{}
			for _, row := range r.o.Rows {
				row = row.withDefaults()
				if !slices.Contains(row.Stores, store) || !slices.Contains(row.Nets, net) {
					continue
				}
				planned = append(planned, Cell{Row: row.ID, Store: store, Net: net, Expectation: row.Expect})
				g := byNumber[row.Group()]
				if g == nil {
					g = &group{store: store, net: net}
					byNumber[row.Group()] = g
				}
				g.rows = append(g.rows, row)
			}
			for _, g := range byNumber {
				groups = append(groups, *g)
			}
		}
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.takes(), a.takes()), cmp.Compare(a.name(), b.name()))
	})
	if len(groups) == 0 {
		return nil, errors.New("none of the rows is for these stores and nets")
	}
	return groups, r.writeExpectations(planned)
}

func (g group) takes() (sum time.Duration) {
	for _, r := range g.rows {
		sum += r.Takes
	}
	return sum
}

func (g group) machines() (most int, ownLab bool) {
	for _, r := range g.rows {
		most = max(most, r.Machines)
		ownLab = ownLab || r.OwnLab
	}
	return most, ownLab
}

// setUp makes what groups share. A net that this machine does not offer is told by every cell that needs it.
func (r *run) setUp(ctx context.Context, groups []group) error {
	var err error
	if slices.ContainsFunc(groups, func(g group) bool { return g.store == config.Postgres }) {
		if r.pg, err = r.startServer(ctx); err != nil {
			return err
		}
	}
	if r.o.Real != nil {
		return nil
	}
	for _, net := range r.o.Nets {
		shared, most := 0, 0
		for _, g := range groups {
			n, own := g.machines()
			if g.net == net && !own {
				shared += n
				most = max(most, n)
			}
		}
		if shared == 0 {
			continue
		}
		l, err := r.labUp(ctx, "lab-"+string(net), net, max(most, min(sharedWorkers, shared)))
		var no *lab.NotOfferedError
		if errors.As(err, &no) {
			r.skipNet(groups, net, no.Reason)
			continue
		}
		if err != nil {
			return fmt.Errorf("making a lab with links of kind %s: %w", net, err)
		}
		r.secrets.ofLab(l)
		r.pools[net] = newPool(l)
	}
	return nil
}

// startServer starts a PostgreSQL server whose password counts as a secret of the run.
func (r *run) startServer(ctx context.Context) (*pgserver.Server, error) {
	server, err := pgserver.Start(ctx, pgserver.Options{Settings: map[string]string{"max_connections": "300"}})
	if err != nil {
		return nil, err
	}
	_, password, err := databaseURL(server.URL())
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	r.secrets.add("database password", []byte(password))
	return server, nil
}

func (r *run) skipNet(groups []group, net lab.LinkMode, reason string) {
	for _, g := range groups {
		if _, own := g.machines(); g.net == net && !own {
			r.skip(g, reason)
		}
	}
}

func (r *run) skip(g group, reason string) {
	for _, row := range g.rows {
		r.add(Cell{
			Row: row.ID, Control: row.Control, Store: g.store, Net: g.net, Expectation: row.Expect,
			Verdict: Skipped, Reason: clean(reason),
		})
	}
}

func (r *run) add(c Cell) {
	r.mu.Lock()
	r.cells = append(r.cells, c)
	r.mu.Unlock()
	if r.o.Progress != nil {
		r.o.Progress(c)
	}
}

func (r *run) playAll(ctx context.Context, groups []group) {
	slots := make(chan struct{}, r.o.Parallel)
	var wg sync.WaitGroup
	for _, g := range groups {
		if _, own := g.machines(); !own && r.pools[g.net] == nil {
			continue // its net is not offered, and its cells are skipped
		}
		slots <- struct{}{}
		if ctx.Err() != nil {
			break // the cells that did not run are missing, and the run says so
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := r.playGroup(ctx, g); err != nil {
				var no *lab.NotOfferedError
				if errors.As(err, &no) {
					r.skip(g, no.Reason)
					return
				}
				r.fail(g, err)
			}
		})
	}
	wg.Wait()
}

// fail makes errors of the cells that a group did not come to.
func (r *run) fail(g group, err error) {
	for _, row := range g.rows {
		r.add(Cell{
			Row: row.ID, Control: row.Control, Store: g.store, Net: g.net, Expectation: row.Expect,
			Verdict: Errored, Reason: clean(r.hide(err.Error())),
		})
	}
}

func (r *run) warn(err error) {
	if err != nil && r.o.Warn != nil {
		fmt.Fprintln(r.o.Warn, r.hide(err.Error()))
	}
}

// hide takes this run's secrets out of a text, for what is shown and kept. The leak scan does not rely on it.
func (r *run) hide(text string) string { return r.secrets.hide(text) }
