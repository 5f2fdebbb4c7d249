package store_test

import (
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// Every control takes one guard away, in all its layers, and must then see what the guard prevents.

func control(t *testing.T, guard dispatch.Guard, test func(t *testing.T, w *world.World)) {
	t.Helper()
	world.Each(t, func(t *testing.T, w *world.World) {
		w.Unchecked("a control")
		test(t, w)
	}, without(guard))
}

func TestControlWithoutComparison0APlanHasTwoOperations(t *testing.T) {
	control(t, dispatch.GuardOneOperation, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plan := m.Approved(w.Config("next"))
		one := m.Respond(m.Sending(p, plan), 1, dispatch.RejectedDef)
		two := m.Commit(p, plan)
		if one.ID == two.ID || one.Plan != two.Plan {
			t.Errorf("operations %+v and %+v", one, two)
		}
		wantProblem(t, w, 12)
	})
}

func TestControlWithoutComparison1ARevokedPlanIsSent(t *testing.T) {
	control(t, dispatch.GuardApproval, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Commit(p, m.Approved(w.Config("next")))
		if err := w.Store.RevokeApproval(ctx, w.Approver, op.Plan, "no"); err != nil {
			t.Fatal(err)
		}
		m.Attempt(p, op)
		wantProblem(t, w, 13)
	})
}

func TestControlWithoutComparison2AStalePlanOverwrites(t *testing.T) {
	control(t, dispatch.GuardBinding, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		base := m.Node.Active.Digest
		stale := m.Approved(w.Config("stale"))
		m.Complete(p, m.Approved(w.Config("newer")))
		m.Complete(p, m.Approved(base))
		m.Commit(p, stale) // the bytes are the bound ones again, the baseline is not
		wantProblem(t, w, 14)
	})
}

func TestControlWithoutComparison3AnUnseenChangeIsOverwritten(t *testing.T) {
	control(t, dispatch.GuardEvidence, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plan := m.Approved(w.Config("next"))
		m.Node.Ready = false
		m.Read(p, dispatch.ForEvidence, plan.ID)
		if _, err := m.TryCommit(p, plan); err != nil {
			t.Fatal(err)
		}
		wantProblem(t, w, 14)
	})
}

func TestControlWithoutComparison4AMachineIsHeldTwice(t *testing.T) {
	control(t, dispatch.GuardScope, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		a, b := m.Approved(w.Config("a")), m.Approved(w.Config("b"))
		one := m.Commit(p, a)
		two := m.Commit(p, b)
		wantState(t, w, one, dispatch.Committed)
		wantState(t, w, two, dispatch.Committed)
		wantProblem(t, w, 1)
	})
}

func TestControlWithoutComparison6AFrozenMachineIsChanged(t *testing.T) {
	control(t, dispatch.GuardGate, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plan := m.Approved(w.Config("next"))
		fine[dispatch.Machine](t)(w.Store.Freeze(ctx, w.Author, m.ID, "hands off"))
		m.Sending(p, plan)
		wantProblem(t, w, 10)
	})
}

// staleAttempt is the attempt of an executor that lost its operation between commitment and attempt.
func staleAttempt(t *testing.T, w *world.World) (dispatch.Operation, error) {
	t.Helper()
	m, p, heir := w.Machine("w1"), w.Process(), w.Process()
	op := m.Commit(p, m.Approved(w.Config("next")))
	fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, 1, heir.ID, "an operator took it over"))
	_, err := m.TryAttempt(p, op)
	return op, err
}

func TestControlWithoutComparison7AStaleAttemptIsRecorded(t *testing.T) {
	control(t, dispatch.GuardOwnership, func(t *testing.T, w *world.World) {
		if _, err := staleAttempt(t, w); err != nil {
			t.Fatal(err)
		}
		wantProblem(t, w, 2)
	})
}

// Each half of comparison 7 alone keeps the stale attempt out.
func TestControlWithHalfOfComparison7(t *testing.T) {
	for _, guard := range []dispatch.Guard{dispatch.GuardOwner, dispatch.GuardOwnedState} {
		t.Run(string(guard), func(t *testing.T) {
			control(t, guard, func(t *testing.T, w *world.World) {
				op, err := staleAttempt(t, w)
				code := "wrong-state" // without the owner's half
				if guard == dispatch.GuardOwnedState {
					code = "not-owner"
				}
				wantRefusal(t, err, 7, code)
				if n := len(w.View(op).Attempts); n != 0 {
					t.Errorf("%d attempts are recorded", n)
				}
			})
		})
	}
}

func TestControlWithoutComparison8ARetryFollowsAnAnswer(t *testing.T) {
	control(t, dispatch.GuardClassification, func(t *testing.T, w *world.World) {
		m, p, op := classifiedAfterLoss(t, w)
		lateAcceptance(t, w, op)
		m.Attempt(p, op)
		wantProblem(t, w, 17)
	})
}

func TestControlWithoutComparison9AttemptsExceedTheirBound(t *testing.T) {
	control(t, dispatch.GuardAttempts, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Sending(p, m.Approved(w.Config("next"), func(p *dispatch.Plan) { p.MaxAttempts = 2 }))
		op = neverLeft(t, w, op, 1)
		o := m.Read(p, dispatch.ForEvidence, op.Plan, op.ID)
		op = fine[dispatch.Operation](t)(w.Store.Classify(ctx, op.ID, op.Owner, o.Basis))
		op = neverLeft(t, w, m.Attempt(p, op).Operation, 2)
		// Nobody may classify it any more, so a classification from before the bound is put in its place.
		w.SetRetry(op, dispatch.Classification{Revision: o.Revision, By: op.Owner, Basis: o.Basis})
		m.Read(p, dispatch.ForEvidence, op.Plan, op.ID)
		m.Attempt(p, op)
		wantProblem(t, w, 16)
	})
}

func TestControlWithoutAccountingAnOperationEndsOnUntrueEvidence(t *testing.T) {
	control(t, dispatch.GuardAccounting, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Respond(m.Sending(p, m.Approved(w.Config("next"), func(p *dispatch.Plan) { p.MaxAttempts = 1 })), 1, dispatch.Inconclusive)
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		op = fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, op.Owner, o.Basis))
		if op.State != dispatch.Failed {
			t.Errorf("the operation is %s", op.State)
		}
		wantProblem(t, w, 5)
	})
}

var noBreakGlass = store.ApproveOptions{}
