package cli

import (
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/drill"
)

// realFlags name a machine of the user's own for a drill.
type realFlags struct {
	talosconfig, node, route string
	yes, anyStage            bool
}

func (f *realFlags) bind(l *pflag.FlagSet) {
	l.StringVar(&f.talosconfig, "talos", "", "talosconfig of a cluster of your own, to play on one of its workers instead of a practice cluster")
	l.StringVar(&f.node, "node", "", "with --talos: the worker's address")
	l.StringVar(&f.route, "route", string(dispatch.Direct), "with --talos: direct, via (the talosconfig's first endpoint) or via:ENDPOINT")
	l.BoolVar(&f.yes, "yes-change-node", false, "with --talos: yes, change a label of this node and put its configuration back")
	l.BoolVar(&f.anyStage, "allow-stage", false, "with --talos: take the node in the stage that it shows, ready or not, instead of running")
}

// realMachine is the machine that the flags name, nil without --talos.
func (a *app) realMachine(f drillFlags) (*drill.Real, error) {
	r := f.real
	if r.talosconfig == "" {
		if r.node != "" || r.yes || r.anyStage {
			return nil, usagef("--node, --route, --yes-change-node and --allow-stage go with --talos TALOSCONFIG")
		}
		return nil, nil
	}
	route := dispatch.Route(r.route)
	switch {
	case r.node == "":
		return nil, usagef("--node names the address of the worker that may be changed")
	case f.netsGiven:
		return nil, usagef("--net is about a practice cluster: with --talos the way is --route")
	case !route.Valid() && route != "via":
		return nil, usagef("--route %q: direct, via or via:ENDPOINT", shorten(r.route))
	case !r.yes:
		return nil, usagef("this changes a label of %s, many times, and puts its configuration back at the end: say --yes-change-node", shorten(r.node))
	}
	if err := checkAddress(r.node); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(r.talosconfig)
	return &drill.Real{Talosconfig: path, Context: a.flags.context, Address: r.node, Route: route, AllowStage: r.anyStage}, err
}
