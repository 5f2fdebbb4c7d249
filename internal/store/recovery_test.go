package store_test

import (
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

const floor = dispatch.MinimumSettle

// recovering is a world in which recovery was entered and every machine closed by a process of the new epoch.
func recovering(t *testing.T, w *world.World) *world.Process {
	t.Helper()
	fine[string](t)(w.Store.EnterRecovery(ctx, w.Admin, "a restore"))
	p := w.Process()
	fine[int](t)(w.Store.CloseMachines(ctx, w.Admin, p.ID))
	return p
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	r, ok := refusal.As(err)
	if !ok || r.Code != code {
		t.Fatalf("got %v, want a refusal with code %s", err, code)
	}
}

// I8: nothing from before the recovery authorizes: no approval, no process, no ownership.
func TestI8NothingFromAnotherEpochAuthorizes(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, other, p := w.Machine("w1"), w.Machine("w2"), w.Process()
		op := m.Commit(p, m.Approved(w.Config("next")))
		plan := other.Approved(w.Config("other"))
		other.Read(p, dispatch.ForEvidence, plan.ID)
		now := recovering(t, w)

		if _, err := m.TryAttempt(p, op); err == nil {
			t.Fatal("an owner of another epoch recorded an attempt")
		} else if _, ok := refusal.As(err); !ok {
			t.Fatal(err)
		}
		_, err := other.TryCommit(p, plan)
		wantRefusal(t, err, 1, "approvals-missing")
		op = w.View(op).Operation
		if op.State != dispatch.Unresolved || !op.PreRestore || op.Owner.Instance != now.ID || op.Owner.Generation != 2 {
			t.Fatalf("the restored operation: %+v", op)
		}
		if mark := m.Record().Recovery; mark != dispatch.PreRestore {
			t.Fatalf("the machine is marked %q", mark)
		}
		// A plan that is made and approved in the new epoch waits for the machine's release.
		fresh := other.Approved(w.Config("fresh"))
		other.Read(now, dispatch.ForEvidence, fresh.ID)
		_, err = other.TryCommit(now, fresh)
		wantRefusal(t, err, 6, "gate-closed")
	})
}

func TestMachinesAreClosedOnceAndWhereAnEarlierRunEnded(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		a, b := w.Machine("w1"), w.Machine("w2")
		_, err := w.Store.CloseMachines(ctx, w.Admin, w.Process().ID)
		wantCode(t, err, "not-entered")
		p := recovering(t, w)
		before := a.Head()
		if n := fine[int](t)(w.Store.CloseMachines(ctx, w.Admin, p.ID)); n != 0 || a.Head() != before {
			t.Fatalf("%d machines were closed again", n)
		}
		c := w.Unadopted("w3") // registered during the recovery
		if n := fine[int](t)(w.Store.CloseMachines(ctx, w.Admin, p.ID)); n != 1 {
			t.Fatalf("%d machines were closed, one was new", n)
		}
		fine[string](t)(w.Store.EnterRecovery(ctx, w.Admin, "another restore"))
		if n := fine[int](t)(w.Store.CloseMachines(ctx, w.Admin, w.Process().ID)); n != 3 {
			t.Fatalf("%d machines were closed in the next epoch", n)
		}
		for _, m := range []*world.Machine{a, b, c} {
			if mark := m.Record().Recovery; mark != dispatch.PreRestore {
				t.Errorf("%s is marked %q", m.Name, mark)
			}
		}
	})
}

// A machine with an attempt that nobody can account for any more: what must hold before it is marked, what then ends its
// operation, and that it is released and left last.
func TestAMachineIsAccountedForMarkedAndReleased(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plan := m.Approved(w.Config("next"))
		op := m.Sending(p, plan)
		w.Pass(time.Minute)
		now := recovering(t, w)
		mark := func(to dispatch.RecoveryMark, reason string) error {
			_, err := w.Store.MarkMachine(ctx, w.Admin, m.ID, to, floor, reason)
			return err
		}
		observe := func() { m.Read(now, dispatch.ForRecovery, plan.ID, op.ID) }

		wantCode(t, mark(dispatch.RecoveryUnresolved, ""), "no-reason")
		wantCode(t, mark(dispatch.RecoveryReady, "why"), "operation-open")
		wantCode(t, mark("gone", "why"), "mark")
		wantCode(t, mark(dispatch.RecoveryUnresolved, "why"), "instances-running")
		wantCode(t, w.Store.AttestInstance(ctx, w.Admin, p.ID, ""), "no-reason")
		for _, i := range fine[store.RecoveryStatus](t)(w.Store.Recovery(ctx)).Running {
			if err := w.Store.AttestInstance(ctx, w.Admin, i.ID, "the desk was switched off"); err != nil {
				t.Fatal(err)
			}
		}
		wantCode(t, mark(dispatch.RecoveryUnresolved, "why"), "settle-time") // never read
		observe()
		wantCode(t, mark(dispatch.RecoveryUnresolved, "why"), "settle-time") // just read
		w.Pass(dispatch.MaximumSettle)
		wantCode(t, mark(dispatch.RecoveryUnresolved, "why"), "settle-time") // not read since
		_, err := w.Store.Finish(ctx, op.ID, w.View(op).Operation.Owner, 0)
		if err == nil {
			t.Fatal("an operation ended on a machine that is not accounted for")
		}
		m.Runs(plan.Artifact) // it had landed
		observe()
		if err := mark(dispatch.RecoveryUnresolved, "nothing of before can arrive any more"); err != nil {
			t.Fatal(err)
		}
		a := w.View(op).Attempts[0].Accounting
		if a == nil || a.Kind != dispatch.PreRestoreEnd || a.By != w.Admin.Identity {
			t.Fatalf("the attempt's accounting: %+v", a)
		}
		_, err = w.Store.ReleaseMachine(ctx, w.Admin, m.ID, "ready")
		wantCode(t, err, "not-ready")

		owner := w.View(op).Operation.Owner
		o := m.Read(now, dispatch.ForCompletion, plan.ID, op.ID)
		op = fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, owner, o.Basis))
		wantState(t, w, op, dispatch.Completed)
		if err := mark(dispatch.RecoveryReady, "all accounted for"); err != nil {
			t.Fatal(err)
		}
		wantCode(t, w.Store.LeaveRecovery(ctx, w.Admin, "done"), "not-released")
		got := fine[dispatch.Machine](t)(w.Store.ReleaseMachine(ctx, w.Admin, m.ID, "ready"))
		if got.Recovery != dispatch.NoRecovery || got.ReleasedEpoch != now.Owner().Epoch || got.Applied != plan.Artifact {
			t.Fatalf("the released machine: %+v", got)
		}
		_, err = w.Store.ReleaseMachine(ctx, w.Admin, m.ID, "again")
		wantCode(t, err, "released")
		m.Complete(now, m.Approved(w.Config("after the recovery"))) // its gate is open while recovery goes on
		if err := w.Store.LeaveRecovery(ctx, w.Admin, "done"); err != nil {
			t.Fatal(err)
		}
		m.Complete(now, m.Approved(w.Config("after it was left")))
	})
}

// A restored operation never retries; one that was never attempted is cancelled once its machine is accounted for.
func TestARestoredOperationNeverRetries(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Commit(p, m.Approved(w.Config("next")))
		now := recovering(t, w)
		for _, i := range fine[store.RecoveryStatus](t)(w.Store.Recovery(ctx)).Running {
			if err := w.Store.AttestInstance(ctx, w.Admin, i.ID, "gone"); err != nil {
				t.Fatal(err)
			}
		}
		owner := w.View(op).Operation.Owner
		_, err := w.Store.CancelOperation(ctx, op.ID, owner, nil, "never sent")
		if err == nil {
			t.Fatal("it was cancelled although what a restore lost may have been sent")
		}
		m.Read(now, dispatch.ForRecovery)
		w.Pass(dispatch.MaximumSettle)
		m.Read(now, dispatch.ForRecovery)
		fine[dispatch.Machine](t)(w.Store.MarkMachine(ctx, w.Admin, m.ID, dispatch.RecoveryUnresolved, floor, "settled"))
		o := m.Read(now, dispatch.ForEvidence, op.Plan, op.ID)
		_, err = w.Store.Classify(ctx, op.ID, owner, o.Basis)
		wantCode(t, err, "no-retry")
		op = fine[dispatch.Operation](t)(w.Store.CancelOperation(ctx, op.ID, owner, nil, "never sent"))
		wantState(t, w, op, dispatch.Cancelled)
	})
}

func TestABlockedMachineMayStayBehindFrozen(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m := w.Machine("w1")
		now := recovering(t, w)
		for _, i := range fine[store.RecoveryStatus](t)(w.Store.Recovery(ctx)).Running {
			if err := w.Store.AttestInstance(ctx, w.Admin, i.ID, "gone"); err != nil {
				t.Fatal(err)
			}
		}
		m.Read(now, dispatch.ForRecovery)
		w.Pass(dispatch.MaximumSettle)
		m.Read(now, dispatch.ForRecovery)
		fine[dispatch.Machine](t)(w.Store.MarkMachine(ctx, w.Admin, m.ID, dispatch.RecoveryBlocked, floor, "its disk is broken"))
		wantCode(t, w.Store.LeaveRecovery(ctx, w.Admin, "done"), "not-released")
		fine[dispatch.Machine](t)(w.Store.Freeze(ctx, w.Admin, m.ID, "its disk is broken"))
		if err := w.Store.LeaveRecovery(ctx, w.Admin, "done"); err != nil {
			t.Fatal(err)
		}
	})
}
