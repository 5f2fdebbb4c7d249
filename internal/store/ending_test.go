package store_test

import (
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// verifying is an operation whose one attempt was accepted.
func verifying(w *world.World, m *world.Machine, p *world.Process, change ...func(*dispatch.Plan)) dispatch.Operation {
	return m.Respond(m.Sending(p, m.Approved(w.Config("next of "+m.Name), change...)), 1, dispatch.Accepted)
}

// I3 I6: what counts is a reading that began after the response, shows everything, and is not contradicted by a newer one.
func TestI3CompletionTakesAReadingThatBeganAfterTheResponse(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Sending(p, m.Approved(w.Config("next")))
		early := m.Begin(p, dispatch.ForCompletion, op.Plan, op.ID)
		op = m.Respond(op, 1, dispatch.Accepted)
		m.Runs(w.View(op).Plan.Artifact)
		early = m.End(early)
		_, err := w.Store.Finish(ctx, op.ID, op.Owner, early.Basis)
		wantRefusal(t, err, refusal.None, "not-admitted")

		shows := m.Begin(p, dispatch.ForCompletion, op.Plan, op.ID)
		shows = m.End(shows)
		m.Runs(w.Config("by hand"))
		m.Read(w.Process(), dispatch.ForDrift)
		_, err = w.Store.Finish(ctx, op.ID, op.Owner, shows.Basis)
		wantRefusal(t, err, refusal.None, "not-admitted")
		wantState(t, w, op, dispatch.Verifying)

		m.Runs(w.View(op).Plan.Artifact)
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		if op = fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, op.Owner, o.Basis)); op.State != dispatch.Completed {
			t.Fatalf("the operation is %s", op.State)
		}
	})
}

// A node that is on its way down or up shows nothing final, and no reading is none.
func TestI6NothingEndsWithoutACompletionObservation(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := verifying(w, m, p)
		_, err := w.Store.Finish(ctx, op.ID, op.Owner, 99999)
		wantRefusal(t, err, refusal.None, "no-observation")
		m.Runs(w.View(op).Plan.Artifact)
		m.Node.Stage = "rebooting"
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		_, err = w.Store.Finish(ctx, op.ID, op.Owner, o.Basis)
		wantRefusal(t, err, refusal.None, "not-complete")
		wantState(t, w, op, dispatch.Verifying)
	})
}

// The persistent resource may be absent only after a newer boot than the send's.
func TestAnAbsentPersistentNeedsANewerBoot(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := verifying(w, m, p)
		m.Runs(w.View(op).Plan.Artifact)
		m.Node.Persistent = dispatch.Resource{}
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		if _, err := w.Store.Finish(ctx, op.ID, op.Owner, o.Basis); err == nil {
			t.Fatal("completed on a boot that kept nothing for the next one")
		}
		m.Node.BootID = "boot-2"
		o = m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		if op = fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, op.Owner, o.Basis)); op.State != dispatch.Completed {
			t.Fatalf("the operation is %s", op.State)
		}
	})
}

// Verifying fails at the deadline and not before; what the node shows instead is drift from then on.
func TestAContradictionFailsAtTheDeadline(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := verifying(w, m, p)
		byHand := w.Config("by hand")
		m.Runs(byHand)
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		_, err := w.Store.Finish(ctx, op.ID, op.Owner, o.Basis)
		wantRefusal(t, err, refusal.None, "not-admitted")
		_, err = w.Store.Overdue(ctx, op.ID, op.Owner)
		wantRefusal(t, err, refusal.None, "not-admitted")
		if rec := m.Record(); rec.Drift != nil {
			t.Fatalf("drift opened while the scope is held: %+v", rec.Drift)
		}
		w.Pass(2 * time.Minute)
		if op = fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, op.Owner, o.Basis)); op.State != dispatch.Failed {
			t.Fatalf("the operation is %s", op.State)
		}
		rec := m.Record()
		if rec.Drift == nil || rec.Drift.Digest != byHand || rec.Drift.OpenedRevision <= op.EndedRev {
			t.Fatalf("after the failure the drift record is %+v", rec.Drift)
		}
		if rec.Applied == byHand || rec.Applied == w.View(op).Plan.Artifact { // I3
			t.Errorf("a failure changed what counts as applied")
		}
	})
}

func TestVerifyingIsUnresolvedWhenItIsOverdue(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := verifying(w, m, p)
		w.Pass(2 * time.Minute)
		if op = fine[dispatch.Operation](t)(w.Store.Overdue(ctx, op.ID, op.Owner)); op.State != dispatch.Unresolved {
			t.Fatalf("the operation is %s", op.State)
		}
		m.Runs(w.View(op).Plan.Artifact)
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		if op = fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, op.Owner, o.Basis)); op.State != dispatch.Completed {
			t.Fatalf("the operation is %s", op.State)
		}
	})
}

// I5: with an attempt unaccounted nothing ends, whatever the node shows.
func TestI5NothingEndsWithAnAttemptUnaccounted(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Respond(m.Sending(p, m.Approved(w.Config("next"))), 1, dispatch.Inconclusive)
		for _, digest := range []string{w.View(op).Plan.Artifact, w.Config(world.Base)} {
			m.Runs(digest)
			o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
			_, err := w.Store.Finish(ctx, op.ID, op.Owner, o.Basis)
			wantRefusal(t, err, refusal.None, "not-admitted")
		}
		_, err := w.Store.Classify(ctx, op.ID, op.Owner, 0)
		wantRefusal(t, err, refusal.None, "unaccounted")
		_, err = w.Store.CancelOperation(ctx, op.ID, op.Owner, nil, "no")
		wantRefusal(t, err, refusal.None, "not-admitted")
		wantState(t, w, op, dispatch.Unresolved)
	})
}

// Unresolved fails only when a retry can never be admitted.
func TestUnresolvedFailsOnlyWhenNoRetryCanBe(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := neverLeft(t, w, m.Sending(p, m.Approved(w.Config("next"))), 1)
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		_, err := w.Store.Finish(ctx, op.ID, op.Owner, o.Basis)
		wantRefusal(t, err, refusal.None, "not-admitted")
		if err := w.Store.CancelPlan(ctx, w.Author, op.Plan, "no more"); err != nil {
			t.Fatal(err)
		}
		if op = fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, op.Owner, o.Basis)); op.State != dispatch.Failed {
			t.Fatalf("the operation is %s", op.State)
		}
		if rec := m.Record(); rec.Drift != nil {
			t.Errorf("drift opened at the applied digest: %+v", rec.Drift)
		}
	})
}

// An operation without an attempt is not completed by what the machine ran before it.
func TestAnOldReadingEndsNothing(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		base := m.Node.Active.Digest
		old := m.Read(p, dispatch.ForDrift)
		m.Complete(p, m.Approved(w.Config("between")))
		op := m.Commit(p, m.Approved(base)) // back to what it ran before
		op = fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, 1, w.Process().ID, "an operator forced it"))
		_, err := w.Store.Finish(ctx, op.ID, op.Owner, old.Basis)
		wantRefusal(t, err, refusal.None, "not-admitted")
		wantState(t, w, op, dispatch.Unresolved)
	})
}

// I11: what nothing was attempted of is cancelled because its approval is gone for good, or by a recovery-admin with a
// reason; never by an operator.
func TestI11CancellationIsDecidedOrFollowsTheApproval(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Commit(p, m.Approved(w.Config("next")))
		_, err := w.Store.CancelOperation(ctx, op.ID, op.Owner, nil, "no")
		wantRefusal(t, err, refusal.None, "no-transition")
		op = fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, 1, w.Process().ID, "an operator forced it"))
		_, err = w.Store.CancelOperation(ctx, op.ID, op.Owner, nil, "no")
		wantRefusal(t, err, refusal.None, "not-admitted")
		_, err = w.Store.CancelOperation(ctx, op.ID, op.Owner, actorOf(w.Author), "no")
		wantRefusal(t, err, refusal.None, "role-missing")
		_, err = w.Store.CancelOperation(ctx, op.ID, op.Owner, actorOf(w.Admin), "")
		wantRefusal(t, err, refusal.None, "no-reason")
		if op = fine[dispatch.Operation](t)(w.Store.CancelOperation(ctx, op.ID, op.Owner, actorOf(w.Admin), "not wanted any more")); op.State != dispatch.Cancelled {
			t.Fatalf("the operation is %s", op.State)
		}
		b := last(t, w, m.ID, dispatch.EntryMoved)
		if b.Event != dispatch.Cancel || b.From != dispatch.Unresolved || b.Text != "not wanted any more" {
			t.Errorf("the entry says %+v", b)
		}
	})
}
