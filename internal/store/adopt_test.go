package store_test

import (
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store/storetest/world"
)

func adopt(w *world.World, m *world.Machine, p *world.Process, plan dispatch.Plan) (dispatch.Operation, error) {
	o := m.Read(p, dispatch.ForAdoption, plan.ID)
	return w.Store.Adopt(ctx, plan.ID, p.Owner(), o.Basis)
}

// A machine's first baseline is an adoption, and nothing can be applied before it.
func TestAdoptionGivesTheFirstBaseline(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Unadopted("w1"), w.Process()
		o := m.Read(p, dispatch.ForPlanning)
		draft := m.Draft(w.Config("next"))
		draft.Expected = m.Node.Active.Digest
		_, _, err := w.Store.CreatePlan(ctx, w.Author, draft, o)
		wantRefusal(t, err, refusal.None, "no-baseline")
		op := m.Adopt(p)
		rec := m.Record()
		if op.State != dispatch.Completed || op.Kind != dispatch.KindAdopt || rec.Applied != m.Node.Active.Digest ||
			rec.AppliedSource != op.ID || rec.BaselineRevision != op.EndedRev || rec.Desired != rec.Applied {
			t.Fatalf("adopted: %+v, %+v", op, rec)
		}
		if n := len(w.View(op).Attempts); n != 0 {
			t.Errorf("an adoption sent %d times", n)
		}
	})
}

// It accepts drift, and a freeze does not stop it.
func TestAdoptionClosesDrift(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		byHand := w.Config("by hand")
		m.Runs(byHand)
		m.Read(p, dispatch.ForDrift)
		plan := m.AdoptionPlan()
		fine[dispatch.Machine](t)(w.Store.Freeze(ctx, w.Author, m.ID, "hands off"))
		fine[dispatch.Operation](t)(adopt(w, m, p, plan))
		all := fine[[]dispatch.Drift](t)(w.Store.Drifts(ctx, m.ID))
		if rec := m.Record(); rec.Applied != byHand || rec.Drift != nil || len(all) != 1 || all[0].ClosedAs != dispatch.DriftAdopted {
			t.Errorf("adopted: %+v, drift records %+v", rec, all)
		}
		_, err := adopt(w, m, p, plan)
		wantRefusal(t, err, 0, "operation-exists")
	})
}

func TestAnAdoptionIsRefused(t *testing.T) {
	type refused struct {
		comparison int
		code       string
		try        func(t *testing.T, w *world.World, m *world.Machine, p *world.Process) error
	}
	offer := func(w *world.World, plan dispatch.Plan, p *world.Process, o dispatch.Observation) error {
		_, err := w.Store.Adopt(ctx, plan.ID, p.Owner(), o.Basis)
		return err
	}
	cases := map[string]refused{
		"by a reading from before the approval": {3, "before-approval", func(t *testing.T, w *world.World, m *world.Machine, p *world.Process) error {
			plan := m.AdoptionPlan(func(p *dispatch.Plan) { p.Policy.Approvals = 2 })
			o := m.Read(p, dispatch.ForAdoption, plan.ID)
			fine[dispatch.Approval](t)(first(w.Store.Approve(ctx, w.Second, plan.ID, noBreakGlass)))
			return offer(w, plan, p, o)
		}},
		"by a reading that is not the newest": {3, "not-newest", func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) error {
			plan := m.AdoptionPlan()
			o := m.Read(p, dispatch.ForAdoption, plan.ID)
			m.Read(p, dispatch.ForDrift)
			return offer(w, plan, p, o)
		}},
		"by nothing read for it": {3, "no-evidence", func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) error {
			plan := m.AdoptionPlan()
			return offer(w, plan, p, m.Read(p, dispatch.ForDrift))
		}},
		"changed again": {3, "other-digest", func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) error {
			plan := m.AdoptionPlan()
			m.Runs(w.Config("once more"))
			_, err := adopt(w, m, p, plan)
			return err
		}},
		"a staged change": {3, "not-quiescent", func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) error {
			plan := m.AdoptionPlan()
			m.Node.Persistent.Digest = w.Config("staged")
			_, err := adopt(w, m, p, plan)
			return err
		}},
		"another configuration was selected": {2, "selection-changed", func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) error {
			plan := m.AdoptionPlan()
			m.Plan(w.Config("selected since"))
			_, err := adopt(w, m, p, plan)
			return err
		}},
		"not approved": {1, "plan-revoked", func(t *testing.T, w *world.World, m *world.Machine, p *world.Process) error {
			plan := m.AdoptionPlan()
			if err := w.Store.RevokeApproval(ctx, w.Approver, plan.ID, "no"); err != nil {
				t.Fatal(err)
			}
			_, err := adopt(w, m, p, plan)
			return err
		}},
		"held": {4, "scope-held", func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) error {
			other := m.Approved(w.Config("other"))
			plan := m.AdoptionPlan()
			m.Commit(p, other)
			_, err := adopt(w, m, p, plan)
			return err
		}},
		"its drift record closed by a revert": {2, "baseline-moved", func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) error {
			base, byHand := m.Node.Active.Digest, w.Config("by hand")
			m.Runs(byHand)
			m.Read(p, dispatch.ForDrift)
			plan := m.AdoptionPlan()
			m.Complete(p, m.Approved(base))
			m.Runs(byHand)
			_, err := adopt(w, m, p, plan)
			return err
		}},
		"its drift record closed by itself, another open": {6, "drift-open", func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) error {
			base, byHand := m.Node.Active.Digest, w.Config("by hand")
			m.Runs(byHand)
			m.Read(p, dispatch.ForDrift)
			plan := m.AdoptionPlan()
			m.Runs(base)
			m.Read(p, dispatch.ForDrift)
			m.Node.Active.Digest = byHand
			m.Node.Persistent.Digest = byHand
			o := m.Begin(p, dispatch.ForAdoption, plan.ID)
			o.Reading = m.Node
			o, _, err := w.Store.RecordRead(ctx, o) // opens another record
			if err != nil {
				return err
			}
			return offer(w, plan, p, o)
		}},
		"a plan that applies": {refusal.None, "plan-kind", func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) error {
			plan := m.Approved(w.Config("next"))
			_, err := adopt(w, m, p, plan)
			return err
		}},
	}
	world.Each(t, func(t *testing.T, outer *world.World) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				w := outer.In(t)
				m, p := w.Machine(machineName(name)), w.Process()
				before := m.Record()
				wantRefusal(t, c.try(t, w, m, p), c.comparison, c.code)
				wantRecorded(t, w, m.ID, c.comparison, c.code)
				if after := m.Record(); c.comparison != 2 && after.BaselineRevision != before.BaselineRevision { // I3
					t.Errorf("the refusal moved the baseline")
				}
			})
		}
	})
}

func machineName(s string) string {
	out := []rune(s)
	for i, r := range out {
		if r == ' ' {
			out[i] = '-'
		}
	}
	return string(out)
}

func TestAnOldReadingAdoptsNothing(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plan := m.AdoptionPlan(func(p *dispatch.Plan) { p.MaxAge = time.Minute })
		o := m.Read(p, dispatch.ForAdoption, plan.ID)
		w.Pass(2 * time.Minute)
		_, err := w.Store.Adopt(ctx, plan.ID, p.Owner(), o.Basis)
		wantRefusal(t, err, 3, "evidence-old")
	})
}
