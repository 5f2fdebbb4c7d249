package store_test

import (
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// neverLeft accounts for an attempt as never left, which its sender can.
func neverLeft(t *testing.T, w *world.World, op dispatch.Operation, attempt int) dispatch.Operation {
	t.Helper()
	return fine[dispatch.Operation](t)(w.Store.RecordNotSent(ctx, op.ID, attempt, op.Owner, "nothing was written"))
}

// classifiedAfterLoss is an operation whose first attempt never left, classified as safe to retry.
func classifiedAfterLoss(t *testing.T, w *world.World) (*world.Machine, *world.Process, dispatch.Operation) {
	t.Helper()
	m, p := w.Machine("w1"), w.Process()
	op := neverLeft(t, w, m.Sending(p, m.Approved(w.Config("next"))), 1)
	if op.State != dispatch.Unresolved {
		t.Fatalf("after it was not sent the operation is %s", op.State)
	}
	o := m.Read(p, dispatch.ForEvidence, op.Plan, op.ID)
	op = fine[dispatch.Operation](t)(w.Store.Classify(ctx, op.ID, op.Owner, o.Basis))
	if op.State != dispatch.Unresolved || op.Retry == nil || op.Retry.Basis != o.Basis || op.Retry.By != op.Owner {
		t.Fatalf("classified: %+v", op)
	}
	return m, p, op
}

// lateAcceptance records an acceptance of the first attempt after the operation moved on.
func lateAcceptance(t *testing.T, w *world.World, op dispatch.Operation) dispatch.Operation {
	t.Helper()
	got := fine[dispatch.Operation](t)(w.Store.RecordResponse(ctx, op.ID, 1, op.Owner, world.Response(dispatch.Accepted)))
	if r := w.View(op).Attempts[0].Response; r == nil || !r.Late || r.Class != dispatch.Accepted {
		t.Fatalf("recorded is %+v", r)
	}
	return got
}

func TestResponsesMoveASendingOperation(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		for class, want := range map[dispatch.ResponseClass]dispatch.State{
			dispatch.Accepted: dispatch.Verifying, dispatch.RejectedDef: dispatch.Rejected, dispatch.Inconclusive: dispatch.Unresolved,
		} {
			m, p := w.Machine("for-"+string(class)), w.Process()
			plan := m.Approved(w.Config("next"))
			op := m.Respond(m.Sending(p, plan), 1, class)
			if op.State != want {
				t.Errorf("%s: the operation is %s, want %s", class, op.State, want)
			}
			// The same response again is no news, in whatever state; another one is refused.
			if again := m.Respond(op, 1, class); again.State != want {
				t.Errorf("%s again: the operation is %s", class, again.State)
			}
			other := dispatch.Accepted
			if class == dispatch.Accepted {
				other = dispatch.RejectedDef
			}
			_, err := w.Store.RecordResponse(ctx, op.ID, 1, op.Owner, world.Response(other))
			wantRefusal(t, err, refusal.None, "response-recorded")
			if n := len(bodies(t, w, m.ID, dispatch.EntryResponse)); n != 1 {
				t.Errorf("%s: %d responses are on the timeline", class, n)
			}
			if rec := m.Record(); rec.Applied == plan.Artifact { // I3
				t.Errorf("%s: a response changed what counts as applied", class)
			}
		}
	})
}

// I6: a rejection proves nothing of an earlier attempt that has no answer.
func TestI6ARejectionWhileAnEarlierAttemptHasNone(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p, op := classifiedAfterLoss(t, w)
		op = m.Attempt(p, op).Operation
		op = m.Respond(op, 2, dispatch.RejectedDef)
		if op.State != dispatch.Unresolved {
			t.Fatalf("the operation is %s", op.State)
		}
		_, err := w.Store.LateReject(ctx, op.ID, op.Owner)
		wantRefusal(t, err, refusal.None, "not-admitted")
		// The first one's late rejection completes the set.
		op = fine[dispatch.Operation](t)(w.Store.RecordResponse(ctx, op.ID, 1, op.Owner, world.Response(dispatch.RejectedDef)))
		if op.State != dispatch.Rejected || op.EndedRev == 0 {
			t.Fatalf("the operation is %s", op.State)
		}
	})
}

// A new owner ends by the rejections that the former one recorded late.
func TestALateRejectionIsTheNewOwnersToEnd(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p, heir := w.Machine("w1"), w.Process(), w.Process()
		op := m.Sending(p, m.Approved(w.Config("next")))
		taken := fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, 1, heir.ID, "an operator forced it"))
		got := fine[dispatch.Operation](t)(w.Store.RecordResponse(ctx, op.ID, 1, op.Owner, world.Response(dispatch.RejectedDef)))
		if got.State != dispatch.Unresolved {
			t.Fatalf("the former owner moved it to %s", got.State)
		}
		_, err := w.Store.LateReject(ctx, op.ID, op.Owner)
		wantRefusal(t, err, 7, "not-owner")
		if got = fine[dispatch.Operation](t)(w.Store.LateReject(ctx, op.ID, taken.Owner)); got.State != dispatch.Rejected {
			t.Fatalf("the operation is %s", got.State)
		}
	})
}

// I17: an answer that arrives after the classification forbids the retry.
func TestI17AnAnswerForbidsTheRetry(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p, op := classifiedAfterLoss(t, w)
		lateAcceptance(t, w, op)
		_, err := m.TryAttempt(p, op)
		wantRefusal(t, err, 8, "response-since")
		wantState(t, w, op, dispatch.Unresolved)
		// The acceptance is evidence, and the reading ends it.
		m.Runs(w.View(op).Plan.Artifact)
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		if op = fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, op.Owner, o.Basis)); op.State != dispatch.Completed {
			t.Fatalf("the operation is %s", op.State)
		}
	})
}

// I17: a takeover takes the classification with it.
func TestI17ATakeoverForbidsTheRetry(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p, op := classifiedAfterLoss(t, w)
		heir := w.Process()
		taken := fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, op.Owner.Generation, heir.ID, "an operator forced it"))
		_, err := m.TryAttempt(p, op)
		wantRefusal(t, err, 7, "not-owner")
		m.Read(heir, dispatch.ForEvidence, op.Plan, op.ID)
		_, err = m.TryAttempt(heir, taken)
		wantRefusal(t, err, 7, "wrong-state")
	})
}

func TestALateResponseAfterTheEndRaisesAnAlert(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p, op := classifiedAfterLoss(t, w)
		op = m.Respond(m.Attempt(p, op).Operation, 2, dispatch.Accepted)
		m.Runs(w.View(op).Plan.Artifact)
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		op = fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, op.Owner, o.Basis))
		if op.State != dispatch.Completed {
			t.Fatalf("the operation is %s", op.State)
		}
		got := lateAcceptance(t, w, op)
		if got.State != dispatch.Completed || got.EndedRev != op.EndedRev {
			t.Fatalf("the late response moved it to %+v", got)
		}
		alert := last(t, w, m.ID, dispatch.EntryAlert)
		if alert.Code != "late-response" {
			t.Fatalf("the alert is %+v", alert)
		}
		accounting := w.View(op).Attempts[0].Accounting.Revision
		entries := w.Entries(m.ID, dispatch.EntryAlert)
		linked := false
		for _, l := range entries[len(entries)-1].Links {
			linked = linked || l.Rel == "accounting" && l.Revision == accounting
		}
		if !linked {
			t.Errorf("the alert links %+v, not the accounting of revision %d", entries[len(entries)-1].Links, accounting)
		}
	})
}

// Only the process that sent an attempt can say what it saw.
func TestOnlyTheSenderRecordsItsResponse(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Sending(p, m.Approved(w.Config("next")))
		other := op.Owner
		other.Instance = w.Process().ID
		_, err := w.Store.RecordResponse(ctx, op.ID, 1, other, world.Response(dispatch.Accepted))
		wantRefusal(t, err, refusal.None, "not-sender")
		_, err = w.Store.RecordNotSent(ctx, op.ID, 1, other, "no")
		wantRefusal(t, err, refusal.None, "not-sender")
		wantState(t, w, op, dispatch.Sending)
	})
}

// A response whose attempt the store does not hold, as after a restore, is kept once as an orphan.
func TestAResponseWithoutItsAttemptIsKept(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Commit(p, m.Approved(w.Config("next")))
		_, err := w.Store.RecordResponse(ctx, "op-gone", 2, op.Owner, world.Response(dispatch.RejectedDef))
		wantRefusal(t, err, refusal.None, "unknown-operation")
		for range 2 {
			fine[dispatch.Operation](t)(w.Store.RecordResponse(ctx, op.ID, 1, op.Owner, world.Response(dispatch.Accepted)))
			if err := w.Store.RecordOrphan(ctx, m.ID, "op-gone", 2, op.Owner, world.Response(dispatch.RejectedDef)); err != nil {
				t.Fatal(err)
			}
		}
		got := bodies(t, w, m.ID, dispatch.EntryResponse)
		if len(got) != 2 || !got[0].Orphan || !got[1].Orphan || got[0].Attempt.Operation != op.ID || got[1].Attempt.Operation != "op-gone" {
			t.Fatalf("orphans: %+v", got)
		}
		wantState(t, w, op, dispatch.Committed)
		if n := len(w.View(op).Attempts); n != 0 {
			t.Errorf("%d attempts appeared", n)
		}
	})
}

func TestNotSentIsAnAccountingAndIsRecordedOnce(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Sending(p, m.Approved(w.Config("next")))
		for range 2 {
			if got := neverLeft(t, w, op, 1); got.State != dispatch.Unresolved {
				t.Fatalf("the operation is %s", got.State)
			}
		}
		if got := bodies(t, w, m.ID, dispatch.EntryAccounted); len(got) != 1 || got[0].Attempt.Accounting.Kind != dispatch.NeverLeft {
			t.Fatalf("accountings: %+v", got)
		}
		mine := fine[bool](t)(w.Store.StillMine(ctx, op.ID, 1, op.Owner)) // I2
		if mine {
			t.Errorf("an attempt that is accounted for may still be sent")
		}
	})
}
