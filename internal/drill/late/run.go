package late

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/talos"
)

// Options of a measurement.
type Options struct {
	Exe      string          // the program, started as lab nodes
	Repeat   int             // how often each combination of the table is tried
	Splits   []time.Duration // partition lengths of the table
	Sends    int             // how many sends on each route have to be sound
	Tries    int             // how often each control is tried
	Workers  int             // nodes, and with it trials at once
	Progress func(done, all int)
}

// Report is everything that was measured.
type Report struct {
	Options
	Began, Ended time.Time
	Table        []Result
	Sound        []Result
	Controlled   []ControlResult
	Failed       []error // labs that could not be made, or not be left behind as they were found
}

// ControlResult is what the trials of one control came to.
type ControlResult struct {
	Control
	Results []Result
}

// errNotMade is the result of a trial that nobody came to.
var errNotMade = errors.New("the send was not made")

// queued is a trial and where its result belongs.
type queued struct {
	Trial
	result *Result
}

// Run measures. Trials on links of one kind share a lab; labs come one after the other.
func Run(ctx context.Context, o Options) (*Report, error) {
	rep := &Report{Options: o, Began: time.Now()}
	labs := map[string][]queued{}
	all := 0
	add := func(t Trial, r *Result) {
		key := string(cmp.Or(t.Links, lab.LinksNetns)) + " " + t.Rate
		labs[key] = append(labs[key], queued{t, r})
		all++
	}
	rep.Table, rep.Sound = queue(matrix(o.Repeat, o.Splits), add), queue(sound(o.Sends), add)
	if o.Tries > 0 {
		for _, c := range controls() {
			rep.Controlled = append(rep.Controlled, ControlResult{c, queue(slices.Repeat([]Trial{c.trial}, o.Tries), add)})
		}
	}
	done := progress(o.Progress, all)
	keys := make([]string, 0, len(labs))
	for k := range labs {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if err := inLabs(ctx, o, labs[k], done); err != nil {
			rep.Failed = append(rep.Failed, err) // what was measured so far stands
		}
	}
	rep.Ended = time.Now()
	return rep, ctx.Err()
}

func queue(trials []Trial, add func(Trial, *Result)) []Result {
	results := make([]Result, len(trials))
	for i, t := range trials {
		results[i] = Result{Trial: t, Err: errNotMade}
		add(t, &results[i])
	}
	return results
}

func progress(tell func(done, all int), all int) func() {
	var mu sync.Mutex
	n := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		n++
		if tell != nil {
			tell(n, all)
		}
	}
}

// labSize is how many workers one lab gets; more are spread over several, which run side by side.
const labSize = 12

// inLabs plays trials on links of one kind, the longest first, each on a node that it has to itself.
func inLabs(ctx context.Context, o Options, trials []queued, done func()) error {
	slices.SortStableFunc(trials, func(a, b queued) int { return cmp.Compare(b.Split, a.Split) })
	waiting := make(chan queued, len(trials))
	for _, q := range trials {
		waiting <- q
	}
	close(waiting)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs error
	for left := min(o.Workers, len(trials)); left > 0; left -= labSize {
		wg.Go(func() {
			if err := inLab(ctx, o, trials[0].Trial, min(left, labSize), waiting, done); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = errors.Join(errs, err)
			}
		})
	}
	wg.Wait()
	return errs
}

// inLab makes one lab and has each of its workers play trials until none is left.
func inLab(ctx context.Context, o Options, like Trial, workers int, waiting <-chan queued, done func()) (err error) {
	dir, err := os.MkdirTemp("", "clew-late-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l, err := lab.Up(ctx, lab.Config{
		Dir: filepath.Join(dir, "lab"), Links: cmp.Or(like.Links, lab.LinksNetns), Rate: like.Rate, Workers: workers, Exe: o.Exe, Tied: true,
	})
	if err != nil {
		return fmt.Errorf("making a lab: %w", err)
	}
	defer func() { err = errors.Join(err, l.Down(context.WithoutCancel(ctx))) }()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, n := range l.Nodes() {
		if !n.Worker() {
			continue
		}
		wg.Go(func() {
			if werr := work(ctx, l, n, waiting, done); werr != nil {
				mu.Lock()
				defer mu.Unlock()
				err = errors.Join(err, werr)
			}
		})
	}
	wg.Wait()
	return err
}

// work plays trials on one node until none is left.
func work(ctx context.Context, l *lab.Lab, n *lab.Node, waiting <-chan queued, done func()) error {
	config, err := talos.LoadConfig(l.Talosconfig(), "")
	if err != nil {
		return err
	}
	w := &worker{lab: l, node: n, config: config}
	conn, err := talos.Dial(ctx, config, w.target(Trial{Route: Direct}), talos.Options{})
	if err != nil {
		return err
	}
	_, first, err := conn.Read(ctx)
	conn.Abort()
	if err != nil {
		return err
	}
	w.first = first.Reveal()
	for q := range waiting {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		*q.result = w.play(ctx, q.Trial)
		done()
	}
	return nil
}
