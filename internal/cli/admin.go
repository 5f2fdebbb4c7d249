package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/store"
)

func newAdminCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "admin",
		Short:   "People, tokens, roles, keeping times, recovery after a restore",
		GroupID: groupServer,
	}
	c.AddCommand(newIdentityCommand(a), newTokenCommand(a), newRoleCommand(a), newRetentionCommand(a), newRecoveryCommand(a),
		newCheckpointCommand(a), newExportCommand(a))
	return c
}

func newRoleCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "role", Short: "Give and take roles (a recovery-admin)"}
	var reason string
	change := func(name, short string, apply func(held []string, roles []string) []string) *cobra.Command {
		sub := &cobra.Command{
			Use:               name + " NAME ROLE…",
			Short:             short,
			Args:              cobra.MinimumNArgs(2),
			ValidArgsFunction: a.completeNameThenRoles,
			RunE: func(c *cobra.Command, args []string) error {
				if err := checkRoles(args[1:]); err != nil {
					return err
				}
				return a.identityChange(c.Context(), store.RoleRecoveryAdmin, func(ctx context.Context, st *store.Store, who store.Who) (store.Identity, error) {
					i, err := st.Identity(ctx, args[0])
					if err != nil {
						return i, withNext(err, "clew admin identity list")
					}
					return st.SetRoles(ctx, who, args[0], apply(i.Roles, args[1:]), reason)
				})
			},
		}
		sub.Flags().StringVar(&reason, "reason", "", "why, for the log")
		return sub
	}
	c.AddCommand(
		change("add", "Give roles to an identity", func(held, roles []string) []string { return append(slices.Clone(held), roles...) }),
		change("remove", "Take roles from an identity; approvals given before stay", func(held, roles []string) []string {
			return slices.DeleteFunc(slices.Clone(held), func(r string) bool { return slices.Contains(roles, r) })
		}),
	)
	return c
}

// completeNameThenRoles offers names for the first argument, roles for the others.
func (a *app) completeNameThenRoles(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeIdentities(c, args, word)
	}
	return store.Roles(), cobra.ShellCompDirectiveNoFileComp
}

func newTokenCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "token", Short: "Tokens of programs and agents, on a person's responsibility"}
	var roles []string
	var agent bool
	create := &cobra.Command{
		Use:   "create NAME [--role ROLE]… [--agent]",
		Short: "Make a token; its secret is printed once and kept nowhere",
		Long: `Makes a token, for which you answer from now on. It may hold viewer, author and operator as far as you hold them yourself;
never approver or recovery-admin. Its secret is printed once: only its hash is kept.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			roles := splitLists(roles)
			if err := checkRoles(roles); err != nil {
				return err
			}
			return a.createToken(c.Context(), args[0], roles, agent)
		},
	}
	create.Flags().StringArrayVar(&roles, "role", []string{store.RoleViewer}, "role; may be repeated")
	create.Flags().BoolVar(&agent, "agent", false, "it is for an AI agent")
	a.completeRoles(create)
	list := &cobra.Command{
		Use: "list", Short: "Tokens and who answers for them", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.listIdentities(c.Context(), func(i store.Identity) bool { return i.Kind != store.Person })
		},
	}
	var reason string
	revoke := &cobra.Command{
		Use: "revoke NAME", Short: "End a token for ever", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeIdentities,
		RunE: func(c *cobra.Command, args []string) error {
			return a.identityChange(c.Context(), store.RoleViewer, func(ctx context.Context, st *store.Store, who store.Who) (store.Identity, error) {
				if _, err := st.Identity(ctx, args[0]); err != nil {
					return store.Identity{}, withNext(err, "clew admin token list")
				}
				return st.RevokeToken(ctx, who, args[0], reason)
			})
		},
	}
	revoke.Flags().StringVar(&reason, "reason", "", "why, for the log")
	c.AddCommand(create, list, revoke)
	return c
}

// newToken is a token right after it was made: the one time that its secret is shown.
type newToken struct {
	Identity store.Identity `json:"identity"`
	Token    string         `json:"token"`
}

func (a *app) createToken(ctx context.Context, name string, roles []string, agent bool) error {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	who, err := a.who(ctx, st, store.RoleViewer)
	if err != nil {
		return err
	}
	kind := store.Token
	if agent {
		kind = store.Agent
	}
	secret, i, err := st.CreateToken(ctx, who, store.TokenSpec{Name: name, Kind: kind, Roles: roles})
	if err != nil {
		return err
	}
	v := newToken{Identity: i, Token: string(secret.Reveal())}
	a.note("keep it now: it is shown this once, and only its hash is kept")
	return a.emit(v, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, v.Token)
		return err
	})
}
