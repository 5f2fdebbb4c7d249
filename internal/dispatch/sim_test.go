package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

// sim is one machine's timeline in memory, for interleavings: it does with the rules of the core what a store does with
// them, and a node beside it does what it is told. Executors are "x1", "x2", ...; what they hold in their hands from one
// transaction to the next (who they believe to be, which reading they took) is kept apart from what is recorded.
type sim struct {
	now        time.Time
	rev        int64
	epoch      string
	inRecovery bool
	without    Without

	machine   Machine
	node      Reading // what a reading would show now
	plans     map[string]*simPlan
	ops       []*simOp
	obs       []Observation
	begun     map[string]Observation // by executor: a reading that began and is not recorded
	believes  map[string]map[string]Owner
	revoked   map[string]bool // identities
	commits   int
	drifts    int
	appliedBy []string // operations that changed Applied
}

type simPlan struct {
	plan      Plan
	standing  Standing
	approvals []Approval
}

type simOp struct {
	op       Operation
	attempts []Attempt
}

func newSim() *sim {
	s := &sim{
		now: noon, rev: 10, epoch: epoch1, machine: someMachine(), node: someReading(), plans: map[string]*simPlan{},
		begun: map[string]Observation{}, believes: map[string]map[string]Owner{}, revoked: map[string]bool{},
	}
	return s
}

func (s *sim) next() int64 { s.rev++; return s.rev }

// addPlan makes a plan of the artifact on the machine as it is now, for as long as the duration says.
func (s *sim) addPlan(id, artifact string, expires time.Duration) string {
	p := somePlan()
	p.ID, p.Artifact, p.Post.Digest = id, artifact, artifact
	p.AssignmentRevision, p.BaselineRevision, p.Expected = s.machine.AssignmentRevision, s.machine.BaselineRevision, s.machine.Applied
	if s.machine.Drift != nil {
		p.Drift, p.Expected = s.machine.Drift.ID, s.machine.Drift.Digest
	}
	p.ExpiresAt, p.Policy.Approvals = s.now.Add(expires), 1
	if r := CheckPlan(p, s.machine, s.node, s.now); r != nil {
		return r.Error()
	}
	p.Revision, p.CreatedAt = s.next(), s.now
	s.plans[id] = &simPlan{plan: p, standing: Standing{State: PlanProposed}}
	return "ok"
}

func (s *sim) approve(id, who string) string {
	p := s.plans[id]
	if p == nil {
		return "no such plan"
	}
	a := Approval{ID: "a-" + who, Plan: id, PlanRevision: p.plan.Revision, Approver: who, Epoch: s.epoch, At: s.now, Self: IsSelf(p.plan, who)}
	st, r := Approve(p.plan, p.standing, p.approvals, a, s.epoch, s.now)
	if r != nil {
		return r.Error()
	}
	a.Revision = s.next()
	p.approvals, p.standing = append(p.approvals, a), st
	return string(st.State)
}

// revoke takes a person's approvals of a plan back.
func (s *sim) revoke(id, who string) string {
	p := s.plans[id]
	if p == nil {
		return "no such plan"
	}
	for i := range p.approvals {
		if p.approvals[i].Approver == who && p.approvals[i].RevokedRevision == 0 {
			p.approvals[i].RevokedRevision = s.next()
			p.standing = AfterRevocation(p.plan, p.standing, p.approvals, s.epoch, s.rev)
		}
	}
	return string(p.standing.State)
}

func (s *sim) cancelPlan(id string) string {
	p := s.plans[id]
	if p == nil {
		return "no such plan"
	}
	p.standing.CancelledRev = s.next()
	if p.standing.State == PlanProposed || p.standing.State == PlanApproved {
		p.standing.State = PlanCancelled
	}
	return string(p.standing.State)
}

// begin starts a reading for a plan or an operation, or for neither.
func (s *sim) begin(x, plan, op string, purpose Purpose) {
	s.begun[x] = Observation{
		Machine: "m-1", Basis: s.next(), StartedAt: s.now, Purpose: purpose, Plan: plan, Operation: op, Instance: x, Route: Via("10.0.0.1"), Reading: s.node,
	}
}

// record records what the reading that began showed.
func (s *sim) record(x string) string {
	o, ok := s.begun[x]
	if !ok {
		return "nothing was begun"
	}
	delete(s.begun, x)
	o.Revision = s.next()
	s.obs = append(s.obs, o)
	text := fmt.Sprintf("basis %d: %s", o.Basis, o.Reading.Active.Digest[:1])
	if change := s.judgeDrift(o); change != DriftNone {
		text += [...]string{"", ", drift opens", ", drift goes on", ", drift returned"}[change]
	}
	return text
}

func (s *sim) judgeDrift(o Observation) DriftChange {
	f := DriftFacts{Machine: s.machine, Observation: o, HigherBasis: len(s.after(o.Basis)) > 0}
	for _, x := range s.ops {
		f.Operations = append(f.Operations, x.op)
	}
	change := JudgeDrift(f)
	switch change {
	case DriftOpens, DriftAdds:
		s.driftTo(o.Reading.Active.Digest)
	case DriftCloses:
		s.machine.Drift = nil
	case DriftNone:
	}
	return change
}

func (s *sim) driftTo(digest string) {
	if s.machine.Drift == nil {
		s.drifts++
		s.machine.Drift = &Drift{ID: fmt.Sprintf("d-%d", s.drifts), OpenedRevision: s.next()}
	}
	d := *s.machine.Drift
	d.Digest = digest
	s.machine.Drift = &d
}

// after are the recorded readings of a higher basis.
func (s *sim) after(basis int64) []Observation {
	var later []Observation
	for _, o := range s.obs {
		if o.Basis > basis {
			later = append(later, o)
		}
	}
	return later
}

// latest is the newest reading that fits.
func (s *sim) latest(fits func(Observation) bool) *Observation {
	var found *Observation
	for i, o := range s.obs {
		if fits(o) && (found == nil || o.Basis > found.Basis) {
			found = &s.obs[i]
		}
	}
	return found
}

func (s *sim) find(id string) *simOp {
	for _, x := range s.ops {
		if x.op.ID == id {
			return x
		}
	}
	return nil
}

func (s *sim) facts(p *simPlan, x string, op *simOp) Facts {
	f := Facts{
		Now: s.now, Epoch: s.epoch, InRecovery: s.inRecovery, Machine: s.machine, Plan: p.plan, Standing: p.standing,
		Approvals: slices.Clone(p.approvals), Without: s.without, By: Owner{Instance: x, Generation: 1, Epoch: s.epoch},
		Request: Request{Artifact: p.plan.Artifact, Operation: p.plan.Operation, Mode: p.plan.Mode, Route: p.plan.Route, Address: p.plan.Address},
	}
	for i := range f.Approvals {
		f.Approvals[i].IdentityRevoked = s.revoked[f.Approvals[i].Approver]
	}
	if op != nil {
		own := op.op
		f.Existing, f.Attempts, f.By = &own, op.attempts, s.believes[x][op.op.ID]
	}
	for _, o := range s.ops {
		switch {
		case op == nil && o.op.Plan == p.plan.ID:
			f.Existing = &o.op
		case (op == nil || o.op.ID != op.op.ID) && o.op.State.Holding():
			f.Other = &o.op
		}
	}
	f.Evidence = s.latest(func(o Observation) bool {
		return o.Instance == x && (o.Plan == p.plan.ID || op != nil && o.Operation == op.op.ID)
	})
	if f.Evidence != nil {
		f.Newer = s.after(f.Evidence.Basis)
	}
	return f
}

func (s *sim) theCase(op *simOp) Case {
	f := s.facts(s.plans[op.op.Plan], "", op)
	return Case{
		Op: op.op, Plan: f.Plan, Standing: f.Standing, Approvals: f.Approvals, Attempts: op.attempts, Machine: s.machine,
		Epoch: s.epoch, InRecovery: s.inRecovery, Now: s.now, Without: s.without,
	}
}

// step offers an event to an operation and writes what it brings.
func (s *sim) step(op *simOp, e Event) string {
	e.Revision = s.rev + 1
	after, fx, r := Step(s.theCase(op), e)
	if r != nil {
		return r.Error()
	}
	s.next()
	op.op = after
	if fx.Applied != "" {
		s.machine.Applied, s.machine.AppliedSource, s.machine.BaselineRevision = fx.Applied, op.op.ID, s.rev
		s.appliedBy = append(s.appliedBy, op.op.ID)
	}
	if fx.CloseDrift != "" {
		s.machine.Drift = nil
	}
	if fx.OpenDrift != "" {
		s.driftTo(fx.OpenDrift)
	}
	return s.show(op)
}

// show is an operation on one line.
func (s *sim) show(op *simOp) string {
	text := fmt.Sprintf("%s %s %s/%d attempts=%d", op.op.ID, op.op.State, op.op.Owner.Instance, op.op.Owner.Generation, len(op.attempts))
	if op.op.Retry != nil {
		text += " retry"
	}
	return text
}

func (s *sim) commit(x, planID string) string {
	p := s.plans[planID]
	if p == nil {
		return "no such plan"
	}
	f := s.facts(p, x, nil)
	if r := Commitment(f); r != nil {
		s.driftOnDigest(f, r)
		return r.Error()
	}
	s.commits++
	op := &simOp{op: Operation{
		ID: fmt.Sprintf("op-%d", s.commits), Plan: planID, Machine: "m-1", Kind: KindApply, Owner: f.By, Revision: s.rev + 1,
	}}
	s.ops = append(s.ops, op)
	p.standing.State, p.standing.Operation = PlanCommitted, op.op.ID
	s.believe(x, op)
	return s.step(op, Event{Kind: Commit})
}

// driftOnDigest: a commitment that is refused on its digest applies the rules of drift to its evidence.
func (s *sim) driftOnDigest(f Facts, r *refusal.Refusal) {
	if r.Comparison == 3 && f.Evidence != nil {
		s.judgeDrift(*f.Evidence)
	}
}

func (s *sim) believe(x string, op *simOp) {
	if s.believes[x] == nil {
		s.believes[x] = map[string]Owner{}
	}
	s.believes[x][op.op.ID] = op.op.Owner
}

// attempt records a send.
func (s *sim) attempt(x string, op *simOp) string {
	f := s.facts(s.plans[op.op.Plan], x, op)
	if r := AttemptAllowed(f); r != nil {
		text := r.Error()
		if op.op.State == Committed && f.By == op.op.Owner && slices.Contains([]int{1, 2, 3, 6}, r.Comparison) {
			text += "\n" + s.step(op, Event{Kind: AttemptRefused, By: f.By, Comparison: r.Comparison})
		}
		return text
	}
	if text := s.step(op, Event{Kind: RecordAttempt, By: f.By}); op.op.State != Sending {
		return text
	}
	a := Attempt{Operation: op.op.ID, Number: len(op.attempts) + 1, By: f.By, Revision: s.rev, StartedAt: s.now, Route: Via("10.0.0.1")}
	if f.Evidence != nil {
		a.Evidence, op.op.SendBoot = f.Evidence.Basis, f.Evidence.Reading.BootID
	}
	op.attempts = append(op.attempts, a)
	return s.show(op)
}

// land: the node gets the request of an attempt and does as it says.
func (s *sim) land(op *simOp) string {
	digest := s.plans[op.op.Plan].plan.Artifact
	s.node.Active.Digest, s.node.Persistent.Digest = digest, digest
	s.node.Active.Version++
	s.node.Persistent.Version++
	return "the node runs " + digest[:1]
}

// answer records what the sender of an attempt saw, and moves the operation where that may.
func (s *sim) answer(op *simOp, n int, class ResponseClass) string {
	if n < 1 || n > len(op.attempts) || op.attempts[n-1].Response != nil {
		return "no such attempt, or answered"
	}
	a := &op.attempts[n-1]
	a.Response = &Response{Class: class, Revision: s.next(), At: s.now}
	kind := map[ResponseClass]EventKind{Accepted: Accept, RejectedDef: Reject, Inconclusive: Lose}[class]
	if n == len(op.attempts) && op.op.State == Sending && a.By == op.op.Owner {
		return s.step(op, Event{Kind: kind, By: a.By})
	}
	a.Response.Late = true
	return "a fact; " + s.show(op)
}

func (s *sim) account(op *simOp, n int, kind AccountingKind) string {
	if n < 1 || n > len(op.attempts) || op.attempts[n-1].Accounting != nil || op.attempts[n-1].Response.FromTarget() || op.op.State.Terminal() {
		return "no such attempt, or accounted for"
	}
	op.attempts[n-1].Accounting = &Accounting{Kind: kind, Revision: s.next(), At: s.now}
	return s.show(op)
}

func (s *sim) takeover(x string, op *simOp) string {
	text := s.step(op, Event{Kind: Takeover, NewOwner: x})
	if op.op.Owner.Instance == x {
		s.believe(x, op)
	}
	return text
}

func (s *sim) classify(x string, op *simOp) string {
	o := s.latest(func(o Observation) bool { return o.Instance == x })
	later := []Observation(nil)
	if o != nil {
		later = s.after(o.Basis)
	}
	after, r := Classify(s.theCase(op), s.believes[x][op.op.ID], o, later, s.rev+1)
	if r != nil {
		return r.Error()
	}
	s.next()
	op.op = after
	return s.show(op)
}

// end ends the operation by a reading: the newest, or the one of the basis.
func (s *sim) end(x string, op *simOp, basis int64) string {
	o := s.latest(func(o Observation) bool { return basis == 0 || o.Basis == basis })
	var later []Observation
	if o != nil {
		later = s.after(o.Basis)
	}
	e, r := Ending(s.theCase(op), o, later)
	if r != nil {
		return r.Error()
	}
	e.By = s.believes[x][op.op.ID]
	return s.step(op, e)
}

func (s *sim) enterRecovery() string {
	s.epoch = strings.ReplaceAll(s.epoch, "e", "ee")
	s.inRecovery = true
	s.machine.Recovery = PreRestore
	s.next()
	for _, op := range s.ops {
		op.op.PreRestore = op.op.PreRestore || op.op.State.Holding()
	}
	return s.epoch
}
