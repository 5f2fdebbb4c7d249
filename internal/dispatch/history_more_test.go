package dispatch

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/clewops/clew/internal/ledger"
)

// again writes the operation once more, changed, in an entry of a kind that moves nothing.
func again(change func(*Body), story func(*tale)) func(*tale) {
	return func(s *tale) {
		story(s)
		s.tell("again", taleMachine, EntryAlert, s.owner(), func(int64, time.Time) Body {
			op := s.op
			b := Body{Operation: &op}
			if n := len(s.attempts); n > 0 {
				a := s.attempts[n-1]
				b.Attempt = &a
			}
			change(&b)
			return b
		})
	}
}

// more are the finer ways of breaking the invariants: what an entry claims of itself and of its records.
var more = []violation{
	{2, "a commitment without an operation", on("committed", func(_ *ledger.Entry, b *Body) { b.Operation, b.Standing = nil, nil }, sent0)},
	{2, "a commitment of a plan that is not there", on("committed", func(_ *ledger.Entry, b *Body) { b.Operation.Plan, b.Standing = "p-9", nil }, sent0)},
	{2, "a commitment of another machine", on("committed", func(_ *ledger.Entry, b *Body) { b.Operation.Machine = "m-9" }, sent0)},
	{2, "a commitment at a later generation", on("committed", func(_ *ledger.Entry, b *Body) { b.Operation.Owner.Generation = 2 }, sent0)},
	{2, "a commitment in another's name", on("committed", func(e *ledger.Entry, _ *Body) { e.Actor.Instance = "x2" }, sent0)},
	{2, "a commitment of another kind", on("committed", func(_ *ledger.Entry, b *Body) { b.Operation.Kind = KindAdopt }, sent0)},
	{2, "an attempt entry without an attempt", on("attempt 1", func(_ *ledger.Entry, b *Body) { b.Attempt = nil }, sent)},
	{2, "an attempt of no operation", on("attempt 1", func(_ *ledger.Entry, b *Body) { b.Attempt.Operation, b.Operation = "op-9", nil }, sent)},
	{2, "an attempt that skips a number", on("attempt 1", func(_ *ledger.Entry, b *Body) { b.Attempt.Number = 2 }, sent)},
	{2, "a response to nothing", on("response 1", func(_ *ledger.Entry, b *Body) { b.Attempt = nil }, func(s *tale) { sent(s); s.respond(Inconclusive, "") })},
	{2, "an attempt whose record changes", again(func(b *Body) { b.Attempt.LocalAddr = "elsewhere" }, sent)},
	{2, "an operation from nowhere", func(s *tale) {
		s.op = Operation{ID: "op-7", Plan: "p-adopt", Machine: "m-1", Owner: Owner{Instance: "x1", Generation: 1, Epoch: "e1"}}
		s.move(Commit, Committed, s.owner(), nil)
	}},
	{3, "applied claims another source", on("complete", func(_ *ledger.Entry, b *Body) { b.Machine.AppliedSource = "op-9" }, completed)},
	{3, "completed on another machine's reading", func(s *tale) {
		accepted(s)
		s.read("x1", ForCompletion, func(o *Observation) { o.Reading.NodeID = "n9" })
		s.move(Complete, Completed, s.owner(), nil)
	}},
	{3, "completed in another stage", func(s *tale) {
		accepted(s)
		s.read("x1", ForCompletion, func(o *Observation) { o.Reading.Stage = "booting" })
		s.move(Complete, Completed, s.owner(), nil)
	}},
	{3, "completed while the node goes down", func(s *tale) {
		accepted(s)
		s.read("x1", ForCompletion, func(o *Observation) { o.Reading.Stage = "rebooting" })
		s.move(Complete, Completed, s.owner(), nil)
	}},
	{3, "completed though the next boot runs something else", func(s *tale) {
		accepted(s)
		s.read("x1", ForCompletion, func(o *Observation) { o.Reading.Persistent.Digest = strange })
		s.move(Complete, Completed, s.owner(), nil)
	}},
	{3, "completed though nothing is kept for the next boot", func(s *tale) {
		accepted(s)
		s.read("x1", ForCompletion, func(o *Observation) { o.Reading.Persistent = Resource{} })
		s.move(Complete, Completed, s.owner(), nil)
	}},
	{3, "completed in another role", func(s *tale) {
		accepted(s)
		s.read("x1", ForCompletion, func(o *Observation) { o.Reading.Role = ControlPlane })
		s.move(Complete, Completed, s.owner(), nil)
	}},
	{4, "a plan that appears by itself", on("planned p-1", func(e *ledger.Entry, _ *Body) { e.Kind = EntryAlert }, ready)},
	{4, "a plan of another machine", on("planned p-1", func(_ *ledger.Entry, b *Body) { b.Plan.Machine = "m-9" }, ready)},
	{4, "a standing of no plan", on("approved by ben", func(_ *ledger.Entry, b *Body) { b.PlanID = "p-9" }, func(s *tale) {
		s.propose("p-1", KindApply, newDigest, nil)
		s.approve("ben")
	})},
	{4, "an operation that was committed as something else", again(func(b *Body) { b.Operation.Rollout, b.Operation.Kind = "", KindAdopt }, sent)},
	{5, "ended without a terminal state", again(func(b *Body) { b.Operation.EndedRev = 3 }, sent)},
	{5, "an end at another revision", on("reject", func(_ *ledger.Entry, b *Body) { b.Operation.EndedRev-- }, sound["rejected"])},
	{5, "a slot that stays taken after the end", func(s *tale) {
		rolledOut(s)
		s.attempt()
		s.respond(RejectedDef, "InvalidArgument")
		s.move(Reject, Rejected, s.owner(), nil)
		s.entries[taleRollout] = s.entries[taleRollout][:2]
	}},
	{6, "an answered attempt as it is recorded", on("attempt 1", func(e *ledger.Entry, b *Body) {
		b.Attempt.Response = &Response{Class: Accepted, Revision: e.Revision}
	}, sent)},
	{6, "a response that goes away", again(func(b *Body) { b.Attempt.Response = nil }, accepted)},
	{6, "a response beside the response entries", again(func(b *Body) {
		b.Attempt.Response = &Response{Class: Inconclusive, Revision: 18}
	}, sent)},
	{6, "a response at another revision", on("response 1", func(_ *ledger.Entry, b *Body) { b.Attempt.Response.Revision = 3 }, accepted)},
	{6, "a response by who did not send", on("response 1", func(e *ledger.Entry, _ *Body) { e.Actor.Instance = "x2" }, accepted)},
	{6, "an accounting that goes away", again(func(b *Body) { b.Attempt.Accounting = nil }, decided)},
	{6, "an accounting that is replaced", func(s *tale) {
		decided(s)
		s.account(NeverLeft, s.owner(), nil)
	}},
	{6, "an accounting at another revision", on("accounted 1", func(_ *ledger.Entry, b *Body) { b.Attempt.Accounting.Revision = 3 }, decided)},
	{6, "an accounting on no ground", on("accounted 1", func(_ *ledger.Entry, b *Body) { b.Attempt.Accounting.Kind = "hope" }, decided)},
	{6, "a restore's accounting without a restore", on("accounted 1", func(_ *ledger.Entry, b *Body) { b.Attempt.Accounting.Kind = PreRestoreEnd }, decided)},
	{6, "evidence without what it saw", func(s *tale) {
		lost(s)
		s.read("x1", ForAccounting, nil)
		s.pass(LateReadsApart)
		s.read("x1", ForAccounting, nil)
		s.account(CannotArrive, s.owner(), nil)
	}},
	{6, "evidence on a reading that is not there", func(s *tale) {
		lost(s)
		s.account(CannotArrive, s.owner(), func(a *Accounting) { a.Evidence, a.Basis = []byte(`{}`), 3 })
	}},
	{6, "a decision without a reading on the route", func(s *tale) {
		lost(s)
		s.pass(5 * time.Minute)
		s.read("x1", ForRecovery, func(o *Observation) { o.Route = Via("10.0.0.9") })
		s.account(ByDecision, person("rex", judgeRole), nil)
	}},
	{6, "a gone endpoint, decided too early", func(s *tale) {
		s.propose("p-1", KindApply, newDigest, func(p *Plan) { p.Route = Via("10.0.0.9") })
		s.approve("ben")
		s.read("x1", ForEvidence, nil)
		s.commit("op-1", "x1")
		s.attempt()
		s.move(Lose, Unresolved, s.owner(), nil)
		s.pass(20 * time.Second)
		s.read("x1", ForRecovery, nil)
		s.account(ByDecision, person("rex", judgeRole), func(a *Accounting) { a.Evidence = []byte(`{"route_gone":"it was replaced"}`) })
	}},
	{6, "unresolved by a refusal that does not lead there", on(string(AttemptRefused), func(_ *ledger.Entry, b *Body) { *b.Comparison = 9 },
		sound["refused, cancelled"])},
	{6, "rejected without a rejection", func(s *tale) {
		sent(s)
		s.respond(Accepted, "OK")
		s.move(Reject, Unresolved, s.owner(), nil)
	}},
	{6, "rejected late without a rejection", func(s *tale) {
		decided(s)
		s.move(LateReject, Rejected, s.owner(), nil)
	}},
	{6, "overdue before the deadline", func(s *tale) {
		accepted(s)
		s.move(Overdue, Unresolved, s.owner(), nil)
	}},
	{6, "a verification cut short", on(string(Accept), func(_ *ledger.Entry, b *Body) {
		b.Operation.VerifyUntil = b.Operation.VerifyUntil.Add(-30 * time.Second)
	}, accepted)},
	{6, "failed without an attempt", func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.takeOver("x2")
		s.runs = strange
		s.read("x2", ForCompletion, nil)
		s.move(Contradict, Failed, s.owner(), nil)
	}},
	{6, "safe to retry though the node answered", func(s *tale) {
		sent(s)
		s.takeOver("x2")
		s.tell("late", taleMachine, EntryResponse, s.executor("x1"), func(rev int64, at time.Time) Body {
			s.attempts[0].Response = &Response{Class: Accepted, Late: true, Revision: rev, At: at}
			return Body{Attempt: &s.attempts[0]}
		})
		s.read("x2", ForEvidence, nil)
		s.classify()
	}},
	{6, "safe to retry at another digest", func(s *tale) {
		decided(s)
		s.runs = strange
		s.read("x1", ForEvidence, nil)
		s.classify()
	}},
	{8, "a commitment that read no installation", on("committed", func(_ *ledger.Entry, b *Body) { b.Installation = 0 }, sent0)},
	{8, "an attempt that read less than the commitment", func(s *tale) {
		s.put(taleInstallation, EntryAnchored, ledger.Actor{}, nil)
		s.installed++
		s.edit["attempt 1"] = func(_ *ledger.Entry, b *Body) { b.Attempt.Installation-- }
		sent(s)
	}},
	{8, "a takeover into an epoch that never was", on("taken over", func(_ *ledger.Entry, b *Body) { b.Operation.Owner.Epoch = "e9" },
		func(s *tale) { sent(s); s.takeOver("x2") })},
	{8, "an approval in an epoch that never was", on("approved by ben", func(_ *ledger.Entry, b *Body) { b.Approval.Epoch = "e9" },
		func(s *tale) {
			s.propose("p-1", KindApply, newDigest, nil)
			s.approve("ben")
		})},
	{8, "a restore that is forgotten", func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.edit["taken over"] = func(_ *ledger.Entry, b *Body) { b.Operation.PreRestore = true }
		s.takeOver("x2")
		s.read("x2", ForEvidence, nil)
		s.classify()
	}},
	{8, "a release by itself", on("planned p-1", func(_ *ledger.Entry, b *Body) { b.Machine.ReleasedEpoch = "e1" }, ready)},
	{8, "an epoch that comes back", func(s *tale) {
		s.enterRecovery("e2")
		s.put(taleInstallation, EntryRecoveryEntered, person("rex", judgeRole), worldBody{Epoch: "e1"})
	}},
	{8, "a recovery without an epoch", func(s *tale) {
		s.put(taleInstallation, EntryRecoveryEntered, person("rex", judgeRole), worldBody{})
	}},
	{8, "the end of another recovery", func(s *tale) {
		s.put(taleInstallation, EntryRecoveryLeft, person("rex", judgeRole), worldBody{Epoch: "e9"})
	}},
	{9, "a machine that turns into another", on("frozen", func(_ *ledger.Entry, b *Body) { b.Machine.NodeID = "n9" },
		func(s *tale) { s.freeze(true, person("ann", "operator")) })},
	{9, "an assignment that changes by itself", on("frozen", func(_ *ledger.Entry, b *Body) { b.Machine.Assignment.Role = ControlPlane },
		func(s *tale) { s.freeze(true, person("ann", "operator")) })},
	{9, "an assignment at another revision", func(s *tale) {
		s.tell("assigned", taleMachine, EntryAssigned, person("ann", "operator"), func(int64, time.Time) Body {
			s.m.Assignment.Addresses = []string{"10.0.0.7"}
			return Body{Machine: &s.m}
		})
	}},
	{10, "a second open drift record", func(s *tale) { s.openDrift("d-1", strange); s.openDrift("d-2", strange) }},
	{10, "a drift record opened at another revision", on("drift opened", func(_ *ledger.Entry, b *Body) { b.Drift.OpenedRevision = 2 },
		func(s *tale) { s.openDrift("d-1", strange) })},
	{10, "a drift record closed at another revision", on("drift closed", func(_ *ledger.Entry, b *Body) { b.Drift.ClosedRevision = 2 },
		func(s *tale) { s.openDrift("d-1", strange); s.closeDrift(DriftReturned) })},
	{10, "a closed drift record that changes", func(s *tale) {
		s.openDrift("d-1", strange)
		open := *s.m.Drift
		s.closeDrift(DriftReturned)
		s.m.Drift = &open
		s.closeDrift(DriftAdopted)
	}},
	{11, "a decision in another's name", on("accounted 1", func(_ *ledger.Entry, b *Body) { b.Attempt.Accounting.By = "ann" }, decided)},
	{11, "a decision in no role", on("accounted 1", func(e *ledger.Entry, _ *Body) { e.Actor.Role = "" }, decided)},
	{11, "an approval that changes", func(s *tale) {
		ready(s)
		s.tell("changed", taleMachine, EntryAlert, s.executor("x1"), func(int64, time.Time) Body {
			a := s.approvals[0]
			a.Approver = "cas"
			return Body{Approval: &a}
		})
	}},
	{11, "an approval by itself", on("approved by ben", func(e *ledger.Entry, _ *Body) { e.Kind = EntryAlert }, ready)},
	{11, "an approval of no plan", on("approved by ben", func(_ *ledger.Entry, b *Body) { b.Approval.Plan = "p-9" }, ready)},
	{11, "an approval of another revision", on("approved by ben", func(_ *ledger.Entry, b *Body) { b.Approval.PlanRevision = 1 }, ready)},
	{11, "a cancellation that an operator decides", func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.takeOver("x2")
		actor := s.owner()
		actor.Identity, actor.Role = "ann", "operator"
		s.move(Cancel, Cancelled, actor, nil)
	}},
	{12, "an operation that turns to another plan", func(s *tale) {
		s.propose("p-0", KindApply, newDigest, nil)
		again(func(b *Body) { b.Operation.Plan = "p-0" }, sent)(s)
	}},
	{12, "a plan committed by itself", func(s *tale) {
		ready(s)
		s.tell("committed alone", taleMachine, EntryAlert, s.executor("x1"), func(int64, time.Time) Body {
			return Body{PlanID: "p-1", Standing: &Standing{State: PlanCommitted}}
		})
	}},
	{12, "a plan committed to another operation", on("committed", func(_ *ledger.Entry, b *Body) { b.Standing.Operation = "op-9" }, sent0)},
	{12, "an attempt of a plan that is not committed", on("committed", func(_ *ledger.Entry, b *Body) { b.Standing = nil }, sent)},
	{13, "an approval revoked as it is given", on("approved by ben", func(e *ledger.Entry, b *Body) { b.Approval.RevokedRevision = e.Revision },
		func(s *tale) {
			s.propose("p-1", KindApply, newDigest, nil)
			s.approve("ben")
		})},
	{13, "an approval revoked by itself", on("revoked", func(e *ledger.Entry, _ *Body) { e.Kind = EntryAlert },
		func(s *tale) { ready(s); s.revokeApproval() })},
	{13, "a commitment that did not read its approver", on("committed", func(_ *ledger.Entry, b *Body) { b.Identities = nil }, sent0)},
	{13, "a revoked identity that gets roles", func(s *tale) {
		s.put(identityScope("cas"), EntryIdentityRevoked, person("ann", judgeRole), nil)
		s.put(identityScope("cas"), EntryIdentityRoles, person("ann", judgeRole), nil)
	}},
	{13, "a revocation of a plan that is taken back", func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.tell("revoked", taleMachine, EntryPlanRevoked, ledger.Actor{}, func(rev int64, _ time.Time) Body {
			st := s.standing
			st.RevokedRev = rev
			return Body{PlanID: "p-1", Standing: &st}
		})
		s.tell("unrevoked", taleMachine, EntryPlanRevoked, ledger.Actor{}, func(int64, time.Time) Body {
			return Body{PlanID: "p-1", Standing: &s.standing}
		})
	}},
	{13, "a self-approval that the policy does not count", on("approved by ben", func(_ *ledger.Entry, b *Body) { b.Approval.Self = true }, sent0)},
	{14, "a reading that never began", on("read evidence", func(_ *ledger.Entry, b *Body) { b.Observation.Basis = 1 }, ready)},
	{14, "a reading at another revision", on("read evidence", func(_ *ledger.Entry, b *Body) { b.Observation.Revision = 1 }, ready)},
	{14, "a reading entry without a reading", on("read evidence", func(_ *ledger.Entry, b *Body) { b.Observation = nil }, ready)},
	{14, "a read that begins at another basis", on("read drift started", func(_ *ledger.Entry, b *Body) { b.Observation.Basis = 1 }, func(s *tale) {
		s.read("x1", ForDrift, nil)
	})},
	{14, "a reading recorded by another process", on("read evidence", func(e *ledger.Entry, _ *Body) { e.Actor.Instance = "x2" }, ready)},
	{14, "evidence from the future", on("committed", func(e *ledger.Entry, _ *Body) { e.At = e.At.Add(-time.Minute) }, sent0)},
	{14, "evidence of another machine", on("read evidence", func(_ *ledger.Entry, b *Body) { b.Observation.Reading.NodeID = "n9" }, sent0)},
	{14, "evidence of another role", on("read evidence", func(_ *ledger.Entry, b *Body) { b.Observation.Reading.Role = ControlPlane }, sent0)},
	{14, "evidence of a node going down", on("read evidence", func(_ *ledger.Entry, b *Body) { b.Observation.Reading.Stage = "shutting down" }, sent0)},
	{14, "evidence in another stage", on("read evidence", func(_ *ledger.Entry, b *Body) { b.Observation.Reading.Stage = "booting" }, sent0)},
	{14, "evidence of a node that is not ready", func(s *tale) {
		s.edit["read evidence"] = func(_ *ledger.Entry, b *Body) { b.Observation.Reading.Ready = false }
		s.propose("p-1", KindApply, newDigest, func(p *Plan) { p.Pre.Ready = true })
		s.approve("ben")
		s.read("x1", ForEvidence, nil)
		s.commit("op-1", "x1")
	}},
	{14, "a plan of another machine", on("planned p-1", func(_ *ledger.Entry, b *Body) { b.Plan.NodeID = "n9" }, sent0)},
	{14, "a retry on evidence from before the operation", on("attempt 2", func(_ *ledger.Entry, b *Body) { b.Attempt.Evidence = 15 }, retried)},
	{14, "an adoption on a reading from before its approval", func(s *tale) {
		s.propose("p-2", KindAdopt, oldDigest, nil)
		s.read("x1", ForAdoption, nil)
		s.approve("ben")
		s.adoptNow("op-2")
	}},
	{14, "an adoption of a reading that is not the newest", func(s *tale) {
		s.propose("p-2", KindAdopt, oldDigest, nil)
		s.approve("ben")
		s.read("x1", ForAdoption, nil)
		seen := s.seen
		s.read("x1", ForDrift, nil)
		s.seen = seen
		s.adoptNow("op-2")
	}},
	{14, "an adoption after another selection", func(s *tale) {
		s.propose("p-2", KindAdopt, oldDigest, func(p *Plan) { p.DesiredRevision = 1 })
		s.approve("ben")
		s.read("x1", ForAdoption, nil)
		s.adoptNow("op-2")
	}},
	{15, "a rollout entry that says nothing", on("bound", func(_ *ledger.Entry, b *Body) { b.Rollout = nil }, func(s *tale) { s.bindRollout(1, 0) })},
	{15, "another rollout in its timeline", on("bound", func(_ *ledger.Entry, b *Body) { b.Rollout.ID = "daily" }, func(s *tale) { s.bindRollout(1, 0) })},
	{15, "a slot freed by nobody", func(s *tale) {
		s.bindRollout(1, 0)
		s.op.Owner.Instance = "x1"
		s.free()
	}},
	{15, "open operations that change by themselves", func(s *tale) {
		rolledOut(s)
		s.edit["bound"] = func(_ *ledger.Entry, b *Body) { b.Rollout.Open = []string{"op-1", "op-5"} }
		s.bindRollout(1, 0)
	}},
	{15, "two slots taken at once", on("taken", func(_ *ledger.Entry, b *Body) { b.Rollout.Open = append(b.Rollout.Open, "op-5") }, rolledOut)},
	{15, "a commitment into a rollout that failed", func(s *tale) {
		s.edit["bound"] = func(_ *ledger.Entry, b *Body) { b.Rollout.Failed = 1 }
		rolledOut(s)
	}},
	{15, "an opening that forgets nothing", func(s *tale) {
		s.bindRollout(1, 0)
		s.tell("opened", taleRollout, EntryRolloutOpened, person("ben", approveRole), func(int64, time.Time) Body { return Body{Rollout: &s.rollout} })
	}},
	{15, "an opening by itself", func(s *tale) {
		s.bindRollout(1, 0)
		s.edit["bound"] = func(_ *ledger.Entry, b *Body) { b.Rollout.OpenedRevision = 2 }
		s.bindRollout(1, 0)
	}},
	{15, "failures from nowhere", func(s *tale) {
		s.bindRollout(1, 0)
		s.edit["bound"] = func(_ *ledger.Entry, b *Body) { b.Rollout.Failed = 1 }
		s.bindRollout(1, 0)
	}},
	{17, "an attempt while another is under way", func(s *tale) {
		sent(s)
		s.read("x1", ForEvidence, nil)
		s.attempt()
	}},
	{17, "a classification entry without one", on("classified", func(_ *ledger.Entry, b *Body) { b.Operation.Retry = nil }, func(s *tale) {
		decided(s)
		s.read("x1", ForEvidence, nil)
		s.classify()
	})},
	{17, "a classification by itself", func(s *tale) {
		decided(s)
		s.read("x1", ForEvidence, nil)
		again(func(b *Body) { b.Operation.Retry = &Classification{Revision: 9, By: s.op.Owner, Basis: s.seen.Basis} }, func(*tale) {})(s)
	}},
	{17, "a classification by another", on("classified", func(e *ledger.Entry, _ *Body) { e.Actor.Instance = "x2" }, func(s *tale) {
		decided(s)
		s.read("x1", ForEvidence, nil)
		s.classify()
	})},
	{18, "an expiry that is taken back", func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.tell("expired", taleMachine, EntryPlanExpired, ledger.Actor{}, func(rev int64, _ time.Time) Body {
			st := s.standing
			st.ExpiredRev = rev
			return Body{PlanID: "p-1", Standing: &st}
		})
		s.tell("unexpired", taleMachine, EntryPlanExpired, ledger.Actor{}, func(int64, time.Time) Body {
			return Body{PlanID: "p-1", Standing: &s.standing}
		})
	}},
	{0, "a move from another state", on("lose", func(_ *ledger.Entry, b *Body) { b.From = Verifying }, lost)},
	{0, "an impossible move", func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.move(Overdue, Unresolved, s.owner(), nil)
	}},
	{0, "a body that cannot be read", func(s *tale) { s.spoil(taleMachine, EntryAlert) }},
	{0, "an installation's body that cannot be read", func(s *tale) { s.spoil(taleInstallation, EntryRecoveryLeft) }},
	{0, "a rollout's body that cannot be read", func(s *tale) { s.spoil(taleRollout, EntryRolloutBound) }},
}

// spoil appends an entry whose body is no JSON.
func (s *tale) spoil(scope ledger.Scope, kind string) {
	s.put(scope, kind, person("rex", judgeRole), nil)
	s.entries[scope][len(s.entries[scope])-1].Body = json.RawMessage(`{`)
}

// rolledOut is a commitment that takes a slot.
func rolledOut(s *tale) {
	if s.rollout.ID == "" {
		s.bindRollout(2, 0)
	}
	s.propose("p-1", KindApply, newDigest, func(p *Plan) { p.Rollout = &Rollout{ID: "weekly", Limit: 2} })
	s.approve("ben")
	s.read("x1", ForEvidence, nil)
	s.commit("op-1", "x1")
}

// soundMore are further stories that hold.
var soundMore = map[string]func(*tale){
	"break glass": func(s *tale) {
		s.propose("p-1", KindApply, newDigest, func(p *Plan) { p.Policy.Approvals = 2 })
		s.edit["approved by ben"] = func(_ *ledger.Entry, b *Body) { b.Approval.BreakGlass, b.Standing.State = "on fire", PlanApproved }
		s.approve("ben")
		s.read("x1", ForEvidence, nil)
		s.commit("op-1", "x1")
		s.attempt()
	},
	"a decision to cancel": func(s *tale) {
		ready(s)
		s.commit("op-1", "x1")
		s.takeOver("x2")
		actor := s.owner()
		actor.Identity, actor.Role = "rex", judgeRole
		s.move(Cancel, Cancelled, actor, nil)
	},
	"an endpoint that is gone": func(s *tale) {
		s.propose("p-1", KindApply, newDigest, func(p *Plan) { p.Route = Via("10.0.0.9") })
		s.approve("ben")
		s.read("x1", ForEvidence, nil)
		s.commit("op-1", "x1")
		s.attempt()
		s.move(Lose, Unresolved, s.owner(), nil)
		s.pass(time.Minute)
		s.read("x1", ForRecovery, nil)
		s.account(ByDecision, person("rex", judgeRole), func(a *Accounting) { a.Evidence = []byte(`{"route_gone":"it was replaced"}`) })
	},
	"a failed read, and a boot that drops what was kept": func(s *tale) {
		accepted(s)
		s.tell("read started", taleMachine, EntryReadStarted, s.owner(), func(rev int64, at time.Time) Body {
			s.seen = Observation{Basis: rev, StartedAt: at, Instance: "x1"}
			return Body{Observation: &s.seen}
		})
		s.tell("read failed", taleMachine, EntryReadFailed, s.owner(), func(int64, time.Time) Body {
			return Body{Observation: &s.seen, Text: "no route to host"}
		})
		s.boot = "b2"
		s.read("x1", ForCompletion, func(o *Observation) { o.Reading.Persistent = Resource{} })
		s.move(Complete, Completed, s.owner(), nil)
	},
	"a recovery that ends": func(s *tale) {
		s.enterRecovery("e2")
		s.installed = s.put(taleInstallation, EntryRecoveryLeft, person("rex", judgeRole), worldBody{Epoch: "e2"})
		completed(s)
	},
	"a restored operation that its machine's accounting ends": func(s *tale) {
		sent(s)
		s.enterRecovery("e2")
		s.edit["taken over"] = func(_ *ledger.Entry, b *Body) { b.Operation.PreRestore = true }
		s.takeOver("x2")
		s.op.PreRestore = true
		s.read("x2", ForRecovery, nil)
		s.account(PreRestoreEnd, person("rex", judgeRole), nil)
		s.runs = strange
		s.read("x2", ForCompletion, nil)
		s.move(Contradict, Failed, s.owner(), nil)
	},
	"an orphan, and scopes of other kinds": func(s *tale) {
		s.tell("orphan", taleMachine, EntryResponse, s.executor("x1"), func(rev int64, at time.Time) Body {
			return Body{Orphan: true, Attempt: &Attempt{Operation: "op-0", Number: 1, Response: &Response{Class: Accepted, Revision: rev, At: at}}}
		})
	},
	"a second adoption": func(s *tale) {
		s.openDrift("d-1", strange)
		s.runs = strange
		s.propose("p-2", KindAdopt, strange, nil)
		s.approve("ben")
		s.read("x1", ForAdoption, nil)
		s.adoptNow("op-2")
		s.closeDrift(DriftAdopted)
	},
}

func TestHistorySoundMore(t *testing.T) { testSound(t, soundMore) }

func TestHistoryFindsEachDetail(t *testing.T) { testViolations(t, more) }

func TestProblemNamesItsPlace(t *testing.T) {
	p := Problem{Scope: taleMachine, Revision: 7, Record: "op-1 attempt 2", Invariant: 16, Text: "plan p-1 allows 1"}
	if got, want := p.String(), "machine/m-1 revision 7 (op-1 attempt 2): I16: plan p-1 allows 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (Problem{Scope: taleMachine, Text: "x"}).String(), "machine/m-1: x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
