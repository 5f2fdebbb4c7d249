package store_test

import (
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

func two(p *dispatch.Plan) { p.Policy.Approvals = 2 }

// The policy counts distinct people.
func TestApprovalsCountPeople(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		plan := w.Machine("w1").Plan(w.Config("next"), two)
		a, st, err := w.Store.Approve(ctx, w.Approver, plan.ID, noBreakGlass)
		if err != nil || st.State != dispatch.PlanProposed || a.Self || a.Approver != w.Approver.Identity || a.PlanRevision != plan.Revision {
			t.Fatalf("approved: %+v, %+v, %v", a, st, err)
		}
		_, _, err = w.Store.Approve(ctx, w.Approver, plan.ID, noBreakGlass)
		wantRefusal(t, err, refusal.None, "already-approved")
		_, _, err = w.Store.Approve(ctx, w.Author, plan.ID, noBreakGlass)
		wantRefusal(t, err, refusal.None, "role-missing")
		_, st, err = w.Store.Approve(ctx, w.Second, plan.ID, noBreakGlass)
		if err != nil || st.State != dispatch.PlanApproved {
			t.Fatalf("approved: %+v, %v", st, err)
		}
		_, _, err = w.Store.Approve(ctx, w.Admin, plan.ID, noBreakGlass)
		wantRefusal(t, err, refusal.None, "plan-not-proposed")
	})
}

// Who created the plan, wrote its artifact, or answers for the token that did approves it only where the policy says so,
// and is marked.
func TestSelfApprovalIsMarkedOrRefused(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		creator := w.Person("carl", store.RoleAuthor, store.RoleApprover)
		responsible := w.Person("rita", store.RoleAuthor, store.RoleApprover)
		_, _, err := w.Store.CreateToken(ctx, responsible, store.TokenSpec{Name: "robot", Kind: store.Token, Roles: []string{store.RoleAuthor}})
		if err != nil {
			t.Fatal(err)
		}
		plan := func(who store.Who, allowed bool) dispatch.Plan {
			o := m.Read(p, dispatch.ForPlanning)
			draft := m.Draft(w.Config("next"))
			draft.Policy.SelfApproval = allowed
			made, _, err := w.Store.CreatePlan(ctx, who, draft, o)
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		for name, c := range map[string]struct{ creator, approver store.Who }{
			"the creator":              {creator, creator},
			"who answers for a token":  {store.Who{Identity: "robot"}, responsible},
			"the author of the config": {creator, w.Person("ben-too", store.RoleApprover)},
		} {
			approver := c.approver
			if name == "the author of the config" { // everything of a world is kept in its author's name
				approver = w.Author
				if _, err := w.Store.SetRoles(ctx, w.Admin, w.Author.Identity, []string{store.RoleAuthor, store.RoleOperator, store.RoleApprover}, ""); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := w.Store.Approve(ctx, approver, plan(c.creator, false).ID, noBreakGlass)
			wantRefusal(t, err, refusal.None, "self-approval")
			a, st, err := w.Store.Approve(ctx, approver, plan(c.creator, true).ID, noBreakGlass)
			if err != nil || !a.Self || st.State != dispatch.PlanApproved {
				t.Errorf("%s: %+v, %+v, %v", name, a, st, err)
			}
		}
	})
}

// A break-glass approval counts as the policy's number, is marked for ever, raises an alert and can be revoked.
func TestBreakGlass(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plan := m.Plan(w.Config("next"), two)
		a, st, err := w.Store.Approve(ctx, w.Approver, plan.ID, store.ApproveOptions{BreakGlass: "the site is down"})
		if err != nil || st.State != dispatch.PlanApproved || a.BreakGlass == "" {
			t.Fatalf("approved: %+v, %+v, %v", a, st, err)
		}
		if alert := last(t, w, m.ID, dispatch.EntryAlert); alert.Code != "break-glass" {
			t.Errorf("the alert is %+v", alert)
		}
		op := m.Commit(p, plan)
		if err := w.Store.RevokeApproval(ctx, w.Second, a.ID, "it was not"); err != nil {
			t.Fatal(err)
		}
		_, err = m.TryAttempt(p, op)
		wantRefusal(t, err, 1, "plan-revoked")
	})
}

// Revoking is final. What is left decides: fewer than the policy's number end a plan that is not committed.
func TestRevocationIsFinal(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m := w.Machine("w1")
		plan := m.Plan(w.Config("next"), two)
		one := w.Approve(plan)
		wantRefusal(t, w.Store.RevokeApproval(ctx, w.Author, one.ID, ""), refusal.None, "role-missing")
		if err := w.Store.RevokeApproval(ctx, w.Approver, one.ID, "no"); err != nil {
			t.Fatal(err)
		}
		if st := standing(t, w, plan); st.State != dispatch.PlanRevoked || st.RevokedRev == 0 {
			t.Errorf("the plan stands %+v", st)
		}
		wantRefusal(t, w.Store.RevokeApproval(ctx, w.Approver, one.ID, "no"), refusal.None, "nothing-stands")
		_, _, err := w.Store.Approve(ctx, w.Approver, plan.ID, noBreakGlass)
		wantRefusal(t, err, refusal.None, "plan-not-proposed")

		// A break-glass approval beside it carries the plan alone.
		plan = m.Plan(w.Config("other"), two)
		one = w.Approve(plan)
		if _, _, err := w.Store.Approve(ctx, w.Second, plan.ID, store.ApproveOptions{BreakGlass: "now"}); err != nil {
			t.Fatal(err)
		}
		if err := w.Store.RevokeApproval(ctx, w.Approver, one.ID, "no"); err != nil {
			t.Fatal(err)
		}
		if st := standing(t, w, plan); st.State != dispatch.PlanApproved || st.RevokedRev != 0 {
			t.Errorf("the plan stands %+v", st)
		}
	})
}

// An identity's revocation counts at once, in every view; the plans' own timelines tell of it when it is recorded there.
func TestI13AnIdentitysRevocationReachesItsPlans(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		who := w.Person("zoe", store.RoleApprover)
		a, b := w.Machine("a"), w.Machine("b")
		p := w.Process()
		approved := a.Plan(w.Config("next of a"))
		fine[dispatch.Approval](t)(first(w.Store.Approve(ctx, who, approved.ID, noBreakGlass)))
		plan := b.Plan(w.Config("next of b"))
		fine[dispatch.Approval](t)(first(w.Store.Approve(ctx, who, plan.ID, noBreakGlass)))
		op := b.Commit(p, plan)
		untouched := w.Machine("c").Approved(w.Config("next of c"))
		fine[store.Identity](t)(w.Store.RevokeIdentity(ctx, w.Admin, who.Identity, "left"))

		if st := standing(t, w, approved); st.State != dispatch.PlanRevoked || st.RevokedRev != 0 {
			t.Errorf("before it is recorded the plan stands %+v", st)
		}
		_, err := b.TryAttempt(p, op)
		wantRefusal(t, err, 1, "approvals-missing")
		if n := fine[int](t)(w.Store.RecordRevocations(ctx)); n != 2 {
			t.Errorf("%d plans changed, want 2", n)
		}
		if n := fine[int](t)(w.Store.RecordRevocations(ctx)); n != 0 {
			t.Errorf("%d plans changed again", n)
		}
		if st := standing(t, w, approved); st.State != dispatch.PlanRevoked || st.RevokedRev == 0 {
			t.Errorf("the plan stands %+v", st)
		}
		if st := w.View(op).Standing; st.State != dispatch.PlanCommitted || st.RevokedRev == 0 {
			t.Errorf("the committed plan stands %+v", st)
		}
		if st := standing(t, w, untouched); st.State != dispatch.PlanApproved {
			t.Errorf("another's plan stands %+v", st)
		}
		if got := fine[dispatch.Operation](t)(w.Store.CancelOperation(ctx, op.ID, op.Owner, nil, "revoked")); got.State != dispatch.Cancelled {
			t.Errorf("the operation is %s", got.State)
		}
	})
}
