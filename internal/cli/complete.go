package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/store"
)

// Completion reads the store if there is one, creates nothing, and stays silent about failures: a shell has no place to
// show them.

// completeFrom offers what list finds.
func (a *app) completeFrom(c *cobra.Command, list func(context.Context, *store.Store) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	quiet := a.flags.quiet
	a.flags.quiet = true
	defer func() { a.flags.quiet = quiet }()
	st, ok, err := a.openExisting(ctx)
	if err != nil || !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words, err := list(ctx, st)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeMachines offers machine names.
func (a *app) completeMachines(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completeFrom(c, func(ctx context.Context, st *store.Store) ([]string, error) {
		machines, err := st.Machines(ctx)
		var words []string
		for _, m := range machines {
			words = append(words, cobra.CompletionWithDesc(m.Name, string(m.Assignment.Role)+" of "+m.Cluster))
		}
		return words, err
	})
}

// completePlans offers plans that something may still become of.
func (a *app) completePlans(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completeFrom(c, func(ctx context.Context, st *store.Store) ([]string, error) {
		views, err := a.planViews(ctx, st, "", false)
		var words []string
		for _, v := range views {
			words = append(words, cobra.CompletionWithDesc(v.Plan.ID, string(v.Standing.State)+", "+v.Machine))
		}
		return words, err
	})
}

// completeOperations offers operations that hold a machine.
func (a *app) completeOperations(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completeFrom(c, func(ctx context.Context, st *store.Store) ([]string, error) {
		open, err := st.OpenOperations(ctx)
		var words []string
		for _, v := range open {
			words = append(words, cobra.CompletionWithDesc(v.Operation.ID, string(v.Operation.State)+", "+v.Machine.Name))
		}
		return words, err
	})
}

// completeRecords offers what clew show takes.
func (a *app) completeRecords(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	plans, _ := a.completePlans(c, args, word)
	operations, _ := a.completeOperations(c, args, word)
	machines, directive := a.completeMachines(c, args, word)
	return append(append(operations, plans...), machines...), directive
}
