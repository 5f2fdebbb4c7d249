package store_test

import (
	"slices"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

func TestANodeIsRegisteredOnce(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m := w.Unadopted("w1")
		register := func(who store.Who, change func(*dispatch.Machine, *dispatch.Reading)) error {
			r := m.Node
			r.NodeID = "another"
			d := dispatch.Machine{
				Name: "w2", Cluster: "lab", ClusterID: r.ClusterID, NodeID: r.NodeID,
				Assignment: dispatch.Assignment{Role: dispatch.Worker, Addresses: []string{"10.5.0.7"}},
			}
			if change != nil {
				change(&d, &r)
			}
			_, err := w.Store.RegisterMachine(ctx, who, d, r)
			return err
		}
		wantRefusal(t, register(w.Author, func(d *dispatch.Machine, r *dispatch.Reading) {
			d.NodeID, r.NodeID = m.Node.NodeID, m.Node.NodeID
		}), refusal.None, "already-registered")
		wantRefusal(t, register(w.Author, func(d *dispatch.Machine, _ *dispatch.Reading) { d.Name = "w1" }), refusal.None, "already-registered")
		wantRefusal(t, register(w.Author, func(_ *dispatch.Machine, r *dispatch.Reading) { r.Omni = true }), refusal.None, "node")
		wantRefusal(t, register(w.Author, func(_ *dispatch.Machine, r *dispatch.Reading) { r.NodeID = "elsewhere" }), refusal.None, "node")
		wantRefusal(t, register(w.Approver, nil), refusal.None, "role-missing")
		if err := register(w.Author, func(d *dispatch.Machine, r *dispatch.Reading) { // a control plane
			d.Assignment.Role, r.Role = dispatch.ControlPlane, dispatch.ControlPlane
		}); err != nil {
			t.Fatal(err)
		}
		all := fine[[]dispatch.Machine](t)(w.Store.Machines(ctx))
		if len(all) != 2 || all[0].Name != "w1" || all[1].Assignment.Role != dispatch.ControlPlane || all[0].BaselineRevision != 0 {
			t.Errorf("registered: %+v", all)
		}
		byName, byID := fine[dispatch.Machine](t)(w.Store.Machine(ctx, "w1")), fine[dispatch.Machine](t)(w.Store.Machine(ctx, m.ID))
		if byName.ID != m.ID || byID.Name != "w1" {
			t.Errorf("by name %s, by id %s", byName.ID, byID.Name)
		}
	})
}

// I9: the assignment does not change while an operation holds the machine.
func TestI9TheAssignmentStaysWhileTheMachineIsHeld(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		before := m.Record()
		moved := dispatch.Assignment{Role: dispatch.Worker, Addresses: []string{"10.5.0.3", "10.5.0.2", "10.5.0.3"}}
		op := m.Commit(p, m.Approved(w.Config("next")))
		_, err := w.Store.ChangeAssignment(ctx, w.Author, m.ID, moved, store.MachineUpdate{})
		wantRefusal(t, err, refusal.None, "scope-held")
		if got := m.Record(); got.AssignmentRevision != before.AssignmentRevision || !got.Assignment.Equal(before.Assignment) {
			t.Fatalf("the refusal changed it: %+v", got.Assignment)
		}
		m.Respond(m.Attempt(p, op).Operation, 1, dispatch.RejectedDef)
		got := fine[dispatch.Machine](t)(w.Store.ChangeAssignment(ctx, w.Author, m.ID, moved, store.MachineUpdate{Name: "w1-new", HostName: "w1-new"}))
		if got.AssignmentRevision <= before.AssignmentRevision || !slices.Equal(got.Assignment.Addresses, []string{"10.5.0.2", "10.5.0.3"}) {
			t.Errorf("changed: %+v", got)
		}
		if rec := m.Record(); rec.Name != "w1-new" || rec.AssignmentRevision != got.AssignmentRevision {
			t.Errorf("the row says %+v", rec)
		}
		again := fine[dispatch.Machine](t)(w.Store.ChangeAssignment(ctx, w.Author, m.ID, moved, store.MachineUpdate{}))
		if again.AssignmentRevision != got.AssignmentRevision {
			t.Errorf("the same assignment is a change")
		}
		other := w.Machine("w2")
		_, err = w.Store.ChangeAssignment(ctx, w.Author, other.ID, other.Record().Assignment, store.MachineUpdate{Name: "w1-new"})
		wantRefusal(t, err, refusal.None, "name-taken")
	})
}

// An operator freezes; only an approver lifts it.
func TestAFreezeIsLiftedByAnApprover(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m := w.Machine("w1")
		_, err := w.Store.Freeze(ctx, w.Author, m.ID, "")
		wantRefusal(t, err, refusal.None, "no-reason")
		got := fine[dispatch.Machine](t)(w.Store.Freeze(ctx, w.Author, m.ID, "hands off"))
		if !got.Frozen || got.FrozenBy != w.Author.Identity || got.FreezeReason != "hands off" {
			t.Fatalf("frozen: %+v", got)
		}
		_, err = w.Store.Unfreeze(ctx, w.Author, m.ID, "")
		wantRefusal(t, err, refusal.None, "role-missing")
		if got = fine[dispatch.Machine](t)(w.Store.Unfreeze(ctx, w.Approver, m.ID, "done")); got.Frozen || got.FreezeReason != "" {
			t.Errorf("unfrozen: %+v", got)
		}
	})
}
