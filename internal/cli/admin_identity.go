package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
)

func newIdentityCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "identity", Short: "People: admit, list, revoke"}
	var roles []string
	create := &cobra.Command{
		Use:   "create NAME [--role ROLE]…",
		Short: "Admit a person (a recovery-admin)",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			roles := splitLists(roles)
			if err := checkRoles(roles); err != nil {
				return err
			}
			return a.identityChange(c.Context(), store.RoleRecoveryAdmin, func(ctx context.Context, st *store.Store, who store.Who) (store.Identity, error) {
				return st.CreateIdentity(ctx, who, args[0], ledger.Asserted, roles)
			})
		},
	}
	create.Flags().StringArrayVar(&roles, "role", []string{store.RoleViewer}, "role; may be repeated: "+strings.Join(store.Roles(), ", "))
	a.completeRoles(create)
	list := &cobra.Command{
		Use:   "list",
		Short: "Everybody who is or was known here",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.listIdentities(c.Context(), func(store.Identity) bool { return true })
		},
	}
	var reason string
	revoke := &cobra.Command{
		Use:   "revoke NAME --reason TEXT",
		Short: "End an identity for ever; its approvals stop counting at once",
		Long: `Ends an identity for ever. From that moment its approvals count nowhere: no plan that needs them is committed, and nothing
further is sent for one that is. The tokens that the identity answers for end with it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.revokeIdentity(c.Context(), args[0], reason)
		},
	}
	revoke.Flags().StringVar(&reason, "reason", "", "why")
	needs(revoke, "reason", reasonForEver)
	for _, sub := range []*cobra.Command{create, revoke} {
		sub.ValidArgsFunction = cobra.NoFileCompletions
	}
	revoke.ValidArgsFunction = a.completeIdentities
	c.AddCommand(create, list, revoke)
	return c
}

// checkRoles says which word is no role.
func checkRoles(roles []string) error {
	for _, r := range roles {
		if !slices.Contains(store.Roles(), r) {
			return usagef("no role is called %q; roles: %s", shorten(r), strings.Join(store.Roles(), ", "))
		}
	}
	return nil
}

// identityChange does one thing to an identity as a person in a role, and shows it.
func (a *app) identityChange(ctx context.Context, role string, change func(context.Context, *store.Store, store.Who) (store.Identity, error)) error {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	who, err := a.who(ctx, st, role)
	if err != nil {
		return err
	}
	i, err := change(ctx, st, who)
	if err != nil {
		return err
	}
	return a.emit(i, func(w io.Writer) error { return identityTable(w, []store.Identity{i}) })
}

func (a *app) revokeIdentity(ctx context.Context, name, reason string) error {
	st, err := a.mustExist(ctx)
	if err != nil {
		return err
	}
	if _, err := st.Identity(ctx, name); err != nil {
		return withNext(err, "clew admin identity list")
	}
	who, err := a.who(ctx, st, store.RoleApprover)
	if err != nil {
		if who, err = a.who(ctx, st, store.RoleRecoveryAdmin); err != nil {
			return err
		}
	}
	i, err := st.RevokeIdentity(ctx, who, name, reason)
	if err != nil {
		return err
	}
	// What the revocation did to plans is also written on their machines' timelines; the comparisons do not wait for it.
	if _, err := st.RecordRevocations(ctx); err != nil {
		return err
	}
	return a.emit(i, func(w io.Writer) error { return identityTable(w, []store.Identity{i}) })
}

func (a *app) listIdentities(ctx context.Context, which func(store.Identity) bool) error {
	st, ok, err := a.openExisting(ctx)
	if err != nil {
		return err
	}
	all := []store.Identity{}
	if ok {
		found, err := st.Identities(ctx)
		if err != nil {
			return err
		}
		all = append(all, slices.DeleteFunc(found, func(i store.Identity) bool { return !which(i) })...)
	}
	return a.emit(all, func(w io.Writer) error {
		if len(all) == 0 {
			_, err := fmt.Fprintln(w, "nobody yet")
			return err
		}
		return identityTable(w, all)
	})
}

func identityTable(w io.Writer, list []store.Identity) error {
	t := newTable(w, "NAME", "KIND", "KNOWN AS", "ROLES", "ANSWERS FOR IT", "STATE")
	for _, i := range list {
		state := "active"
		if i.RevokedRevision != 0 {
			state = "revoked"
		}
		t.row(i.Name, string(i.Kind), string(i.Assurance), strings.Join(i.Roles, ", "), i.Responsible, state)
	}
	return t.flush()
}

// completeIdentities offers names that are not revoked.
func (a *app) completeIdentities(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completeFrom(c, func(ctx context.Context, st *store.Store) ([]string, error) {
		all, err := st.Identities(ctx)
		var words []string
		for _, i := range all {
			if i.RevokedRevision == 0 {
				words = append(words, i.Name)
			}
		}
		return words, err
	})
}

func (a *app) completeRoles(c *cobra.Command) {
	_ = c.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(store.Roles(), cobra.ShellCompDirectiveNoFileComp))
}
