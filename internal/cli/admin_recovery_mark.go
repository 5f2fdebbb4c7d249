package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

func newRecoveryMark(a *app) *cobra.Command {
	var reason string
	wait := defaultWait
	c := &cobra.Command{
		Use:   "mark NAME… (ready | blocked | unresolved) --reason TEXT",
		Short: "Judge machines: the first mark accounts for everything sent before the restore",
		Long: `Reads each machine, on the route of every send that is not accounted for, and records the judgement. The first mark needs the
settle time to have passed since the first such reading; it is waited for until --wait ends.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			names, mark := args[:len(args)-1], dispatch.RecoveryMark(args[len(args)-1])
			if !slices.Contains([]dispatch.RecoveryMark{dispatch.RecoveryReady, dispatch.RecoveryBlocked, dispatch.RecoveryUnresolved}, mark) {
				return usagef("%q is no mark: ready, blocked or unresolved", shorten(string(mark)))
			}
			machines, err := a.machinesNamed(c, names)
			if err != nil {
				return err
			}
			d := decision{what: fmt.Sprintf("mark %d machines %s", len(machines), mark), word: string(mark), command: "clew admin recovery mark NAME " + string(mark) + " --reason TEXT"}
			return a.recovering(c, d, func(ctx context.Context, st *store.Store, who store.Who) error {
				for _, m := range machines { // the settle time of each runs from its first reading
					if err := a.readForRecovery(ctx, st, m); err != nil {
						return err
					}
				}
				for _, m := range machines {
					if err := a.markMachine(ctx, st, who, m, mark, reason, wait); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "what the judgement rests on")
	needs(c, "reason", reasonForEver)
	c.Flags().Var(duration{value: &wait, zero: true}, "wait", "how long to wait for the settle time")
	a.bindTalosconfig(c)
	c.ValidArgsFunction = a.completeMachines
	return c
}

// machinesNamed finds machines before anything is asked or changed.
func (a *app) machinesNamed(c *cobra.Command, names []string) ([]dispatch.Machine, error) {
	st, err := a.mustExist(c.Context())
	if err != nil {
		return nil, err
	}
	var machines []dispatch.Machine
	for _, name := range names {
		m, err := a.machineNamed(c.Context(), st, name)
		if err != nil {
			return nil, err
		}
		machines = append(machines, m)
	}
	return machines, nil
}

// markMachine reads and marks, and does so again while only the settle time is missing.
func (a *app) markMachine(ctx context.Context, st *store.Store, who store.Who, m dispatch.Machine, mark dispatch.RecoveryMark, reason string, wait time.Duration) error {
	floor, err := a.settleFloor()
	if err != nil {
		return err
	}
	until := time.Now().Add(wait)
	for {
		if err := a.readForRecovery(ctx, st, m); err != nil {
			return err
		}
		_, err := st.MarkMachine(ctx, who, m.ID, mark, floor, reason)
		if !isRefused(err, "settle-time") || time.Now().After(until) {
			return err
		}
		r, _ := refusal.As(err)
		a.note("%s", r.Message)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(settlePoll, time.Until(until))):
		}
	}
}

// settlePoll is the pause between looks at a machine whose settle time runs.
const settlePoll = 5 * time.Second

// readForRecovery reads a machine on the route of each send that is not accounted for, and at last on its usual one.
func (a *app) readForRecovery(ctx context.Context, st *store.Store, m dispatch.Machine) error {
	routes := []dispatch.Route{}
	ops, err := st.MachineOperations(ctx, m.ID)
	if err != nil {
		return err
	}
	for _, v := range ops {
		for _, at := range v.Attempts {
			if _, done := at.Accounted(); !done && v.Operation.State.Holding() && !slices.Contains(routes, at.Route) {
				routes = append(routes, at.Route)
			}
		}
	}
	if len(routes) == 0 {
		routes = append(routes, "")
	}
	for _, route := range routes {
		if _, _, err := a.observe(ctx, st, m, route, dispatch.ForRecovery); err != nil {
			return err
		}
	}
	return nil
}
