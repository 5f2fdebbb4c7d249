package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

func newFreeze(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:               "freeze NAME… --reason TEXT",
		Short:             "Stop new changes to machines until an approver lifts it",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeMachines,
		RunE: func(c *cobra.Command, args []string) error {
			return a.changeMachines(c.Context(), args, store.RoleOperator, nil, func(ctx context.Context, st *store.Store, who store.Who, id string) error {
				_, err := st.Freeze(ctx, who, id, reason)
				return err
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why")
	needs(c, "reason", "--reason says why, to whoever is stopped by it")
	return c
}

func newUnfreeze(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:               "unfreeze NAME…",
		Short:             "Lift a freeze (an approver, at a terminal)",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeMachines,
		RunE: func(c *cobra.Command, args []string) error {
			ask := func(m dispatch.Machine) *decision {
				return &decision{what: "unfreeze " + m.Name, word: m.Name, command: "clew machine unfreeze " + m.Name}
			}
			return a.changeMachines(c.Context(), args, store.RoleApprover, ask, func(ctx context.Context, st *store.Store, who store.Who, id string) error {
				_, err := st.Unfreeze(ctx, who, id, reason)
				return err
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the log")
	return c
}

// changeMachines does one thing to each machine and shows them as they stand afterwards. The machines are all found
// before anything is changed; ask, where given, makes the decision that a person has to confirm.
func (a *app) changeMachines(ctx context.Context, words []string, role string, ask func(dispatch.Machine) *decision,
	change func(context.Context, *store.Store, store.Who, string) error,
) error {
	st, err := a.mustExist(ctx)
	if err != nil {
		return err
	}
	var machines []dispatch.Machine
	for _, w := range words {
		m, err := a.machineNamed(ctx, st, w)
		if err != nil {
			return err
		}
		machines = append(machines, m)
	}
	if ask != nil {
		for _, m := range machines {
			if err := a.decide(ctx, *ask(m)); err != nil {
				return err
			}
		}
	}
	who, err := a.who(ctx, st, role)
	if err != nil {
		return err
	}
	var ids []string
	for _, m := range machines {
		if err := change(ctx, st, who, m.ID); err != nil {
			return err
		}
		ids = append(ids, m.ID)
	}
	views, err := a.machineViews(ctx, st, ids)
	if err != nil {
		return err
	}
	return a.emit(views, func(w io.Writer) error {
		for _, v := range views {
			fmt.Fprintf(w, "%s: %s\n", printable(v.Name), printable(v.Status))
		}
		return nil
	})
}
