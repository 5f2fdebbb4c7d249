package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/drill/late"
)

func newDrillLate(a *app) *cobra.Command {
	o := late.Options{}
	var write string
	c := &cobra.Command{
		Use:   "late",
		Short: "Measure requests that land late, and whether evidence about them holds",
		Long: `Sends configurations to practice nodes into network partitions, and reads from the nodes which of them landed, and when.
Tries every combination of route, sender, partition length, link rate and payload --repeat times; makes --sends sends on
each route into partitions of 5 s to 60 s, and accounts for each by evidence; and takes each condition of that evidence
away --controls times. It needs root, for network namespaces.

Exit code: 0 no send landed after it was accounted for, 5 one did or a trial failed, 1 failure.`,
		Example: `  clew lab drill late --repeat 10 --write late-landing.md
  clew lab drill late --repeat 0 --sends 200 --controls 8`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Repeat < 0 || o.Sends < 0 || o.Tries < 0 || o.Workers < 1 || len(o.Splits) == 0 {
				return usagef("--repeat, --sends and --controls are not negative, --nodes is at least 1, and --partitions is not empty")
			}
			for _, d := range o.Splits {
				if d < 3*time.Second {
					return usagef("--partitions %s: at least 3s, so that a sender gives up within it", d)
				}
			}
			var err error
			if o.Exe, err = os.Executable(); err != nil {
				return err
			}
			o.Progress = func(done, all int) { a.note("%d/%d", done, all) }
			rep, err := late.Run(c.Context(), o)
			if err != nil {
				return err
			}
			return a.showLate(rep, write)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Repeat, "repeat", 1, "tries of each combination of the table")
	f.DurationSliceVar(&o.Splits, "partitions", []time.Duration{5 * time.Second, 16 * time.Second, 40 * time.Second}, "lengths of the partitions of the table")
	f.IntVar(&o.Sends, "sends", 0, "sends on each route that are accounted for by evidence")
	f.IntVar(&o.Tries, "controls", 0, "tries without each condition of the evidence")
	f.IntVar(&o.Workers, "nodes", 16, "practice nodes, and with them sends at once")
	f.StringVar(&write, "write", "", "also write the report to this file")
	return c
}

func (a *app) showLate(rep *late.Report, write string) error {
	command := fmt.Sprintf("clew lab drill late --repeat %d --partitions %s --sends %d --controls %d --nodes %d",
		rep.Repeat, strings.Trim(strings.ReplaceAll(fmt.Sprint(rep.Splits), " ", ","), "[]"), rep.Sends, rep.Tries, rep.Workers)
	var text strings.Builder
	if err := rep.Markdown(&text, version(), command); err != nil {
		return err
	}
	if write != "" {
		if err := os.WriteFile(write, []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	err := a.emit(rep.Problems(), func(w io.Writer) error {
		_, err := io.WriteString(w, text.String())
		return err
	})
	if err == nil && len(rep.Problems()) > 0 {
		err = exitWith(exitNotHeld)
	}
	return err
}
