package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

func newMachineImport(a *app) *cobra.Command {
	var nodeList []string
	var dryRun bool
	c := &cobra.Command{
		Use:   "import",
		Short: "Register the nodes of a talosconfig and accept what their workers run",
		Long: `Reads every node that the talosconfig names (its nodes, or else its endpoints, or --nodes) and registers it. Control planes are
registered too, and only observed. What each worker without a baseline runs is then accepted as its baseline: you are
asked once, and one approval is recorded for each machine. Without a terminal the plans wait, and the command that a person
has to type is printed.

Run again, it records a changed role or address set (refused while an operation holds the machine) and accepts workers that
have no baseline yet. What a machine with a baseline runs is not touched: see clew machine diff.

Only the talosconfig's path and context are remembered, never its credentials.

Exit code: 0 done, 2 a person has to approve, 3 refused, 1 some node could not be read.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if a.flags.offline {
				return usagef("--offline contacts nothing, and importing reads the nodes")
			}
			return a.importMachines(c.Context(), splitLists(nodeList), c.Flags().Changed("nodes"), dryRun)
		},
	}
	c.Flags().StringArrayVar(&nodeList, "nodes", nil, "addresses or names of the nodes, instead of the talosconfig's")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be registered and accepted; write nothing")
	a.bindTalosconfig(c)
	return c
}

// found is one node as the import read it.
type found struct {
	Node    string         `json:"node"` // as it was named
	Address string         `json:"address"`
	Route   dispatch.Route `json:"route"`
	Name    string         `json:"name"`
	ID      string         `json:"id,omitempty"` // of the machine, once registered
	Role    dispatch.Role  `json:"role"`
	Cluster string         `json:"cluster"`
	Runs    string         `json:"runs"`   // digest
	Action  string         `json:"action"` // registered, assignment changed, known
	Plan    string         `json:"plan,omitempty"`
	State   dispatch.State `json:"state,omitempty"` // of the adoption
	Error   *report        `json:"error,omitempty"`

	reading     dispatch.Reading // as first read, before anything was recorded
	observation dispatch.Observation
	config      secret.Bytes
	machine     dispatch.Machine
	approved    bool // its adoption was approved before
	err         error
}

func (a *app) importMachines(ctx context.Context, list []string, named, dryRun bool) error {
	where, err := a.findTalosconfig("")
	if err != nil {
		return err
	}
	c, err := a.credentials("")
	if err != nil {
		return err
	}
	if list, err = nodesOf(c, list, named); err != nil {
		return err
	}
	var nodes []*found
	for _, name := range list {
		a.note("reading %s", name)
		f := readNode(ctx, c, name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		nodes = append(nodes, f)
	}
	nodes = mergeSame(nodes)
	var waits error
	if dryRun {
		err = a.previewImport(ctx, nodes)
	} else {
		waits, err = a.recordImport(ctx, c, where, nodes)
	}
	if err != nil {
		return err
	}
	if err := a.emit(nodes, func(w io.Writer) error { return importTable(w, nodes) }); err != nil {
		return err
	}
	if err := importFailure(nodes); err != nil {
		return err
	}
	return waits
}

// nodesOf is which nodes to read.
func nodesOf(c *talos.Config, list []string, named bool) ([]string, error) {
	if named {
		if len(list) == 0 || slices.Contains(list, "") {
			return nil, usagef("--nodes is empty, or has an empty name in it")
		}
		return list, nil
	}
	if nodes := c.NodeNames(); len(nodes) > 0 {
		return nodes, nil
	}
	if ends := c.Endpoints(); len(ends) > 0 {
		return ends, nil
	}
	return nil, withNext(fmt.Errorf("context %q of the talosconfig names neither nodes nor endpoints", c.ContextName()), "clew machine import --nodes ADDRESS")
}

// readNode reads a node directly, or through the talosconfig's first endpoint where it does not answer directly.
func readNode(ctx context.Context, c *talos.Config, name string) *found {
	f := &found{Node: name}
	addresses, err := resolve(ctx, name)
	if err != nil {
		f.err = err
		return f
	}
	routes := []dispatch.Route{dispatch.Direct}
	if ends := c.Endpoints(); len(ends) > 0 && !slices.Contains(addresses, ends[0]) && ends[0] != name {
		routes = append(routes, dispatch.Via(ends[0]))
	}
	var failures []error
	for _, route := range routes {
		for _, address := range addresses {
			if err = f.read(ctx, c, address, route); err == nil {
				return f
			}
			failures = append(failures, fmt.Errorf("%s (%s): %w", address, route, err))
		}
	}
	f.err = errors.Join(failures...)
	return f
}

func (f *found) read(ctx context.Context, c *talos.Config, address string, route dispatch.Route) error {
	ctx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	conn, err := talos.Dial(ctx, c, talos.Target{Address: address, Route: route}, talosOptions(0))
	if err != nil {
		return err
	}
	defer conn.Abort()
	r, config, err := conn.Read(ctx)
	if err != nil {
		return err
	}
	f.Address, f.Route, f.reading, f.config = address, route, r, config
	f.Role, f.Runs, f.Name, f.Cluster = r.Role, r.Active.Digest, hostLabel(r, address), clusterName(config, c)
	return nil
}

// resolve turns a host name into addresses: a plan binds an address, because what a name means may change.
func resolve(ctx context.Context, name string) ([]string, error) {
	bare := strings.Trim(name, "[]")
	if ip, err := netip.ParseAddr(bare); err == nil {
		return []string{ip.String()}, nil
	}
	if host, _, err := net.SplitHostPort(name); err == nil {
		return nil, fmt.Errorf("%q has a port; the Talos API is always on the same one, so give only %q", name, host)
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, bare)
	if err != nil {
		return nil, fmt.Errorf("%q is no address, and looking it up failed: %w", shorten(name), err)
	}
	return addresses, nil
}

// hostLabel is the name that a machine gets at first: its host name's first label.
func hostLabel(r dispatch.Reading, address string) string {
	name, _, _ := strings.Cut(r.HostName, ".")
	if !plainName(name) {
		name = "node-" + strings.NewReplacer(".", "-", ":", "-").Replace(address)
	}
	return name
}

// clusterName is the cluster's name as its configuration has it, or else the talosconfig context's.
func clusterName(config secret.Bytes, c *talos.Config) string {
	if parsed, err := talos.ParseConfig(config.Reveal()); err == nil && plainName(parsed.ClusterName()) {
		return parsed.ClusterName()
	}
	if plainName(c.ContextName()) {
		return c.ContextName()
	}
	return "cluster"
}

// mergeSame keeps one of several names of one node.
func mergeSame(nodes []*found) []*found {
	seen := map[string]bool{}
	return slices.DeleteFunc(nodes, func(f *found) bool {
		if f.err != nil {
			return false
		}
		key := f.reading.ClusterID + "/" + f.reading.NodeID
		again := seen[key]
		seen[key] = true
		return again
	})
}

// refuse says why a node cannot be registered, nil when it can.
func (f *found) refuse() error {
	switch {
	case f.err != nil:
		return f.err
	case f.reading.Omni:
		return refusal.New("import", "omni", f.Name+" is managed by Omni: it is changed there", "")
	case !f.reading.Active.Present:
		return refusal.New("import", "no-configuration", f.Name+" shows no active configuration: it waits for its first one", "")
	}
	return nil
}

// assignment is what the node is bound to. The address it was read at belongs to it even where the node does not list it,
// as behind a translated address.
func (f *found) assignment() dispatch.Assignment {
	addresses := slices.Clone(f.reading.Addresses)
	if !slices.Contains(addresses, f.Address) {
		addresses = append(addresses, f.Address)
	}
	slices.Sort(addresses)
	return dispatch.Assignment{Role: f.reading.Role, Addresses: slices.Compact(addresses)}
}

// previewImport says what would be done.
func (a *app) previewImport(ctx context.Context, nodes []*found) error {
	st, ok, err := a.openExisting(ctx)
	if err != nil {
		return err
	}
	for _, f := range nodes {
		if err := f.refuse(); err != nil {
			f.fail(err)
			continue
		}
		f.Action = "would be registered"
		if ok {
			m, known, err := knownMachine(ctx, st, f.reading)
			if err != nil {
				return err
			}
			switch {
			case known && !m.Assignment.Equal(f.assignment()):
				f.Name, f.ID, f.Action = m.Name, m.ID, "assignment would change"
			case known:
				f.Name, f.ID, f.Action = m.Name, m.ID, "known"
			}
			f.machine = m
		}
		if f.Role == dispatch.Worker && f.machine.Applied == "" {
			f.Action += ", what it runs would be accepted"
		}
	}
	return nil
}

// knownMachine finds the machine that a reading is of, by its identity alone.
func knownMachine(ctx context.Context, st *store.Store, r dispatch.Reading) (dispatch.Machine, bool, error) {
	machines, err := st.Machines(ctx)
	if err != nil {
		return dispatch.Machine{}, false, err
	}
	for _, m := range machines {
		if m.ClusterID == r.ClusterID && m.NodeID == r.NodeID {
			return m, true, nil
		}
	}
	return dispatch.Machine{}, false, nil
}

// importFailure is the error of nodes that were not imported, nil when all were.
func importFailure(nodes []*found) error {
	var failed, refused []string
	for _, f := range nodes {
		if f.err == nil {
			continue
		}
		if _, ok := refusal.As(f.err); ok {
			refused = append(refused, f.Node)
		} else {
			failed = append(failed, f.Node)
		}
	}
	switch {
	case len(failed) > 0:
		return withNext(fmt.Errorf("%d of %d nodes could not be imported: %s; the reasons are listed. What was imported stays", len(failed), len(nodes), strings.Join(failed, ", ")),
			"clew machine import")
	case len(refused) > 0:
		return refusal.New("import", "some-refused", fmt.Sprintf("%s cannot be imported; the reasons are listed", strings.Join(refused, ", ")), "")
	}
	return nil
}

func importTable(w io.Writer, nodes []*found) error {
	t := newTable(w, "NODE", "NAME", "ROLE", "CLUSTER", "RUNS", "RESULT")
	for _, f := range nodes {
		result := f.Action
		switch {
		case f.Error != nil:
			result = f.Error.screen()
		case f.State == dispatch.Completed:
			result += ", accepted as the baseline"
		case f.Plan != "":
			result += ", " + f.Plan + " waits for approval"
		}
		t.row(f.Node, f.Name, string(f.Role), f.Cluster, dispatch.ShortDigest(f.Runs), result)
	}
	return t.flush()
}

// target is where a found node is reached.
func (f *found) target() executor.Target {
	return executor.Target{Machine: f.machine, Address: f.Address, Route: f.Route}
}
