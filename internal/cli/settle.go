package cli

import (
	"context"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

func newSettleCommand(a *app) *cobra.Command {
	var o executor.SettleOptions
	var judge, routeGone string
	c := &cobra.Command{
		Use:   "settle OP",
		Short: "Close an unresolved operation on evidence, or say what is missing",
		Long: `Takes the operation over if its executor has stopped, gathers evidence about what was sent, reads the machine, and
completes, fails or cancels the operation; otherwise it says what is missing.

A lost answer is accounted for by evidence only on the host that sent, since it was booted, in the same network
namespace. Elsewhere a recovery-admin may decide (--judge) once the settle time has passed; the record says that it is a
judgement. CLEW_SETTLE_FLOOR is the least settle time of this deployment, 30s or more.

Exit code: 0 completed, 3 refused or cancelled, 4 still unresolved, 5 failed or rejected by the node, 1 failure.`,
		GroupID:           groupTalos,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeOperations,
		PreRunE: func(c *cobra.Command, _ []string) error {
			judged := c.Flags().Changed("judge")
			if judged && judge == "" {
				return usagef("--judge needs its reason")
			}
			if c.Flags().Changed("route-gone") && (!judged || routeGone == "") {
				return usagef("--route-gone needs its reason, and --judge")
			}
			return checkAddress(o.Address)
		},
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			st, err := a.mustExist(ctx)
			if err != nil {
				return err
			}
			id, err := a.idOf(ctx, st, args[0], "operation")
			if err != nil {
				return err
			}
			if c.Flags().Changed("judge") {
				if o.Judge, err = a.judge(ctx, st, id, judge, routeGone); err != nil {
					return err
				}
			}
			return a.settle(ctx, st, id, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.Retry, "retry", false, "send once more where that is safe and still approved")
	f.BoolVar(&o.Takeover, "takeover", false, "take over from an executor that is not shown to have stopped")
	f.StringVar(&judge, "judge", "", "reason: a recovery-admin decides what no evidence shows")
	f.StringVar(&routeGone, "route-gone", "", "with --judge: attest that the endpoint of the send restarted or is gone, and why you know")
	f.StringVar(&o.Address, "address", "", "read the machine at this address instead of the plan's")
	f.Var(duration{value: &o.Wait, zero: true}, "wait", "how long to keep looking for evidence")
	a.bindTalosconfig(c)
	return c
}

// checkAddress refuses what cannot be a node's address; "" is none.
func checkAddress(s string) error {
	if s == "" || plainName(s) {
		return nil
	}
	if _, err := netip.ParseAddr(strings.Trim(s, "[]")); err != nil {
		return usagef("--address %q: an IP address or a host name, without a port", shorten(s))
	}
	return nil
}

// judge asks a recovery-admin to confirm that they decide.
func (a *app) judge(ctx context.Context, st *store.Store, id, reason, routeGone string) (*executor.Judge, error) {
	d := decision{what: "decide what became of " + id, word: id, command: "clew settle " + id + " --judge REASON"}
	if err := a.mayAsk(d); err != nil {
		return nil, err
	}
	who, err := a.who(ctx, st, store.RoleRecoveryAdmin)
	if err != nil {
		return nil, err
	}
	if err := a.decide(ctx, d); err != nil {
		return nil, err
	}
	return &executor.Judge{Who: actor(who), Reason: reason, RouteGone: routeGone}, nil
}

func (a *app) settle(ctx context.Context, st *store.Store, id string, o executor.SettleOptions) error {
	e, err := a.operatingExecutor(ctx, st)
	if err != nil {
		return err
	}
	res, err := e.Settle(ctx, id, o)
	if _, refused := refusal.As(err); refused {
		return err // of this command; the operation is what it was
	}
	return a.report([]outcome{a.left(ctx, res, err)})
}
