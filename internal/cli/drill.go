package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/drill"
	"github.com/clewops/clew/internal/lab"
)

func newDrill(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "drill",
		Short: "Prove the dispatch contract on a practice cluster",
		Long: `Plays the cases of the dispatch contract, each with its expectation written beforehand, with real executor processes,
practice nodes and databases, and lets independent readers say what became of each. The evidence is a directory that can
be checked later, without the drill.`,
	}
	c.AddCommand(newDrillRun(a), newDrillReport(a), newDrillList(a), newDrillVerify(a), newDrillLate(a), newDrillExecutor(a))
	return c
}

// drillFlags are those of a run.
type drillFlags struct {
	rows, stores, nets []string
	netsGiven          bool
	out                string
	floor              time.Duration
	parallel           int
	real               realFlags
}

func newDrillRun(a *app) *cobra.Command {
	var f drillFlags
	c := &cobra.Command{
		Use:   "run --out DIR",
		Short: "Play the rows and write the evidence",
		Long: `Plays the rows on each store and over each kind of links, and writes the evidence to --out, which must not lie in a
work tree. Links of kind netns need root; without it their cells are skipped, and counted as skipped.

With --talos the rows that inject no fault and break no node are played on a Talos worker of your own, one after the
other. They add one node label, and the original bytes are put back at the end, also after an interrupt.

A mismatch is recorded and never tried again. A run that left something out, or whose controls did not show their failure,
says that it is no evidence.

Exit code: 0 everything is as expected, 5 something is not, 1 something could not be judged.`,
		Example: `  clew lab drill run --out /tmp/drill
  clew lab drill run --rows 001,007-011 --store sqlite --net userland --out /tmp/drill
  clew lab drill run --talos ~/.talos/config --node 10.0.0.7 --route direct --yes-change-node --out /tmp/drill`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.netsGiven = c.Flags().Changed("net")
			return a.drillRun(c.Context(), f)
		},
	}
	l := c.Flags()
	l.StringSliceVar(&f.rows, "rows", nil, "rows and ranges of rows, such as 001,007-011 (default: all)")
	l.StringSliceVar(&f.nets, "net", []string{string(lab.LinksUserland)}, "userland, netns")
	l.StringVar(&f.out, "out", "", "directory of the evidence")
	l.DurationVar(&f.floor, "settle-floor", 0, "least settle time of the executors (default: the least that there is)")
	f.real.bind(l)
	l.IntVar(&f.parallel, "parallel", 0, "groups of rows at once (default: what two cores can bear)")
	// The global --store is one store; a drill runs on kinds of stores.
	l.StringSliceVar(&f.stores, "store", []string{string(config.SQLite), string(config.Postgres)}, "sqlite, postgres")
	allowOutput(c, "junit")
	return c
}

// options checks what a person asked for.
func (f drillFlags) options() (drill.Options, error) {
	o := drill.Options{Out: f.out, SettleFloor: f.floor, Parallel: f.parallel}
	var err error
	if f.out == "" {
		return o, usagef("--out names the directory of the evidence")
	}
	if o.Rows, err = drill.Select(strings.Join(f.rows, ",")); err != nil {
		return o, &usageError{err: err}
	}
	if f.floor != 0 && f.floor < 30*time.Second {
		return o, usagef("--settle-floor %s: at least 30s", f.floor)
	}
	if f.parallel < 0 {
		return o, usagef("--parallel %d: at least 1", f.parallel)
	}
	if o.Stores, err = chosen("--store", f.stores, drill.Engines); err != nil {
		return o, err
	}
	o.Nets, err = chosen("--net", f.nets, drill.Nets)
	return o, err
}

// chosen picks words from a list.
func chosen[T ~string](flag string, words []string, from []T) ([]T, error) {
	var out []T
	for _, w := range words {
		if !slices.Contains(from, T(w)) {
			return nil, usagef("%s %q: one of %v", flag, shorten(w), from)
		}
		if !slices.Contains(out, T(w)) {
			out = append(out, T(w))
		}
	}
	if len(out) == 0 {
		return nil, usagef("%s is empty", flag)
	}
	return out, nil
}

func (a *app) drillRun(ctx context.Context, f drillFlags) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	if o.Exe, err = os.Executable(); err != nil {
		return err
	}
	o.Version, o.Warn = version(), a.stderr
	if o.Real, err = a.realMachine(f); err != nil {
		return err
	}
	if o.Real != nil {
		o.Rows, o.Nets = drill.RealRows(o.Rows), []lab.LinkMode{drill.NetTalos}
	}
	total := 0
	for _, r := range o.Rows {
		for _, net := range o.Nets {
			for _, s := range o.Stores {
				if slices.Contains(r.Nets, net) && slices.Contains(r.Stores, s) {
					total++
				}
			}
		}
	}
	var mu sync.Mutex
	done := 0
	o.Progress = func(c drill.Cell) {
		mu.Lock()
		done++
		n := done
		mu.Unlock()
		a.note("%d/%d  %s  %s", n, total, c.Key(), strings.TrimSpace(string(c.Verdict)+"  "+c.Reason))
	}
	res, err := drill.Run(ctx, o)
	if err != nil {
		return err
	}
	if err := a.showDrill(res); err != nil {
		return err
	}
	return drillExit(res)
}

// drillExit is the exit code of a run: what is not as expected before what could not be judged.
func drillExit(r drill.Result) error {
	switch {
	case r.Count(drill.Mismatch) > 0 || len(r.Leaks) > 0:
		return exitWith(exitNotHeld)
	case r.Count(drill.Errored) > 0 || r.Interrupted:
		return exitWith(exitFailure)
	}
	return nil
}

// drillView is a result as JSON and YAML have it.
type drillView struct {
	drill.Result
	Evidence bool                  `json:"evidence"`
	Counts   map[drill.Verdict]int `json:"counts"`
	Readings map[string]string     `json:"readings"`
}

func (a *app) showDrill(r drill.Result) error {
	if a.flags.output == "junit" {
		return r.JUnit(a.stdout)
	}
	if a.flags.output == "md" {
		return r.Safety(a.stdout)
	}
	v := drillView{Result: r, Evidence: r.Evidence(), Counts: map[drill.Verdict]int{}, Readings: map[string]string{}}
	for _, c := range r.Cells {
		v.Counts[c.Verdict]++
		v.Readings[c.Key()] = c.Readings.String()
	}
	return a.emit(v, func(w io.Writer) error { return a.drillTable(w, r) })
}

func (a *app) drillTable(w io.Writer, r drill.Result) error {
	m := r.Matrix()
	t := newTable(w, append([]string{"ROW", "CASE"}, m.Columns...)...)
	for _, l := range m.Lines {
		t.row(append([]string{l.Row, l.Case}, l.Verdicts...)...)
	}
	if err := t.flush(); err != nil {
		return err
	}
	for _, c := range r.Cells {
		if c.Verdict != drill.OK {
			fmt.Fprintf(w, "\n%s: %s\n  expected: %s\n  read:     %s\n  because:  %s\n", printable(c.Key()), c.Verdict,
				printable(c.Expectation), printable(c.Readings.String()), printable(c.Reason))
		}
	}
	fmt.Fprintf(w, "\n%d ok, %d mismatch, %d error, %d skipped\n", r.Count(drill.OK), r.Count(drill.Mismatch), r.Count(drill.Errored), r.Count(drill.Skipped))
	for _, l := range r.Leaks {
		fmt.Fprintf(w, "leak scan: %s\n", printable(l))
	}
	if !r.Evidence() {
		fmt.Fprintln(w, a.paint(styleYellow, "this run is no evidence of the contract:"))
		for _, m := range r.Missing {
			fmt.Fprintf(w, "  %s\n", printable(m))
		}
	}
	fmt.Fprintf(w, "evidence: %s   manifest: sha256 %s\n", printable(r.Out), r.Digest)
	_, err := fmt.Fprint(w, nextLines("", "clew lab drill verify "+r.Out))
	return err
}

func newDrillReport(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Show what a run's evidence says",
		Long: `Shows the matrix of a run. -o md writes a page in plain words: what was shown, with the numbers of the rows, and what was
not. It checks nothing: see clew lab drill verify.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := drill.Load(args[0])
			if err != nil {
				return err
			}
			if err := a.showDrill(r); err != nil {
				return err
			}
			return drillExit(r)
		},
	}
	allowOutput(c, "junit", "md")
	return c
}

func newDrillList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show the rows and what each expects",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			rows := drill.Rows()
			type listed struct {
				Row     string          `json:"row"`
				Control bool            `json:"control,omitempty"`
				Case    string          `json:"case"`
				Expects string          `json:"expects"`
				Stores  []config.Engine `json:"stores"`
				Nets    []lab.LinkMode  `json:"nets"`
			}
			out := make([]listed, len(rows))
			for i, r := range rows {
				out[i] = listed{r.ID, r.Control, r.Case, r.Expect, r.Stores, r.Nets}
			}
			return a.emit(out, func(w io.Writer) error {
				t := newTable(w, "ROW", "CASE", "EXPECTS")
				for _, r := range rows {
					t.row(r.Label(), r.Case, r.Expect)
				}
				return t.flush()
			})
		},
	}
}

func newDrillVerify(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "Check a run's evidence, without the drill",
		Long: `Recomputes every digest, reads every cell again and judges it by the row that this program has, compares it with the
transcripts, replays the ledgers' chains and looks at the leak scan. It contacts nothing.

Exit code: 0 the evidence is whole and says what it said, 5 it is not, 1 it could not be read.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			v, err := drill.Verify(args[0])
			if err != nil {
				return err
			}
			err = a.emit(v, func(w io.Writer) error {
				for _, p := range v.Problems {
					fmt.Fprintln(w, printable(p))
				}
				_, err := fmt.Fprintf(w, "%d files, %d cells, %d ledgers with %d entries, manifest sha256 %s: %s\n",
					v.Files, v.Cells, v.Ledgers, v.Entries, v.Digest, verdictOf(v))
				return err
			})
			if err == nil && len(v.Problems) > 0 {
				err = exitWith(exitNotHeld)
			}
			return err
		},
	}
}

func verdictOf(v drill.Verification) string {
	if len(v.Problems) > 0 {
		return "it does not hold"
	}
	return "it holds"
}
