package dispatch

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// admission is an event in a case, and whether Step admits it.
type admission struct {
	name string
	c    Case
	e    Event
	want State  // "" when it is refused
	why  string // part of the refusal
}

func (a admission) check(t *testing.T) {
	t.Helper()
	op, fx, r := Step(a.c, a.e)
	if a.want != "" {
		if r != nil || op.State != a.want {
			t.Errorf("%s: it is %s (%v), want %s", a.name, op.State, r, a.want)
		}
		return
	}
	if r == nil || !strings.Contains(r.Message, a.why) {
		t.Errorf("%s: got %v, want a refusal that says %q", a.name, r, a.why)
	}
	if asText(t, op) != asText(t, a.c.Op) || fx != (Effects{}) {
		t.Errorf("%s: a refusal changed something", a.name)
	}
}

func checkAll(t *testing.T, list ...admission) {
	t.Helper()
	for _, a := range list {
		a.check(t)
	}
}

func by1(kind EventKind, o *Observation) Event {
	return Event{Kind: kind, By: executor1, Revision: 90, Observation: o}
}

func amend(c Case, change func(*Case)) Case {
	c.Approvals, c.Attempts = slices.Clone(c.Approvals), slices.Clone(c.Attempts)
	change(&c)
	return c
}

var (
	yes     = answered(1, 30, Accepted)
	refused = answered(1, 30, RejectedDef)
)

// unseen is an attempt whose response is of a class that nobody knows.
func unseen() Attempt { return answered(1, 30, "") }

func TestI2OnlyTheOwnerMovesAnOperation(t *testing.T) {
	for from, events := range contract {
		for kind := range events {
			if kind == Commit || kind == AdoptRecord || kind == Takeover {
				continue
			}
			c, e := offered(from, kind)
			for name, by := range map[string]Owner{
				"another instance":   {Instance: "x2", Generation: 1, Epoch: epoch1},
				"another generation": {Instance: "x1", Generation: 2, Epoch: epoch1},
				"another epoch":      {Instance: "x1", Generation: 1, Epoch: epoch2},
				"nobody":             {},
			} {
				e.By = by
				op, _, r := Step(c, e)
				if r == nil || r.Comparison != 7 || r.Code != "not-owner" || op.State != from {
					t.Errorf("%s %s by %s: %v", from, kind, name, r)
				}
				without := amend(c, func(c *Case) { c.Without = Without{GuardOwnership} })
				if _, _, r := Step(without, e); r != nil { // control
					t.Errorf("%s %s by %s, without the guard: %v", from, kind, name, r)
				}
			}
			e.By = executor1
			if _, _, r := Step(amend(c, func(c *Case) { c.Epoch = epoch2 }), e); r == nil || r.Code != "other-epoch" { // I8
				t.Errorf("%s %s in another epoch: %v", from, kind, r)
			}
		}
	}
	// Half of the guard: only the record of an attempt passes without it.
	half := amend(someCase(Committed), func(c *Case) { c.Without = Without{GuardOwner} })
	stranger := Owner{Instance: "x2", Generation: 9, Epoch: epoch1}
	checkAll(t,
		admission{"attempt", half, Event{Kind: RecordAttempt, By: stranger}, Sending, ""},
		admission{"any other", half, Event{Kind: AttemptRefused, By: stranger, Comparison: 1}, "", "owns the operation"},
	)
}

func TestAttemptRefused(t *testing.T) {
	for n := range 10 {
		want := State("")
		if n == 1 || n == 2 || n == 3 || n == 6 {
			want = Unresolved
		}
		e := by1(AttemptRefused, nil)
		e.Comparison = n
		admission{"refused", someCase(Committed), e, want, "leaves the operation where it is"}.check(t)
	}
}

func TestI6OnlyAResponseOfTheTargetMoves(t *testing.T) {
	other := lostAttempt(1, 30)
	second := func(class ResponseClass) Attempt { return answered(2, 36, class) }
	checkAll(t,
		admission{"accepted", someCase(Sending, yes), by1(Accept, nil), Verifying, ""},
		admission{"not accepted", someCase(Sending, refused), by1(Accept, nil), "", "no acceptance"},
		admission{"not answered", someCase(Sending, other), by1(Accept, nil), "", "no acceptance"},
		admission{"of a class nobody knows", someCase(Sending, unseen()), by1(Accept, nil), "", "no acceptance"},
		admission{"nothing recorded", someCase(Sending, amendAttempt(other, func(a *Attempt) { a.Response = nil })), by1(Accept, nil), "", "no acceptance"},
		admission{"nothing sent", someCase(Sending), by1(Accept, nil), "", "no acceptance"},
		admission{"an earlier one was accepted", someCase(Sending, yes, second(Inconclusive)), by1(Accept, nil), "", "no acceptance"},
		admission{"the current one of two", someCase(Sending, accountedAttempt(1, 30, 35), second(Accepted)), by1(Accept, nil), Verifying, ""},

		admission{"rejected", someCase(Sending, refused), by1(Reject, nil), Rejected, ""},
		admission{"both rejected", someCase(Sending, refused, second(RejectedDef)), by1(Reject, nil), Rejected, ""},
		admission{"an earlier one has no answer", someCase(Sending, accountedAttempt(1, 30, 35), second(RejectedDef)), by1(Reject, nil), Unresolved, ""},
		admission{"an earlier one was accepted", someCase(Sending, yes, second(RejectedDef)), by1(Reject, nil), Unresolved, ""},
		admission{"not rejected", someCase(Sending, yes), by1(Reject, nil), "", "no definitive rejection"},
		admission{"of a class nobody knows", someCase(Sending, unseen()), by1(Reject, nil), "", "no definitive rejection"},

		admission{"late", someCase(Unresolved, refused, second(RejectedDef)), by1(LateReject, nil), Rejected, ""},
		admission{"late, one missing", someCase(Unresolved, accountedAttempt(1, 30, 35), second(RejectedDef)), by1(LateReject, nil), "", "not every attempt"},
		admission{"late, one accepted", someCase(Unresolved, yes, second(RejectedDef)), by1(LateReject, nil), "", "not every attempt"},
		admission{"late, nothing sent", someCase(Unresolved), by1(LateReject, nil), "", "not every attempt"},
		admission{"late, after a restore", amend(someCase(Unresolved, refused), func(c *Case) { c.Op.PreRestore = true }), by1(LateReject, nil), "", "may not be all"},
	)
}

func amendAttempt(a Attempt, change func(*Attempt)) Attempt {
	change(&a)
	return a
}

// Only what a completion observation shows changes Applied, and only an end brings anything with it.
func TestI3AppliedFollowsEvidence(t *testing.T) {
	done := shows(someReading())
	at := func(basis int64) Event { return by1(Complete, observed(basis, done)) }
	checkAll(t,
		admission{"shown", someCase(Verifying, yes), at(32), Completed, ""},
		admission{"shown, unresolved", someCase(Unresolved, accountedAttempt(1, 30, 35)), at(36), Completed, ""},
		admission{"no observation", someCase(Verifying, yes), by1(Complete, nil), "", "no completion observation"},
		admission{"begun with the response", someCase(Verifying, yes), at(31), "", "began before it was"},
		admission{"begun before the response", someCase(Verifying, yes), at(25), "", "began before it was"},
		admission{"begun with the accounting", someCase(Unresolved, accountedAttempt(1, 30, 35)), at(35), "", "began before it was"},
		admission{"begun with the commitment", someCase(Unresolved), at(22), "", "before the commitment"},
		admission{"something else runs", someCase(Verifying, yes), by1(Complete, observed(50, someReading())), "", "contradicts"},
		admission{"rebooting", someCase(Verifying, yes), by1(Complete, observed(50, readingIn("rebooting", done))), "", "not complete"},
		admission{"a later reading differs", someCase(Verifying, yes), Event{Kind: Complete, By: executor1, Observation: observed(50, done), Conflict: true}, "", "later reading"},
		admission{"not accounted for", someCase(Unresolved, lostAttempt(1, 30)), at(50), "", "not accounted for"},
		admission{"of a class nobody knows", someCase(Unresolved, unseen()), at(50), "", "not accounted for"},
		admission{"nothing recorded of the answer", someCase(Unresolved, amendAttempt(yes, func(a *Attempt) { a.Response = nil })), at(50), "", "not accounted for"},
		admission{"a late answer after the accounting", someCase(Unresolved, amendAttempt(accountedAttempt(1, 30, 35), func(a *Attempt) {
			a.Response = &Response{Class: Accepted, Revision: 60}
		})), at(50), "", "began before it was"},
		admission{"an accounting after the answer", someCase(Unresolved, amendAttempt(accountedAttempt(1, 30, 60), func(a *Attempt) {
			a.Response = &Response{Class: Accepted, Revision: 31}
		})), at(50), "", "began before it was"},
		admission{
			"after a restore, unaccounted", amend(someCase(Unresolved, yes), func(c *Case) { c.Op.PreRestore, c.Machine.Recovery = true, PreRestore }),
			at(50), "", "before the restore",
		},
		admission{
			"after a restore, accounted", amend(someCase(Unresolved, yes), func(c *Case) { c.Op.PreRestore, c.Machine.Recovery = true, RecoveryUnresolved }),
			at(50), Completed, "",
		},
	)
	for from, events := range contract {
		for kind := range events {
			_, fx, r := Step(offered(from, kind))
			if changes := fx.Applied != ""; r == nil && changes != (kind == Complete || kind == AdoptRecord) {
				t.Errorf("%s changes what was applied: %v", kind, changes)
			}
		}
	}
}

func readingIn(stage string, r Reading) Reading {
	r.Stage = stage
	return r
}

// With accounting taken away, an operation ends although its attempt may still land: the failure that it prevents.
func TestI5NothingEndsWithAnAttemptUnaccounted(t *testing.T) {
	done, cancelled := shows(someReading()), func(c *Case) { c.Standing.CancelledRev = 60 }
	open := []admission{
		{"completed", someCase(Verifying, lostAttempt(1, 30), answered(2, 36, Accepted)), by1(Complete, observed(50, done)), Completed, ""},
		{"completed, unresolved", someCase(Unresolved, lostAttempt(1, 30)), by1(Complete, observed(50, done)), Completed, ""},
		{"failed", someCase(Verifying, lostAttempt(1, 30), answered(2, 36, Accepted)), by1(Contradict, observed(50, someReading())), Failed, ""},
		{"failed, unresolved", amend(someCase(Unresolved, lostAttempt(1, 30)), cancelled), by1(Contradict, observed(50, someReading())), Failed, ""},
	}
	for _, a := range open {
		control := a
		control.c.Without = Without{GuardAccounting}
		control.check(t)
		_, fx, _ := Step(control.c, control.e)
		if !fx.Release {
			t.Errorf("%s: the control does not release the machine", a.name)
		}
		a.want, a.why = "", "not accounted for"
		a.check(t)
	}
	// What is left of the guard stands behind the other conditions: no end passes it.
	c := someCase(Sending, lostAttempt(1, 30), answered(2, 36, RejectedDef))
	admission{"rejected with an earlier one lost", c, by1(Reject, nil), Unresolved, ""}.check(t)
}

func TestContradictions(t *testing.T) {
	e := by1(Contradict, observed(50, someReading()))
	verifying, unresolved := someCase(Verifying, yes), someCase(Unresolved, accountedAttempt(1, 30, 35))
	spent := func(c *Case) { c.Plan.MaxAttempts = 1 }
	checkAll(t,
		admission{"at the deadline", verifying, e, Failed, ""},
		admission{"before the deadline", amend(verifying, func(c *Case) { c.Now = noon.Add(-1) }), e, "", "deadline has not passed"},
		admission{"shown instead", verifying, by1(Contradict, observed(50, shows(someReading()))), "", "shows"},
		admission{"rebooting", verifying, by1(Contradict, observed(50, readingIn("upgrading", someReading()))), "", "not complete"},
		admission{"begun before the response", verifying, by1(Contradict, observed(31, someReading())), "", "began before it was"},
		admission{"no observation", verifying, by1(Contradict, nil), "", "no completion observation"},

		admission{"a retry may be admitted", unresolved, e, "", "retry may still be admitted"},
		admission{"attempts used up", amend(unresolved, spent), e, Failed, ""},
		admission{"the plan expired", amend(unresolved, func(c *Case) { c.Now = c.Plan.ExpiresAt }), e, Failed, ""},
		admission{"the plan expires in a moment", amend(unresolved, func(c *Case) { c.Now = c.Plan.ExpiresAt.Add(-1) }), e, "", "retry may"},
		admission{"its expiry is recorded", amend(unresolved, func(c *Case) { c.Standing.ExpiredRev = 60 }), e, Failed, ""},
		admission{"the plan was cancelled", amend(unresolved, func(c *Case) { c.Standing.CancelledRev = 60 }), e, Failed, ""},
		admission{"the approval was revoked", amend(unresolved, func(c *Case) { c.Standing.RevokedRev = 60 }), e, Failed, ""},
		admission{"an approver was revoked", amend(unresolved, func(c *Case) { c.Approvals[0].IdentityRevoked = true }), e, Failed, ""},
		admission{"it was accepted", someCase(Unresolved, yes), e, Failed, ""},
		admission{"it was rejected", someCase(Unresolved, refused), e, Failed, ""},
		admission{"nothing was attempted", amend(someCase(Unresolved), func(c *Case) { c.Standing.CancelledRev = 60 }), e, "", "nothing was attempted"},
		admission{"after a restore, unaccounted", amend(unresolved, func(c *Case) { c.Op.PreRestore, c.Machine.Recovery = true, PreRestore }), e, "", "before the restore"},
		admission{"after a restore, accounted", amend(unresolved, func(c *Case) { c.Op.PreRestore, c.Machine.Recovery = true, RecoveryReady }), e, Failed, ""},
	)
}

func TestOverdue(t *testing.T) {
	checkAll(t,
		admission{"at the deadline", someCase(Verifying, yes), by1(Overdue, nil), Unresolved, ""},
		admission{"before it", amend(someCase(Verifying, yes), func(c *Case) { c.Now = noon.Add(-1) }), by1(Overdue, nil), "", "has not passed"},
	)
}

func TestI16StepCountsAttempts(t *testing.T) {
	classified := func(c *Case) { c.Op.Retry = &Classification{Revision: 42, By: executor1, Basis: 40} }
	full := amend(someCase(Unresolved, accountedAttempt(1, 30, 35), accountedAttempt(2, 36, 37)), classified)
	checkAll(t,
		admission{"the last one", amend(someCase(Unresolved, accountedAttempt(1, 30, 35)), classified), by1(RecordAttempt, nil), Sending, ""},
		admission{"one more", full, by1(RecordAttempt, nil), "", "used up"},
		admission{"control", amend(full, func(c *Case) { c.Without = Without{GuardAttempts} }), by1(RecordAttempt, nil), Sending, ""},
	)
}

func TestI17AnAttemptAfterAnotherIsClassified(t *testing.T) {
	c := someCase(Unresolved, accountedAttempt(1, 30, 35))
	checkAll(t,
		admission{"not classified", c, by1(RecordAttempt, nil), "", "not classified"},
		admission{"control", amend(c, func(c *Case) { c.Without = Without{GuardOwnedState} }), by1(RecordAttempt, nil), Sending, ""},
	)
	// A takeover takes the classification away.
	c.Op.Retry = &Classification{Revision: 42, By: executor1, Basis: 40}
	op, _, r := Step(c, Event{Kind: Takeover, NewOwner: "x2", Revision: 90})
	if r != nil || op.Retry != nil || op.Owner != (Owner{Instance: "x2", Generation: 2, Epoch: epoch1}) {
		t.Errorf("%+v, %v", op, r)
	}
}

func TestI11CancellingTakesADecisionOrAnEndedApproval(t *testing.T) {
	c := someCase(Unresolved)
	decided := Event{Kind: Cancel, By: executor1, Decision: "rex"}
	checkAll(t,
		admission{"neither", c, by1(Cancel, nil), "", "may still admit"},
		admission{"decided", c, decided, Cancelled, ""},
		admission{"cancelled", amend(c, func(c *Case) { c.Standing.CancelledRev = 60 }), by1(Cancel, nil), Cancelled, ""},
		admission{"expired", amend(c, func(c *Case) { c.Now = c.Plan.ExpiresAt.Add(time.Hour) }), by1(Cancel, nil), Cancelled, ""},
		admission{"approvals of another epoch", amend(c, func(c *Case) {
			for i := range c.Approvals {
				c.Approvals[i].Epoch = "e0"
			}
		}), by1(Cancel, nil), Cancelled, ""},
		admission{"something was attempted", someCase(Unresolved, accountedAttempt(1, 30, 35)), decided, "", "an attempt was recorded"},
		admission{"after a restore, unaccounted", amend(c, func(c *Case) { c.Op.PreRestore, c.Machine.Recovery = true, PreRestore }), decided, "", "before the restore"},
		admission{"after a restore, accounted", amend(c, func(c *Case) { c.Op.PreRestore = true }), by1(Cancel, nil), Cancelled, ""},
	)
}

// What an end does to the drift record.
func TestEndsAndDrift(t *testing.T) {
	revert := func(c *Case) { c.Plan.Drift = "d-1"; c.Machine.Drift = &Drift{ID: "d-1", Digest: strange} }
	for name, x := range map[string]struct {
		c    Case
		e    Event
		want Effects
	}{
		"completed": {someCase(Verifying, yes), by1(Complete, observed(50, shows(someReading()))), Effects{Release: true, Applied: newDigest}},
		"a revert completed": {
			amend(someCase(Verifying, yes), revert), by1(Complete, observed(50, shows(someReading()))),
			Effects{Release: true, Applied: newDigest, CloseDrift: DriftReverted},
		},
		"adopted": {
			amend(someCase(Absent), func(c *Case) { revert(c); c.Plan.Kind = KindAdopt }),
			Event{Kind: AdoptRecord, Revision: 90},
			Effects{Release: true, Applied: newDigest, CloseDrift: DriftAdopted},
		},
		"adopted without drift": {
			amend(someCase(Absent), func(c *Case) { c.Plan.Kind = KindAdopt }),
			Event{Kind: AdoptRecord, Revision: 90},
			Effects{Release: true, Applied: newDigest},
		},
		"failed on what was applied": {someCase(Verifying, yes), by1(Contradict, observed(50, someReading())), Effects{Release: true}},
		"failed on something else":   {someCase(Verifying, yes), by1(Contradict, observed(50, runs(strange))), Effects{Release: true, OpenDrift: strange}},
		"failed on the artifact": {
			someCase(Verifying, yes), by1(Contradict, observed(50, readingIn("booting", shows(someReading())))),
			Effects{Release: true, OpenDrift: newDigest},
		},
		"failed on another node":     {someCase(Verifying, yes), by1(Contradict, observed(50, ofNode("n-2", runs(strange)))), Effects{Release: true}},
		"failed on no configuration": {someCase(Verifying, yes), by1(Contradict, observed(50, runs(""))), Effects{Release: true}},
		"rejected":                   {someCase(Sending, refused), by1(Reject, nil), Effects{Release: true}},
	} {
		if _, fx, r := Step(x.c, x.e); r != nil || fx != x.want {
			t.Errorf("%s: %+v (%v), want %+v", name, fx, r, x.want)
		}
	}
}

// runs is a reading of a node that runs a digest, "" for none.
func runs(digest string) Reading {
	r := someReading()
	r.Active.Digest, r.Persistent.Digest = digest, digest
	r.Active.Present, r.Persistent.Present = digest != "", digest != ""
	return r
}

func ofNode(id string, r Reading) Reading {
	r.NodeID = id
	return r
}
