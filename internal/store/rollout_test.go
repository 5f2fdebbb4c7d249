package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store/storetest/world"
)

func inRollout(id string, limit, maxFailed int) func(*dispatch.Plan) {
	return func(p *dispatch.Plan) { p.Rollout = &dispatch.Rollout{ID: id, Limit: limit, MaxFailed: maxFailed} }
}

func rollout(t *testing.T, w *world.World, id string) dispatch.RolloutRow {
	t.Helper()
	return fine[dispatch.RolloutRow](t)(w.Store.Rollout(ctx, id))
}

// I15: the smallest limit that the plans bind is in force, and a slot is free again only when its operation ends.
func TestI15ARolloutsLimit(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		p := w.Process()
		a, b, c := w.Machine("a"), w.Machine("b"), w.Machine("c")
		pa := evidenced(w, a, p, inRollout("r1", 3, 1))
		pb := evidenced(w, b, p, inRollout("r1", 1, 0))
		pc := evidenced(w, c, p, inRollout("r1", 2, 2))
		if r := rollout(t, w, "r1"); r.Limit != 1 || r.MaxFailed != 0 {
			t.Fatalf("in force is %+v", r)
		}
		op := a.Sending(p, pa)
		_, err := b.TryCommit(p, pb)
		wantRefusal(t, err, 5, "rollout-full")
		op = a.Respond(op, 1, dispatch.Inconclusive)
		if op.State != dispatch.Unresolved {
			t.Fatalf("the operation is %s", op.State)
		}
		_, err = b.TryCommit(p, pb) // unresolved keeps the slot
		wantRefusal(t, err, 5, "rollout-full")
		if r := rollout(t, w, "r1"); len(r.Open) != 1 || r.Open[0] != op.ID {
			t.Fatalf("open are %v", r.Open)
		}
		// A cancelled operation frees its slot and is no failure.
		q := w.Machine("q")
		cancelled := q.Commit(p, evidenced(w, q, p, inRollout("r2", 1, 0)))
		if err := w.Store.CancelPlan(ctx, w.Author, cancelled.Plan, ""); err != nil {
			t.Fatal(err)
		}
		_, err = q.TryAttempt(p, cancelled)
		wantRefusal(t, err, 1, "plan-cancelled")
		fine[dispatch.Operation](t)(w.Store.CancelOperation(ctx, cancelled.ID, cancelled.Owner, nil, "cancelled"))
		if r := rollout(t, w, "r2"); len(r.Open) != 0 || r.Failed != 0 {
			t.Fatalf("after the cancellation the rollout is %+v", r)
		}
		_ = pc
	})
}

// I15: not more than max_failed may have failed or been rejected since an approver last opened the rollout.
func TestI15FailuresCloseARolloutUntilAnApproverOpensIt(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		p := w.Process()
		a, b := w.Machine("a"), w.Machine("b")
		pb := evidenced(w, b, p, inRollout("r1", 2, 0))
		if op := a.Respond(a.Sending(p, evidenced(w, a, p, inRollout("r1", 2, 0))), 1, dispatch.RejectedDef); op.State != dispatch.Rejected {
			t.Fatalf("the operation is %s", op.State)
		}
		_, err := b.TryCommit(p, pb)
		wantRefusal(t, err, 5, "rollout-closed")
		_, err = w.Store.OpenRollout(ctx, w.Author, "r1", "looked at it")
		wantRefusal(t, err, refusal.None, "role-missing")
		_, err = w.Store.OpenRollout(ctx, w.Approver, "r1", "")
		wantRefusal(t, err, refusal.None, "no-reason")
		fine[dispatch.RolloutRow](t)(w.Store.OpenRollout(ctx, w.Approver, "r1", "looked at it"))
		b.Commit(p, pb)
	})
}

// I15: commitments into one rollout wait for each other, on machines that share nothing else.
func TestI15ARaceForSlots(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		const machines, limit = 6, 2
		p := w.Process()
		var ms []*world.Machine
		var plans []dispatch.Plan
		for i := range machines {
			m := w.Machine(fmt.Sprintf("m%d", i))
			ms, plans = append(ms, m), append(plans, evidenced(w, m, p, inRollout("r1", limit, 0)))
		}
		by := p.Owner()
		errs := make([]error, machines)
		var wg sync.WaitGroup
		for i := range ms {
			wg.Go(func() {
				_, errs[i] = w.Store.Commit(ctx, dispatch.CommitRequest{Plan: plans[i].ID, By: by, Request: world.Request(plans[i]), Token: world.Token()})
			})
		}
		wg.Wait()
		committed := 0
		for _, err := range errs {
			if err == nil {
				committed++
				continue
			}
			wantRefusal(t, err, 5, "rollout-full")
		}
		if committed != limit || len(rollout(t, w, "r1").Open) != limit {
			t.Errorf("%d commitments passed, %d are open, the limit is %d", committed, len(rollout(t, w, "r1").Open), limit)
		}
	})
}

func TestControlWithoutComparison5ARolloutOverflows(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		w.Unchecked("a control")
		p := w.Process()
		a, b := w.Machine("a"), w.Machine("b")
		pb := evidenced(w, b, p, inRollout("r1", 1, 0))
		a.Commit(p, evidenced(w, a, p, inRollout("r1", 1, 0)))
		b.Commit(p, pb)
		if n := len(rollout(t, w, "r1").Open); n != 2 {
			t.Errorf("%d are open", n)
		}
		wantProblem(t, w, 15)
	}, without(dispatch.GuardRollout))
}

// wantProblem fails the test unless the history's second opinion finds this invariant broken.
func wantProblem(t *testing.T, w *world.World, invariant int) {
	t.Helper()
	problems := w.Problems()
	for _, p := range problems {
		if p.Invariant == invariant {
			return
		}
	}
	t.Errorf("the history shows no broken I%d; it shows %v", invariant, problems)
}
