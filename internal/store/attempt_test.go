package store_test

import (
	"fmt"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// refusedAttempt is one way for the attempt of a committed operation to be refused. after is the state it is left in.
type refusedAttempt struct {
	name       string
	comparison int
	code       string
	after      dispatch.State
	spoil      func(t *testing.T, w *world.World, m *world.Machine, p *world.Process, op dispatch.Operation)
	change     func(q *dispatch.AttemptRequest)
}

var refusedAttempts = []refusedAttempt{
	{name: "1 revoked", comparison: 1, code: "plan-revoked", after: dispatch.Unresolved, spoil: func(t *testing.T, w *world.World, _ *world.Machine, _ *world.Process, op dispatch.Operation) {
		if err := w.Store.RevokeApproval(ctx, w.Approver, op.Plan, "no"); err != nil {
			t.Fatal(err)
		}
		v := w.View(op)
		if v.Standing.State != dispatch.PlanCommitted || v.Standing.RevokedRev == 0 {
			t.Fatalf("the plan stands %+v", v.Standing)
		}
	}},
	{name: "1 cancelled", comparison: 1, code: "plan-cancelled", after: dispatch.Unresolved, spoil: func(t *testing.T, w *world.World, _ *world.Machine, _ *world.Process, op dispatch.Operation) {
		if err := w.Store.CancelPlan(ctx, w.Author, op.Plan, "no"); err != nil {
			t.Fatal(err)
		}
	}},
	{
		name: "2 another artifact", comparison: 2, code: "artifact-changed", after: dispatch.Unresolved,
		change: func(q *dispatch.AttemptRequest) { q.Request.Artifact = dispatch.Digest([]byte("another")) },
	},
	{
		name: "2 another address", comparison: 2, code: "parameters-changed", after: dispatch.Unresolved,
		change: func(q *dispatch.AttemptRequest) { q.Request.Address = "10.5.0.77" },
	},
	{name: "3 contradicted meanwhile", comparison: 3, code: "contradicted", after: dispatch.Unresolved, spoil: func(_ *testing.T, w *world.World, m *world.Machine, _ *world.Process, _ dispatch.Operation) {
		m.Runs(w.Config("by hand"))
		m.Read(w.Process(), dispatch.ForDrift)
	}},
	{
		name: "3 another connection", comparison: 3, code: "other-connection", after: dispatch.Unresolved,
		change: func(q *dispatch.AttemptRequest) { q.LocalAddr = "10.5.0.1:40001" },
	},
	{name: "6 frozen meanwhile", comparison: 6, code: "gate-closed", after: dispatch.Unresolved, spoil: func(t *testing.T, w *world.World, m *world.Machine, _ *world.Process, _ dispatch.Operation) {
		fine[dispatch.Machine](t)(w.Store.Freeze(ctx, w.Author, m.ID, "hands off"))
	}},
	{
		name: "7 another generation", comparison: 7, code: "not-owner", after: dispatch.Committed,
		change: func(q *dispatch.AttemptRequest) { q.By.Generation = 2 },
	},
	{
		name: "none: its process is recorded as ended", comparison: refusal.None, code: "instance-ended", after: dispatch.Committed,
		spoil: func(_ *testing.T, _ *world.World, _ *world.Machine, p *world.Process, _ dispatch.Operation) { p.End() },
	},
}

func TestAnAttemptIsRefusedByEachComparison(t *testing.T) {
	world.Each(t, func(t *testing.T, outer *world.World) {
		for i, c := range refusedAttempts {
			t.Run(c.name, func(t *testing.T) {
				w := outer.In(t)
				m, p := w.Machine(fmt.Sprintf("m%d", i)), w.Process()
				plan := m.Approved(w.Config("next"))
				op := m.Commit(p, plan)
				if c.spoil != nil {
					c.spoil(t, w, m, p, op)
				}
				q := dispatch.AttemptRequest{
					Operation: op.ID, By: op.Owner, Request: world.Request(plan), Token: world.Token(),
					LocalAddr: "10.5.0.1:40000", Host: p.Host,
				}
				if c.change != nil {
					c.change(&q)
				}
				_, err := w.Store.Attempt(ctx, q)
				wantRefusal(t, err, c.comparison, c.code)
				wantRecorded(t, w, m.ID, c.comparison, c.code)
				got := wantState(t, w, op, c.after)
				if len(w.View(op).Attempts) != 0 || got.Owner != op.Owner {
					t.Errorf("the refusal left %+v", w.View(op))
				}
				if c.after != dispatch.Unresolved {
					return
				}
				b := last(t, w, m.ID, dispatch.EntryMoved)
				if b.Event != dispatch.AttemptRefused || b.Comparison == nil || *b.Comparison != c.comparison || b.From != dispatch.Committed {
					t.Errorf("the move is recorded as %+v", b)
				}
			})
		}
	})
}

// A closed gate is no end: opened again, the operation is sent.
func TestAFreezeBetweenCommitmentAndAttemptIsNoFailure(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Commit(p, m.Approved(w.Config("next")))
		fine[dispatch.Machine](t)(w.Store.Freeze(ctx, w.Author, m.ID, "hands off"))
		_, err := m.TryAttempt(p, op)
		wantRefusal(t, err, 6, "gate-closed")
		o := m.Read(p, dispatch.ForEvidence, op.Plan, op.ID)
		_, err = w.Store.Classify(ctx, op.ID, op.Owner, o.Basis)
		wantRefusal(t, err, refusal.None, "gate-closed")
		_, err = w.Store.Finish(ctx, op.ID, op.Owner, o.Basis)
		wantRefusal(t, err, refusal.None, "not-admitted")
		_, err = w.Store.Unfreeze(ctx, w.Author, m.ID, "")
		wantRefusal(t, err, refusal.None, "role-missing")
		fine[dispatch.Machine](t)(w.Store.Unfreeze(ctx, w.Approver, m.ID, "done"))
		op = fine[dispatch.Operation](t)(w.Store.Classify(ctx, op.ID, op.Owner, o.Basis))
		if got := m.Attempt(p, op).Operation; got.State != dispatch.Sending || got.Retry != nil {
			t.Errorf("the attempt left %+v", got)
		}
	})
}

// I16: attempts never exceed the bound maximum, and a used-up operation fails on what the node shows.
func TestI16AttemptsAreBounded(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p, op := classifiedAfterLoss(t, w) // two attempts are allowed
		op = neverLeft(t, w, m.Attempt(p, op).Operation, 2)
		o := m.Read(p, dispatch.ForEvidence, op.Plan, op.ID)
		_, err := w.Store.Classify(ctx, op.ID, op.Owner, o.Basis)
		wantRefusal(t, err, refusal.None, "no-retry")
		op = fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, op.Owner, o.Basis))
		if op.State != dispatch.Failed {
			t.Errorf("the operation is %s", op.State)
		}
	})
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p, op := classifiedAfterLoss(t, w)
		op = neverLeft(t, w, m.Attempt(p, op).Operation, 2)
		// Should a classification stand that no rule made, comparison 9 refuses.
		o := m.Read(p, dispatch.ForEvidence, op.Plan, op.ID)
		w.SetRetry(op, dispatch.Classification{Revision: o.Revision, By: op.Owner, Basis: o.Basis})
		_, err := m.TryAttempt(p, op)
		wantRefusal(t, err, 9, "attempts-used")
	})
}

// A token finds what its transaction wrote, and whether the attempt may still be sent.
func TestATokenIsLookedUp(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plan := m.Approved(w.Config("next"))
		m.Read(p, dispatch.ForEvidence, plan.ID)
		c := dispatch.CommitRequest{Plan: plan.ID, By: p.Owner(), Request: world.Request(plan), Token: world.Token()}
		op := fine[dispatch.Operation](t)(w.Store.Commit(ctx, c))
		f := fine[dispatch.Found](t)(w.Store.FindToken(ctx, m.ID, c.Token, c.By))
		if !f.Found || f.Operation.ID != op.ID || f.Attempt != nil || f.Sendable {
			t.Fatalf("found %+v", f)
		}
		a := dispatch.AttemptRequest{Operation: op.ID, By: op.Owner, Request: world.Request(plan), Token: world.Token(), Host: p.Host}
		fine[dispatch.AttemptResult](t)(w.Store.Attempt(ctx, a))
		f = fine[dispatch.Found](t)(w.Store.FindToken(ctx, m.ID, a.Token, a.By))
		if !f.Found || f.Attempt == nil || f.Attempt.Number != 1 || !f.Sendable {
			t.Fatalf("found %+v", f)
		}
		if !fine[bool](t)(w.Store.StillMine(ctx, op.ID, 1, op.Owner)) {
			t.Errorf("the attempt is not its recorder's")
		}
		fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, 1, w.Process().ID, "an operator forced it"))
		f = fine[dispatch.Found](t)(w.Store.FindToken(ctx, m.ID, a.Token, a.By))
		if !f.Found || f.Sendable || fine[bool](t)(w.Store.StillMine(ctx, op.ID, 1, op.Owner)) {
			t.Errorf("after a takeover the attempt may still be sent: %+v", f)
		}
		if f := fine[dispatch.Found](t)(w.Store.FindToken(ctx, m.ID, world.Token(), a.By)); f.Found {
			t.Errorf("a token that nobody wrote is found: %+v", f)
		}
	})
}

// The precheck refuses what comparison 1 or 6 would, records it, and lets a plan through that only lacks evidence.
func TestAPrecheckComesBeforeAnythingIsDecrypted(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		who := ledger.Actor{Identity: "ben", Role: store.RoleOperator, Assurance: ledger.Asserted, Instance: p.ID}
		plan := m.Plan(w.Config("next"))
		wantRefusal(t, w.Store.Precheck(ctx, plan.ID, who), 1, "plan-not-approved")
		entries, err := w.Store.Entries(ctx, store.EntryFilter{Kinds: []string{dispatch.EntryRefused}})
		if err != nil || len(entries) != 1 || entries[0].Actor != who {
			t.Errorf("the refusal names another than who asked: %+v, %v", entries, err)
		}
		wantRecorded(t, w, m.ID, 1, "plan-not-approved")
		w.Approve(plan)
		if err := w.Store.Precheck(ctx, plan.ID, who); err != nil {
			t.Fatal(err)
		}
		fine[dispatch.Machine](t)(w.Store.Freeze(ctx, w.Author, m.ID, "hands off"))
		wantRefusal(t, w.Store.Precheck(ctx, plan.ID, who), 6, "gate-closed")
		fine[dispatch.Machine](t)(w.Store.Unfreeze(ctx, w.Approver, m.ID, ""))
		newer := m.Approved(w.Config("newer"))
		op := m.Sending(p, plan)
		if err := w.Store.Precheck(ctx, plan.ID, who); err != nil { // as for a retry
			t.Fatal(err)
		}
		wantRefusal(t, w.Store.Precheck(ctx, newer.ID, who), 4, "scope-held")
		m.Respond(op, 1, dispatch.RejectedDef)
		wantRefusal(t, w.Store.Precheck(ctx, plan.ID, who), 0, "operation-exists")
	})
}

// The operator who dispatches is recorded and must hold the role; a process names nobody and is recorded alone.
func TestWhoDispatchesIsRecorded(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plan := m.Approved(w.Config("next"))
		m.Read(p, dispatch.ForEvidence, plan.ID)
		q := dispatch.CommitRequest{Plan: plan.ID, By: p.Owner(), Request: world.Request(plan), Token: world.Token()}
		q.Who.Identity = w.Approver.Identity
		_, err := w.Store.Commit(ctx, q)
		wantRefusal(t, err, refusal.None, "role-missing")
		q.Who.Identity = w.Author.Identity
		fine[dispatch.Operation](t)(w.Store.Commit(ctx, q))
		entries := w.Entries(m.ID, dispatch.EntryCommitted)
		if a := entries[0].Actor; a.Identity != w.Author.Identity || a.Role != store.RoleOperator || a.Instance != p.ID {
			t.Errorf("the author of the commitment is %+v", a)
		}
	})
}
