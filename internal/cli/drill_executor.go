package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/drill"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

// newDrillExecutor is what a drill starts its executors as: any command of clew, with gates, and without the guards that
// a control takes away. Nobody types it, and it works on a drill's own stores only.
func newDrillExecutor(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "executor", Short: "A part of a drill", Hidden: true, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) < 3 || args[1] != "--" {
				return usagef("clew lab drill executor is for the drill itself")
			}
			orders, err := drill.ReadOrders(args[0])
			if err != nil {
				return err
			}
			go endWithInput(a.stdin)
			env := make([]string, 0, len(a.env))
			for k, v := range a.env {
				env = append(env, k+"="+v)
			}
			inner := newApp(a.stdin, a.stdout, a.stderr, env)
			inner.drilled = orders
			return exitWith(inner.run(c.Context(), newRoot(inner), args[2:]))
		},
	}
}

// endWithInput ends the process when the drill that started it is gone: it may hold locks at a gate.
func endWithInput(stdin io.Reader) {
	_, _ = io.Copy(io.Discard, stdin) // whatever ends it, the drill is gone
	os.Exit(exitFailure)
}

// drillStore gives the store of a drill's executor its gates, and takes the guards of a control away.
func (a *app) drillStore(c *store.Config) error {
	if a.drilled == nil {
		return nil
	}
	c.Gate, c.Without = a.drilled.Gate, a.drilled.Without
	if clock := a.drilled.Time(); clock != nil {
		c.Clock = clock
	}
	return a.drilled.Admit(c.Location)
}

func (a *app) drillExecutor(e *executor.Executor) {
	if a.drilled != nil {
		e.Gate, e.Without = a.drilled.Gate, a.drilled.Without
	}
}

func (a *app) drillConn(o *talos.Options) {
	o.WithoutAbort = a.drilled != nil && a.drilled.Without.Has(dispatch.GuardAbort)
}
