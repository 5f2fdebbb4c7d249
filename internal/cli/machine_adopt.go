package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

// recordImport registers what was read and has what workers run accepted. The second error says that a person has to go
// on, or declined to; what was registered stays.
func (a *app) recordImport(ctx context.Context, c *talos.Config, where talosconfigRef, nodes []*found) (waits, err error) {
	if !slices.ContainsFunc(nodes, func(f *found) bool { return f.refuse() == nil }) {
		for _, f := range nodes {
			f.fail(f.refuse())
		}
		return nil, nil // nothing to write
	}
	st, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	who, err := a.who(ctx, st, store.RoleOperator)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(nodes, func(f *found) bool { return f.Role == dispatch.Worker }) {
		if _, err := a.theKeeper(ctx, st); err != nil {
			return nil, err
		}
	}
	e, err := a.theExecutor(ctx, st)
	if err != nil {
		return nil, err
	}
	for _, f := range nodes {
		if err := f.refuse(); err != nil {
			f.fail(err)
			continue
		}
		a.wired.talos.loaded[f.reading.ClusterID] = c
		if err := a.register(ctx, st, who, e, f); err != nil {
			f.fail(err)
			continue
		}
		if err := a.rememberTalosconfig(f.reading.ClusterID, where); err != nil {
			a.note("clew: remembering the talosconfig: %v", err)
		}
	}
	return a.acceptBaselines(ctx, st, e, nodes)
}

func (f *found) fail(err error) {
	if err == nil {
		return
	}
	r := describe(err)
	f.err, f.Error = err, &r
}

// register records one node: new, with a changed assignment, or as it was; and a reading of it.
func (a *app) register(ctx context.Context, st *store.Store, who store.Who, e *executor.Executor, f *found) error {
	m, known, err := knownMachine(ctx, st, f.reading)
	if err != nil {
		return err
	}
	f.Action = "known"
	switch {
	case !known:
		if m, err = a.newMachine(ctx, st, who, f); err != nil {
			return err
		}
		f.Action = "registered"
	case !m.Assignment.Equal(f.assignment()) || f.reading.HostName != "" && f.reading.HostName != m.HostName:
		if m, err = st.ChangeAssignment(ctx, who, m.ID, f.assignment(), store.MachineUpdate{HostName: f.reading.HostName}); err != nil {
			return err
		}
		f.Action = "assignment changed"
	}
	f.machine, f.Name, f.ID, f.Cluster = m, m.Name, m.ID, m.Cluster
	return a.recordFound(ctx, st, e, f)
}

// recordFound writes a reading of the node down, now that it has a timeline.
func (a *app) recordFound(ctx context.Context, st *store.Store, e *executor.Executor, f *found) error {
	ctx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	conn, err := a.dial(ctx, f.target())
	if err != nil {
		return err
	}
	defer conn.Abort()
	o, config, err := e.Observe(ctx, talosConn{conn}, f.target(), dispatch.ForImport, "")
	if err != nil {
		return err
	}
	f.observation, f.config, f.Runs = o, config, o.Reading.Active.Digest
	if f.machine, err = st.Machine(ctx, f.ID); err != nil {
		return err
	}
	if f.machine.Drift != nil {
		f.Action += ", drifted: clew machine diff " + f.Name
	}
	return nil
}

// newMachine registers a node under a name that no other machine has.
func (a *app) newMachine(ctx context.Context, st *store.Store, who store.Who, f *found) (dispatch.Machine, error) {
	r := f.reading
	m := dispatch.Machine{
		Cluster: f.Cluster, ClusterID: r.ClusterID, NodeID: r.NodeID, HostName: r.HostName, UUID: r.UUID, Assignment: f.assignment(),
	}
	names, err := machineNames(ctx, st)
	if err != nil {
		return m, err
	}
	taken := map[string]bool{}
	for _, name := range names {
		taken[name] = true
	}
	m.Name = f.Name
	if taken[m.Name] {
		m.Name = f.Name + "-" + f.Cluster
	}
	for i := 2; taken[m.Name]; i++ {
		m.Name = fmt.Sprintf("%s-%s-%d", f.Name, f.Cluster, i)
	}
	return st.RegisterMachine(ctx, who, m, r)
}

// acceptBaselines plans, has approved and records the adoption of what workers without a baseline run.
func (a *app) acceptBaselines(ctx context.Context, st *store.Store, e *executor.Executor, nodes []*found) (waits, err error) {
	var fresh []*found
	for _, f := range nodes {
		if f.err != nil || f.Role != dispatch.Worker || f.machine.Applied != "" {
			continue
		}
		if err := a.planAdoption(ctx, st, f); err != nil {
			f.fail(err)
			continue
		}
		fresh = append(fresh, f)
	}
	if err := a.approveAdoptions(ctx, st, fresh); err != nil {
		var exit *exitError
		_, refused := refusal.As(err)
		if refused || errors.As(err, &exit) {
			return err, nil // the plans stay and wait
		}
		return nil, err
	}
	for _, f := range fresh {
		res, err := e.Adopt(ctx, st, f.Plan)
		f.State = res.State
		f.fail(err)
	}
	return nil, nil
}

// planAdoption makes the plan that accepts what a worker runs, or finds the one that an earlier import made.
func (a *app) planAdoption(ctx context.Context, st *store.Store, f *found) error {
	plans, err := st.Plans(ctx, store.PlanFilter{Machine: f.ID})
	if err != nil {
		return err
	}
	for _, v := range plans {
		p := v.Plan
		if p.Kind == dispatch.KindAdopt && p.Artifact == f.Runs && p.AssignmentRevision == f.machine.AssignmentRevision &&
			p.Address == f.Address && p.Route == f.Route &&
			(v.Standing.State == dispatch.PlanProposed || v.Standing.State == dispatch.PlanApproved) {
			f.Plan, f.approved = p.ID, v.Standing.State == dispatch.PlanApproved
			return nil
		}
	}
	who, err := a.who(ctx, st, store.RoleAuthor)
	if err != nil {
		return err
	}
	o := &planOptions{
		adopt: true, expires: defaultExpiry, maxAge: defaultMaxAge, transport: defaultTransportDeadline,
		verify: defaultVerifyDeadline, attempts: defaultAttempts, approvals: 1, reason: "accepted at import",
	}
	d := &draft{machine: f.machine, target: f.target(), observation: f.observation, active: f.config, config: f.config}
	now, err := st.Now(ctx)
	if err != nil {
		return err
	}
	if err := a.bindTerms(d, o, now); err != nil {
		return err
	}
	v, err := a.recordPlan(ctx, st, who, d)
	f.Plan = v.Plan.ID
	return err
}

// approveAdoptions asks once for each cluster, and records one approval for each machine.
func (a *app) approveAdoptions(ctx context.Context, st *store.Store, fresh []*found) error {
	byCluster := map[string][]*found{}
	var clusters, ids []string
	for _, f := range fresh {
		if f.approved {
			continue
		}
		if byCluster[f.Cluster] == nil {
			clusters = append(clusters, f.Cluster)
		}
		byCluster[f.Cluster] = append(byCluster[f.Cluster], f)
		ids = append(ids, f.Plan)
	}
	if len(ids) == 0 {
		return nil
	}
	command := "clew approve " + strings.Join(ids, " ")
	who, err := a.who(ctx, st, store.RoleApprover)
	if err == nil {
		err = a.mayAsk(decision{what: "accept what the workers run", command: command})
	}
	if _, refused := refusal.As(err); refused {
		a.note("%d workers wait until a person accepts what they run: %s; import again after that", len(ids), command)
		return exitWith(exitNeedsYou)
	}
	if err != nil {
		return err
	}
	for _, cluster := range clusters {
		if err := a.askForCluster(ctx, cluster, byCluster[cluster], command); err != nil {
			return err
		}
		for _, f := range byCluster[cluster] {
			if _, _, err := st.Approve(ctx, who, f.Plan, store.ApproveOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// askForCluster shows what is to be accepted and has the cluster's name typed.
func (a *app) askForCluster(ctx context.Context, cluster string, list []*found, command string) error {
	fmt.Fprintf(a.stderr, "\nCluster %s: what these workers run becomes their baseline, the configuration that later changes start from:\n", printable(cluster))
	t := newTable(a.stderr)
	for _, f := range list {
		t.row("  "+f.Name, f.Address, dispatch.ShortDigest(f.Runs), "Talos "+f.reading.TalosVersion, "read "+f.observation.StartedAt.Local().Format(time.TimeOnly))
	}
	if err := t.flush(); err != nil {
		return err
	}
	return a.decide(ctx, decision{what: "accept them", word: cluster, command: command})
}
