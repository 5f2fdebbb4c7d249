package lab

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/lab/node"
)

// Order is a fault as a person names it: a target, a kind, and the kind's argument.
type Order struct {
	// Target is a node's name, or a link as FROM:TO.
	Target string
	Kind   string
	// Arg is the kind's argument, empty for its default.
	Arg string
	// Times is how many applies a node's fault acts on; zero means until healed.
	Times int
}

// FaultKind describes one kind of fault.
type FaultKind struct {
	Name string
	// Link says that it is ordered for a link; otherwise it is for a node.
	Link bool
	// Arg names the argument, with brackets when it can be left out; empty when there is none.
	Arg  string
	Help string

	node func(ctx context.Context, n *Node, o Order) (string, error)
	link func(ctx context.Context, k *Link, o Order) error
}

// OrderError says that an order itself is wrong: nothing was done.
type OrderError struct{ Reason string }

func (e *OrderError) Error() string { return e.Reason }

func orderErrorf(format string, args ...any) error {
	return &OrderError{Reason: fmt.Sprintf(format, args...)}
}

// FaultKinds returns every kind, those of nodes first, in the order in which help shows them.
func FaultKinds() []FaultKind { return slices.Concat(knobKinds(), processKinds(), linkKinds()) }

// knob makes a kind that sets one of a node's knobs and leaves the others as they are.
func knob(name, arg, help string, set func(f *Faults, arg string) error) FaultKind {
	return FaultKind{Name: name, Arg: arg, Help: help, node: func(ctx context.Context, n *Node, o Order) (string, error) {
		status, err := n.Status(ctx)
		if err != nil {
			return "", err
		}

		f := status.Faults
		if err := set(&f, o.Arg); err != nil {
			return "", err
		}

		f.Times = o.Times

		if err := f.Validate(); err != nil {
			return "", orderErrorf("%v", err)
		}

		return "", n.Fault(ctx, f)
	}}
}

func flagKnob(name, help string, field func(f *Faults) *bool) FaultKind {
	return knob(name, "", help, func(f *Faults, _ string) error {
		*field(f) = true

		return nil
	})
}

func delayKnob(name, help string, field func(f *Faults) *time.Duration) FaultKind {
	return knob(name, "DURATION", help, func(f *Faults, arg string) (err error) {
		*field(f), err = parseDelay(arg)

		return err
	})
}

func parseDelay(arg string) (time.Duration, error) {
	d, err := time.ParseDuration(arg)
	if err != nil || d <= 0 {
		return 0, orderErrorf("%q is no duration; one looks like 500ms or 3s", arg)
	}

	return d, nil
}

func knobKinds() []FaultKind {
	return []FaultKind{
		delayKnob("delay-before", "an apply waits before its checks, holding the lock",
			func(f *Faults) *time.Duration { return &f.DelayBefore }),
		delayKnob("delay-after", "an apply waits after the change, before the answer",
			func(f *Faults) *time.Duration { return &f.DelayAfter }),
		flagKnob("die-before", "the node's process dies before the change", func(f *Faults) *bool { return &f.DieBefore }),
		flagKnob("die-after", "the node's process dies after the change, before the answer",
			func(f *Faults) *bool { return &f.DieAfter }),
		flagKnob("drop-response", "the change is made and no answer ever comes", func(f *Faults) *bool { return &f.DropResponse }),
		flagKnob("error-after", "the change is made and the answer is an error (code Unknown)",
			func(f *Faults) *bool { return &f.ErrorAfter }),
		knob("refuse", "CODE", "an apply is answered with this gRPC code, such as FailedPrecondition, and nothing is done",
			func(f *Faults, arg string) error {
				f.Refuse = arg

				return nil
			}),
		flagKnob("apply-in-progress", "an apply finds another one in progress", func(f *Faults) *bool { return &f.ApplyInProgress }),
		flagKnob("freeze-persistence", "accepted changes do not reach STATE: a kill loses them",
			func(f *Faults) *bool { return &f.FreezePersistence }),
		flagKnob("move-after", "the change is made, then the node loses its address and goes on under another one",
			func(f *Faults) *bool { return &f.MoveAfter }),
		{Name: "heal", Help: "end every fault above", node: func(ctx context.Context, n *Node, _ Order) (string, error) {
			return "", n.Fault(ctx, Faults{})
		}},
	}
}

func processKinds() []FaultKind {
	do := func(name, help string, f func(ctx context.Context, n *Node) error) FaultKind {
		return FaultKind{Name: name, Help: help, node: func(ctx context.Context, n *Node, _ Order) (string, error) {
			return "", f(ctx, n)
		}}
	}

	return []FaultKind{
		do("pause", "stop the process (SIGSTOP); its connections stay open", func(_ context.Context, n *Node) error { return n.Pause() }),
		do("continue", "undo pause", func(_ context.Context, n *Node) error { return n.Continue() }),
		do("kill", "end the process (SIGKILL), as a power cut does", func(ctx context.Context, n *Node) error { return n.Kill(ctx) }),
		do("restart", "end the process and start it again, with its STATE", func(ctx context.Context, n *Node) error {
			return n.Restart(ctx, RestartOptions{})
		}),
		do("wipe", "as restart, with an empty STATE: a new identity, the first configuration", func(ctx context.Context, n *Node) error {
			return n.Restart(ctx, RestartOptions{EmptyState: true})
		}),
		{Name: "reboot", Arg: "[GAP]", Help: "reboot the node; its API is away for GAP", node: func(ctx context.Context, n *Node, o Order) (string, error) {
			var opts RebootOptions

			if o.Arg != "" {
				gap, err := parseDelay(o.Arg)
				if err != nil {
					return "", err
				}

				opts.Gap = gap
			}

			return "", n.Reboot(ctx, opts)
		}},
		{Name: "upgrade", Arg: "VERSION", Help: "install this Talos version, such as v1.13.7, and reboot into it", node: func(ctx context.Context, n *Node, o Order) (string, error) {
			if !node.ValidVersion(o.Arg) {
				return "", orderErrorf("%q is no version; one looks like v1.13.7", o.Arg)
			}

			return "", n.Reboot(ctx, RebootOptions{Version: o.Arg})
		}},
		{Name: "move", Help: "give the node another address; the old one falls silent", node: func(ctx context.Context, n *Node, _ Order) (string, error) {
			addr, err := n.Move(ctx)

			return "its address is now " + addr, err
		}},
	}
}

func linkKinds() []FaultKind {
	direction := func(f func(k *Link, ctx context.Context, d Direction) error) func(context.Context, *Link, Order) error {
		return func(ctx context.Context, k *Link, o Order) error {
			d := Direction(o.Arg)
			if o.Arg == "" {
				d = Both
			}

			if !slices.Contains([]Direction{Both, ToNode, FromNode}, d) {
				return orderErrorf("%q is no direction; there are %s, %s and %s", o.Arg, ToNode, FromNode, Both)
			}

			return f(k, ctx, d)
		}
	}

	return []FaultKind{
		{
			Name: "cut", Link: true, Help: "silence both ways; nothing is closed, and what is on its way may arrive after the heal",
			link: func(ctx context.Context, k *Link, _ Order) error { return k.Cut(ctx) },
		},
		{Name: "hold", Link: true, Arg: "[DIRECTION]", Help: "keep the bytes of a direction until the heal delivers them", link: direction((*Link).Hold)},
		{Name: "drop", Link: true, Arg: "[DIRECTION]", Help: "lose the bytes of a direction; their connections are reset at the heal", link: direction((*Link).Drop)},
		{Name: "delay", Link: true, Arg: "DURATION", Help: "deliver every byte that much later", link: func(ctx context.Context, k *Link, o Order) error {
			d, err := parseDelay(o.Arg)
			if err != nil {
				return err
			}

			return k.Delay(ctx, d)
		}},
		{Name: "heal", Link: true, Help: "end every fault of the link", link: func(ctx context.Context, k *Link, _ Order) error { return k.Heal(ctx) }},
	}
}

// Targets returns what faults can be ordered for: the nodes' names, and the links as FROM:TO.
func (l *Lab) Targets() []string {
	var nodes, links []string

	for _, n := range l.rec.Nodes {
		nodes = append(nodes, n.Name)

		if l.rec.Links != LinksNone {
			links = append(links, Client+":"+n.Name, l.rec.Nodes[0].Name+":"+n.Name)
		}
	}

	return append(nodes, links...)
}

// Do carries out an order and returns what there is to know about it beyond that it was done, often nothing.
//
// Errors: *OrderError when the order is wrong, *NotOfferedError when this lab cannot do it, or what went wrong.
func (l *Lab) Do(ctx context.Context, o Order) (string, error) {
	from, to, isLink := strings.Cut(o.Target, ":")

	if _, err := l.Node(cmp.Or(to, o.Target)); err != nil {
		return "", err
	}

	i := slices.IndexFunc(FaultKinds(), func(k FaultKind) bool { return k.Link == isLink && k.Name == o.Kind })
	if i < 0 {
		what := "a node"
		if isLink {
			what = "a link"
		}

		return "", orderErrorf("%q is no fault of %s; there are: %s", o.Kind, what, strings.Join(kindNames(isLink), ", "))
	}

	kind := FaultKinds()[i]
	if kind.Arg == "" && o.Arg != "" {
		return "", orderErrorf("%s takes no argument, but there is %q", kind.Name, o.Arg)
	}

	if kind.Arg != "" && !strings.HasPrefix(kind.Arg, "[") && o.Arg == "" {
		return "", orderErrorf("%s needs its %s", kind.Name, kind.Arg)
	}

	if isLink {
		k, err := l.Link(from, to)
		if err != nil {
			return "", err
		}

		return "", kind.link(ctx, k, o)
	}

	n, err := l.Node(o.Target)
	if err != nil {
		return "", err
	}

	return kind.node(ctx, n, o)
}

func kindNames(link bool) []string {
	var names []string

	for _, k := range FaultKinds() {
		if k.Link == link {
			names = append(names, k.Name)
		}
	}

	return names
}
