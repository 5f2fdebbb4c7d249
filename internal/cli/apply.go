package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

func newApplyCommand(a *app) *cobra.Command {
	var o planOptions
	var dryRun bool
	var breakGlass string
	wait := defaultWait
	c := &cobra.Command{
		Use:   "apply -n NAME (-f FILE | -p PATCH… | --revert)",
		Short: "Change a machine's configuration: plan, show, approve, send, verify",
		Long: `The short way through plan, difference, approval, dispatch and verification of one change.

Where you may approve it yourself (a local store, one approval, a terminal) you are asked to type the plan's id. Otherwise
the plan waits, the other person's command is printed, and the exit code is 2.

The route is direct wherever the machine answers directly: a lost answer can then be accounted for on one connection. Use
--route via to go through a control plane all the same.

Exit code: 0 completed, 2 waits for another person, 3 refused or cancelled, 4 unresolved, 5 failed or rejected, 1 failure.`,
		Example: `  clew apply -n worker-1 -p '{"machine":{"nodeLabels":{"rack":"r1"}}}'
  clew apply -n worker-1 -p @patch.yaml --dry-run
  clew apply -n worker-1 -f worker-1.yaml --wait 2m`,
		GroupID: groupTalos,
		Args:    cobra.NoArgs,
		PreRunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("break-glass") && breakGlass == "" {
				return usagef("--break-glass needs its reason")
			}
			return o.check()
		},
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			st, err := a.mustExist(ctx)
			if err != nil {
				return err
			}
			if dryRun {
				return a.dryRun(ctx, st, &o)
			}
			return a.apply(ctx, st, &o, breakGlass, wait)
		},
	}
	o.bind(a, c)
	f := c.Flags()
	f.BoolVar(&dryRun, "dry-run", false, "show the difference and what checks say; write and send nothing")
	f.Var(duration{value: &wait, zero: true}, "wait", "how long to keep looking for evidence while unresolved")
	f.StringVar(&breakGlass, "break-glass", "", "reason for approving alone what others should; marked for ever and announced")
	return c
}

// preview is what a dry run shows.
type preview struct {
	Machine    string   `json:"machine"`
	Expected   string   `json:"expected"` // digest before
	Artifact   string   `json:"artifact"` // digest after
	Diff       string   `json:"diff"`     // redacted; empty when only the encoding differs
	Validation []string `json:"validation"`
	Route      string   `json:"route"`
	Address    string   `json:"address"`
}

func (a *app) dryRun(ctx context.Context, st *store.Store, o *planOptions) error {
	d, err := a.prepareDraft(ctx, st, o, false)
	if err != nil {
		return err
	}
	p := preview{
		Machine: d.machine.Name, Expected: d.plan.Expected, Artifact: d.plan.Artifact, Diff: d.plan.Diff,
		Validation: append([]string{}, d.plan.Validation...), Route: string(d.plan.Route), Address: d.plan.Address,
	}
	return a.emit(p, func(w io.Writer) error {
		if p.Diff == "" {
			fmt.Fprintln(w, "no setting changes: the same settings in other bytes (order, comments or quoting)")
		}
		a.writeDiff(w, p.Diff)
		for _, warning := range p.Validation {
			fmt.Fprintf(w, "warning: %s\n", printable(warning))
		}
		_, err := fmt.Fprintf(w, "\nthe node takes it without a reboot; nothing was written or sent (%s → %s)\n",
			dispatch.ShortDigest(p.Expected), dispatch.ShortDigest(p.Artifact))
		return err
	})
}

// apply is plan, show, approve, dispatch, verify.
func (a *app) apply(ctx context.Context, st *store.Store, o *planOptions, breakGlass string, wait time.Duration) error {
	if breakGlass != "" {
		// Said before anything is planned: without a terminal there is no breaking of glass.
		if err := a.mayAsk(decision{what: "break the glass", command: o.command() + " --break-glass REASON"}); err != nil {
			return err
		}
	}
	v, err := a.createPlan(ctx, st, o)
	if err != nil {
		return err
	}
	if v.Standing.State == dispatch.PlanProposed {
		if v, err = a.approveOrWait(ctx, st, v, breakGlass); err != nil {
			return err
		}
	}
	e, err := a.operatingExecutor(ctx, st)
	if err != nil {
		return err
	}
	return a.report([]outcome{a.dispatchOne(ctx, e, v, wait)})
}

// approveOrWait has the plan approved here where that is possible; otherwise it shows the plan, names the other person's
// command and ends the command.
func (a *app) approveOrWait(ctx context.Context, st *store.Store, v planView, breakGlass string) (planView, error) {
	who, err := a.who(ctx, st, store.RoleApprover)
	if _, refused := refusal.As(err); err != nil && !refused {
		return v, err
	}
	d := decision{what: "approve " + v.Plan.ID, word: v.Plan.ID, command: "clew approve " + v.Plan.ID}
	alone := v.Plan.Policy.Approvals == 1 && v.Plan.Policy.SelfApproval || breakGlass != ""
	if err == nil && alone && a.mayAsk(d) == nil {
		after, err := a.approveOne(ctx, st, who, v, breakGlass)
		if isRefused(err, "not-confirmed") {
			err = withNext(err, "clew approve %s\nclew plan cancel %s", v.Plan.ID, v.Plan.ID)
		}
		if err != nil || after.Standing.State == dispatch.PlanApproved {
			return after, err
		}
		v = after
	}
	err = a.emit(v, func(w io.Writer) error {
		if err := a.planText(w, v); err != nil {
			return err
		}
		_, err := fmt.Fprint(w, "\nit waits for a person's approval\n"+nextLines("", v.Next))
		return err
	})
	if err != nil {
		return v, err
	}
	return v, exitWith(exitNeedsYou)
}
