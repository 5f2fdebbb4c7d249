package dispatch

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/clewops/clew/internal/ledger"
)

// began is a store with one accepted machine.
func began(s *tale) {
	s.install()
	s.register()
	s.adopt()
}

// ready is an approved plan with evidence.
func ready(s *tale) {
	s.propose("p-1", KindApply, newDigest, nil)
	s.approve("ben")
	s.read("x1", ForEvidence, nil)
}

// sent is a plan whose first attempt is under way.
func sent(s *tale) {
	ready(s)
	s.commit("op-1", "x1")
	s.attempt()
}

// lost is an attempt whose response never came.
func lost(s *tale) {
	sent(s)
	s.pass(10 * time.Second)
	s.move(Lose, Unresolved, s.owner(), nil)
}

// decided is a lost attempt that recovery-admin accounts for, after the settle time.
func decided(s *tale) {
	lost(s)
	s.read("x1", ForCompletion, nil)
	s.pass(time.Minute)
	s.read("x1", ForRecovery, nil)
	s.account(ByDecision, person("rex", "recovery-admin"), nil)
}

// retried is a second attempt after the first was accounted for.
func retried(s *tale) {
	decided(s)
	s.read("x1", ForEvidence, nil)
	s.classify()
	s.attempt()
}

// accepted is an operation that verifies.
func accepted(s *tale) {
	sent(s)
	s.respond(Accepted, "OK")
	s.move(Accept, Verifying, s.owner(), nil)
	s.runs = newDigest
}

func completed(s *tale) {
	accepted(s)
	s.read("x1", ForCompletion, nil)
	s.move(Complete, Completed, s.owner(), nil)
}

// sound are whole stories that hold: they show that a check which finds something in a violation finds nothing else.
var sound = map[string]func(*tale){
	"adopted":   func(*tale) {},
	"completed": completed,
	"retried": func(s *tale) {
		retried(s)
		s.respond(Accepted, "OK")
		s.move(Accept, Verifying, s.owner(), nil)
		s.runs = newDigest
		s.read("x1", ForCompletion, nil)
		s.move(Complete, Completed, s.owner(), nil)
	},
	"rejected": func(s *tale) {
		sent(s)
		s.respond(RejectedDef, "InvalidArgument")
		s.move(Reject, Rejected, s.owner(), nil)
	},
	"late rejected": func(s *tale) {
		lost(s)
		s.respond(RejectedDef, "InvalidArgument")
		s.move(LateReject, Rejected, s.owner(), nil)
	},
	"failed": func(s *tale) {
		accepted(s)
		s.runs = strange
		s.pass(2 * time.Minute)
		s.read("x1", ForCompletion, nil)
		s.move(Contradict, Failed, s.owner(), nil)
		s.openDrift("d-1", strange)
		s.propose("p-2", KindApply, newDigest, nil) // the revert
		s.approve("ben")
		s.read("x1", ForEvidence, nil)
		s.commit("op-2", "x1")
		s.attempt()
		s.respond(Accepted, "OK")
		s.move(Accept, Verifying, s.owner(), nil)
		s.runs = newDigest
		s.read("x1", ForCompletion, nil)
		s.move(Complete, Completed, s.owner(), nil)
		s.closeDrift(DriftReverted)
	},
	"taken over": func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.takeOver("x2")
		s.read("x2", ForEvidence, nil)
		s.classify()
		s.attempt()
		s.respond(Accepted, "OK")
		s.move(Accept, Verifying, s.owner(), nil)
		s.runs = newDigest
		s.read("x2", ForCompletion, nil)
		s.move(Complete, Completed, s.owner(), nil)
	},
	"refused, cancelled": func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.tell("revoked", taleMachine, EntryUnapproved, person("cas", "approver"), func(rev int64, _ time.Time) Body {
			a := s.approvals[0]
			a.RevokedRevision, s.standing.RevokedRev = rev, rev
			return Body{Approval: &a, PlanID: s.plan.ID, Standing: &s.standing}
		})
		one := 1
		s.move(AttemptRefused, Unresolved, s.owner(), func(b *Body) { b.Comparison = &one })
		s.move(Cancel, Cancelled, s.owner(), nil)
	},
	"cannot arrive": func(s *tale) {
		lost(s)
		s.read("x1", ForAccounting, nil)
		s.pass(LateReadsApart)
		s.read("x1", ForAccounting, nil)
		s.account(CannotArrive, s.owner(), func(a *Accounting) { a.Evidence = []byte(`{"sockets":[]}`) })
		s.read("x1", ForEvidence, nil)
		s.classify()
		s.attempt()
	},
	"never left": func(s *tale) {
		sent(s)
		s.account(NeverLeft, s.owner(), nil)
		s.move(Lose, Unresolved, s.owner(), nil)
	},
	"rollout": func(s *tale) {
		s.bindRollout(1, 0)
		s.propose("p-1", KindApply, newDigest, func(p *Plan) { p.Rollout = &Rollout{ID: "weekly", Limit: 1} })
		s.approve("ben")
		s.read("x1", ForEvidence, nil)
		s.commit("op-1", "x1")
		s.attempt()
		s.respond(RejectedDef, "InvalidArgument")
		s.move(Reject, Rejected, s.owner(), nil)
		s.tell("opened", taleRollout, EntryRolloutOpened, person("ben", "approver"), func(rev int64, _ time.Time) Body {
			s.rollout.Failed, s.rollout.OpenedRevision = 0, rev
			return Body{Rollout: &s.rollout}
		})
	},
	"recovery": func(s *tale) {
		s.enterRecovery("e2")
		s.release()
		ready(s)
		s.commit("op-1", "x1")
		s.attempt()
	},
	"assigned": func(s *tale) {
		s.tell("assigned", taleMachine, EntryAssigned, person("ann", "operator"), func(rev int64, _ time.Time) Body {
			s.m.Assignment.Addresses, s.m.AssignmentRevision = []string{"10.0.0.7"}, rev
			return Body{Machine: &s.m}
		})
		s.freeze(true, person("ann", "operator"))
		s.freeze(false, person("ben", "approver"))
		completed(s)
	},
}

func (s *tale) enterRecovery(epoch string) {
	s.epoch = epoch
	s.installed = s.put(taleInstallation, EntryRecoveryEntered, person("rex", "recovery-admin"), worldBody{Epoch: epoch})
}

func (s *tale) release() {
	s.tell("released", taleMachine, EntryReleased, person("rex", "recovery-admin"), func(int64, time.Time) Body {
		s.m.ReleasedEpoch = s.epoch
		return Body{Machine: &s.m}
	})
}

func TestHistorySound(t *testing.T) { testSound(t, sound) }

func testSound(t *testing.T, stories map[string]func(*tale)) {
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			s := newTale(t)
			began(s)
			story(s)
			for _, p := range s.check() {
				t.Error(p)
			}
		})
	}
}

// violation is a story that breaks one invariant: in the named way, and no other one. I2's first half and I7 are not
// checked on a history.
type violation struct {
	invariant int
	name      string
	tell      func(*tale)
}

func on(label string, edit func(*ledger.Entry, *Body), story func(*tale)) func(*tale) {
	return func(s *tale) {
		s.edit[label] = edit
		story(s)
	}
}

func first(label string, f func(*tale), story func(*tale)) func(*tale) {
	return func(s *tale) {
		s.before[label] = f
		story(s)
	}
}

var violations = []violation{
	{1, "a second operation while one holds the scope", func(s *tale) {
		sent(s)
		s.propose("p-2", KindApply, newDigest, nil)
		s.approve("ben")
		s.read("x1", ForEvidence, nil)
		s.commit("op-2", "x1")
	}},
	{2, "an attempt by a former owner", on("attempt 1", func(e *ledger.Entry, b *Body) {
		b.Attempt.By = Owner{Instance: "x1", Generation: 1, Epoch: "e1"}
		b.Attempt.Evidence -= 2 // its own reading
		e.Actor.Instance = "x1"
	}, func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.takeOver("x2")
		s.read("x1", ForEvidence, nil)
		s.read("x2", ForEvidence, nil)
		s.classify()
		s.attempt()
	})},
	{2, "a takeover that skips a generation", on("taken over", func(_ *ledger.Entry, b *Body) { b.Operation.Owner.Generation = 3 },
		func(s *tale) { sent(s); s.takeOver("x2") })},
	{2, "an owner that changes without a takeover", on("accept", func(_ *ledger.Entry, b *Body) { b.Operation.Owner.Instance = "x2" }, accepted)},
	{2, "a move by somebody else", on("lose", func(e *ledger.Entry, _ *Body) { e.Actor.Instance = "x2" }, lost)},
	{2, "a response to an attempt that nobody recorded", func(s *tale) {
		sent(s)
		s.attempts = append(s.attempts, Attempt{Operation: "op-1", Number: 7, By: s.op.Owner})
		s.respond(Inconclusive, "")
	}},
	{3, "applied follows an acceptance", func(s *tale) {
		sent(s)
		s.respond(Accepted, "OK")
		s.edit["accept"] = func(e *ledger.Entry, b *Body) {
			m := s.m
			m.Applied, m.AppliedSource, m.BaselineRevision = newDigest, "op-1", e.Revision
			b.Machine = &m
		}
		s.move(Accept, Verifying, s.owner(), nil)
	}},
	{3, "completed on a reading from before the response", func(s *tale) {
		sent(s)
		s.runs = newDigest
		s.read("x1", ForCompletion, nil)
		s.respond(Accepted, "OK")
		s.move(Accept, Verifying, s.owner(), nil)
		s.move(Complete, Completed, s.owner(), nil)
	}},
	{3, "completed on a reading that a newer one contradicts", func(s *tale) {
		accepted(s)
		s.read("x1", ForCompletion, nil)
		s.runs = strange
		s.read("x1", ForCompletion, nil)
		s.move(Complete, Completed, s.owner(), nil)
	}},
	{3, "applied becomes something else than the plan's artifact", on("complete", func(_ *ledger.Entry, b *Body) { b.Machine.Applied = strange }, completed)},
	{3, "completed without applying", on("complete", func(_ *ledger.Entry, b *Body) { b.Machine = nil }, completed)},
	{4, "a plan that changes", func(s *tale) {
		ready(s)
		s.tell("changed", taleMachine, EntryAlert, s.executor("x1"), func(int64, time.Time) Body {
			p := s.plan
			p.MaxAttempts = 9
			return Body{Plan: &p}
		})
	}},
	{5, "released while an attempt is unaccounted", func(s *tale) {
		lost(s)
		s.runs = newDigest
		s.read("x1", ForCompletion, nil)
		s.move(Complete, Completed, s.owner(), nil)
	}},
	{5, "a terminal state that is left", func(s *tale) {
		completed(s)
		s.tell("reopened", taleMachine, EntryMoved, s.owner(), func(int64, time.Time) Body {
			s.op.State, s.op.EndedRev = Unresolved, 0
			return Body{Operation: &s.op, Event: Lose, From: Completed}
		})
	}},
	{5, "a slot that is freed while the operation holds", func(s *tale) {
		s.bindRollout(1, 0)
		s.propose("p-1", KindApply, newDigest, func(p *Plan) { p.Rollout = &Rollout{ID: "weekly", Limit: 1} })
		s.approve("ben")
		s.read("x1", ForEvidence, nil)
		s.commit("op-1", "x1")
		s.free()
	}},
	{6, "verifying without an acceptance", func(s *tale) {
		sent(s)
		s.respond(Inconclusive, "Unavailable")
		s.move(Accept, Verifying, s.owner(), nil)
	}},
	{6, "rejected while an earlier attempt has no answer", func(s *tale) {
		retried(s)
		s.respond(RejectedDef, "InvalidArgument")
		s.move(Reject, Rejected, s.owner(), nil)
	}},
	{6, "failed before the deadline", func(s *tale) {
		accepted(s)
		s.runs = strange
		s.read("x1", ForCompletion, nil)
		s.move(Contradict, Failed, s.owner(), nil)
	}},
	{6, "failed without a contradiction", func(s *tale) {
		accepted(s)
		s.pass(2 * time.Minute)
		s.move(Contradict, Failed, s.owner(), nil)
	}},
	{6, "failed while a retry may be admitted", func(s *tale) {
		decided(s)
		s.read("x1", ForCompletion, nil)
		s.move(Contradict, Failed, s.owner(), nil)
	}},
	{6, "cancelled after an attempt", func(s *tale) { decided(s); s.move(Cancel, Cancelled, s.owner(), nil) }},
	{6, "cancelled while its approval stands", func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.takeOver("x2")
		s.move(Cancel, Cancelled, s.owner(), nil)
	}},
	{6, "never left, by another process", func(s *tale) {
		lost(s)
		s.takeOver("x2")
		s.account(NeverLeft, s.owner(), nil)
	}},
	{6, "a decision before the settle time", func(s *tale) {
		lost(s)
		s.read("x1", ForCompletion, nil)
		s.pass(20 * time.Second)
		s.read("x1", ForRecovery, nil)
		s.account(ByDecision, person("rex", "recovery-admin"), nil)
	}},
	{6, "a decision on a reading that is not the newest", func(s *tale) {
		lost(s)
		s.read("x1", ForCompletion, nil)
		s.pass(time.Minute)
		s.read("x1", ForRecovery, nil)
		frame := s.seen.Basis
		s.read("x1", ForDrift, nil)
		s.account(ByDecision, person("rex", "recovery-admin"), func(a *Accounting) { a.Basis = frame })
	}},
	{6, "evidence from another host", func(s *tale) {
		s.put(instanceScope("x3"), EntryInstanceStarted, ledger.Actor{Instance: "x3"}, map[string]Host{"host": {Name: "other", ID: "h2"}})
		lost(s)
		s.takeOver("x3")
		s.read("x3", ForAccounting, nil)
		s.pass(LateReadsApart)
		s.read("x3", ForAccounting, nil)
		s.account(CannotArrive, s.owner(), func(a *Accounting) { a.Evidence = []byte(`{}`) })
	}},
	{6, "late reads that differ", func(s *tale) {
		lost(s)
		s.read("x1", ForAccounting, nil)
		s.pass(LateReadsApart)
		s.boot = "b2"
		s.read("x1", ForAccounting, nil)
		s.account(CannotArrive, s.owner(), func(a *Accounting) { a.Evidence = []byte(`{}`) })
	}},
	{14, "a reading whose read began at another time", on("read evidence started", func(_ *ledger.Entry, b *Body) {
		b.Observation.StartedAt = b.Observation.StartedAt.Add(-time.Minute)
	}, sent0)},
	{6, "an answer that changes", func(s *tale) {
		accepted(s)
		s.respond(RejectedDef, "InvalidArgument")
	}},
	{6, "safe to retry while an attempt is unaccounted", func(s *tale) {
		lost(s)
		s.read("x1", ForEvidence, nil)
		s.classify()
	}},
	{6, "safe to retry on a reading from before the accounting", func(s *tale) { decided(s); s.classify() }},
	{8, "an owner of another epoch", func(s *tale) {
		s.enterRecovery("e2")
		s.epoch = "e1" // a process that missed the recovery, and a machine released to it
		s.release()
		sent0(s)
	}},
	{8, "an approval of another epoch", func(s *tale) {
		s.propose("p-1", KindApply, newDigest, nil)
		s.approve("ben")
		s.enterRecovery("e2")
		s.release()
		s.read("x1", ForEvidence, nil)
		s.commit("op-1", "x1")
	}},
	{8, "a restored operation that sends", func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.tell("marked", taleMachine, EntryRecovery, person("rex", "recovery-admin"), func(int64, time.Time) Body {
			s.op.PreRestore = true
			return Body{Operation: &s.op}
		})
		s.attempt()
	}},
	{9, "an assignment that changes while the scope is held", func(s *tale) {
		accepted(s)
		s.tell("assigned", taleMachine, EntryAssigned, person("ann", "operator"), func(rev int64, _ time.Time) Body {
			s.m.Assignment.Addresses, s.m.AssignmentRevision = []string{"10.0.0.7"}, rev
			return Body{Machine: &s.m}
		})
	}},
	{10, "a commitment while frozen", first("committed", func(s *tale) { s.freeze(true, person("ann", "operator")) }, sent0)},
	{10, "an attempt while frozen", first("attempt 1", func(s *tale) { s.freeze(true, person("ann", "operator")) }, sent)},
	{10, "a commitment over an open drift record", first("committed", func(s *tale) { s.openDrift("d-1", strange) }, sent0)},
	{10, "a revert whose drift record is closed", func(s *tale) {
		s.openDrift("d-1", oldDigest)
		s.propose("p-1", KindApply, newDigest, nil)
		s.approve("ben")
		s.closeDrift(DriftReturned)
		s.read("x1", ForEvidence, nil)
		s.commit("op-1", "x1")
	}},
	{10, "a commitment in recovery, not released", first("planned p-1", func(s *tale) { s.enterRecovery("e2") }, sent0)},
	{10, "a freeze that goes away by itself", func(s *tale) {
		s.freeze(true, person("ann", "operator"))
		s.m.Frozen, s.m.FrozenBy, s.m.FreezeReason = false, "", ""
		s.propose("p-1", KindApply, newDigest, nil)
	}},
	{11, "a decision by nobody", on("accounted 1", func(e *ledger.Entry, _ *Body) { e.Actor.Identity = "" }, decided)},
	{11, "a decision by a stranger", on("accounted 1", func(e *ledger.Entry, b *Body) { e.Actor.Identity, b.Attempt.Accounting.By = "zoe", "zoe" }, decided)},
	{11, "a decision by an operator", on("accounted 1", func(e *ledger.Entry, _ *Body) { e.Actor.Role = "operator" }, decided)},
	{11, "a decision by an agent", on("accounted 1", func(e *ledger.Entry, b *Body) {
		e.Actor.Identity, b.Attempt.Accounting.By = "bot", "bot"
	}, func(s *tale) {
		s.put(identityScope("bot"), EntryIdentityCreated, person("ann", ""), map[string]any{"identity": map[string]string{"kind": "agent"}})
		decided(s)
	})},
	{11, "a decision without a basis", on("accounted 1", func(_ *ledger.Entry, b *Body) { b.Attempt.Accounting.Basis = 0 }, decided)},
	{11, "an approval in another's name", on("approved by ben", func(e *ledger.Entry, _ *Body) { e.Actor.Identity = "cas" }, ready)},
	{11, "a freeze that an operator lifts", func(s *tale) {
		s.freeze(true, person("ann", "operator"))
		s.freeze(false, person("ann", "operator"))
	}},
	{11, "a recovery that nobody entered", func(s *tale) {
		s.put(taleInstallation, EntryRecoveryEntered, ledger.Actor{}, worldBody{Epoch: "e2"})
	}},
	{11, "a clock step by a stranger", func(s *tale) {
		s.put(taleInstallation, EntryClockStep, person("zoe", "recovery-admin"), worldBody{})
	}},
	{11, "a rollout that an operator opens again", func(s *tale) {
		s.bindRollout(1, 0)
		s.tell("opened", taleRollout, EntryRolloutOpened, person("ann", "operator"), func(rev int64, _ time.Time) Body {
			s.rollout.OpenedRevision = rev
			return Body{Rollout: &s.rollout}
		})
	}},
	{12, "a second operation of one plan", func(s *tale) {
		s.propose("p-0", KindApply, newDigest, nil) // waits
		ready(s)
		s.commit("op-1", "x1")
		s.attempt()
		s.respond(RejectedDef, "InvalidArgument")
		s.move(Reject, Rejected, s.owner(), nil)
		s.op = Operation{}
		s.read("x1", ForEvidence, nil)
		s.commit("op-2", "x1")
	}},
	{13, "an attempt after its approval was revoked", first("attempt 1", func(s *tale) { s.revokeApproval() }, sent)},
	{13, "an attempt that read its approver's revocation", first("attempt 1", func(s *tale) {
		s.ids["ben"] = s.put(identityScope("ben"), EntryIdentityRevoked, person("cas", "approver"), nil)
	}, sent)},
	{13, "an attempt that read less of its approver than the commitment", on("attempt 1", func(_ *ledger.Entry, b *Body) {
		b.Attempt.Identities["ben"] = 0
	}, sent)},
	{13, "an approval that comes back", func(s *tale) {
		ready(s)
		s.revokeApproval()
		s.tell("unrevoked", taleMachine, EntryUnapproved, person("cas", "approver"), func(int64, time.Time) Body {
			a := s.approvals[0]
			return Body{Approval: &a}
		})
	}},
	{13, "too few approvals", func(s *tale) {
		s.propose("p-1", KindApply, newDigest, func(p *Plan) { p.Policy.Approvals = 2 })
		s.edit["approved by ben"] = func(_ *ledger.Entry, b *Body) { b.Standing.State = PlanApproved }
		s.approve("ben")
		s.read("x1", ForEvidence, nil)
		s.commit("op-1", "x1")
	}},
	{14, "evidence of another process", on("read evidence", func(e *ledger.Entry, b *Body) {
		e.Actor.Instance, b.Observation.Instance = "x2", "x2"
	}, sent0)},
	{14, "evidence for another plan", on("read evidence", func(_ *ledger.Entry, b *Body) { b.Observation.Plan = "p-9" }, sent0)},
	{14, "evidence of another digest", on("read evidence", func(_ *ledger.Entry, b *Body) {
		b.Observation.Reading.Active.Digest, b.Observation.Reading.Persistent.Digest = strange, strange
	}, sent0)},
	{14, "evidence that is too old", first("committed", func(s *tale) { s.pass(2 * time.Minute) }, sent0)},
	{14, "evidence that is not there", on("committed", func(_ *ledger.Entry, b *Body) { b.Evidence = 2 }, sent0)},
	{14, "a newer reading that differs", first("attempt 1", func(s *tale) {
		seen, runs := s.seen, s.runs
		s.runs = strange
		s.read("x2", ForDrift, nil)
		s.seen, s.runs = seen, runs
	}, sent)},
	{14, "evidence with a change pending", on("read evidence", func(_ *ledger.Entry, b *Body) { b.Observation.Reading.Persistent.Digest = strange }, sent0)},
	{14, "a reading younger than its read", on("read evidence", func(_ *ledger.Entry, b *Body) {
		b.Observation.StartedAt = b.Observation.StartedAt.Add(time.Second)
	}, sent0)},
	{14, "another baseline", on("planned p-1", func(_ *ledger.Entry, b *Body) { b.Plan.BaselineRevision = 1 }, sent0)},
	{14, "another assignment", on("planned p-1", func(_ *ledger.Entry, b *Body) { b.Plan.AssignmentRevision = 9 }, sent0)},
	{14, "another route", on("attempt 1", func(_ *ledger.Entry, b *Body) { b.Attempt.Route = Via("10.0.0.2") }, sent)},
	{15, "more open operations than the limit", func(s *tale) {
		s.bindRollout(1, 0)
		s.rollout.Open = []string{"op-0"}
		s.tell("taken before", taleRollout, EntryRolloutTaken, s.owner(), func(int64, time.Time) Body { return Body{Rollout: &s.rollout} })
		s.propose("p-1", KindApply, newDigest, func(p *Plan) { p.Rollout = &Rollout{ID: "weekly", Limit: 1} })
		s.approve("ben")
		s.read("x1", ForEvidence, nil)
		s.commit("op-1", "x1")
	}},
	{15, "a commitment that took no slot", func(s *tale) {
		s.bindRollout(1, 0)
		s.propose("p-1", KindApply, newDigest, func(p *Plan) { p.Rollout = &Rollout{ID: "weekly", Limit: 1} })
		s.approve("ben")
		s.read("x1", ForEvidence, nil)
		s.commit("op-1", "x1")
		s.entries[taleRollout] = s.entries[taleRollout][:1]
	}},
	{15, "a limit that grows", func(s *tale) {
		s.bindRollout(1, 0)
		s.bindRollout(5, 0)
	}},
	{15, "a limit wider than its plans bind", func(s *tale) {
		s.bindRollout(5, 0)
		s.propose("p-1", KindApply, newDigest, func(p *Plan) { p.Rollout = &Rollout{ID: "weekly", Limit: 1} })
	}},
	{16, "more attempts than the bound", on("planned p-1", func(_ *ledger.Entry, b *Body) { b.Plan.MaxAttempts = 1 }, retried)},
	{17, "a retry without a classification", func(s *tale) {
		decided(s)
		s.read("x1", ForEvidence, nil)
		s.attempt()
	}},
	{17, "a retry after a response since the classification", first("attempt 2", func(s *tale) {
		s.tell("late", taleMachine, EntryResponse, s.owner(), func(rev int64, at time.Time) Body {
			a := s.attempts[0]
			a.Response = &Response{Class: Inconclusive, Code: "Unavailable", Late: true, Revision: rev, At: at}
			return Body{Attempt: &a}
		})
	}, retried)},
	{17, "a retry on a classification from before a takeover", func(s *tale) {
		decided(s)
		s.read("x1", ForEvidence, nil)
		s.classify()
		keep := *s.op.Retry
		s.edit["taken over"] = func(_ *ledger.Entry, b *Body) { b.Operation.Retry = &keep }
		s.takeOver("x2")
		s.read("x2", ForEvidence, nil)
		s.attempt()
	}},
	{17, "a retry on a classification that was made anew", func(s *tale) {
		decided(s)
		s.read("x1", ForEvidence, nil)
		s.classify()
		keep := *s.op.Retry
		s.edit["classified"] = func(_ *ledger.Entry, b *Body) { b.Operation.Retry = &keep }
		s.classify()
		s.attempt()
	}},
	{18, "an attempt of a cancelled plan", first("attempt 1", func(s *tale) {
		s.tell("plan cancelled", taleMachine, EntryPlanCanceled, person("ann", "author"), func(rev int64, _ time.Time) Body {
			s.standing.CancelledRev = rev
			return Body{PlanID: s.plan.ID, Standing: &s.standing}
		})
	}, sent)},
	{18, "an attempt of an expired plan", on("planned p-1", func(e *ledger.Entry, b *Body) { b.Plan.ExpiresAt = e.At.Add(200 * time.Millisecond) },
		first("attempt 1", func(s *tale) { s.pass(time.Second) }, sent))},
	{18, "a cancellation that is taken back", func(s *tale) {
		ready(s)
		s.tell("plan cancelled", taleMachine, EntryPlanCanceled, person("ann", "author"), func(rev int64, _ time.Time) Body {
			s.standing = Standing{State: PlanCancelled, CancelledRev: rev}
			return Body{PlanID: s.plan.ID, Standing: &s.standing}
		})
		s.standing = Standing{State: PlanApproved}
		s.tell("uncancelled", taleMachine, EntryPlanCanceled, person("ann", "author"), func(int64, time.Time) Body {
			return Body{PlanID: s.plan.ID, Standing: &s.standing}
		})
	}},
}

// sent0 stops at the commitment.
func sent0(s *tale) { ready(s); s.commit("op-1", "x1") }

func (s *tale) revokeApproval() {
	s.tell("revoked", taleMachine, EntryUnapproved, person("cas", "approver"), func(rev int64, _ time.Time) Body {
		a := s.approvals[0]
		a.RevokedRevision = rev
		return Body{Approval: &a}
	})
}

func TestHistoryFindsEachViolation(t *testing.T) { testViolations(t, violations) }

func testViolations(t *testing.T, violations []violation) {
	for _, v := range violations {
		t.Run(fmt.Sprintf("I%d %s", v.invariant, v.name), func(t *testing.T) {
			s := newTale(t)
			began(s)
			v.tell(s)
			got := s.check()
			if len(got) == 0 {
				t.Fatal("nothing was found")
			}
			for _, p := range got {
				if p.Invariant != v.invariant {
					t.Errorf("also found: %s", p)
				}
				if p.Scope.Kind == "" || p.Revision == 0 {
					t.Errorf("names no entry: %s", p)
				}
			}
			if t.Failed() {
				for _, p := range got {
					t.Log(p)
				}
			}
		})
	}
}

// Every invariant that a history can show is broken by at least one of the violations above.
func TestHistoryCoversInvariants(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18} {
		if !slices.ContainsFunc(violations, func(v violation) bool { return v.invariant == n }) {
			t.Errorf("I%d has no control", n)
		}
	}
}

// The two tables were written apart and say the same.
func TestHistoryTableAgrees(t *testing.T) {
	want := map[[2]State][]EventKind{}
	for _, from := range States {
		for _, event := range Events {
			for _, to := range Table[from][event] {
				want[[2]State{from, to}] = append(want[[2]State{from, to}], event)
			}
		}
	}
	for pair := range want {
		slices.Sort(want[pair])
	}
	got := map[[2]State][]EventKind{}
	for pair, events := range historyTable {
		got[pair] = slices.Sorted(slices.Values(events))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the tables differ:\n got %v\nwant %v", got, want)
	}
}

func TestHistoryOrderIsTheCallers(t *testing.T) {
	h := NewHistory(func(Problem) {})
	s := newTale(t)
	began(s)
	if err := h.Add(s.entries[taleMachine][0]); err != nil {
		t.Fatal(err)
	}
	if err := h.Add(s.entries[taleInstallation][0]); err == nil {
		t.Error("an installation's entry after a machine's was taken")
	}
}

func TestBodiesAreReadWhole(t *testing.T) {
	const reading = `{"stage":"}\\\\","boot_id":"{"}`
	const observation = `{"machine":"m{\"}","reading":` + reading + `}`
	var r bodyReader
	for _, body := range []string{
		`{"observation":` + observation + `}`,
		`{"observation":` + observation + `,"text":"}"}`,
		`{"text":"}","observation":` + observation + `}`,
		`{ "text":"}","observation":` + observation + `}`,
	} {
		b, got, err := r.body([]byte(body))
		if err != nil || string(got) != observation || b.Observation.Machine != `m{"}` || b.Observation.Reading.Stage != `}\\` {
			t.Errorf("%s: got %s, %+v, %v", body, got, b.Observation, err)
		}
		var plain Body
		if err := json.Unmarshal([]byte(body), &plain); err != nil || !reflect.DeepEqual(b, plain) {
			t.Errorf("%s: read as %+v, holds %+v", body, b, plain)
		}
	}
	other, _, err := r.body([]byte(`{"observation":{"reading":{"stage":"running"}}}`))
	if err != nil || other.Observation.Reading.Stage != "running" || other.Observation.Reading.BootID != "" {
		t.Errorf("another reading is read as %+v, %v", other.Observation, err)
	}
	for _, body := range []string{``, `{}`, `{"observation":null}`} {
		if b, got, err := r.body([]byte(body)); got != nil || err != nil || b.Observation != nil {
			t.Errorf("%q: got %s, %v", body, got, err)
		}
	}
	for _, body := range []string{`{`, `{"observation":{"reading":{"stage":1}}}`, `[]`} {
		if _, _, err := r.body([]byte(body)); err == nil {
			t.Errorf("%q: no error", body)
		}
	}
}
