package dispatch

import (
	"reflect"
	"slices"
)

// plan follows the entry's plan and its standing. I4
func (t *timeline) plan() {
	if p := t.b.Plan; p != nil {
		before, known := t.rec.Plans[p.ID]
		switch {
		case known && !reflect.DeepEqual(before, *p):
			t.problem(4, p.ID, "the plan's content changed")
		case !known && t.e.Kind != EntryPlanned:
			t.problem(4, p.ID, "the plan appears in an entry of kind %s", t.e.Kind)
		case !known && (p.Revision != t.e.Revision || p.Machine != t.scope.ID):
			t.problem(4, p.ID, "the plan claims machine %s and revision %d", p.Machine, p.Revision)
		}
		if !known {
			t.rec.Asked[p.ID] = t.b.Asked
		}
		if !known && p.Rollout != nil {
			t.w.slots(p.Rollout.ID).bind(*p.Rollout)
		}
		t.rec.Plans[p.ID] = *p
	}
	s := t.b.Standing
	if s == nil {
		return
	}
	id := t.standingOf()
	if _, known := t.rec.Plans[id]; !known {
		t.problem(4, id, "the entry says how plan %q stands, which this timeline does not hold", id)
		return
	}
	before, known := t.rec.Standings[id]
	t.standing(id, before, *s, known)
	t.rec.Standings[id] = *s
	delete(t.waiting, id)
	if s.State == PlanProposed || s.State == PlanApproved {
		t.waiting[id] = true
	}
}

// standingOf is the plan whose standing the entry carries.
func (t *timeline) standingOf() string {
	switch {
	case t.b.PlanID != "":
		return t.b.PlanID
	case t.b.Plan != nil:
		return t.b.Plan.ID
	case t.b.Operation != nil:
		return t.b.Operation.Plan
	case t.b.Approval != nil:
		return t.b.Approval.Plan
	}
	return ""
}

// planTable is which standing may follow which.
var planTable = map[PlanState][]PlanState{
	"":           {PlanProposed},
	PlanProposed: {PlanApproved, PlanRevoked, PlanCancelled, PlanExpired},
	PlanApproved: {PlanCommitted, PlanRevoked, PlanCancelled, PlanExpired},
}

// standing: what ended a plan is never taken back, and only a commitment commits it. I12 I13 I18
func (t *timeline) standing(id string, before, after Standing, known bool) {
	if before.State != after.State && !slices.Contains(planTable[before.State], after.State) {
		t.problem(standingInvariant(before.State), id, "the plan was %s and is %s now", orNothing(before.State), orNothing(after.State))
	}
	if !known && after.State == PlanProposed && t.e.Kind != EntryPlanned {
		t.problem(4, id, "the plan is proposed by an entry of kind %s", t.e.Kind)
	}
	commits := t.e.Kind == EntryCommitted || t.e.Kind == EntryAdopted
	switch {
	case before.State != PlanCommitted && after.State == PlanCommitted && !commits:
		t.problem(12, id, "the plan is committed by an entry of kind %s", t.e.Kind)
	case before.Operation != after.Operation && (before.Operation != "" || !commits):
		t.problem(12, id, "the plan was committed to %q and is to %q now", before.Operation, after.Operation)
	case commits && (t.b.Operation == nil || after.Operation != t.b.Operation.ID):
		t.problem(12, id, "the plan is committed to %q, which is not the entry's operation", after.Operation)
	}
	if before.RevokedRev != 0 && before.RevokedRev != after.RevokedRev {
		t.problem(13, id, "the revocation of revision %d is gone", before.RevokedRev)
	}
	if before.CancelledRev != 0 && before.CancelledRev != after.CancelledRev {
		t.problem(18, id, "the cancellation of revision %d is gone", before.CancelledRev)
	}
	if before.ExpiredRev != 0 && before.ExpiredRev != after.ExpiredRev {
		t.problem(18, id, "the expiry of revision %d is gone", before.ExpiredRev)
	}
}

func orNothing(s PlanState) PlanState {
	if s == "" {
		return "nothing"
	}
	return s
}

// approval follows the entry's approval: given by the person whom the entry names, to a proposed plan, in the epoch in
// force; revoked once and for all by a person. I8 I11 I13
func (t *timeline) approval() {
	a := t.b.Approval
	if a == nil {
		return
	}
	before, known := t.rec.Approvals[a.ID]
	if !known {
		t.newApproval(*a)
		t.byPlan[a.Plan] = append(t.byPlan[a.Plan], a.ID)
		t.rec.Approvals[a.ID] = *a
		return
	}
	same := *a
	same.RevokedRevision, same.IdentityRevoked = before.RevokedRevision, before.IdentityRevoked
	switch {
	case same != before:
		t.problem(11, a.ID, "the approval's content changed")
	case a.RevokedRevision == before.RevokedRevision:
	case before.RevokedRevision != 0: // I13
		t.problem(13, a.ID, "the revocation of revision %d is gone", before.RevokedRevision)
	case a.RevokedRevision != t.e.Revision || t.e.Kind != EntryUnapproved:
		t.problem(13, a.ID, "it is revoked at revision %d by an entry of kind %s", a.RevokedRevision, t.e.Kind)
	}
	t.rec.Approvals[a.ID] = *a
}

func (t *timeline) newApproval(a Approval) {
	p, ok := t.rec.Plans[a.Plan]
	switch {
	case t.e.Kind != EntryApproved:
		t.problem(11, a.ID, "the approval appears in an entry of kind %s", t.e.Kind)
	case !ok:
		t.problem(11, a.ID, "it approves plan %q, which this timeline does not hold", a.Plan)
	case a.Approver != t.e.Actor.Identity:
		t.problem(11, a.ID, "%q approves in the name of %q", t.e.Actor.Identity, a.Approver)
	case a.PlanRevision != p.Revision || a.Revision != t.e.Revision:
		t.problem(11, a.ID, "it names revision %d of the plan, which is %d, and its own as %d", a.PlanRevision, p.Revision, a.Revision)
	case a.RevokedRevision != 0:
		t.problem(13, a.ID, "it is revoked as it is given")
	case !t.w.knowsEpoch(a.Epoch):
		t.problem(8, a.ID, "no recovery epoch %q was ever in force", a.Epoch)
	}
}
