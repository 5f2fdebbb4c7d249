package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/store"
)

func newPlanCreate(a *app) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "create -n NAME (-f FILE | -p PATCH… | --adopt | --revert)",
		Short: "Plan a change, without approving or sending it",
		Long: `Reads the machine, makes the configuration, checks it here and on the node, and records the plan. Nothing is sent.

  -f FILE    a whole configuration
  -p PATCH   Talos patches on what the machine runs: strategic merge (with $patch: delete), or JSON patch
  --adopt    accept what the machine runs as its baseline; closes its drift record; sends nothing
  --revert   go back to what was applied, over the open drift record`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			st, err := a.mustExist(ctx)
			if err != nil {
				return err
			}
			v, err := a.createPlan(ctx, st, &o)
			if err != nil {
				return err
			}
			return a.emit(v, func(w io.Writer) error {
				if err := a.planText(w, v); err != nil {
					return err
				}
				_, err := fmt.Fprint(w, "\n"+nextLines("", v.Next))
				return err
			})
		},
	}
	o.bind(a, c)
	c.Flags().BoolVar(&o.adopt, "adopt", false, "accept what the machine runs as its baseline")
	return c
}

// createPlan drafts a plan, stores its configuration encrypted, and records it.
func (a *app) createPlan(ctx context.Context, st *store.Store, o *planOptions) (planView, error) {
	who, err := a.who(ctx, st, store.RoleAuthor)
	if err != nil {
		return planView{}, err
	}
	if _, err := a.theKeeper(ctx, st); err != nil {
		return planView{}, err // before anything is written
	}
	d, err := a.prepareDraft(ctx, st, o, true)
	if err != nil {
		return planView{}, err
	}
	return a.recordPlan(ctx, st, who, d)
}

// recordPlan stores a draft's configuration and records the plan.
func (a *app) recordPlan(ctx context.Context, st *store.Store, who store.Who, d *draft) (planView, error) {
	keeper, err := a.theKeeper(ctx, st)
	if err != nil {
		return planView{}, err
	}
	armored, err := keeper.Seal(d.config)
	if err != nil {
		return planView{}, fmt.Errorf("encrypting the configuration: %w", err)
	}
	if err := st.PutArtifact(ctx, d.plan.Artifact, armored, d.config.Len(), who.Identity); err != nil {
		return planView{}, err
	}
	p, created, err := st.CreatePlan(ctx, who, d.plan, d.observation)
	if err != nil {
		return planView{}, err
	}
	if !created {
		a.note("%s is the same plan, made before with this key", p.ID)
	}
	a.saw(p.ID)
	v, err := st.Plan(ctx, p.ID)
	return viewPlan(v, d.machine.Name), err
}

func newPlanCancel(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:               "cancel PLAN…",
		Short:             "Give plans up; after the commitment this stops further sends",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completePlans,
		RunE: func(c *cobra.Command, args []string) error {
			return a.changePlans(c.Context(), args, []string{"plan"}, store.RoleAuthor, func(ctx context.Context, st *store.Store, who store.Who, id string) error {
				return st.CancelPlan(ctx, who, id, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the log")
	return c
}

func newPlanRevoke(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "revoke (PLAN | APPROVAL)…",
		Short: "Take an approval back, for ever",
		Long: `Takes back your approval of a plan, or the approval that you name by its own id (a-…). It is final. A plan that is left
with fewer approvals than it needs is revoked; one that is committed is never sent again, but what was sent is not undone.`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completePlans,
		RunE: func(c *cobra.Command, args []string) error {
			return a.changePlans(c.Context(), args, []string{"plan", "approval"}, store.RoleApprover, func(ctx context.Context, st *store.Store, who store.Who, id string) error {
				return st.RevokeApproval(ctx, who, id, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the log")
	return c
}

// changePlans does one thing to each plan, and shows them as they stand afterwards. The ids are all found before
// anything is changed.
func (a *app) changePlans(ctx context.Context, words, kinds []string, role string, change func(context.Context, *store.Store, store.Who, string) error) error {
	st, err := a.mustExist(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, w := range words {
		id, err := a.idOf(ctx, st, w, kinds...)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	who, err := a.who(ctx, st, role)
	if err != nil {
		return err
	}
	views := []planView{}
	for _, id := range ids {
		if err := change(ctx, st, who, id); err != nil {
			return err
		}
		v, err := a.planOf(ctx, st, id)
		if err != nil {
			return err
		}
		views = append(views, v)
	}
	return a.emit(views, func(w io.Writer) error {
		for _, v := range views {
			fmt.Fprintf(w, "plan %s of %s is %s\n", v.Plan.ID, printable(v.Machine), v.Standing.State)
			if v.OperationState.Holding() {
				fmt.Fprintf(w, "  its operation %s is %s; nothing further is sent for it: clew settle %s\n", v.Operation, v.OperationState, v.Operation)
			}
		}
		return nil
	})
}

// planOf loads a plan by its own id or by that of one of its approvals.
func (a *app) planOf(ctx context.Context, st *store.Store, id string) (planView, error) {
	if !store.IsID(store.ApprovalPrefix, id) {
		return a.loadPlan(ctx, st, id)
	}
	plans, err := st.Plans(ctx, store.PlanFilter{})
	if err != nil {
		return planView{}, err
	}
	for _, v := range plans {
		for _, ap := range v.Approvals {
			if ap.ID == id {
				return a.loadPlan(ctx, st, v.Plan.ID)
			}
		}
	}
	return planView{}, fmt.Errorf("approval %s has no plan", id)
}

func newRolloutCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "rollout", Short: "Rollouts: plans that share a limit"}
	var reason string
	open := &cobra.Command{
		Use:   "open ID --reason TEXT",
		Short: "Open a rollout again after failures closed it",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if !plainName(args[0]) {
				return usagef("%q is no rollout's id", shorten(args[0]))
			}
			st, err := a.mustExist(ctx)
			if err != nil {
				return err
			}
			d := decision{what: "open rollout " + args[0] + " again", word: args[0], command: "clew plan rollout open " + args[0] + " --reason TEXT"}
			if err := a.decide(ctx, d); err != nil {
				return err
			}
			who, err := a.who(ctx, st, store.RoleApprover)
			if err != nil {
				return err
			}
			row, err := st.OpenRollout(ctx, who, args[0], reason)
			if err != nil {
				return err
			}
			return a.emit(row, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "rollout %s is open: at most %d at once\n", row.ID, row.Limit)
				return err
			})
		},
	}
	open.Flags().StringVar(&reason, "reason", "", "why, for the log")
	needs(open, "reason", reasonForEver)
	c.AddCommand(open)
	return c
}
