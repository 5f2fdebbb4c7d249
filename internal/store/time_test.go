package store_test

import (
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// I18: an expired plan is neither committed nor attempted, whether or not its expiry is recorded.
func TestI18ExpiryCountsByTime(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		soon := func(p *dispatch.Plan) { p.ExpiresAt = w.Now().Add(time.Minute) }
		early, late := w.Machine("early"), w.Machine("late")
		p := w.Process()
		proposed := w.Machine("proposed").Plan(w.Config("proposed"), soon)
		plan := evidenced(w, early, p, soon)
		op := late.Commit(p, late.Approved(w.Config("next of late"), soon))
		w.Pass(2 * time.Minute)

		_, err := early.TryCommit(p, plan)
		wantRefusal(t, err, 1, "plan-expired")
		if st := standing(t, w, plan); st.State != dispatch.PlanExpired || st.ExpiredRev != 0 {
			t.Errorf("before it is recorded the plan stands %+v", st)
		}
		_, err = late.TryAttempt(p, op)
		wantRefusal(t, err, 1, "plan-expired")
		wantState(t, w, op, dispatch.Unresolved)
		_, _, err = w.Store.Approve(ctx, w.Approver, proposed.ID, noBreakGlass)
		wantRefusal(t, err, refusal.None, "plan-expired")

		if n := fine[int](t)(w.Store.ExpirePlans(ctx)); n != 3 {
			t.Errorf("%d expiries were recorded, want 3", n)
		}
		if n := fine[int](t)(w.Store.ExpirePlans(ctx)); n != 0 {
			t.Errorf("%d expiries were recorded again", n)
		}
		for _, plan := range []dispatch.Plan{proposed, plan} {
			if st := standing(t, w, plan); st.State != dispatch.PlanExpired || st.ExpiredRev == 0 {
				t.Errorf("the plan stands %+v", st)
			}
		}
		v := w.View(op)
		if v.Standing.State != dispatch.PlanCommitted || v.Standing.ExpiredRev == 0 {
			t.Errorf("the committed plan stands %+v", v.Standing)
		}
		done := fine[dispatch.Operation](t)(w.Store.CancelOperation(ctx, op.ID, op.Owner, nil, "expired"))
		if done.State != dispatch.Cancelled {
			t.Errorf("the operation is %s", done.State)
		}
	})
}

// I14: evidence that is older than the plan allows is none.
func TestI14OldEvidenceIsNone(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		fresh := func(p *dispatch.Plan) { p.MaxAge = time.Minute }
		early, late, p := w.Machine("early"), w.Machine("late"), w.Process()
		plan := evidenced(w, early, p, fresh)
		op := late.Commit(p, late.Approved(w.Config("next"), fresh))
		w.Pass(2 * time.Minute)
		_, err := early.TryCommit(p, plan)
		wantRefusal(t, err, 3, "evidence-old")
		_, err = late.TryAttempt(p, op)
		wantRefusal(t, err, 3, "evidence-old")
		op = wantState(t, w, op, dispatch.Unresolved)

		// It is not lost: with new evidence the owner classifies it and sends.
		o := late.Read(p, dispatch.ForEvidence, op.Plan, op.ID)
		op = fine[dispatch.Operation](t)(w.Store.Classify(ctx, op.ID, op.Owner, o.Basis))
		if got := late.Attempt(p, op).Operation; got.State != dispatch.Sending {
			t.Errorf("the retry left it %s", got.State)
		}
		early.Commit(p, plan)
	})
}

// The age runs from the entry that began the read, not from its record.
func TestAnAgeRunsFromTheStartOfTheRead(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plan := m.Approved(w.Config("next"), func(p *dispatch.Plan) { p.MaxAge = time.Minute })
		o := m.Begin(p, dispatch.ForEvidence, plan.ID)
		w.Pass(2 * time.Minute)
		m.End(o)
		_, err := m.TryCommit(p, plan)
		wantRefusal(t, err, 3, "evidence-old")
	})
}

func TestControlWithoutExpiryAnExpiredPlanIsSent(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		w.Unchecked("a control")
		m, p := w.Machine("w1"), w.Process()
		op := m.Commit(p, m.Approved(w.Config("next"), func(p *dispatch.Plan) { p.ExpiresAt = w.Now().Add(time.Minute) }))
		w.Pass(2 * time.Minute)
		m.Attempt(p, op)
	}, without(dispatch.GuardExpiry))
}
