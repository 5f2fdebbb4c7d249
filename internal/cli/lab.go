package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab"
)

func newLabCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "lab",
		Short:   "A practice cluster on this machine, to try and to break",
		GroupID: groupServer,
		Long: `A lab is a control-plane node and workers on this machine. Each is a process that speaks the real Talos API over
mTLS on port 50000 of an address of its own; there is no Kubernetes behind it. Nodes, and the links between them and
you, can be made to fail on purpose.`,
	}
	var dir string
	c.PersistentFlags().StringVar(&dir, "dir", "", "directory of the lab (default: lab in clew's state directory)")
	where := func() (string, error) { return a.labDir(dir) }
	c.AddCommand(newLabUp(a, where), newLabDown(a, where), newLabStatus(a, where), newLabFault(a, where), newDrill(a))
	c.AddCommand(labProcesses()...)
	return c
}

// labDir is the lab's directory: --dir, or one in the state directory.
func (a *app) labDir(flag string) (string, error) {
	if flag != "" {
		return filepath.Abs(flag)
	}
	dirs, err := config.FindDirs(a.getenv)
	return filepath.Join(dirs.State, "lab"), err
}

// labProcesses are what a lab's processes are started as. Nobody types them.
func labProcesses() []*cobra.Command {
	var list []*cobra.Command
	for _, kind := range []string{"node", "link", "keep"} {
		list = append(list, &cobra.Command{
			Use: kind, Short: "A part of a lab", Hidden: true, Args: cobra.MinimumNArgs(1), DisableFlagParsing: true,
			RunE: func(_ *cobra.Command, args []string) error {
				code, was := lab.Child(append([]string{"lab", kind}, args...))
				if !was {
					return usagef("clew lab %s is for the lab itself", kind)
				}
				return exitWith(code)
			},
		})
	}
	return list
}

func newLabUp(a *app, where func() (string, error)) *cobra.Command {
	o := lab.Config{Timing: lab.DefaultTiming}
	var links string
	c := &cobra.Command{
		Use:   "up",
		Short: "Make a lab",
		Long: `Makes a lab and waits until its nodes are ready. It runs until "clew lab down".

Links decide what lies between you and the nodes, and so which faults there are:
  none      nothing; nodes can fail, the network cannot
  userland  a process that can cut, hold, drop and delay bytes exactly; it ends TCP on the way
  netns     every node in a network namespace of its own, on a bridge whose ports can be cut: the kernel's own
            retransmission, as on a real network; needs root`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			o.Links = lab.LinkMode(links)
			if o.Dir, err = where(); err != nil {
				return err
			}
			if o.Exe, err = os.Executable(); err != nil {
				return err
			}
			sameLinks := func(l *lab.Lab) bool { return !c.Flags().Changed("links") || l.Links() == o.Links }
			sameNodes := func(l *lab.Lab) bool { return !c.Flags().Changed("workers") || len(l.Nodes()) == o.Workers+1 }
			return a.labUp(c.Context(), o, func(l *lab.Lab) bool { return sameLinks(l) && sameNodes(l) })
		},
	}
	f := c.Flags()
	f.StringVar(&links, "links", string(lab.LinksNone), "none, userland or netns")
	f.IntVar(&o.Workers, "workers", 2, "number of workers")
	f.StringVar(&o.Version, "talos-version", "", "version that the nodes report (default: the one that clew knows best)")
	f.StringVar(&o.Rate, "rate", "", "limit of every bridge port, such as 1mbit (netns)")
	f.DurationVar(&o.Timing.Stop, "stop-time", o.Timing.Stop, "how long the API answers after a reboot was accepted")
	f.DurationVar(&o.Timing.Gap, "gap", o.Timing.Gap, "how long the API is away in a reboot")
	f.DurationVar(&o.Timing.Boot, "boot-time", o.Timing.Boot, "how long a node is booting once its API is back")
	// An error here would mean that the flag has another name.
	_ = c.RegisterFlagCompletionFunc("links", cobra.FixedCompletions(
		[]cobra.Completion{string(lab.LinksNone), string(lab.LinksUserland), string(lab.LinksNetns)}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// labUp makes a lab, or reports the one that is there if it fits what was asked for.
func (a *app) labUp(ctx context.Context, o lab.Config, fits func(*lab.Lab) bool) error {
	l, err := lab.Up(ctx, o)
	if errors.Is(err, lab.ErrAlreadyUp) {
		if l, err = lab.Open(o.Dir); err != nil {
			return err
		}
		if !fits(l) {
			return withNext(fmt.Errorf("a lab of another shape is there already: %s", o.Dir), "clew lab status\nclew lab down")
		}
		a.note("the lab was up already")
	}
	if err != nil {
		return labError(err)
	}
	return a.showLab(ctx, l, true)
}

func newLabDown(a *app, where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End a lab and remove all of it",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := where()
			if err != nil {
				return err
			}
			l, err := lab.Open(dir)
			if errors.Is(err, lab.ErrNoLab) {
				a.note("there is no lab in %s", dir)
				return nil
			}
			if err != nil {
				return err
			}
			if err := l.Down(c.Context()); err != nil {
				return withNext(err, "clew lab down")
			}
			a.note("the lab in %s is gone", dir)
			return nil
		},
	}
}

func newLabStatus(a *app, where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show a lab's nodes and faults",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := openLab(where)
			if err != nil {
				return err
			}
			return a.showLab(c.Context(), l, false)
		},
	}
}

func openLab(where func() (string, error)) (*lab.Lab, error) {
	dir, err := where()
	if err != nil {
		return nil, err
	}
	l, err := lab.Open(dir)
	return l, labError(err)
}

// labError adds what to type next, and tells a wrong order from a failure.
func labError(err error) error {
	var order *lab.OrderError
	switch {
	case errors.As(err, &order):
		return &usageError{err: err}
	case errors.Is(err, lab.ErrNoLab):
		return withNext(err, "clew lab up")
	}
	return err
}

func newLabFault(a *app, where func() (string, error)) *cobra.Command {
	var o lab.Order
	c := &cobra.Command{
		Use:   "fault NODE|LINK KIND [ARG]",
		Short: "Break a node or a link, or heal it",
		Long: `NODE is a node's name. LINK is FROM:TO, where FROM is "client" or the name of the endpoint node, and TO is a node:
client:worker-1 is how you reach worker-1 yourself, cp-1:worker-1 how the endpoint does.

` + faultHelp(),
		Example: `  clew lab fault worker-1 drop-response --times 1
  clew lab fault cp-1:worker-1 cut
  clew lab fault cp-1:worker-1 heal`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := openLab(where)
			if err != nil {
				return err
			}
			o.Target, o.Kind = args[0], args[1]
			if len(args) == 3 {
				o.Arg = args[2]
			}
			told, err := l.Do(c.Context(), o)
			if err != nil {
				return labError(err)
			}
			done := faultView{Target: o.Target, Kind: o.Kind, Arg: o.Arg, Times: o.Times, Told: told}
			return a.emit(done, func(io.Writer) error {
				if told != "" {
					a.note("%s", told)
				}
				return nil
			})
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completeFault(where, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().IntVar(&o.Times, "times", 0, "act on that many applies only (default: until healed)")
	return c
}

// faultView is a fault that was ordered.
type faultView struct {
	Target string `json:"target"`
	Kind   string `json:"kind"`
	Arg    string `json:"arg,omitempty"`
	Times  int    `json:"times,omitempty"` // 0: until healed
	Told   string `json:"told,omitempty"`  // what the node or the link answered
}

// faultHelp lists the kinds, those of nodes and then those of links.
func faultHelp() string {
	var b strings.Builder
	for _, link := range []bool{false, true} {
		b.WriteString(map[bool]string{false: "Kinds for a node:\n", true: "\nKinds for a link (DIRECTION is to-node, from-node or both):\n"}[link])
		t := newTable(&b)
		for _, k := range lab.FaultKinds() {
			if k.Link == link {
				t.row("  "+strings.TrimSpace(k.Name+" "+k.Arg), k.Help)
			}
		}
		_ = t.flush() // a string takes everything
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func completeFault(where func() (string, error), args []string) []string {
	l, err := openLab(where)
	if err != nil {
		return nil
	}
	var words []string
	switch len(args) {
	case 0:
		words = l.Targets()
	case 1:
		for _, k := range lab.FaultKinds() {
			if k.Link == strings.Contains(args[0], ":") {
				words = append(words, cobra.CompletionWithDesc(k.Name, k.Help))
			}
		}
	}
	return words
}

// showLab prints a lab; made adds what to type next.
func (a *app) showLab(ctx context.Context, l *lab.Lab, made bool) error {
	o, err := l.Overview(ctx)
	if err != nil {
		return err
	}
	return a.emit(o, func(w io.Writer) error {
		if err := labTable(w, o); err != nil {
			return err
		}
		fmt.Fprintf(w, "\nlinks: %s   talosconfig: %s\n", o.Links, o.Talosconfig)
		for _, k := range o.FaultyLinks {
			fmt.Fprintf(w, "faulty: %s:%s  towards the node %s, back %s\n", k.From, k.To, linkFault(k.ToNode, k), linkFault(k.FromNode, k))
		}
		if made {
			fmt.Fprint(w, "\n"+nextLines("", fmt.Sprintf("clew machine import --talosconfig %s\nclew lab fault --help\nclew lab down", o.Talosconfig)))
		}
		return nil
	})
}

func linkFault(mode string, k lab.LinkReport) string {
	if k.Delay > 0 {
		return mode + ", " + k.Delay.String() + " late"
	}
	return mode
}

func labTable(w io.Writer, o lab.Overview) error {
	t := newTable(w, "NODE", "ADDRESS", "PROCESS", "STAGE", "READY", "TALOS", "ACTIVE", "PERSISTENT", "LANDINGS", "FAULTS")
	for _, n := range o.Nodes {
		ready, active, persistent := "", "", ""
		if n.Up {
			ready = fmt.Sprint(n.Ready)
			active = fmt.Sprintf("v%d", n.Active)
			if n.Persistent > 0 {
				persistent = fmt.Sprintf("v%d", n.Persistent)
			}
		}
		stage := n.Stage
		if n.Process == "running" && !n.Up {
			stage = "no API"
		}
		t.row(n.Name, n.Address, fmt.Sprintf("%s (%d)", n.Process, n.PID), stage, ready, n.Version, active, persistent,
			fmt.Sprint(n.Landings), strings.Join(n.Faults.Names(), ", "))
	}
	return t.flush()
}
