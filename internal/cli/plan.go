package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

func newPlanCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "plan",
		Short:   "Make, list and take back plans of a change",
		GroupID: groupTalos,
		Aliases: []string{"plans"},
	}
	c.AddCommand(newPlanCreate(a), newPlanList(a), newPlanCancel(a), newPlanRevoke(a), newRolloutCommand(a))
	return c
}

// planView is a plan with everything that stands beside it.
type planView struct {
	Plan           dispatch.Plan       `json:"plan"`
	Machine        string              `json:"machine"` // its name
	Standing       dispatch.Standing   `json:"standing"`
	Approvals      []dispatch.Approval `json:"approvals"`
	Operation      string              `json:"operation,omitempty"`
	OperationState dispatch.State      `json:"operation_state,omitempty"`
	Stale          string              `json:"stale,omitempty"` // why it can never be dispatched any more
	Next           string              `json:"next,omitempty"`  // the command to type; where there are several, one a line
}

// fit says what stands between an open plan and its dispatch: a plan for the machine as it was is of no use any more, and
// a machine that is held has to be free first.
func (v *planView) fit(m dispatch.Machine, held *dispatch.OperationView) {
	switch v.Standing.State {
	case dispatch.PlanProposed, dispatch.PlanApproved:
	case dispatch.PlanCommitted:
		if held != nil && held.Operation.ID == v.Operation {
			v.Next = settling(*held)
		}
		return
	case dispatch.PlanRevoked, dispatch.PlanCancelled, dispatch.PlanExpired:
		return
	}
	switch {
	case v.Plan.BaselineRevision != m.BaselineRevision:
		v.Stale = "the machine's configuration was changed since it was made"
	case v.Plan.AssignmentRevision != m.AssignmentRevision:
		v.Stale = "the machine's assignment was changed since it was made"
	case v.Standing.State == dispatch.PlanProposed: // what stands in the way now need not when it is approved
	case held != nil:
		v.Next = settling(*held)
	case m.Frozen && v.Plan.Kind == dispatch.KindApply, m.Drift != nil && m.Drift.ID != v.Plan.Drift:
		v.Next = "clew machine show " + m.Name
	}
	if v.Stale != "" {
		v.Next = "clew plan cancel " + v.Plan.ID
	}
}

// settling is what to type about an operation that holds a machine: nothing is settled while its executor is at work.
func settling(v dispatch.OperationView) string {
	if v.OwnerStopped == "" {
		return "clew show " + v.Operation.ID
	}
	return "clew settle " + v.Operation.ID
}

func viewPlan(v store.PlanView, machine string) planView {
	out := planView{Plan: v.Plan, Machine: machine, Standing: v.Standing, Approvals: v.Approvals}
	if out.Approvals == nil {
		out.Approvals = []dispatch.Approval{}
	}
	out.Plan.ExpiresAt, out.Plan.CreatedAt = v.Plan.ExpiresAt.UTC(), v.Plan.CreatedAt.UTC()
	if v.Operation != nil {
		out.Operation, out.OperationState = v.Operation.ID, v.Operation.State
	}
	switch v.Standing.State {
	case dispatch.PlanProposed:
		out.Next = "clew approve " + v.Plan.ID
	case dispatch.PlanApproved:
		out.Next = "clew dispatch " + v.Plan.ID
	case dispatch.PlanCommitted:
		if out.OperationState.Holding() {
			out.Next = "clew settle " + out.Operation
		}
	case dispatch.PlanRevoked, dispatch.PlanCancelled, dispatch.PlanExpired:
	}
	return out
}

// loadPlan finds a plan by its id, a unique prefix of it, or "-".
func (a *app) loadPlan(ctx context.Context, st *store.Store, word string) (planView, error) {
	id, err := a.idOf(ctx, st, word, "plan")
	if err != nil {
		return planView{}, err
	}
	v, err := st.Plan(ctx, id)
	if err != nil {
		return planView{}, err
	}
	m, err := st.Machine(ctx, v.Plan.Machine)
	if err != nil {
		return planView{}, err
	}
	held, err := holders(ctx, st)
	if err != nil {
		return planView{}, err
	}
	view := viewPlan(v, m.Name)
	view.fit(m, held[m.ID])
	return view, nil
}

// planText is a plan as an approver reads it: what changes, and what the plan binds.
func (a *app) planText(w io.Writer, v planView) error {
	p := v.Plan
	what := "a configuration for " + v.Machine
	switch {
	case p.Kind == dispatch.KindAdopt:
		what = "accept what " + v.Machine + " runs as its baseline"
	case p.Drift != "":
		what = fmt.Sprintf("a configuration for %s, over its drift %s", v.Machine, p.Drift)
	}
	fmt.Fprintf(w, "%s %s: %s\n", a.paint(styleBold, "plan "+p.ID), v.Standing.State, printable(what))
	if p.Kind == dispatch.KindApply {
		fmt.Fprintln(w)
		if p.Diff == "" {
			fmt.Fprintln(w, "  no setting changes: the same settings in other bytes (order, comments or quoting)")
		} else {
			a.writeDiff(w, p.Diff)
		}
		fmt.Fprintln(w)
	}
	t := newTable(w)
	for _, warning := range p.Validation {
		t.row("  warning", warning)
	}
	if p.Reason != "" {
		t.row("  reason", p.Reason)
	}
	a.bindings(t, v)
	return t.flush()
}

// bindings lists what a plan binds.
func (a *app) bindings(t *table, v planView) {
	p := v.Plan
	if p.Kind == dispatch.KindAdopt {
		t.row("  accepts", dispatch.ShortDigest(p.Artifact))
	} else {
		t.row("  changes", dispatch.ShortDigest(p.Expected)+" → "+dispatch.ShortDigest(p.Artifact))
		t.row("  sends", fmt.Sprintf("%s, mode %s, %s to %s, at most %d times", p.Operation, p.Mode, p.Route, p.Address, p.MaxAttempts))
		t.row("  before", fmt.Sprintf("stage %s%s, in a reading at most %s old", p.Pre.Stage, ready(p.Pre.Ready), p.MaxAge))
		t.row("  after", fmt.Sprintf("stage %s, running exactly this configuration, within %s", p.Post.Stage, p.VerifyDeadline))
	}
	if p.Rollout != nil {
		t.row("  rollout", fmt.Sprintf("%s: at most %d at once, closed after more than %d failures", p.Rollout.ID, p.Rollout.Limit, p.Rollout.MaxFailed))
	}
	t.row("  approvals", approvalsText(v))
	if v.Stale != "" {
		t.row("  stale", v.Stale)
	}
	t.row("  expires", showTime(p.ExpiresAt))
	t.row("  made by", p.Creator+", "+showTime(p.CreatedAt))
	if v.Operation != "" {
		t.row("  operation", v.Operation+" "+string(v.OperationState))
	}
	if a.flags.verbose {
		t.row("  artifact", p.Artifact)
		t.row("  expected", p.Expected)
		t.row("  baseline", fmt.Sprintf("revision %d, assignment revision %d, plan revision %d", p.BaselineRevision, p.AssignmentRevision, p.Revision))
		t.row("  machine", fmt.Sprintf("%s, node %s, cluster %s", p.Machine, p.NodeID, p.ClusterID))
		for _, ap := range v.Approvals {
			t.row("  approval", fmt.Sprintf("%s by %s in epoch %s, revision %d", ap.ID, ap.Approver, ap.Epoch, ap.Revision))
		}
	}
}

func ready(demanded bool) string {
	if demanded {
		return " and ready"
	}
	return ""
}

// approvalsText says who approved and how many are demanded.
func approvalsText(v planView) string {
	var said []string
	for _, ap := range v.Approvals {
		text := ap.Approver
		if ap.Self {
			text += " (self-approval)"
		}
		if ap.BreakGlass != "" {
			text += " (BREAK-GLASS: " + ap.BreakGlass + ")"
		}
		switch {
		case ap.RevokedRevision != 0:
			text += " (revoked)"
		case ap.IdentityRevoked:
			text += " (identity revoked)"
		}
		said = append(said, text)
	}
	if len(said) == 0 {
		said = []string{"none yet"}
	}
	return fmt.Sprintf("%s; %d needed", strings.Join(said, ", "), v.Plan.Policy.Approvals)
}

func newPlanList(a *app) *cobra.Command {
	var all bool
	var node string
	c := &cobra.Command{
		Use:   "list",
		Short: "Plans that wait or run; --all for every one",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			st, ok, err := a.openExisting(ctx)
			if err != nil {
				return err
			}
			views := []planView{}
			if ok {
				if views, err = a.planViews(ctx, st, node, all); err != nil {
					return err
				}
			}
			return a.emit(views, func(w io.Writer) error { return a.planTable(w, views) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "also ended, cancelled, revoked and expired ones")
	c.Flags().StringVarP(&node, "node", "n", "", "of this machine only")
	_ = c.RegisterFlagCompletionFunc("node", a.completeMachines)
	return c
}

// planViews lists plans, newest first.
func (a *app) planViews(ctx context.Context, st *store.Store, node string, all bool) ([]planView, error) {
	filter := store.PlanFilter{}
	if node != "" {
		m, err := a.machineNamed(ctx, st, node)
		if err != nil {
			return nil, err
		}
		filter.Machine = m.ID
	}
	plans, err := st.Plans(ctx, filter)
	if err != nil {
		return nil, err
	}
	machines, err := st.Machines(ctx)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]dispatch.Machine, len(machines))
	for _, m := range machines {
		byID[m.ID] = m
	}
	held, err := holders(ctx, st)
	if err != nil {
		return nil, err
	}
	views := []planView{}
	for _, p := range plans {
		m := byID[p.Plan.Machine]
		v := viewPlan(p, m.Name)
		v.fit(m, held[m.ID])
		if all || v.open() {
			views = append(views, v)
		}
	}
	return views, nil
}

// open says whether something may still become of the plan.
func (v planView) open() bool {
	switch v.Standing.State {
	case dispatch.PlanProposed, dispatch.PlanApproved:
		return true
	case dispatch.PlanCommitted:
		return v.OperationState.Holding()
	case dispatch.PlanRevoked, dispatch.PlanCancelled, dispatch.PlanExpired:
	}
	return false
}

func (a *app) planTable(w io.Writer, views []planView) error {
	if len(views) == 0 {
		_, err := fmt.Fprintln(w, "no plan waits or runs")
		return err
	}
	t := newTable(w, "PLAN", "MACHINE", "KIND", "STATE", "CHANGE", "APPROVED BY", "EXPIRES", "NEXT")
	for _, v := range views {
		state := string(v.Standing.State)
		if v.Operation != "" {
			state = v.Operation + " " + string(v.OperationState)
		}
		var by []string
		for _, ap := range v.Approvals {
			by = append(by, ap.Approver)
		}
		change := dispatch.ShortDigest(v.Plan.Expected) + " → " + dispatch.ShortDigest(v.Plan.Artifact)
		if v.Plan.Kind == dispatch.KindAdopt {
			change = dispatch.ShortDigest(v.Plan.Artifact)
		}
		t.row(v.Plan.ID, v.Machine, string(v.Plan.Kind), state, change, strings.Join(by, ", "), a.until(v.Plan.ExpiresAt), strings.ReplaceAll(v.Next, "\n", "; "))
	}
	return t.flush()
}

// until is how far away a time is.
func (a *app) until(t time.Time) string {
	d := time.Until(t)
	switch {
	case d <= 0:
		return "passed"
	case d < time.Hour:
		return fmt.Sprintf("in %dm", int(d.Minutes())+1)
	}
	return fmt.Sprintf("in %dh", int(d.Hours()))
}

// machineNames maps machine ids to names.
func machineNames(ctx context.Context, st *store.Store) (map[string]string, error) {
	machines, err := st.Machines(ctx)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(machines))
	for _, m := range machines {
		names[m.ID] = m.Name
	}
	return names, nil
}
