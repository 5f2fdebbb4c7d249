package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

func newRecoveryCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "recovery",
		Short: "After a restore of the store: account for every machine before anything is dispatched",
		Long: `A restored store has forgotten what was sent since its backup. The procedure, for a recovery-admin:

  enter                    a new epoch: nothing from before authorizes any more; every machine is closed
  attest INSTANCE          vouch that an executor from before has ended, where nothing shows it
  mark NAME… MARK          ready, blocked or unresolved, once what was sent before can no longer arrive
  release NAME…            open the gate of a machine that is ready
  leave                    end the recovery when all are released, or blocked and frozen
  clock                    record that the store's clock was put right
  status                   where it stands and what is missing`,
	}
	c.AddCommand(newRecoveryEnter(a), newRecoveryAttest(a), newRecoveryMark(a), newRecoveryRelease(a), newRecoveryLeave(a),
		newRecoveryClock(a), newRecoveryStatus(a))
	return c
}

// reasonForEver is said where a decision lacks its reason.
const reasonForEver = "--reason says why, for ever"

// recovering runs one decision of the recovery procedure: a person with a reason, at a terminal, types the word.
func (a *app) recovering(c *cobra.Command, d decision, do func(ctx context.Context, st *store.Store, who store.Who) error) error {
	ctx := c.Context()
	st, err := a.mustExist(ctx)
	if err != nil {
		return err
	}
	if err := a.mayAsk(d); err != nil {
		return err
	}
	who, err := a.who(ctx, st, store.RoleRecoveryAdmin)
	if err != nil {
		return err
	}
	if err := a.decide(ctx, d); err != nil {
		return err
	}
	if err := do(ctx, st, who); err != nil {
		return err
	}
	return a.showRecovery(ctx, st)
}

func newRecoveryEnter(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "enter --reason TEXT",
		Short: "Begin a recovery: nothing from before authorizes any more",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d := decision{what: "enter recovery", word: "recovery", command: "clew admin recovery enter --reason TEXT"}
			return a.recovering(c, d, func(ctx context.Context, st *store.Store, who store.Who) error {
				return a.enterRecovery(ctx, st, who, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why")
	needs(c, "reason", reasonForEver)
	return c
}

// enterRecovery issues the epoch and closes every machine. An entry that was cut short is gone on with: a recovery that is
// under way is not entered a second time unless the store was restored again.
func (a *app) enterRecovery(ctx context.Context, st *store.Store, who store.Who, reason string) error {
	status, err := st.Recovery(ctx)
	if err != nil {
		return err
	}
	if !status.InRecovery || status.Restored != "" {
		if _, err := st.EnterRecovery(ctx, who, reason); err != nil {
			return err
		}
	}
	instance, _, err := a.startInstance(ctx, st) // it has to belong to the new epoch
	if err != nil {
		return err
	}
	closed, err := st.CloseMachines(ctx, who, instance)
	a.note("%d machines closed", closed)
	return err
}

func newRecoveryAttest(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "attest INSTANCE --reason TEXT",
		Short: "Vouch that an executor has ended: how do you know?",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			st, err := a.mustExist(c.Context())
			if err != nil {
				return err
			}
			id, err := a.idOf(c.Context(), st, args[0], "instance")
			if err != nil {
				return err
			}
			short := id[:min(len(id), 10)]
			d := decision{what: "attest that executor " + short + " has ended", word: short, command: "clew admin recovery attest " + short + " --reason TEXT"}
			return a.recovering(c, d, func(ctx context.Context, st *store.Store, who store.Who) error {
				return st.AttestInstance(ctx, who, id, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "how it is known that the process has ended")
	needs(c, "reason", reasonForEver)
	c.ValidArgsFunction = a.completeInstances
	return c
}

func newRecoveryRelease(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:               "release NAME… --reason TEXT",
		Short:             "Open the gate of machines that are marked ready",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeMachines,
		RunE: func(c *cobra.Command, args []string) error {
			machines, err := a.machinesNamed(c, args)
			if err != nil {
				return err
			}
			word := machines[0].Name
			if len(machines) > 1 {
				word = "release"
			}
			d := decision{what: fmt.Sprintf("release %d machines", len(machines)), word: word, command: "clew admin recovery release NAME --reason TEXT"}
			return a.recovering(c, d, func(ctx context.Context, st *store.Store, who store.Who) error {
				for _, m := range machines {
					if _, err := st.ReleaseMachine(ctx, who, m.ID, reason); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why")
	needs(c, "reason", reasonForEver)
	return c
}

func newRecoveryLeave(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "leave --reason TEXT",
		Short: "End the recovery",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d := decision{what: "end the recovery", word: "leave", command: "clew admin recovery leave --reason TEXT"}
			return a.recovering(c, d, func(ctx context.Context, st *store.Store, who store.Who) error {
				return st.LeaveRecovery(ctx, who, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why")
	needs(c, "reason", reasonForEver)
	return c
}

func newRecoveryClock(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "clock --reason TEXT",
		Short: "Record that the store's clock was set: what is dated before is no longer compared with it",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d := decision{what: "record a clock step", word: "clock", command: "clew admin recovery clock --reason TEXT"}
			return a.recovering(c, d, func(ctx context.Context, st *store.Store, who store.Who) error {
				return st.StepClock(ctx, who, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why the clock was wrong")
	needs(c, "reason", reasonForEver)
	return c
}

func newRecoveryStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Where a recovery stands, and what is missing",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			st, err := a.mustExist(c.Context())
			if err != nil {
				return err
			}
			return a.showRecovery(c.Context(), st)
		},
	}
}

func (a *app) showRecovery(ctx context.Context, st *store.Store) error {
	s, err := st.Recovery(ctx)
	if err != nil {
		return err
	}
	return a.emit(s, func(w io.Writer) error { return a.recoveryText(w, s) })
}

func (a *app) recoveryText(w io.Writer, s store.RecoveryStatus) error {
	switch {
	case s.Restored != "":
		fmt.Fprintf(w, "%s\n", printable(s.Restored))
	case !s.InRecovery:
		fmt.Fprintln(w, "no recovery is under way")
	default:
		fmt.Fprintf(w, "recovery since %s\n", showTime(s.EnteredAt))
	}
	if a.flags.verbose {
		fmt.Fprintf(w, "epoch %s\n", s.Epoch)
	}
	if !s.InRecovery {
		return nil
	}
	for _, i := range s.Running {
		fmt.Fprintf(w, "executor %.10s on %s is not shown to have ended: clew admin recovery attest %.10s --reason TEXT\n", i.ID, printable(i.Host.Name), i.ID)
	}
	t := newTable(w, "MACHINE", "MARK", "RELEASED", "NEXT")
	for _, m := range s.Machines {
		released, next := "no", "clew admin recovery mark "+m.Name+" ready --reason TEXT"
		switch {
		case m.ReleasedEpoch == s.Epoch:
			released, next = "yes", ""
		case m.Assignment.Role == dispatch.ControlPlane:
			next = ""
		case m.Recovery == dispatch.RecoveryReady:
			next = "clew admin recovery release " + m.Name + " --reason TEXT"
		}
		t.row(m.Name, string(m.Recovery), released, next)
	}
	return t.flush()
}

// completeInstances offers executors that are not shown to have ended.
func (a *app) completeInstances(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completeFrom(c, func(ctx context.Context, st *store.Store) ([]string, error) {
		all, err := st.Instances(ctx)
		var words []string
		for _, i := range all {
			if i.EndedRevision == 0 && i.AttestedBy == "" {
				words = append(words, i.ID)
			}
		}
		return words, err
	})
}
