package store_test

import (
	"fmt"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// refusedCommitment is one way for a commitment to be refused: spoil prepares it and returns what to ask for.
type refusedCommitment struct {
	name       string
	comparison int
	code       string
	spoil      func(t *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan
	change     func(q *dispatch.CommitRequest)
}

// evidenced approves a plan and records evidence for it.
func evidenced(w *world.World, m *world.Machine, p *world.Process, change ...func(*dispatch.Plan)) dispatch.Plan {
	plan := m.Approved(w.Config("next of "+m.Name), change...)
	m.Read(p, dispatch.ForEvidence, plan.ID)
	return plan
}

var refusedCommitments = []refusedCommitment{
	{name: "0 committed already", comparison: 0, code: "operation-exists", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := evidenced(w, m, p)
		m.Commit(p, plan)
		return plan
	}},
	{name: "0 completed already", comparison: 0, code: "operation-exists", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := evidenced(w, m, p)
		m.Complete(p, plan)
		return plan
	}},
	{name: "1 not approved", comparison: 1, code: "plan-not-approved", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := m.Plan(w.Config("next of " + m.Name))
		m.Read(p, dispatch.ForEvidence, plan.ID)
		return plan
	}},
	{name: "1 one approval of two", comparison: 1, code: "plan-not-approved", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		return evidenced(w, m, p, func(p *dispatch.Plan) { p.Policy.Approvals = 2 })
	}},
	{name: "1 revoked", comparison: 1, code: "plan-revoked", spoil: func(t *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := evidenced(w, m, p)
		if err := w.Store.RevokeApproval(ctx, w.Approver, plan.ID, "second thoughts"); err != nil {
			t.Fatal(err)
		}
		return plan
	}},
	{name: "1 approver revoked", comparison: 1, code: "approvals-missing", spoil: func(t *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		who := w.Person("gone-"+m.Name, store.RoleApprover)
		plan := m.Plan(w.Config("next of " + m.Name))
		fine[dispatch.Approval](t)(first(w.Store.Approve(ctx, who, plan.ID, store.ApproveOptions{})))
		m.Read(p, dispatch.ForEvidence, plan.ID)
		fine[store.Identity](t)(w.Store.RevokeIdentity(ctx, w.Admin, who.Identity, "left"))
		return plan
	}},
	{name: "1 cancelled", comparison: 1, code: "plan-cancelled", spoil: func(t *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := evidenced(w, m, p)
		if err := w.Store.CancelPlan(ctx, w.Author, plan.ID, ""); err != nil {
			t.Fatal(err)
		}
		return plan
	}},
	{
		name: "2 another artifact", comparison: 2, code: "artifact-changed",
		spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
			return evidenced(w, m, p)
		},
		change: func(q *dispatch.CommitRequest) { q.Request.Artifact = dispatch.Digest([]byte("another")) },
	},
	{
		name: "2 another mode", comparison: 2, code: "parameters-changed",
		spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
			return evidenced(w, m, p)
		},
		change: func(q *dispatch.CommitRequest) { q.Request.Mode = "reboot" },
	},
	{
		name: "2 another route", comparison: 2, code: "parameters-changed",
		spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
			return evidenced(w, m, p)
		},
		change: func(q *dispatch.CommitRequest) { q.Request.Route = dispatch.Via("10.5.0.9") },
	},
	{name: "2 baseline moved", comparison: 2, code: "baseline-moved", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := m.Approved(w.Config("second of " + m.Name))
		m.Complete(p, m.Approved(w.Config("first of "+m.Name)))
		m.Read(p, dispatch.ForEvidence, plan.ID)
		return plan
	}},
	{name: "2 assignment changed", comparison: 2, code: "assignment-changed", spoil: func(t *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := evidenced(w, m, p)
		fine[dispatch.Machine](t)(w.Store.ChangeAssignment(ctx, w.Author, m.ID,
			dispatch.Assignment{Role: dispatch.Worker, Addresses: []string{"10.5.0.2", "10.5.0.3"}}, store.MachineUpdate{}))
		return plan
	}},
	{name: "3 no evidence", comparison: 3, code: "no-evidence", spoil: func(_ *testing.T, w *world.World, m *world.Machine, _ *world.Process) dispatch.Plan {
		return m.Approved(w.Config("next of " + m.Name))
	}},
	{name: "3 another process' evidence", comparison: 3, code: "no-evidence", spoil: func(_ *testing.T, w *world.World, m *world.Machine, _ *world.Process) dispatch.Plan {
		return evidenced(w, m, w.Process())
	}},
	{name: "3 evidence for another plan", comparison: 3, code: "no-evidence", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		other := m.Approved(w.Config("other of " + m.Name))
		m.Read(p, dispatch.ForEvidence, other.ID)
		return m.Approved(w.Config("next of " + m.Name))
	}},
	{name: "3 contradicted by a newer reading", comparison: 3, code: "contradicted", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := evidenced(w, m, p)
		m.Node.Ready = false
		m.Read(w.Process(), dispatch.ForDrift)
		return plan
	}},
	{name: "3 a staged change", comparison: 3, code: "not-quiescent", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := m.Approved(w.Config("next of " + m.Name))
		m.Node.Persistent.Digest = w.Config("staged")
		m.Read(p, dispatch.ForEvidence, plan.ID)
		return plan
	}},
	{name: "3 rebooting", comparison: 3, code: "in-transition", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := m.Approved(w.Config("next of " + m.Name))
		m.Node.Stage = "rebooting"
		m.Read(p, dispatch.ForEvidence, plan.ID)
		return plan
	}},
	{name: "3 another digest", comparison: 3, code: "other-digest", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := m.Approved(w.Config("next of " + m.Name))
		m.Runs(w.Config("by hand"))
		m.Read(p, dispatch.ForEvidence, plan.ID)
		return plan
	}},
	{name: "4 another operation holds the machine", comparison: 4, code: "scope-held", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := evidenced(w, m, p)
		other := m.Approved(w.Config("other of " + m.Name))
		m.Commit(w.Process(), other)
		return plan
	}},
	{name: "6 frozen", comparison: 6, code: "gate-closed", spoil: func(t *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		plan := evidenced(w, m, p)
		fine[dispatch.Machine](t)(w.Store.Freeze(ctx, w.Author, m.ID, "hands off"))
		return plan
	}},
	{name: "6 the bound drift record is closed, another is open", comparison: 6, code: "gate-closed", spoil: func(_ *testing.T, w *world.World, m *world.Machine, p *world.Process) dispatch.Plan {
		base, byHand := m.Node.Active.Digest, w.Config("by hand")
		m.Runs(byHand)
		m.Read(w.Process(), dispatch.ForDrift)
		plan := m.Approved(w.Config("next of " + m.Name)) // binds the record
		m.Runs(base)
		m.Read(w.Process(), dispatch.ForDrift) // closes it
		m.Runs(byHand)
		m.Read(p, dispatch.ForEvidence, plan.ID) // opens another
		return plan
	}},
}

// first drops the middle of three results.
func first[A, B any](a A, _ B, err error) (A, error) { return a, err }

func TestACommitmentIsRefusedByEachComparison(t *testing.T) {
	world.Each(t, func(t *testing.T, outer *world.World) {
		for i, c := range refusedCommitments {
			t.Run(c.name, func(t *testing.T) {
				w := outer.In(t)
				m, p := w.Machine(fmt.Sprintf("m%d", i)), w.Process()
				plan := c.spoil(t, w, m, p)
				before, operations := m.Record(), len(fine[[]dispatch.OperationView](t)(w.Store.MachineOperations(ctx, m.ID)))
				q := dispatch.CommitRequest{Plan: plan.ID, By: p.Owner(), Request: world.Request(plan), Token: world.Token()}
				if c.change != nil {
					c.change(&q)
				}
				_, err := w.Store.Commit(ctx, q)
				wantRefusal(t, err, c.comparison, c.code)
				wantRecorded(t, w, m.ID, c.comparison, c.code)
				after := m.Record()
				if n := len(fine[[]dispatch.OperationView](t)(w.Store.MachineOperations(ctx, m.ID))); n != operations {
					t.Errorf("the machine has %d operations, had %d", n, operations)
				}
				if after.Applied != before.Applied || after.BaselineRevision != before.BaselineRevision {
					t.Errorf("the refusal changed the baseline")
				}
				if f, err := w.Store.FindToken(ctx, m.ID, q.Token, q.By); err != nil || f.Found {
					t.Errorf("the token of a refused commitment is found: %+v, %v", f, err)
				}
			})
		}
	})
}
