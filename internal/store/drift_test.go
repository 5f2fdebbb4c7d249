package store_test

import (
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store/storetest/world"
)

func TestDriftOpensGrowsAndReturns(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		base, one, two := m.Node.Active.Digest, w.Config("by hand"), w.Config("by hand again")
		change := func(digest string) dispatch.DriftChange {
			o := m.Begin(p, dispatch.ForDrift)
			m.Runs(digest)
			o.Reading = m.Node
			_, c, err := w.Store.RecordRead(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if c := change(base); c != dispatch.DriftNone || m.Record().Drift != nil {
			t.Fatalf("the applied configuration is drift: %v", c)
		}
		if c := change(one); c != dispatch.DriftOpens || m.Record().Drift.Digest != one {
			t.Fatalf("opened: %v, %+v", c, m.Record().Drift)
		}
		id := m.Record().Drift.ID
		if c := change(one); c != dispatch.DriftNone {
			t.Errorf("the same bytes again: %v", c)
		}
		if c := change(two); c != dispatch.DriftAdds || m.Record().Drift.ID != id || m.Record().Drift.Digest != two {
			t.Errorf("added: %v, %+v", c, m.Record().Drift)
		}
		if c := change(base); c != dispatch.DriftCloses || m.Record().Drift != nil {
			t.Errorf("closed: %v, %+v", c, m.Record().Drift)
		}
		all := fine[[]dispatch.Drift](t)(w.Store.Drifts(ctx, m.ID))
		if len(all) != 1 || all[0].ClosedAs != dispatch.DriftReturned || all[0].ClosedRevision == 0 {
			t.Errorf("the records are %+v", all)
		}
		if rec := m.Record(); rec.Frozen || rec.Applied != base {
			t.Errorf("detection changed the machine: %+v", rec)
		}
	})
}

// Nothing opens or closes by a reading while an operation holds the machine, nor by one that began before it ended or that
// a newer reading overtook.
func TestDriftIsNotJudgedOnWhatMayBePast(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		base := m.Node.Active.Digest
		plan := m.Approved(w.Config("next"))
		op := m.Commit(p, plan)
		stale := m.Begin(p, dispatch.ForDrift)
		m.Runs(plan.Artifact)
		m.Read(p, dispatch.ForDrift) // held
		if d := m.Record().Drift; d != nil {
			t.Fatalf("drift opened while the scope is held: %+v", d)
		}
		m.Runs(base)
		m.Read(p, dispatch.ForEvidence, op.Plan)
		op = m.Respond(m.Attempt(p, op).Operation, 1, dispatch.Accepted)
		m.Runs(plan.Artifact)
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, op.Owner, o.Basis))

		now := m.Node
		m.Runs(base)
		m.End(stale) // began before the operation ended
		if d := m.Record().Drift; d != nil {
			t.Fatalf("a reading from before the end opened drift: %+v", d)
		}
		overtaken := m.Begin(p, dispatch.ForDrift)
		m.Node = now
		m.Read(p, dispatch.ForDrift)
		m.Runs(base)
		m.End(overtaken)
		if d := m.Record().Drift; d != nil {
			t.Fatalf("a reading that a newer one overtook opened drift: %+v", d)
		}
	})
}

// A revert binds the drift record, expects the drifted bytes, and closes the record as it completes.
func TestARevertClosesItsDrift(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		base, byHand := m.Node.Active.Digest, w.Config("by hand")
		m.Runs(byHand)
		m.Read(p, dispatch.ForDrift)

		unbound := m.Draft(base)
		unbound.Drift = ""
		o := m.Read(p, dispatch.ForPlanning)
		_, _, err := w.Store.CreatePlan(ctx, w.Author, unbound, o)
		wantRefusal(t, err, refusal.None, "drift-open")

		plan := m.Approved(base) // back to what was applied
		if plan.Drift == "" || plan.Expected != byHand {
			t.Fatalf("the plan binds drift %q and expects %s", plan.Drift, plan.Expected)
		}
		m.Complete(p, plan)
		all := fine[[]dispatch.Drift](t)(w.Store.Drifts(ctx, m.ID))
		if m.Record().Drift != nil || len(all) != 1 || all[0].ClosedAs != dispatch.DriftReverted {
			t.Errorf("the records are %+v", all)
		}
	})
}

// A revert whose machine drifted once more is refused, and so is a plan whose expected bytes nobody recorded.
func TestARevertIsRefusedByRedrift(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		base := m.Node.Active.Digest
		m.Runs(w.Config("by hand"))
		m.Read(p, dispatch.ForDrift)
		plan := m.Approved(base)
		m.Runs(w.Config("by hand again"))
		m.Read(p, dispatch.ForEvidence, plan.ID)
		_, err := m.TryCommit(p, plan)
		wantRefusal(t, err, 3, "other-digest")
	})
}

// lostAndDecided is an operation whose lost attempt a decision accounted for; what the node shows is unchanged.
func lostAndDecided(t *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Operation {
	t.Helper()
	op := lost(w, m, p)
	p.End()
	heir := w.Process()
	op = fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, 1, heir.ID, "it recorded its end"))
	w.Pass(2 * time.Second)
	m.Read(heir, dispatch.ForDrift)
	w.Pass(time.Minute)
	op = fine[dispatch.Operation](t)(decide(w, op, m.Read(heir, dispatch.ForRecovery).Basis))
	if err := w.Store.CancelPlan(ctx, w.Author, op.Plan, "given up"); err != nil {
		t.Fatal(err)
	}
	o := m.Read(heir, dispatch.ForCompletion, op.Plan, op.ID)
	op = fine[dispatch.Operation](t)(w.Store.Finish(ctx, op.ID, op.Owner, o.Basis))
	if op.State != dispatch.Failed {
		t.Fatalf("the operation is %s", op.State)
	}
	return op
}

func linksTo(links []ledger.Link, rel, id string) bool {
	for _, l := range links {
		if l.Rel == rel && l.ID == id {
			return true
		}
	}
	return false
}

// A lost attempt that lands after a decision accounted for it is drift, linked to its operation, also when another
// operation completed between.
func TestALateLandingIsDriftOfItsOperation(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m := w.Machine("w1")
		op := lostAndDecided(t, w, m, w.Process())
		p := w.Process()
		m.Complete(p, m.Approved(w.Config("between")))
		m.Runs(w.View(op).Plan.Artifact) // lands
		m.Read(p, dispatch.ForDrift)
		if d := m.Record().Drift; d == nil || d.Digest != w.View(op).Plan.Artifact {
			t.Fatalf("the drift record is %+v", d)
		}
		entries := w.Entries(m.ID, dispatch.EntryDriftOpened)
		if !linksTo(entries[len(entries)-1].Links, "late-landing", op.ID) {
			t.Errorf("the drift links %+v, not %s", entries[len(entries)-1].Links, op.ID)
		}
	})
}

// Where its bytes are those that run already, only the version moves: that is recorded once, and linked.
func TestALateLandingOfTheSameBytesIsAVersionMove(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m := w.Machine("w1")
		op := lostAndDecided(t, w, m, w.Process())
		p := w.Process()
		m.Complete(p, m.Approved(w.View(op).Plan.Artifact)) // another plan brings the same bytes
		m.Read(p, dispatch.ForDrift)
		if n := len(w.Entries(m.ID, dispatch.EntryVersionMoved)); n != 0 {
			t.Fatalf("%d version moves before any", n)
		}
		m.Runs(w.View(op).Plan.Artifact) // lands
		m.Read(p, dispatch.ForDrift)
		m.Read(p, dispatch.ForDrift)
		entries := w.Entries(m.ID, dispatch.EntryVersionMoved)
		if len(entries) != 1 || !linksTo(entries[0].Links, "late-landing", op.ID) {
			t.Errorf("version moves: %+v", entries)
		}
		if d := m.Record().Drift; d != nil {
			t.Errorf("identical bytes are drift: %+v", d)
		}
		m.Node.BootID, m.Node.Active.Version = "boot-2", 99 // versions restart at a boot and say nothing across it
		m.Read(p, dispatch.ForDrift)
		if n := len(w.Entries(m.ID, dispatch.EntryVersionMoved)); n != 1 {
			t.Errorf("a reboot is a version move")
		}
	})
}
