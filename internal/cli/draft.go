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
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

// draft is a plan in the making: what was read, and what is to be sent.
type draft struct {
	machine     dispatch.Machine
	plan        dispatch.Plan
	target      executor.Target
	observation dispatch.Observation
	active      secret.Bytes // what the machine runs
	config      secret.Bytes // what it is to run
}

// prepareDraft reads the machine, makes the configuration and checks it, here and on the node. Until all of that has
// passed it writes nothing: what is refused leaves no trace. With record, the machine is then read once more on the same
// connection, for the ledger.
func (a *app) prepareDraft(ctx context.Context, st *store.Store, o *planOptions, record bool) (*draft, error) {
	m, err := a.machineNamed(ctx, st, o.node)
	if errors.Is(err, store.ErrNotFound) {
		return nil, refusal.New("planning", "unknown-machine", err.Error(), "clew machine list\nclew machine import")
	}
	if err != nil {
		return nil, err
	}
	in, err := a.readChanges(o)
	if err != nil {
		return nil, err
	}
	route, err := a.parseRoute(o.route, m.ClusterID)
	if err != nil {
		return nil, err
	}
	if m.Assignment.Role == dispatch.ControlPlane { // said before the machine is read; CheckPlan says it again
		return nil, refusal.New("planning", "control-plane", m.Name+" is a control plane: control planes are observed, never targets", "clew machine list")
	}
	d := &draft{machine: m}
	if in.file != nil {
		d.config = secret.Of(in.file)
		if err := d.checkConfig(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*readDeadline)
	defer cancel()
	conn, err := a.reach(ctx, st, d, route)
	if err != nil {
		return nil, err
	}
	defer conn.Abort()
	if err := a.check(ctx, st, d, o, in, conn); err != nil || !record {
		return d, err
	}
	return d, a.recordReading(ctx, st, d, o, conn)
}

// reach connects to the machine. Without a route that the user chose, it is direct where the machine answers directly,
// and else the way that it was last read.
func (a *app) reach(ctx context.Context, st *store.Store, d *draft, route dispatch.Route) (*talos.Conn, error) {
	usual, err := target(ctx, st, d.machine, route)
	if err != nil {
		return nil, err
	}
	d.target = usual
	if route == "" {
		d.target.Route = dispatch.Direct
	}
	direct, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	conn, err := a.dial(direct, d.target)
	if err == nil || d.target.Route == usual.Route || ctx.Err() != nil {
		return conn, err
	}
	a.note("%s does not answer directly; going %s", d.machine.Name, usual.Route)
	d.target = usual
	return a.dial(ctx, usual)
}

// check makes the plan from an unrecorded reading.
func (a *app) check(ctx context.Context, st *store.Store, d *draft, o *planOptions, in changes, conn *talos.Conn) error {
	var err error
	if d.observation, d.active, err = look(ctx, conn, d.target); err != nil {
		return err
	}
	if err := a.makeConfig(ctx, st, d, o, in); err != nil {
		return err
	}
	now, err := st.Now(ctx)
	if err != nil {
		return err
	}
	if err := a.bindTerms(d, o, now); err != nil {
		return err
	}
	if r := dispatch.CheckPlan(d.plan, d.machine, d.observation.Reading, now); r != nil {
		return held(ctx, st, d.machine, r)
	}
	return d.describeChange(ctx, conn, len(in.patches) > 0)
}

// held says of a refusal what is behind it where an operation holds the machine: what the machine runs meanwhile is that
// operation's doing.
func held(ctx context.Context, st *store.Store, m dispatch.Machine, r *refusal.Refusal) error {
	holding, err := holders(ctx, st)
	if err != nil {
		return err
	}
	v := holding[m.ID]
	if v == nil || r.Code == "terms" {
		return r
	}
	return refusal.New(r.Transaction, "scope-held", fmt.Sprintf("operation %s of %s is %s, and holds the machine until it has ended (%s)",
		v.Operation.ID, m.Name, v.Operation.State, r.Message), settling(*v))
}

// recordReading reads the machine again, for the ledger, and binds the plan to that reading. The machine's record is
// loaded again too: the reading may have opened, moved or closed its drift record.
func (a *app) recordReading(ctx context.Context, st *store.Store, d *draft, o *planOptions, conn *talos.Conn) error {
	e, err := a.theExecutor(ctx, st)
	if err != nil {
		return err
	}
	looked := d.observation.Reading.Active.Digest
	if d.observation, _, err = e.Observe(ctx, talosConn{conn}, d.target, dispatch.ForPlanning, ""); err != nil {
		return err
	}
	if d.observation.Reading.Active.Digest != looked {
		return withNext(fmt.Errorf("the configuration of %s was changed while this was planned: plan it again", d.machine.Name), "clew machine show %s --refresh", d.machine.Name)
	}
	if d.machine, err = st.Machine(ctx, d.machine.ID); err != nil {
		return err
	}
	now, err := st.Now(ctx)
	if err != nil {
		return err
	}
	diff, validation := d.plan.Diff, d.plan.Validation
	if err := a.bindTerms(d, o, now); err != nil {
		return err
	}
	d.plan.Diff, d.plan.Validation = diff, validation
	return nil
}

// changes are what the user handed in.
type changes struct {
	file    []byte
	patches [][]byte
}

// readChanges reads the files that the flags name.
func (a *app) readChanges(o *planOptions) (changes, error) {
	var in changes
	var err error
	if o.file != "" {
		if in.file, err = a.readInput("configuration", o.file); err != nil {
			return in, err
		}
	}
	for _, p := range o.patches {
		text := []byte(p)
		if path, ok := strings.CutPrefix(p, "@"); ok {
			if text, err = a.readInput("patch", path); err != nil {
				return in, err
			}
		} else if strings.TrimSpace(p) == "" {
			return in, usagef("-p: the patch is empty")
		}
		in.patches = append(in.patches, text)
	}
	return in, nil
}

// parseRoute reads --route; "" leaves the choice to reach.
func (a *app) parseRoute(s, clusterID string) (dispatch.Route, error) {
	switch {
	case s == "":
		return "", nil
	case s == "via":
		c, err := a.credentials(clusterID)
		if err != nil {
			return "", err
		}
		if len(c.Endpoints()) == 0 {
			return "", usagef("--route via: the talosconfig names no endpoint; use via:ENDPOINT")
		}
		return dispatch.Via(c.Endpoints()[0]), nil
	case dispatch.Route(s).Valid():
		return dispatch.Route(s), nil
	}
	return "", usagef("--route %q: direct, via or via:ENDPOINT", shorten(s))
}

// makeConfig makes the configuration that is to be sent, and checks it as Talos would.
func (a *app) makeConfig(ctx context.Context, st *store.Store, d *draft, o *planOptions, in changes) error {
	var err error
	switch {
	case o.adopt:
		d.config = d.active
		return nil
	case o.revert:
		if d.machine.Drift == nil || d.machine.Applied == "" {
			return refusal.New("planning", "no-drift", d.machine.Name+" has no open drift record to go back from", "clew machine diff "+d.machine.Name)
		}
		d.config, err = a.unseal(ctx, st, d.machine.Applied)
		return err
	case in.file != nil:
		return nil
	}
	if d.config, err = talos.ApplyPatches(d.active, in.patches); err != nil {
		return err
	}
	return d.checkConfig()
}

// checkConfig refuses a configuration that this machine cannot be given.
func (d *draft) checkConfig() error {
	no := func(code, why string) error {
		return refusal.New("planning", code, why, "clew machine show "+d.machine.Name)
	}
	parsed, err := talos.ParseConfig(d.config.Reveal())
	if err != nil {
		return err
	}
	switch {
	case parsed.Omni():
		return no("omni", "the configuration hands the machine over to Omni")
	case parsed.Role() != d.machine.Assignment.Role:
		return no("other-role", fmt.Sprintf("the configuration is for a %s, and %s is a %s", parsed.Role(), d.machine.Name, d.machine.Assignment.Role))
	case parsed.ClusterID() != d.machine.ClusterID:
		return no("other-cluster", fmt.Sprintf("the configuration is for another cluster than the one that %s belongs to", d.machine.Name))
	}
	d.plan.Validation, err = talos.Validate(d.config.Reveal())
	return err
}

// bindTerms fills in what the plan binds.
func (a *app) bindTerms(d *draft, o *planOptions, now time.Time) error {
	who, err := a.myName()
	if err != nil {
		return err
	}
	rollout, err := parseRollout(o.rollout)
	if err != nil {
		return err
	}
	m, r := d.machine, d.observation.Reading
	artifact := dispatch.Digest(d.config.Reveal())
	p := dispatch.Plan{
		Machine: m.ID, Kind: dispatch.KindApply, ClusterID: m.ClusterID, NodeID: m.NodeID, Artifact: artifact,
		AssignmentRevision: m.AssignmentRevision, BaselineRevision: m.BaselineRevision, DesiredRevision: m.DesiredRevision,
		Expected: m.Applied, Operation: dispatch.OperationApplyConfig, Mode: dispatch.ModeNoReboot,
		Route: d.observation.Route, Address: d.observation.ReadAddress, MaxAge: o.maxAge,
		Pre:  dispatch.Preconditions{Stage: defaultStage, Ready: !o.unready},
		Post: dispatch.Postconditions{Stage: defaultStage, Digest: artifact}, TransportDeadline: o.transport,
		VerifyDeadline: o.verify, MaxAttempts: o.attempts, Rollout: rollout, ExpiresAt: now.Add(o.expires),
		Policy:  dispatch.Policy{Approvals: o.approvals, SelfApproval: true},
		Creator: who, CreatorRole: "author", Authors: []string{who}, IdempotencyKey: o.key, Reason: o.reason,
		Validation: d.plan.Validation,
	}
	if m.Drift != nil && (o.revert || o.adopt) {
		p.Drift, p.Expected = m.Drift.ID, m.Drift.Digest
	}
	if o.adopt {
		p.Kind, p.Operation, p.Mode = dispatch.KindAdopt, "", ""
		p.Expected = r.Active.Digest
		p.Pre.Ready = false // accepting what runs changes nothing on the machine
		p.Post = dispatch.Postconditions{}
		p.Rollout = nil
	}
	d.plan = p
	return nil
}

// describeChange adds the plan-time evidence that informs the approver: the redacted difference, and what the node
// itself says of the configuration. A patch that demands what is there already is refused: it still makes other bytes,
// because patching encodes anew, but nobody who patches asks for another encoding. A whole configuration may.
func (d *draft) describeChange(ctx context.Context, conn *talos.Conn, patched bool) error {
	if d.plan.Kind == dispatch.KindAdopt {
		return nil
	}
	diff, err := talos.Diff(d.active, d.config)
	if err != nil {
		return err
	}
	d.plan.Diff = diff.String()
	if d.plan.Diff == "" && patched {
		return refusal.New("planning", "no-change", d.machine.Name+" already runs what the patch demands: nothing but the encoding would change",
			"clew machine show "+d.machine.Name)
	}
	// A dry run on a machine with a pending try change would cancel its rollback; CheckPlan has refused that machine.
	warnings, err := conn.DryRun(ctx, d.config)
	if err != nil {
		return asRejection(err)
	}
	for _, w := range warnings {
		if !slices.Contains(d.plan.Validation, w) {
			d.plan.Validation = append(d.plan.Validation, w)
		}
	}
	return nil
}
