package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

func newMachineCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "machine",
		Short:   "Register and look at Talos machines",
		GroupID: groupTalos,
		Aliases: []string{"machines"},
	}
	c.AddCommand(newMachineImport(a), newMachineList(a), newMachineShow(a), newMachineDiff(a), newFreeze(a), newUnfreeze(a))
	return c
}

// machineView is a machine as it is shown: wanted, applied, observed, and what keeps it from changing.
type machineView struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Cluster   string        `json:"cluster"`
	ClusterID string        `json:"cluster_id"`
	NodeID    string        `json:"node_id"`
	HostName  string        `json:"host_name,omitempty"`
	UUID      string        `json:"uuid,omitempty"`
	Role      dispatch.Role `json:"role"`
	Addresses []string      `json:"addresses"`
	Status    string        `json:"status"` // in words; the first of what needs attention
	Pending   bool          `json:"pending_convergence"`

	Desired            string        `json:"desired,omitempty"`
	Applied            string        `json:"applied,omitempty"`
	AppliedSource      string        `json:"applied_source,omitempty"`
	BaselineRevision   int64         `json:"baseline_revision"`
	AssignmentRevision int64         `json:"assignment_revision"`
	Observed           *observedView `json:"observed,omitempty"`

	Drift        *dispatch.Drift       `json:"drift,omitempty"`
	Frozen       bool                  `json:"frozen"`
	FrozenBy     string                `json:"frozen_by,omitempty"`
	FreezeReason string                `json:"freeze_reason,omitempty"`
	Operation    string                `json:"operation,omitempty"` // that holds the machine
	State        dispatch.State        `json:"operation_state,omitempty"`
	Recovery     dispatch.RecoveryMark `json:"recovery,omitempty"`

	settle string // what to type about the operation
}

// observedView is the newest recorded reading of a machine.
type observedView struct {
	At           time.Time        `json:"at"` // when the read began
	Basis        int64            `json:"basis"`
	Purpose      dispatch.Purpose `json:"purpose"`
	Route        dispatch.Route   `json:"route"`
	Address      string           `json:"address,omitempty"`
	TalosVersion string           `json:"talos_version"`
	Stage        string           `json:"stage"`
	Ready        bool             `json:"ready"`
	Unmet        []string         `json:"unmet,omitempty"`
	BootID       string           `json:"boot_id"`
	Active       string           `json:"active"`               // digest
	Persistent   string           `json:"persistent,omitempty"` // digest
	Quiescent    bool             `json:"quiescent"`
}

// viewMachine puts a machine together from what the store knows.
func viewMachine(m dispatch.Machine, o *dispatch.Observation, op *dispatch.OperationView) machineView {
	v := machineView{
		ID: m.ID, Name: m.Name, Cluster: m.Cluster, ClusterID: m.ClusterID, NodeID: m.NodeID, HostName: m.HostName, UUID: m.UUID,
		Role: m.Assignment.Role, Addresses: m.Assignment.Addresses, Desired: m.Desired, Applied: m.Applied,
		AppliedSource: m.AppliedSource, BaselineRevision: m.BaselineRevision, AssignmentRevision: m.AssignmentRevision,
		Drift: m.Drift, Frozen: m.Frozen, FrozenBy: m.FrozenBy, FreezeReason: m.FreezeReason, Recovery: m.Recovery,
		Pending: m.Desired != "" && m.Applied != "" && m.Desired != m.Applied,
	}
	if o != nil {
		r := o.Reading
		v.Observed = &observedView{
			At: o.StartedAt.UTC(), Basis: o.Basis, Purpose: o.Purpose, Route: o.Route, Address: o.ReadAddress,
			TalosVersion: r.TalosVersion, Stage: r.Stage, Ready: r.Ready, Unmet: r.Unmet, BootID: r.BootID,
			Active: r.Active.Digest, Persistent: r.Persistent.Digest, Quiescent: r.Quiescent(),
		}
	}
	if op != nil {
		v.Operation, v.State, v.settle = op.Operation.ID, op.Operation.State, settling(*op)
	}
	v.Status = v.status()
	return v
}

// status is the first of what needs attention, in words.
func (v machineView) status() string {
	switch {
	case v.Recovery != dispatch.NoRecovery:
		return "recovery: " + string(v.Recovery)
	case v.Operation != "":
		return fmt.Sprintf("%s %s", v.Operation, v.State)
	case v.Drift != nil:
		return "drifted (" + v.Drift.ID + ")"
	case v.Frozen:
		return "frozen"
	case v.Role == dispatch.ControlPlane:
		return "observed only"
	case v.Applied == "":
		return "no baseline"
	case v.Observed != nil && !v.Observed.Quiescent:
		return "a staged or try change is pending"
	case v.Pending:
		return "pending"
	}
	return "in sync"
}

// machineNamed finds a machine by NAME, node/NAME, talos/CLUSTER/NAME, its id or the unique beginning of one, or "-" for
// the last one seen. A name has to be whole: what is meant for one machine must not reach another.
func (a *app) machineNamed(ctx context.Context, st *store.Store, word string) (dispatch.Machine, error) {
	if word == "-" || strings.HasPrefix(word, store.MachinePrefix) {
		id, err := a.idOf(ctx, st, word, "machine")
		if err != nil {
			return dispatch.Machine{}, err
		}
		return st.Machine(ctx, id)
	}
	name, cluster := strings.TrimPrefix(word, "node/"), ""
	if rest, ok := strings.CutPrefix(word, "talos/"); ok {
		cluster, name, _ = strings.Cut(rest, "/")
	}
	m, err := st.Machine(ctx, name)
	if err == nil && cluster != "" && m.Cluster != cluster {
		err = store.ErrNotFound
	}
	if errors.Is(err, store.ErrNotFound) {
		return m, withNext(&noMachineError{word: shorten(word)}, "clew machine list\nclew machine import")
	}
	return m, err
}

// noMachineError says that no machine answers to a word.
type noMachineError struct{ word string }

func (e *noMachineError) Error() string { return fmt.Sprintf("no machine is called %q", e.word) }
func (e *noMachineError) Unwrap() error { return store.ErrNotFound }

// machineViews shows every machine, or the named ones.
func (a *app) machineViews(ctx context.Context, st *store.Store, words []string) ([]machineView, error) {
	var machines []dispatch.Machine
	var err error
	if len(words) == 0 {
		machines, err = st.Machines(ctx)
	}
	for _, w := range words {
		m, merr := a.machineNamed(ctx, st, w)
		if merr != nil {
			return nil, merr
		}
		machines = append(machines, m)
	}
	if err != nil {
		return nil, err
	}
	held, err := holders(ctx, st)
	if err != nil {
		return nil, err
	}
	views := make([]machineView, 0, len(machines))
	for _, m := range machines {
		o, err := st.LatestObservation(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		views = append(views, viewMachine(m, o, held[m.ID]))
	}
	return views, nil
}

// holders maps machines to the operations that hold them.
func holders(ctx context.Context, st *store.Store) (map[string]*dispatch.OperationView, error) {
	open, err := st.OpenOperations(ctx)
	if err != nil {
		return nil, err
	}
	held := make(map[string]*dispatch.OperationView, len(open))
	for _, v := range open {
		held[v.Operation.Machine] = &v
	}
	return held, nil
}

func newMachineList(a *app) *cobra.Command {
	var refresh bool
	c := &cobra.Command{
		Use:               "list [NAME…]",
		Short:             "Every machine: wanted, applied, observed",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeMachines,
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			st, ok, err := a.openExisting(ctx)
			if err != nil {
				return err
			}
			if !ok {
				return a.emit([]machineView{}, func(w io.Writer) error { return a.firstSteps(w) })
			}
			var failed error
			if refresh {
				failed = a.refresh(ctx, st, args)
			}
			views, err := a.machineViews(ctx, st, args)
			if err != nil {
				return err
			}
			if err := a.emit(views, func(w io.Writer) error { return a.machineTable(w, views) }); err != nil {
				return err
			}
			return failed
		},
	}
	c.Flags().BoolVar(&refresh, "refresh", false, "read the machines first, and record what they run")
	a.bindTalosconfig(c)
	return c
}

func (a *app) machineTable(w io.Writer, views []machineView) error {
	if len(views) == 0 {
		return a.firstSteps(w)
	}
	columns := []string{"NAME", "CLUSTER", "ROLE", "STATUS", "WANTED", "APPLIED", "RUNS", "SEEN", "TALOS"}
	if a.flags.verbose {
		columns = append(columns, "BASELINE", "BASIS", "ID")
	}
	t := newTable(w, columns...)
	for _, v := range views {
		runs, seen, version, basis := "", "", "", ""
		if o := v.Observed; o != nil {
			runs, seen, version, basis = dispatch.ShortDigest(o.Active), a.ago(o.At), o.TalosVersion, fmt.Sprint(o.Basis)
		}
		cells := []string{
			v.Name, v.Cluster, string(v.Role), v.Status, dispatch.ShortDigest(v.Desired), dispatch.ShortDigest(v.Applied), runs, seen, version,
		}
		if a.flags.verbose {
			cells = append(cells, fmt.Sprint(v.BaselineRevision), basis, v.ID)
		}
		t.row(cells...)
	}
	return t.flush()
}

// refresh reads machines and records what they run. One that cannot be read is told and counted; the others are read
// all the same.
func (a *app) refresh(ctx context.Context, st *store.Store, words []string) error {
	var machines []dispatch.Machine
	var err error
	if len(words) == 0 {
		machines, err = st.Machines(ctx)
	}
	for _, w := range words {
		m, merr := a.machineNamed(ctx, st, w)
		if merr != nil {
			return merr
		}
		machines = append(machines, m)
	}
	if err != nil {
		return err
	}
	if _, err := a.theExecutor(ctx, st); err != nil {
		return err // nothing can be read
	}
	failed := 0
	for _, m := range machines {
		a.note("reading %s", m.Name)
		if _, _, err := a.observe(ctx, st, m, "", dispatch.ForDrift); err != nil {
			failed++
			a.note("%v", err)
		}
	}
	if failed > 0 {
		return withNext(fmt.Errorf("%d of %d machines could not be read; what is shown of them is older", failed, len(machines)),
			"clew machine import --talosconfig FILE")
	}
	return nil
}
