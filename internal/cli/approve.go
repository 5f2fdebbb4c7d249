package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

func newApproveCommand(a *app) *cobra.Command {
	var role, breakGlass string
	c := &cobra.Command{
		Use:   "approve PLAN…",
		Short: "Approve plans, at a terminal",
		Long: `Shows each plan's difference and what it binds, and asks for its id to be typed. It needs a terminal and refuses in the
environment of a known agent. Approving sends nothing: clew dispatch does.

On a local store one person may approve their own plan; that is marked on the approval for ever.`,
		GroupID:           groupTalos,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completePlans,
		RunE: func(c *cobra.Command, args []string) error {
			if role != store.RoleApprover {
				return usagef("--role %q: only an approver approves", shorten(role))
			}
			return a.approve(c.Context(), args, breakGlass, c.Flags().Changed("break-glass"))
		},
	}
	c.Flags().StringVar(&role, "role", store.RoleApprover, "the role to approve in")
	c.Flags().StringVar(&breakGlass, "break-glass", "", "reason for approving alone what others should; marked for ever and announced")
	return c
}

func (a *app) approve(ctx context.Context, words []string, breakGlass string, isBreakGlass bool) error {
	if isBreakGlass && breakGlass == "" {
		return usagef("--break-glass needs its reason")
	}
	st, err := a.mustExist(ctx)
	if err != nil {
		return err
	}
	var views []planView
	for _, w := range words {
		v, err := a.loadPlan(ctx, st, w)
		if err != nil {
			return err
		}
		views = append(views, v)
	}
	who, err := a.who(ctx, st, store.RoleApprover)
	if err != nil {
		return err
	}
	approved := []planView{}
	var stopped error
	for _, v := range views {
		after, err := a.approveOne(ctx, st, who, v, breakGlass)
		if err != nil {
			stopped = err
			break
		}
		approved = append(approved, after)
	}
	if stopped != nil && len(approved) == 0 {
		return stopped
	}
	err = a.emit(approved, func(w io.Writer) error {
		for _, v := range approved {
			fmt.Fprintf(w, "plan %s is %s (%s)\n", v.Plan.ID, v.Standing.State, printable(approvalsText(v)))
			fmt.Fprint(w, nextLines("", v.Next))
		}
		return nil
	})
	if stopped != nil {
		return stopped
	}
	return err
}

// approveOne shows a plan, has its id typed, and records the approval.
func (a *app) approveOne(ctx context.Context, st *store.Store, who store.Who, v planView, breakGlass string) (planView, error) {
	d := decision{what: "approve " + v.Plan.ID, word: v.Plan.ID, command: "clew approve " + v.Plan.ID}
	if breakGlass != "" {
		d.what = "break the glass and approve " + v.Plan.ID
		d.command += " --break-glass REASON"
	}
	if err := a.mayAsk(d); err != nil {
		return v, err
	}
	if v.Standing.State != dispatch.PlanProposed {
		return v, refusal.New("approval", "plan-not-proposed",
			fmt.Sprintf("plan %s is %s: approvals are added only while it is proposed", v.Plan.ID, v.Standing.State), "clew show "+v.Plan.ID)
	}
	// What is decided on is shown where the question stands, whatever the form of the result.
	if err := a.planText(a.stderr, v); err != nil {
		return v, err
	}
	fmt.Fprintln(a.stderr)
	if err := a.decide(ctx, d); err != nil {
		return v, err
	}
	if _, _, err := st.Approve(ctx, who, v.Plan.ID, store.ApproveOptions{BreakGlass: breakGlass}); err != nil {
		return v, err
	}
	a.saw(v.Plan.ID)
	return a.loadPlan(ctx, st, v.Plan.ID)
}
