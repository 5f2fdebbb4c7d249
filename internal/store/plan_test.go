package store_test

import (
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// What no machine should get is refused at planning, and nothing is written.
func TestAPlanIsRefusedAndWritesNothing(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		next := w.Config("next")
		o := m.Read(p, dispatch.ForPlanning)
		cases := map[string]struct {
			code   string
			change func(*dispatch.Plan)
		}{
			"unknown machine":    {"unknown-machine", func(p *dispatch.Plan) { p.Machine = "m-none" }},
			"no mode":            {"terms", func(p *dispatch.Plan) { p.Mode = "" }},
			"mode reboot":        {"terms", func(p *dispatch.Plan) { p.Mode = "reboot" }},
			"mode auto":          {"terms", func(p *dispatch.Plan) { p.Mode = "auto" }},
			"another operation":  {"terms", func(p *dispatch.Plan) { p.Operation = "reset" }},
			"no route":           {"terms", func(p *dispatch.Plan) { p.Route = "" }},
			"expired":            {"terms", func(p *dispatch.Plan) { p.ExpiresAt = w.Now().Add(-time.Second) }},
			"no approvals":       {"terms", func(p *dispatch.Plan) { p.Policy.Approvals = 0 }},
			"deadlines reversed": {"terms", func(p *dispatch.Plan) { p.TransportDeadline = 2 * p.VerifyDeadline }},
			"a change of nothing": {"already-there", func(p *dispatch.Plan) {
				p.Artifact, p.Post.Digest = m.Node.Active.Digest, m.Node.Active.Digest
			}},
			"expects other bytes": {"other-digest", func(p *dispatch.Plan) { p.Expected = next }},
			"unknown artifact": {"unknown-artifact", func(p *dispatch.Plan) {
				p.Artifact = dispatch.Digest([]byte("nobody kept it"))
				p.Post.Digest = p.Artifact
			}},
			"a stranger's address": {"address", func(p *dispatch.Plan) { p.Address = "192.0.2.1" }},
			"another node":         {"stale", func(p *dispatch.Plan) { p.ClusterID, p.NodeID = "cluster-1", "another" }},
			"an old baseline":      {"stale", func(p *dispatch.Plan) { p.BaselineRevision = 1 }},
			"a closed drift":       {"drift-closed", func(p *dispatch.Plan) { p.Drift = "d-none" }},
			"a bad rollout":        {"terms", func(p *dispatch.Plan) { p.Rollout = &dispatch.Rollout{ID: "r1"} }},
		}
		head := m.Head()
		for name, c := range cases {
			draft := m.Draft(next)
			c.change(&draft)
			_, created, err := w.Store.CreatePlan(ctx, w.Author, draft, o)
			if created {
				t.Errorf("%s: a plan was made", name)
			}
			r, ok := refusal.As(err)
			if !ok || r.Code != c.code {
				t.Errorf("%s: got %v, want a refusal %s", name, err, c.code)
			}
		}
		if m.Head() != head || m.Record().Desired == next {
			t.Errorf("refused plans wrote to the timeline: %d entries", m.Head()-head)
		}
		_, _, err := w.Store.CreatePlan(ctx, w.Approver, m.Draft(next), o)
		wantRefusal(t, err, refusal.None, "role-missing")
		m.Node.Persistent.Digest = w.Config("staged")
		m.Read(p, dispatch.ForDrift) // newer than the reading that the plan names
		_, _, err = w.Store.CreatePlan(ctx, w.Author, m.Draft(next), o)
		wantRefusal(t, err, refusal.None, "not-quiescent")
		if plans := fine[[]store.PlanView](t)(w.Store.Plans(ctx, store.PlanFilter{Machine: m.ID})); len(plans) != 1 {
			t.Errorf("there are %d plans, want the adoption's alone", len(plans))
		}
	})
}

// The same key and request is the same plan, however often it is asked for; another request under it is refused.
func TestAnIdempotencyKeyNamesOnePlan(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		next := w.Config("next")
		o := m.Read(p, dispatch.ForPlanning)
		ask := func(change ...func(*dispatch.Plan)) (dispatch.Plan, bool, error) {
			draft := m.Draft(next)
			draft.IdempotencyKey = "key-1"
			for _, f := range change {
				f(&draft)
			}
			return w.Store.CreatePlan(ctx, w.Author, draft, o)
		}
		one, created, err := ask()
		if err != nil || !created {
			t.Fatal(created, err)
		}
		two, created, err := ask(func(p *dispatch.Plan) { p.ExpiresAt = p.ExpiresAt.Add(time.Minute) })
		if err != nil || created || two.ID != one.ID {
			t.Errorf("asked again: %s (new: %v), %v", two.ID, created, err)
		}
		_, _, err = ask(func(p *dispatch.Plan) { p.MaxAttempts = 5 })
		wantRefusal(t, err, refusal.None, "idempotency-key")
		other := w.Machine("w2")
		draft := other.Draft(next)
		draft.IdempotencyKey = "key-1"
		_, _, err = w.Store.CreatePlan(ctx, w.Author, draft, other.Read(p, dispatch.ForPlanning))
		wantRefusal(t, err, refusal.None, "idempotency-key")
	})
}

// A plan selects what is wanted, and authorizes nothing by that; its content never changes. I4
func TestI4APlanSelectsAndDoesNotChange(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plan := m.Plan(w.Config("next"))
		rec := m.Record()
		if rec.Desired != plan.Artifact || plan.DesiredRevision != rec.DesiredRevision || rec.Applied == plan.Artifact {
			t.Fatalf("selected: %+v, the plan binds %d", rec, plan.DesiredRevision)
		}
		w.Approve(plan)
		m.Complete(p, plan)
		v := fine[store.PlanView](t)(w.Store.Plan(ctx, plan.ID))
		if !v.Plan.ExpiresAt.Equal(plan.ExpiresAt) || v.Plan.Revision != plan.Revision || v.Plan.Artifact != plan.Artifact || v.Operation == nil {
			t.Errorf("the plan is %+v, was %+v", v.Plan, plan)
		}
		other := m.Plan(w.Config("later"))
		list := fine[[]store.PlanView](t)(w.Store.Plans(ctx, store.PlanFilter{Machine: m.ID}))
		if len(list) != 3 || list[0].Plan.ID != other.ID || list[1].Plan.ID != plan.ID {
			t.Errorf("the list, newest first, is %d long and begins with %s", len(list), list[0].Plan.ID)
		}
	})
}

func TestACancelledPlanIsOver(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m := w.Machine("w1")
		plan := m.Plan(w.Config("next"))
		viewer := w.Person("vera", store.RoleViewer)
		wantRefusal(t, w.Store.CancelPlan(ctx, viewer, plan.ID, ""), refusal.None, "role-missing")
		for range 2 {
			if err := w.Store.CancelPlan(ctx, w.Author, plan.ID, "no"); err != nil {
				t.Fatal(err)
			}
		}
		if st := standing(t, w, plan); st.State != dispatch.PlanCancelled || st.CancelledRev == 0 {
			t.Errorf("the plan stands %+v", st)
		}
		_, _, err := w.Store.Approve(ctx, w.Approver, plan.ID, noBreakGlass)
		wantRefusal(t, err, refusal.None, "plan-not-proposed")
		done := m.Approved(w.Config("done"))
		m.Complete(w.Process(), done)
		wantRefusal(t, w.Store.CancelPlan(ctx, w.Author, done.ID, "too late"), refusal.None, "plan-over")
	})
}
