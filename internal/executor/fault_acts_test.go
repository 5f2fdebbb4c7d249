package executor

import (
	"context"
	"slices"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

var background = context.Background()

// job is what people and their executor do to bring the case's change to its end, from wherever it stands. It is the
// normal path, and recovery is the normal path run again.
func (p *process) job() {
	c := p.c
	if c.state(p.st) == "no plan" {
		p.author()
	}
	if c.state(p.st) == string(dispatch.PlanProposed) {
		p.approve()
	}
	switch c.state(p.st) {
	case string(dispatch.PlanApproved):
		p.send()
	case string(dispatch.Committed), string(dispatch.Sending), string(dispatch.Verifying), string(dispatch.Unresolved):
		_, err := p.Recover(background)
		p.must(err)
		p.settle(SettleOptions{Retry: true, Wait: 30 * time.Second})
	}
}

// author makes the case's plan: it keeps the artifact, reads the machine and records the plan.
func (p *process) author() {
	c := p.c
	if c.draft == nil {
		draft := c.m.Draft(dispatch.Digest([]byte("version: v1alpha1 # " + c.key)))
		draft.IdempotencyKey, draft.MaxAttempts = c.key, 3
		draft.VerifyDeadline = 3 * time.Second
		if c.adapt != nil {
			c.adapt(&draft)
		}
		c.draft = &draft
	}
	sealed := "-----BEGIN AGE ENCRYPTED FILE-----\n" + c.key + "\n-----END AGE ENCRYPTED FILE-----\n"
	p.must(p.st.PutArtifact(background, c.draft.Artifact, sealed, len(c.key), c.w.Author.Identity))
	o, err := p.observe1(dispatch.ForPlanning)
	p.must(err)
	plan, _, err := p.st.CreatePlan(background, c.w.Author, *c.draft, o)
	p.must(err)
	c.plan = plan.ID
}

// observe1 dials and reads once.
func (p *process) observe1(purpose dispatch.Purpose) (dispatch.Observation, error) {
	t := Target{Machine: p.c.m.Record(), Address: p.c.m.Node.Addresses[0], Route: dispatch.Direct}
	conn, err := p.Nodes.Dial(background, t)
	if err != nil {
		return dispatch.Observation{}, err
	}
	defer conn.Abort()
	o, _, err := p.Observe(background, conn, t, purpose, "")
	return o, err
}

func (p *process) approve() {
	_, _, err := p.st.Approve(background, p.c.who, p.c.plan, store.ApproveOptions{})
	p.must(err)
}

func (p *process) send() {
	if p.c.draft.Kind == dispatch.KindAdopt {
		_, err := p.Adopt(background, p.st, p.c.plan)
		p.must(err)
		return
	}
	_, err := p.Dispatch(background, p.c.plan, 0)
	p.must(err)
}

func (p *process) settle(o SettleOptions) {
	_, err := p.Settle(background, p.c.operation(p.st).ID, o)
	p.must(err)
}

func (c *faultCase) operation(st *store.Store) dispatch.Operation {
	v, err := st.Plan(background, c.plan)
	if err != nil || v.Operation == nil {
		c.t.Errorf("%s has no operation: %v", c, err)
		return dispatch.Operation{}
	}
	return *v.Operation
}

// judge is how a recovery-admin settles on another host: the sender's end is attested, the loss is judged.
func (p *process) judge() {
	op := p.c.operation(p.st)
	if op.State.Terminal() {
		return
	}
	p.must(p.st.AttestInstance(background, p.c.w.Admin, p.c.first.Instance, "its machine was switched off"))
	judge := p.Executor.judgeOf(p.c)
	p.settle(SettleOptions{Retry: true, Wait: 5 * time.Minute, Takeover: true, Judge: &judge})
}

func (e *Executor) judgeOf(c *faultCase) Judge {
	return Judge{Who: c.actor(c.w.Admin), Reason: "nothing of it can be under way any more"}
}

// recoverStore is what a recovery-admin does after a restore, from wherever it stands.
func (p *process) recoverStore() {
	c := p.c
	status, err := p.st.Recovery(background)
	p.must(err)
	if status.Epoch == c.note {
		_, err := p.st.EnterRecovery(background, c.w.Admin, "a restore")
		p.must(err)
	}
	if now, err := p.st.Recovery(background); err == nil && !now.InRecovery {
		return
	}
	// The process that closes machines owns what was open: it must be of the new epoch.
	p.instance()
	_, err = p.st.CloseMachines(background, c.w.Admin, p.Instance)
	p.must(err)
	p.attestAll()
	p.mark()
	if op := c.operation(p.st); op.State.Holding() {
		p.settle(SettleOptions{Wait: time.Minute, Takeover: true})
	}
	if m, err := p.st.Machine(background, c.m.ID); err == nil && m.Recovery == dispatch.RecoveryUnresolved {
		_, err = p.st.MarkMachine(background, c.w.Admin, c.m.ID, dispatch.RecoveryReady, dispatch.MinimumSettle, "its operation has ended")
		p.must(err)
	}
	if m, err := p.st.Machine(background, c.m.ID); err == nil && m.Recovery == dispatch.RecoveryReady {
		_, err = p.st.ReleaseMachine(background, c.w.Admin, c.m.ID, "accounted for")
		p.must(err)
	}
	p.must(p.st.LeaveRecovery(background, c.w.Admin, "all machines are released"))
}

func (p *process) attestAll() {
	status, err := p.st.Recovery(background)
	p.must(err)
	for _, i := range status.Running {
		p.must(p.st.AttestInstance(background, p.c.w.Admin, i.ID, "its machine was switched off"))
	}
}

// mark accounts for what was sent before the restore: a reading, the settle time, another reading.
func (p *process) mark() {
	m, err := p.st.Machine(background, p.c.m.ID)
	p.must(err)
	if m.Recovery != dispatch.PreRestore {
		return
	}
	for range 2 {
		_, err := p.observe1(dispatch.ForRecovery)
		p.must(err)
		p.c.w.Pass(131 * time.Second)
	}
	_, err = p.observe1(dispatch.ForRecovery)
	p.must(err)
	_, err = p.st.MarkMachine(background, p.c.w.Admin, p.c.m.ID, dispatch.RecoveryUnresolved, dispatch.MinimumSettle, "nothing is under way")
	p.must(err)
}

// recoveryState says where a recovery stands, and the operation that it found.
func recoveryState(c *faultCase, st *store.Store) string {
	status, err := st.Recovery(background)
	if err != nil {
		c.t.Error(err)
		return ""
	}
	i := slices.IndexFunc(status.Machines, func(m dispatch.Machine) bool { return m.ID == c.m.ID })
	m := status.Machines[i]
	where := "left"
	switch {
	case status.Epoch == c.note:
		where = "before"
	case status.InRecovery && m.Recovery == dispatch.NoRecovery && m.ReleasedEpoch == status.Epoch:
		where = "released"
	case status.InRecovery && m.Recovery == dispatch.NoRecovery:
		where = "entered"
	case status.InRecovery:
		where = string(m.Recovery)
	}
	return where + ", " + c.state(st)
}
