package dispatch

import (
	"fmt"
	"maps"
	"slices"
)

// dispatchFacts is what a commitment or an attempt says it read and rested on.
type dispatchFacts struct {
	record       string
	operation    string
	plan         Plan
	owner        Owner
	evidence     int64
	retry        bool // the operation was sent before, or classified as safe to retry
	identities   map[string]int64
	installation int64
}

// commitment judges the entry of a commitment or an adoption by what stood before it.
func (t *timeline) commitment() {
	op := t.b.Operation
	if op == nil {
		t.problem(2, "", "the entry commits no operation")
		return
	}
	p, ok := t.rec.Plans[op.Plan]
	if !ok {
		t.problem(2, op.ID, "it dispatches plan %q, which this timeline does not hold", op.Plan)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(t.rec.Operations)) {
		other := t.rec.Operations[id]
		if other.Plan == op.Plan && id != op.ID { // I12
			t.problem(12, op.ID, "plan %s was already committed to %s", p.ID, id)
		}
		if other.State.Holding() && id != op.ID { // I1
			t.problem(1, op.ID, "operation %s is %s at this commitment", id, other.State)
		}
	}
	adopts := t.e.Kind == EntryAdopted
	if adopts != (p.Kind == KindAdopt) || op.Kind != p.Kind {
		t.problem(2, op.ID, "plan %s is to %s, the entry is %s of kind %s", p.ID, p.Kind, t.e.Kind, op.Kind)
	}
	if op.Machine != t.scope.ID || op.Revision != t.e.Revision || op.Owner.Generation != 1 {
		t.problem(2, op.ID, "it claims machine %s, revision %d and generation %d", op.Machine, op.Revision, op.Owner.Generation)
	}
	if t.e.Actor.Instance != op.Owner.Instance {
		t.problem(2, op.ID, "instance %s commits it for instance %s", t.e.Actor.Instance, op.Owner.Instance)
	}
	if state := t.rec.Standings[p.ID].State; state != PlanApproved {
		t.problem(standingInvariant(state), op.ID, "plan %s is %s, not approved", p.ID, state)
	}
	f := dispatchFacts{
		record: op.ID, operation: op.ID, plan: p, owner: op.Owner, evidence: t.b.Evidence,
		identities: t.b.Identities, installation: t.b.Installation,
	}
	t.sanctioned(f)
	t.bound(f)
	t.gateOpen(f)
	t.evidence(f)
}

// attemptRecorded judges the entry of an attempt by what stood before it.
func (t *timeline) attemptRecorded() {
	a := t.b.Attempt
	if a == nil {
		t.problem(2, "", "the entry records no attempt")
		return
	}
	record := AttemptKey{a.Operation, a.Number}.String()
	op, ok := t.rec.Operations[a.Operation]
	if !ok { // I2
		t.problem(2, record, "no operation %s was committed before it", a.Operation)
		return
	}
	track := t.track(op.ID)
	p := t.rec.Plans[op.Plan]
	if a.By != op.Owner || t.e.Actor.Instance != op.Owner.Instance { // I2
		t.problem(2, record, "instance %s at generation %d records it, the owner is %s at generation %d",
			a.By.Instance, a.By.Generation, op.Owner.Instance, op.Owner.Generation)
	}
	if a.Number != track.attempts+1 || a.Revision != t.e.Revision {
		t.problem(2, record, "it follows attempt %d and claims revision %d", track.attempts, a.Revision)
	}
	if a.Number > p.MaxAttempts { // I16
		t.problem(16, record, "plan %s allows %d", p.ID, p.MaxAttempts)
	}
	if s := t.rec.Standings[p.ID]; s.State != PlanCommitted || s.Operation != op.ID {
		t.problem(12, record, "plan %s is %s, committed to %q", p.ID, s.State, s.Operation)
	}
	t.retryAdmitted(op, record)
	f := dispatchFacts{
		record: record, operation: op.ID, plan: p, owner: a.By, evidence: a.Evidence,
		retry: op.State != Committed, identities: a.Identities, installation: a.Installation,
	}
	t.sanctioned(f)
	t.bound(f)
	t.gateOpen(f)
	t.evidence(f)
	if a.Route != p.Route {
		t.problem(14, record, "it goes %s, the plan binds %s", a.Route, p.Route)
	}
}

// retryAdmitted: an attempt leaves committed, or unresolved on the owner's newest classification, after which neither a
// response nor a takeover nor another classification was recorded. I17
func (t *timeline) retryAdmitted(op Operation, record string) {
	if op.PreRestore { // I8
		t.problem(8, record, "a restored operation never sends again")
	}
	if op.State == Committed {
		return
	}
	c, track := op.Retry, t.track(op.ID)
	switch {
	case op.State != Unresolved:
		t.problem(17, record, "the operation is %s", op.State)
	case c == nil:
		t.problem(17, record, "the operation is not classified as safe to retry")
	case c.By != op.Owner || track.takenOver > c.Revision:
		t.problem(17, record, "the classification of revision %d is not its owner's", c.Revision)
	case track.answered > c.Revision:
		t.problem(17, record, "a response was recorded at revision %d, after the classification of revision %d", track.answered, c.Revision)
	case track.classified != c.Revision:
		t.problem(17, record, "it rests on the classification of revision %d, the newest is of revision %d", c.Revision, track.classified)
	}
}

// bound: baseline, assignment and machine are those that the plan binds. I14
func (t *timeline) bound(f dispatchFacts) {
	m, p := t.rec.Machine, f.plan
	switch {
	case m == nil:
		t.problem(14, f.record, "no machine is registered before it")
	case m.BaselineRevision != p.BaselineRevision:
		t.problem(14, f.record, "the baseline is of revision %d, the plan binds %d", m.BaselineRevision, p.BaselineRevision)
	case m.AssignmentRevision != p.AssignmentRevision:
		t.problem(14, f.record, "the assignment is of revision %d, the plan binds %d", m.AssignmentRevision, p.AssignmentRevision)
	case m.ClusterID != p.ClusterID || m.NodeID != p.NodeID:
		t.problem(14, f.record, "the plan binds another machine")
	case p.Kind == KindAdopt && m.DesiredRevision != p.DesiredRevision:
		t.problem(14, f.record, "another artifact was selected since the plan was made")
	}
}

// gateOpen: not frozen, no drift record open but the bound one, and not held by a recovery. An adoption is not stopped by
// a freeze. I10
func (t *timeline) gateOpen(f dispatchFacts) {
	m, p := t.rec.Machine, f.plan
	if m == nil {
		return
	}
	if p.Kind == KindApply && m.Frozen {
		t.problem(10, f.record, "the machine is frozen by %s", m.FrozenBy)
	}
	if t.openDrift != p.Drift {
		t.problem(10, f.record, "drift record %q is open, the plan binds %q", t.openDrift, p.Drift)
	}
	if t.w.inRecovery(f.installation) && m.ReleasedEpoch != f.owner.Epoch {
		t.problem(10, f.record, "a recovery is under way and the machine is not released")
	}
}

// evidence: a reading by this instance for this plan or operation, of the bound digest, not too old, which no newer
// reading contradicts. I14
func (t *timeline) evidence(f dispatchFacts) {
	o, ok := t.findRead(f.evidence)
	m, p := t.rec.Machine, f.plan
	if m == nil {
		return
	}
	if !ok {
		t.problem(14, f.record, "it rests on reading %d, which is not recorded before it", f.evidence)
		return
	}
	age := t.e.At.Sub(o.StartedAt)
	switch {
	case o.Instance != f.owner.Instance:
		t.problem(14, f.record, "reading %d is instance %s's, not its own", o.Basis, o.Instance)
	case o.Plan != p.ID && o.Operation != f.operation, f.retry && o.Operation != f.operation:
		t.problem(14, f.record, "reading %d was made for plan %q and operation %q", o.Basis, o.Plan, o.Operation)
	case age > p.MaxAge:
		t.problem(14, f.record, "reading %d is %s old, the plan allows %s", o.Basis, age, p.MaxAge)
	case age < -clockSlack:
		t.problem(14, f.record, "reading %d began %s after it", o.Basis, -age)
	case unfit(p, *m, o.Reading) != "":
		t.problem(14, f.record, "reading %d is no evidence: %s", o.Basis, unfit(p, *m, o.Reading))
	}
	t.newerReads(f, o)
	if p.Kind != KindAdopt {
		return
	}
	for _, id := range t.byPlan[p.ID] {
		if a := t.rec.Approvals[id]; a.RevokedRevision == 0 && a.Revision > o.Basis {
			t.problem(14, f.record, "reading %d began before approval %s", o.Basis, a.ID)
		}
	}
}

// newerReads: none differs from the evidence; an adoption rests on the newest reading of all. I14
func (t *timeline) newerReads(f dispatchFacts, o recordedRead) {
	for _, n := range t.reads {
		if n.Basis <= o.Basis {
			continue
		}
		switch why := unfit(f.plan, *t.rec.Machine, n.Reading); {
		case why != "":
			t.problem(14, f.record, "it rests on reading %d, and reading %d differs: %s", o.Basis, n.Basis, why)
		case f.plan.Kind == KindAdopt:
			t.problem(14, f.record, "it adopts reading %d, and reading %d is newer", o.Basis, n.Basis)
		}
	}
}

// sanctioned: the plan is neither cancelled nor expired, the approvals that its policy demands stand by what the entry
// read, and everything is of the epoch then in force. I8 I13 I18
func (t *timeline) sanctioned(f dispatchFacts) {
	s, p := t.rec.Standings[f.plan.ID], f.plan
	switch {
	case s.CancelledRev != 0: // I18
		t.problem(18, f.record, "plan %s was cancelled at revision %d", p.ID, s.CancelledRev)
	case s.ExpiredRev != 0 || !t.e.At.Before(p.ExpiresAt):
		t.problem(18, f.record, "plan %s expired %s", p.ID, stamp(p.ExpiresAt))
	}
	t.inForce(f)
	for _, name := range slices.Sorted(maps.Keys(f.identities)) {
		if before := t.identities[name]; f.identities[name] < before {
			t.problem(13, f.record, "it read identity %s at revision %d, an earlier entry at %d", name, f.identities[name], before)
		}
		t.identities[name] = max(t.identities[name], f.identities[name])
	}
	t.approved(f)
}

// inForce: the owner's epoch is the one of the installation revision that the entry read, and no earlier entry of this
// timeline had read a later one. I8
func (t *timeline) inForce(f dispatchFacts) {
	epoch, ok := t.w.epochAt(f.installation)
	switch {
	case !ok:
		t.problem(8, f.record, "it read installation revision %d, which does not exist", f.installation)
	case f.owner.Epoch != epoch:
		t.problem(8, f.record, "its owner is of epoch %s, in force was %s", f.owner.Epoch, epoch)
	case f.installation < t.installation:
		t.problem(8, f.record, "it read installation revision %d, an earlier entry %d", f.installation, t.installation)
	}
	t.installation = max(t.installation, f.installation)
}

// approved counts the approvals that stand. I13
func (t *timeline) approved(f dispatchFacts) {
	p := f.plan
	seen := map[string]bool{}
	var revoked, foreign string
	for _, id := range t.byPlan[p.ID] {
		a := t.rec.Approvals[id]
		read, known := f.identities[a.Approver]
		gone := t.w.revokedAt(a.Approver)
		switch {
		case a.RevokedRevision != 0:
			revoked = fmt.Sprintf("; approval %s was revoked at revision %d", id, a.RevokedRevision)
		case gone != 0 && read >= gone:
			revoked = fmt.Sprintf("; identity %s was revoked at its revision %d", a.Approver, gone)
		case !known:
			revoked = fmt.Sprintf("; it did not read identity %s", a.Approver)
		case a.Epoch != f.owner.Epoch:
			foreign = fmt.Sprintf("; approval %s is of another epoch", id)
		case a.BreakGlass != "":
			return
		case !a.Self || p.Policy.SelfApproval:
			seen[a.Approver] = true
		}
	}
	if len(seen) >= p.Policy.Approvals {
		return
	}
	invariant := 13
	if revoked == "" && foreign != "" {
		invariant = 8
	}
	t.problem(invariant, f.record, "%d of %d approvals of plan %s stand%s%s", len(seen), p.Policy.Approvals, p.ID, revoked, foreign)
}

func standingInvariant(s PlanState) int {
	switch s {
	case PlanCommitted:
		return 12
	case PlanCancelled, PlanExpired:
		return 18
	case PlanProposed, PlanApproved, PlanRevoked:
	}
	return 13
}
