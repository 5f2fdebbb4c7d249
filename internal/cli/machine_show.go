package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

func newMachineShow(a *app) *cobra.Command {
	var refresh bool
	c := &cobra.Command{
		Use:               "show NAME",
		Short:             "One machine, with what keeps it from changing",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeMachines,
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			st, err := a.mustExist(ctx)
			if err != nil {
				return err
			}
			var failed error
			if refresh {
				failed = a.refresh(ctx, st, args)
			}
			views, err := a.machineViews(ctx, st, args)
			if err != nil {
				return err
			}
			a.saw(views[0].ID)
			if err := a.emit(views[0], func(w io.Writer) error { return a.machineText(w, views[0]) }); err != nil {
				return err
			}
			return failed
		},
	}
	c.Flags().BoolVar(&refresh, "refresh", false, "read the machine first, and record what it runs")
	a.bindTalosconfig(c)
	return c
}

// machineText is a machine on screen.
func (a *app) machineText(w io.Writer, v machineView) error {
	t := newTable(w)
	t.row("machine", fmt.Sprintf("%s (%s, %s of %s)", v.Name, v.ID, v.Role, v.Cluster))
	t.row("status", v.Status)
	t.row("addresses", strings.Join(v.Addresses, ", "))
	t.row("wanted", dispatch.ShortDigest(v.Desired))
	applied := dispatch.ShortDigest(v.Applied)
	if v.AppliedSource != "" {
		applied += " (" + v.AppliedSource + ")"
	}
	t.row("applied", applied)
	if o := v.Observed; o != nil {
		runs := fmt.Sprintf("%s, read %s, Talos %s, stage %s", dispatch.ShortDigest(o.Active), a.ago(o.At), o.TalosVersion, o.Stage)
		if !o.Ready {
			runs += ", not ready: " + strings.Join(o.Unmet, ", ")
		}
		t.row("runs", runs)
		if !o.Quiescent {
			t.row(" ", "a staged or try change is pending: the next boot would run "+orNone(dispatch.ShortDigest(o.Persistent)))
		}
	} else {
		t.row("runs", "never read")
	}
	if v.Frozen {
		t.row("frozen", fmt.Sprintf("by %s: %s", v.FrozenBy, v.FreezeReason))
	}
	if v.Drift != nil {
		t.row("drift", fmt.Sprintf("%s: runs %s, which nothing here applied", v.Drift.ID, dispatch.ShortDigest(v.Drift.Digest)))
	}
	if v.Operation != "" {
		t.row("operation", fmt.Sprintf("%s is %s and holds the machine", v.Operation, v.State))
	}
	if a.flags.verbose {
		t.row("node id", v.NodeID)
		t.row("cluster id", v.ClusterID)
		t.row("uuid", v.UUID)
		t.row("baseline", fmt.Sprintf("revision %d", v.BaselineRevision))
		t.row("assignment", fmt.Sprintf("revision %d", v.AssignmentRevision))
		t.row("digests", fmt.Sprintf("wanted %s, applied %s", orNone(v.Desired), orNone(v.Applied)))
		if o := v.Observed; o != nil {
			t.row(" ", fmt.Sprintf("active %s, persistent %s", o.Active, orNone(o.Persistent)))
			t.row("observation", fmt.Sprintf("basis %d, for %s, %s at %s, boot %s", o.Basis, o.Purpose, o.Route, o.Address, o.BootID))
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	if next := v.next(); next != "" {
		_, err := fmt.Fprint(w, "\n"+nextLines("", next))
		return err
	}
	return nil
}

// next is what to type about a machine that needs attention.
func (v machineView) next() string {
	switch {
	case v.Operation != "":
		return v.settle
	case v.Drift != nil:
		return fmt.Sprintf("clew machine diff %s\nclew plan create -n %s --adopt\nclew apply -n %s --revert", v.Name, v.Name, v.Name)
	case v.Frozen:
		return "clew machine unfreeze " + v.Name
	case v.Role == dispatch.Worker && v.Applied == "":
		return "clew machine import"
	}
	return ""
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// machineDiff is what a machine runs, compared with what was applied to it.
type machineDiff struct {
	Machine  string `json:"machine"`
	Applied  string `json:"applied"`
	Observed string `json:"observed"`
	Same     bool   `json:"same"` // byte for byte, by digest
	Diff     string `json:"diff"` // redacted; empty when only the encoding differs
	Drift    string `json:"drift,omitempty"`
	Staged   string `json:"staged,omitempty"` // digest of what the next boot would run, where that differs
	Next     string `json:"next,omitempty"`
}

func newMachineDiff(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "diff NAME",
		Short: "What the machine runs, compared with what was applied",
		Long: `What the machine runs now, compared with the configuration that was last applied and verified, or accepted.
Secrets are taken out of the difference. The machine is read, and the reading is recorded.

Exit code 0 when both are the same, 2 when they differ.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeMachines,
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			st, err := a.mustExist(ctx)
			if err != nil {
				return err
			}
			m, err := a.machineNamed(ctx, st, args[0])
			if err != nil {
				return err
			}
			d, err := a.machineDiff(ctx, st, m)
			if err != nil {
				return err
			}
			if err := a.emit(d, func(w io.Writer) error { return a.machineDiffText(w, d) }); err != nil {
				return err
			}
			if !d.Same {
				return exitWith(exitNeedsYou)
			}
			return nil
		},
	}
	a.bindTalosconfig(c)
	return c
}

func (a *app) machineDiff(ctx context.Context, st *store.Store, m dispatch.Machine) (machineDiff, error) {
	d := machineDiff{Machine: m.Name, Applied: m.Applied}
	if m.Applied == "" {
		return d, withNext(fmt.Errorf("no configuration of %s was ever accepted or applied, so there is nothing to compare with", m.Name),
			"clew machine show %s", m.Name)
	}
	before, err := a.unseal(ctx, st, m.Applied)
	if err != nil {
		return d, err
	}
	o, config, err := a.observe(ctx, st, m, "", dispatch.ForDrift)
	if err != nil {
		return d, err
	}
	d.Observed, d.Same = o.Reading.Active.Digest, o.Reading.Active.Digest == m.Applied
	shown, err := talos.Diff(before, config)
	if err != nil {
		return d, err
	}
	d.Diff = shown.String()
	if !o.Reading.Quiescent() {
		d.Staged = o.Reading.Persistent.Digest
	}
	if m, err = st.Machine(ctx, m.ID); err != nil {
		return d, err
	}
	if m.Drift != nil {
		d.Drift = m.Drift.ID
	}
	views, err := a.machineViews(ctx, st, []string{m.ID})
	if err != nil {
		return d, err
	}
	d.Next = views[0].next()
	return d, nil
}

func (a *app) machineDiffText(w io.Writer, d machineDiff) error {
	switch {
	case d.Same:
		fmt.Fprintf(w, "%s runs what was applied (%s)\n", printable(d.Machine), dispatch.ShortDigest(d.Applied))
	case d.Diff == "":
		fmt.Fprintf(w, "%s runs the same settings in other bytes (order, comments or quoting): %s, applied %s\n",
			printable(d.Machine), dispatch.ShortDigest(d.Observed), dispatch.ShortDigest(d.Applied))
	default:
		a.writeDiff(w, d.Diff)
	}
	if d.Staged != "" {
		fmt.Fprintf(w, "a staged or try change is pending: the next boot would run %s\n", dispatch.ShortDigest(d.Staged))
	}
	fmt.Fprint(w, nextLines("", d.Next))
	return nil
}

// unseal decrypts a stored configuration, for comparing only.
func (a *app) unseal(ctx context.Context, st *store.Store, digest string) (secret.Bytes, error) {
	armored, err := st.Artifact(ctx, digest)
	if err != nil {
		return secret.Bytes{}, err
	}
	return lateKeeper{ctx: ctx, app: a, store: st}.Unseal(armored)
}
