package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// scenario is one path through the steps of its rows.
type scenario struct {
	name     string
	before   []fault                                    // what goes wrong in an earlier process; nil: there is none
	prepare  func(c *faultCase)                         // what happens before the process of the case
	during   []fault                                    // what goes wrong in the process of the case, besides the row's step
	act      func(p *process)                           // job, unless said otherwise; run again, it is the recovery
	between  func(c *faultCase)                         // what changes in the world before the recovery
	state    func(c *faultCase, st *store.Store) string // of the reloaded store; the plan's and its operation's where nil
	landings int                                        // on the node, in the end
	alone    bool                                       // each case needs a world of its own
	rows     []row
}

var scenarios = []scenario{
	{name: "from plan to completed", landings: 1, rows: dispatchRows},
	{name: "settle by evidence and retry", before: []fault{{"send", 1, lost}}, landings: 1, rows: settleRows},
	{
		name: "settle what has landed", before: []fault{{"send", 1, took}}, landings: 1,
		rows: []row{{"the end", 1, unresolved, unresolved, completed, completed}},
	},
	{
		name: "take over an executor that died sending", before: []fault{{"send", 1, gone}}, landings: 1,
		rows: []row{{"the takeover", 1, sending, sending, unresolved, unresolved}},
	},
	{
		name: "take over an executor that died verifying", before: []fault{{"the response to an attempt of ", 1, crash}}, landings: 1,
		rows: []row{{"the takeover", 1, verifying, verifying, unresolved, unresolved}, {"the end", 1, unresolved, unresolved, completed, completed}},
	},
	{
		name: "look a lost commitment up", during: []fault{{"the commitment of ", 1, took}}, landings: 1,
		rows: []row{{"the look-up of a token", 1, completed, completed, completed, committed}},
	},
	{
		name: "look a lost attempt up", during: []fault{{"an attempt of ", 1, took}}, landings: 1,
		rows: []row{{"the look-up of a token", 1, completed, completed, completed, sending}},
	},
	{
		name: "a read that shows nothing", during: []fault{{"read", 2, fails}}, landings: 1,
		rows: []row{same("a failed read", 1, approved)},
	},
	{
		name: "a request of which nothing left", during: []fault{{"send", 1, fails}}, landings: 1,
		rows: []row{same("that an attempt was not sent", 1, unresolved)},
	},
	{
		name: "rejected by the node", prepare: func(c *faultCase) { c.node.fates = []fate{refused} },
		rows: []row{same("the response to an attempt of ", 1, "rejected")},
	},
	{name: "settle by decision", before: []fault{{"send", 1, lost}}, prepare: otherHost, act: (*process).judge, landings: 1, rows: []row{
		same("the attestation of instance ", 1, unresolved),
		same("the takeover", 1, unresolved),
		same("an accounting by decision", 1, unresolved),
	}},
	{
		name: "a rejection that comes after a takeover", before: []fault{{"send", 1, gone}}, prepare: rejectedLate,
		rows: []row{{"a move (late-reject)", 1, "unresolved > rejected", "unresolved > rejected", "rejected", "rejected"}},
	},
	{
		name: "no completion observation in time", prepare: diesAfterTheSend, between: func(c *faultCase) { c.node.dead = false }, landings: 1,
		rows: []row{{"a move (overdue)", 1, verifying, verifying, unresolved, unresolved}},
	},
	{
		name: "accepted and forgotten", prepare: func(c *faultCase) { c.node.fates = []fate{forgotten} },
		rows: []row{same("the end", 1, "failed")},
	},
	{name: "cancel what nothing was attempted of", before: []fault{{"the commitment of ", 1, crash}}, prepare: revokePlan, rows: []row{
		{"the takeover", 1, "committed > cancelled", "committed > cancelled", "unresolved > cancelled", "unresolved > cancelled"},
		{"the cancellation of op-", 1, "unresolved > cancelled", "unresolved > cancelled", "cancelled", "cancelled"},
	}},
	{name: "an attempt refused", act: revokedAtTheGate, rows: []row{
		{"the refusal of ", 1, "committed > cancelled", "committed > cancelled", "cancelled", "unresolved > cancelled"},
		{"the cancellation of op-", 1, "unresolved > cancelled", "unresolved > cancelled", "cancelled", "cancelled"},
	}},
	{name: "adopt what runs", prepare: foreign, landings: 0, rows: []row{
		same("dial", 2, approved), same("the start of a read", 2, approved), same("a reading", 2, approved),
		{"the adoption by ", 1, approved, approved, completed, completed},
	}},
	{name: "a commitment refused", act: dispatchRevoked, rows: []row{same("the refusal of ", 1, "revoked")}},
	{name: "see drift", prepare: edited, act: func(p *process) { p.second(p.observe1(dispatch.ForDrift)) }, state: driftState, rows: []row{
		same("dial", 1, "no drift > drift"), same("the start of a read", 1, "no drift > drift"), same("read", 1, "no drift > drift"),
		{"a reading", 1, "no drift > drift", "no drift > drift", "drift", "drift"},
	}},
	{name: "an answer to an operation that a restore took away", act: answerOrphan, state: orphans, rows: []row{
		{"the response to an attempt of ", 1, "none > kept", "none > kept", "kept", "kept"},
	}},
	{name: "revoke an identity", act: revokeIdentity, rows: []row{
		{"the revocation of ", 1, "approved > revoked", "approved > revoked", "revoked", "revoked"},
		same("the revocation of ", 2, "revoked"),
	}},
	{name: "revoke an approval", act: revokeApproval, rows: []row{
		{"the revocation of ", 1, "approved > revoked", "approved > revoked", "revoked", "revoked"},
	}},
	{name: "cancel a plan", act: cancelPlan, rows: []row{
		{"the cancellation of p-", 1, "approved > cancelled", "approved > cancelled", "cancelled", "cancelled"},
	}},
	{name: "expire a plan", act: expirePlan, rows: []row{same("the expiry of ", 1, "expired")}},
	{name: "freeze", state: gateState, act: func(p *process) {
		p.second(p.st.Freeze(background, p.c.w.Author, p.c.m.ID, "the disk is being replaced"))
	}, rows: []row{{"the freeze of ", 1, "open > frozen", "open > frozen", "frozen", "frozen"}}},
	{name: "open a rollout again", prepare: failedRollout, state: rolloutState, act: func(p *process) {
		p.second(p.st.OpenRollout(background, p.c.w.Approver, p.c.key, "the cause is known"))
	}, rows: []row{{"the opening of rollout ", 1, "closed > open", "closed > open", "open", "open"}}},
	{name: "register a machine", state: registered, act: register, rows: []row{
		{"the registration of ", 1, "unknown > registered", "unknown > registered", "registered", "registered"},
	}},
	{name: "change an assignment", state: assigned, act: func(p *process) {
		a := dispatch.Assignment{Role: dispatch.Worker, Addresses: []string{"10.5.0.99"}}
		p.second(p.st.ChangeAssignment(background, p.c.w.Author, p.c.m.ID, a, store.MachineUpdate{}))
	}, rows: []row{{"the assignment of ", 1, "old > new", "old > new", "new", "new"}}},
	{name: "a process ends", state: ended, act: endProcess, rows: []row{
		{"the end of instance ", 1, "running > ended", "running > ended", "ended", "ended"},
	}},
	{name: "the clock was set", state: clockEra, act: stepClock, alone: true, rows: []row{
		{"the clock step", 1, "before > after", "before > after", "after", "after"},
	}},
	{
		name: "recover after a restore", alone: true, before: []fault{{"send", 1, lost}}, prepare: rememberEpoch, act: (*process).recoverStore,
		state: recoveryState, rows: []row{
			{"the entry into recovery", 1, restored("before"), restored("before"), restored("entered"), restored("entered")},
			same("the start of an instance", 2, restored("entered")),
			{"the closing of machine ", 1, restored("entered"), restored("entered"), restored("unaccounted"), restored("unaccounted")},
			same("the attestation of instance ", 1, restored("unaccounted")),
			same("the start of a read", 1, restored("unaccounted")),
			same("a reading", 1, restored("unaccounted")),
			{"the mark of machine ", 1, restored("unaccounted"), restored("unaccounted"), restored("unresolved"), restored("unresolved")},
			{"the end", 1, restored("unresolved"), restored("unresolved"), "left, failed", "unresolved, failed > left, failed"},
			{"the mark of machine ", 2, "unresolved, failed > left, failed", "unresolved, failed > left, failed", "ready, failed > left, failed", "ready, failed > left, failed"},
			{"the release of machine ", 1, "ready, failed > left, failed", "ready, failed > left, failed", "released, failed > left, failed", "released, failed > left, failed"},
			{"the end of recovery", 1, "released, failed > left, failed", "released, failed > left, failed", "left, failed", "left, failed"},
		},
	},
}

// restored is a cell of the recovery before its operation has ended.
func restored(where string) string { return where + ", unresolved > left, failed" }

// second gives up on an error beside a result.
func (p *process) second(_ any, err error) { p.must(err) }

// otherHost: what follows is done elsewhere, where no evidence of the sender's connection can be had.
func otherHost(c *faultCase) {
	c.host = dispatch.Host{Name: "other", ID: "host-2", BootID: "boot-of-other", NetNS: "net-2"}
}

// rejectedLate: another executor took the operation over, then the sender records that the node rejected it; the other one
// ends.
func rejectedLate(c *faultCase) {
	op := c.operation(c.w.Store)
	heir := c.w.Process()
	c.no2(c.w.Store.TakeOver(background, op.ID, op.Owner.Generation, heir.ID, "its lock file is free"))
	c.no2(c.w.Store.RecordResponse(background, op.ID, 1, op.Owner, world.Response(dispatch.RejectedDef)))
	heir.End()
}

func (c *faultCase) no2(_ any, err error) { c.no(err) }

func (c *faultCase) no(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func diesAfterTheSend(c *faultCase) { c.node.onSend = func() { c.node.dead = true } }

func revokePlan(c *faultCase) {
	c.no(c.w.Store.RevokeApproval(background, c.w.Approver, c.plan, "second thoughts"))
}

// revokedAtTheGate is the job, with the approval revoked between commitment and attempt.
func revokedAtTheGate(p *process) {
	p.Gate = func(_ context.Context, name string) error {
		if name == "committed" {
			return p.c.w.Store.RevokeApproval(background, p.c.w.Approver, p.c.plan, "second thoughts")
		}
		return nil
	}
	p.job()
}

// foreign: the node runs something else than what was applied, and that is to be adopted.
func foreign(c *faultCase) {
	c.m.Runs(dispatch.Digest([]byte("version: v1alpha1 # " + c.key)))
	c.m.Read(c.w.Process(), dispatch.ForDrift)
	c.adapt = func(p *dispatch.Plan) {
		p.Kind, p.Operation, p.Mode, p.Expected = dispatch.KindAdopt, "", "", p.Artifact
		p.Post, p.Pre.Ready = dispatch.Postconditions{}, false
	}
}

func edited(c *faultCase) { c.m.Runs(dispatch.Digest([]byte("edited by hand"))) }

func driftState(c *faultCase, st *store.Store) string {
	m, err := st.Machine(background, c.m.ID)
	c.no(err)
	if m.Drift != nil {
		return "drift"
	}
	return "no drift"
}

func dispatchRevoked(p *process) {
	p.planOnly()
	p.second(p.Dispatch(background, p.c.plan, 0))
}

// planOnly brings the case's plan to be there, approved, and revoked where that is what the case is about.
func (p *process) planOnly() {
	c := p.c
	if c.state(c.w.Store) == "no plan" {
		c.no2(nil, nil)
		approvedElsewhere(c)
		revokePlan(c)
	}
}

// approvedElsewhere makes and approves the case's plan by a process in which nothing goes wrong.
func approvedElsewhere(c *faultCase) {
	other := c.start()
	other.run(func(p *process) { p.author(); p.approve() })
	c.no(other.err)
}

func approvedFirst(c *faultCase) {
	if c.state(c.w.Store) == "no plan" {
		approvedElsewhere(c)
	}
}

func revokeApproval(p *process) {
	approvedFirst(p.c)
	if p.c.state(p.st) == string(dispatch.PlanApproved) {
		p.must(p.st.RevokeApproval(background, p.c.w.Approver, p.c.plan, "no"))
	}
}

func cancelPlan(p *process) {
	approvedFirst(p.c)
	if p.c.state(p.st) == string(dispatch.PlanApproved) {
		p.must(p.st.CancelPlan(background, p.c.w.Author, p.c.plan, "not needed"))
	}
}

func expirePlan(p *process) {
	approvedFirst(p.c)
	p.c.w.Pass(25 * time.Hour)
	p.second(p.st.ExpirePlans(background))
}

// revokeIdentity revokes the identity on which the plan's approval rests, and records what that does to the plan.
func revokeIdentity(p *process) {
	c := p.c
	if c.note == "" {
		c.note = "person-" + c.key
		c.who = c.w.Person(c.note, store.RoleApprover)
		approvedFirst(c)
	}
	i, err := p.st.Identity(background, c.note)
	p.must(err)
	if i.RevokedRevision == 0 {
		p.second(p.st.RevokeIdentity(background, c.w.Admin, c.note, "left"))
	}
	p.second(p.st.RecordRevocations(background))
}

func answerOrphan(p *process) {
	if p.c.note == "" {
		p.c.note = p.Instance // it is the sender who tries again
	}
	by := dispatch.Owner{Instance: p.c.note, Generation: 1}
	p.must(p.st.RecordOrphan(background, p.c.m.ID, "op-gone", 1, by, world.Response(dispatch.Accepted)))
}

func orphans(c *faultCase, _ *store.Store) string {
	switch n := len(c.w.Entries(c.m.ID, dispatch.EntryResponse)); n {
	case 0:
		return "none"
	case 1:
		return "kept"
	default:
		return fmt.Sprintf("kept %d times", n)
	}
}

func gateState(c *faultCase, st *store.Store) string {
	m, err := st.Machine(background, c.m.ID)
	c.no(err)
	if m.Frozen {
		return "frozen"
	}
	return "open"
}

// failedRollout: an operation of the case's rollout was rejected.
func failedRollout(c *faultCase) {
	c.adapt = func(p *dispatch.Plan) { p.Rollout = &dispatch.Rollout{ID: c.key, Limit: 1} }
	c.node.fates = []fate{refused}
	p := c.start()
	p.run((*process).job)
	c.no(p.err)
}

func rolloutState(c *faultCase, st *store.Store) string {
	r, err := st.Rollout(background, c.key)
	c.no(err)
	if r.Failed > r.MaxFailed {
		return "closed"
	}
	return "open"
}

func register(p *process) {
	r := p.c.m.Node
	r.NodeID, r.HostName = "node-of-"+p.c.key, p.c.key
	p.second(p.st.RegisterMachine(background, p.c.w.Author, dispatch.Machine{
		Name: p.c.key, Cluster: "lab", ClusterID: r.ClusterID, NodeID: r.NodeID, HostName: r.HostName,
		Assignment: dispatch.Assignment{Role: dispatch.Worker, Addresses: r.Addresses},
	}, r))
}

func registered(c *faultCase, st *store.Store) string {
	all, err := st.Machines(background)
	c.no(err)
	for _, m := range all {
		if m.Name == c.key {
			return "registered"
		}
	}
	return "unknown"
}

func assigned(c *faultCase, st *store.Store) string {
	m, err := st.Machine(background, c.m.ID)
	c.no(err)
	if m.Assignment.Addresses[0] == "10.5.0.99" {
		return "new"
	}
	return "old"
}

func endProcess(p *process) {
	if p.c.note == "" {
		p.c.note = p.Instance
	}
	p.must(p.st.EndInstance(background, p.c.note))
}

func ended(c *faultCase, st *store.Store) string {
	i, err := st.Instance(background, c.note)
	c.no(err)
	if i.EndedRevision != 0 {
		return "ended"
	}
	return "running"
}

func stepClock(p *process) {
	if clockEra(p.c, p.st) == "before" {
		p.must(p.st.StepClock(background, p.c.w.Admin, "the battery was changed"))
	}
}

func clockEra(c *faultCase, st *store.Store) string {
	entries, err := st.Entries(background, store.EntryFilter{Scopes: []string{ledger.Installation}, Kinds: []string{dispatch.EntryClockStep}})
	c.no(err)
	if len(entries) > 0 {
		return "after"
	}
	return "before"
}

func rememberEpoch(c *faultCase) {
	epoch, _, err := c.w.Store.Epoch(background)
	c.no(err)
	c.note = epoch
}
