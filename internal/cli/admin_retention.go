package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/store"
)

func newRetentionCommand(a *app) *cobra.Command {
	var keep store.Retention
	var dryRun bool
	var reason string
	c := &cobra.Command{
		Use:   "retention --configurations TIME [--jobs TIME] [--dry-run]",
		Short: "Drop encrypted configurations and finished deliveries after their keeping time",
		Long: `Drops what is older than its keeping time and needed by nothing: no machine runs, wants or was last given the
configuration, and no plan or operation that is open binds it. Entries, plans, differences and digests are kept for ever.
What was dropped is recorded. Run it as often as you like; at least a day is kept.`,
		Example: "  clew admin retention --configurations 180d --jobs 30d --dry-run",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if keep == (store.Retention{}) {
				return usagef("give --configurations or --jobs: how long they are kept")
			}
			return a.retain(c.Context(), keep, dryRun, reason)
		},
	}
	f := c.Flags()
	f.Var(optionalDuration{&keep.Configurations}, "configurations", "keeping time of configurations that nothing needs, such as 180d")
	f.Var(optionalDuration{&keep.Jobs}, "jobs", "keeping time of finished deliveries, such as 30d")
	f.BoolVar(&dryRun, "dry-run", false, "say what would be dropped; drop nothing")
	f.StringVar(&reason, "reason", "", "why, for the log")
	return c
}

// optionalDuration is a flag of a duration that has no default.
type optionalDuration struct{ value *time.Duration }

func (d optionalDuration) String() string {
	if d.value == nil || *d.value == 0 {
		return ""
	}
	return d.value.String()
}

func (d optionalDuration) Type() string       { return "duration" }
func (d optionalDuration) Set(s string) error { return duration{value: d.value}.Set(s) }

// dropped is what a retention run did, or would do.
type dropped struct {
	store.RetentionBody
	DryRun bool `json:"dry_run,omitempty"`
}

func (a *app) retain(ctx context.Context, keep store.Retention, dryRun bool, reason string) error {
	st, err := a.mustExist(ctx)
	if err != nil {
		return err
	}
	who, err := a.who(ctx, st, store.RoleRecoveryAdmin)
	if err != nil {
		return err
	}
	body, err := st.Retain(ctx, who, keep, dryRun, reason)
	if err != nil {
		return err
	}
	return a.emit(dropped{body, dryRun}, func(w io.Writer) error {
		verb := "dropped"
		if dryRun {
			verb = "would drop"
		}
		_, err := fmt.Fprintf(w, "%s %d configurations and %d finished deliveries\n", verb, len(body.Dropped), body.Jobs)
		return err
	})
}
