package store

import (
	"context"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

// Adopt records that what a machine runs is accepted: an approved plan of kind adopt ends in a completed operation, without
// anything being sent. basis names the reading that shows the adopted digest: the newest one, made by the asking process
// for this plan, begun after the approval. It sets Applied, advances the baseline and closes the drift record that the plan
// binds. A refusal is recorded.
func (s *Store) Adopt(ctx context.Context, planID string, by dispatch.Owner, basis int64) (dispatch.Operation, error) {
	b, err := s.bindingOfPlan(ctx, planID)
	if err != nil {
		return dispatch.Operation{}, err
	}
	l := b.locks()
	l.guarded = true
	var op dispatch.Operation
	err = s.update(ctx, l, "the adoption by "+planID, func(tx *Tx) (err error) {
		op, err = tx.adopt(b, by, basis)
		return err
	})
	if r, refused := refusal.As(err); refused {
		return dispatch.Operation{}, s.refused(ctx, b, r, executorActor(by), nil)
	}
	return op, err
}

func (tx *Tx) adopt(b binding, by dispatch.Owner, basis int64) (dispatch.Operation, error) {
	f, err := tx.facts(b, by, dispatch.Request{})
	if err != nil {
		return dispatch.Operation{}, err
	}
	if f.Evidence, f.Newer, err = tx.offered(b.machine, basis); err != nil {
		return dispatch.Operation{}, err
	}
	if r := dispatch.Adoption(f.Facts); r != nil {
		return dispatch.Operation{}, r
	}
	if err := tx.checkInstance("adoption", by); err != nil {
		return dispatch.Operation{}, err
	}
	return tx.recordAdoption(b, f, by)
}

// recordAdoption writes the completed operation, its plan's standing and the machine's new baseline in one entry.
func (tx *Tx) recordAdoption(b binding, f dispatchFacts, by dispatch.Owner) (dispatch.Operation, error) {
	id, err := tx.newID(OperationPrefix, "operations", "id")
	if err != nil {
		return dispatch.Operation{}, err
	}
	rev, err := tx.next(b.scope())
	if err != nil {
		return dispatch.Operation{}, err
	}
	by.Generation = 1
	c := dispatch.Case{
		Op:   dispatch.Operation{ID: id, Plan: b.plan, Machine: b.machine, Kind: f.Plan.Kind, Owner: by, Revision: rev},
		Plan: f.Plan, Standing: f.Standing, Approvals: f.Approvals, Machine: f.Machine, Epoch: f.Epoch,
		InRecovery: f.InRecovery, Now: f.Now, Without: f.Without,
	}
	st := f.Standing
	st.State, st.Operation = dispatch.PlanCommitted, id
	s := step{
		event: dispatch.Event{Kind: dispatch.AdoptRecord, Reason: "what runs was accepted"},
		entry: dispatch.EntryAdopted, actor: executorActor(by), links: append(b.links(), f.links(b)...),
		body: dispatch.Body{
			PlanID: b.plan, Standing: &st, Evidence: f.basis(),
			Approvals: f.read.approvals, Identities: f.read.identities, Installation: f.read.installation,
		},
	}
	op, fx, err := tx.judge(&c, &s)
	if err != nil {
		return dispatch.Operation{}, err
	}
	if err := tx.writeStep(&c, s, op, fx); err != nil {
		return dispatch.Operation{}, err
	}
	if err := tx.insertAdmitted(op, "", st); err != nil {
		return dispatch.Operation{}, err
	}
	return op, tx.effects(&c, s, fx)
}
