package store_test

import (
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// A takeover moves every holding state to unresolved, at the next generation, and classifies and sends nothing.
func TestATakeoverFromEveryHoldingState(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		for _, state := range []dispatch.State{dispatch.Committed, dispatch.Sending, dispatch.Verifying, dispatch.Unresolved} {
			m, p, heir := w.Machine("from-"+string(state)), w.Process(), w.Process()
			op := m.Commit(p, m.Approved(w.Config("next")))
			if state != dispatch.Committed {
				op = m.Attempt(p, op).Operation
			}
			if state == dispatch.Verifying {
				op = m.Respond(op, 1, dispatch.Accepted)
			}
			if state == dispatch.Unresolved {
				op = m.Respond(op, 1, dispatch.Inconclusive)
			}
			wantState(t, w, op, state)
			got := fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, 1, heir.ID, "an operator forced it"))
			want := dispatch.Owner{Instance: heir.ID, Generation: 2, Epoch: op.Owner.Epoch}
			if got.State != dispatch.Unresolved || got.Owner != want || got.Retry != nil {
				t.Errorf("from %s: %+v", state, got)
			}
			b := last(t, w, m.ID, dispatch.EntryTakenOver)
			if b.Takeover != "an operator forced it" || b.From != state {
				t.Errorf("from %s the entry says %+v", state, b)
			}
			_, err := w.Store.TakeOver(ctx, op.ID, 1, w.Process().ID, "again")
			wantRefusal(t, err, 7, "not-owner")
		}
	})
}

func TestWhatHasEndedIsNotTakenOver(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Respond(m.Sending(p, m.Approved(w.Config("next"))), 1, dispatch.RejectedDef)
		_, err := w.Store.TakeOver(ctx, op.ID, 1, w.Process().ID, "why not")
		wantRefusal(t, err, refusal.None, "no-transition")
		open := m.Commit(p, m.Approved(w.Config("after")))
		heir := w.Process()
		heir.End()
		_, err = w.Store.TakeOver(ctx, open.ID, 1, heir.ID, "from the grave")
		wantRefusal(t, err, refusal.None, "instance-ended")
		_, err = w.Store.TakeOver(ctx, open.ID, 1, "i-unknown", "who is it")
		wantRefusal(t, err, refusal.None, "unknown-instance")
	})
}

// I2: an executor that lost ownership moves nothing any more; its response is still a fact.
func TestI2AFormerOwnerMovesNothing(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p, heir := w.Machine("w1"), w.Process(), w.Process()
		op := m.Sending(p, m.Approved(w.Config("next")))
		fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, 1, heir.ID, "an operator forced it"))
		m.Runs(w.View(op).Plan.Artifact)
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		by := op.Owner
		for name, try := range map[string]func() error{
			"classify":    func() error { _, err := w.Store.Classify(ctx, op.ID, by, o.Basis); return err },
			"finish":      func() error { _, err := w.Store.Finish(ctx, op.ID, by, o.Basis); return err },
			"late reject": func() error { _, err := w.Store.LateReject(ctx, op.ID, by); return err },
			"cancel":      func() error { _, err := w.Store.CancelOperation(ctx, op.ID, by, nil, ""); return err },
			"evidence":    func() error { _, err := w.Store.AccountByEvidence(ctx, op.ID, 1, by, evidence(o.Basis)); return err },
		} {
			r, ok := refusal.As(try())
			if !ok || r.Comparison != 7 {
				t.Errorf("%s: got %v, want a refusal by comparison 7", name, r)
			}
		}
		_, err := m.TryAttempt(p, op)
		if r, ok := refusal.As(err); !ok || (r.Comparison != 7 && r.Comparison != 3) {
			t.Errorf("attempt: got %v", err)
		}
		_, err = w.Store.Overdue(ctx, op.ID, by)
		wantRefusal(t, err, refusal.None, "no-transition")
		got := lateAcceptance(t, w, op)
		if got.State != dispatch.Unresolved {
			t.Errorf("its response moved the operation to %s", got.State)
		}
	})
}

// An operation names its owner's end, so that an executor that starts knows what to take over.
func TestOpenOperationsSayWhoseOwnerHasStopped(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		a, b := w.Machine("a"), w.Machine("b")
		alive, gone := w.Process(), w.Process()
		a.Commit(alive, a.Approved(w.Config("next")))
		op := b.Commit(gone, b.Approved(w.Config("next")))
		gone.End()
		open := fine[[]dispatch.OperationView](t)(w.Store.OpenOperations(ctx))
		if len(open) != 2 {
			t.Fatalf("%d operations are open", len(open))
		}
		for _, v := range open {
			if stopped := v.OwnerStopped != ""; stopped != (v.Operation.ID == op.ID) {
				t.Errorf("operation %s of %s: owner stopped: %q", v.Operation.ID, v.Machine.Name, v.OwnerStopped)
			}
		}
	})
}
