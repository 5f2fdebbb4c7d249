package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// dispatchFacts is what a commitment or an attempt read under its locks, with what it records of that.
type dispatchFacts struct {
	dispatch.Facts
	approvals []approvalRow
	rollout   *dispatch.RolloutRow
	read      ledgerRevisions
}

// ledgerRevisions are the revisions that comparison 1 read on this and on other timelines. I13
type ledgerRevisions struct {
	approvals    map[string]int64 // those that count, by id
	identities   map[string]int64 // every approver, by name
	installation int64
}

// facts reads what the comparisons of a commitment (no operation named in b), an attempt or a precheck need.
func (tx *Tx) facts(b binding, by dispatch.Owner, q dispatch.Request) (dispatchFacts, error) {
	f := dispatchFacts{Facts: dispatch.Facts{By: by, Request: q, Without: tx.store.cfg.Without}}
	if err := tx.readFacts(&f, b); err != nil {
		return f, err
	}
	f.Now = tx.Now()
	i, err := tx.installation()
	if err != nil {
		return f, err
	}
	f.Epoch, f.InRecovery = i.epoch, i.inRecovery
	f.Approvals = plainApprovals(f.approvals)
	f.read = revisionsRead(f.approvals, i)
	return f, tx.rolloutFacts(&f, b)
}

// readFacts reads the plan with its operation and attempts, the machine and who else holds its scope, and the evidence of
// the instance that asks with every reading that began after it. Who asks for nobody, before anything was read, is spared a
// search through the machine's whole past.
func (tx *Tx) readFacts(f *dispatchFacts, b binding) error {
	var plans []planRow
	var machines []dispatch.Machine
	var existing, others []dispatch.Operation
	var evidence []dispatch.Observation
	asks := []ask{
		into(&plans, scanPlan, planByID, b.plan),
		into(&machines, scanMachine, machineByID, b.machine),
		into(&f.approvals, scanApproval, approvalsOf, b.plan),
		into(&existing, scanOperation, operationByPlan, b.plan),
		into(&others, scanOperation, holderByMachine, b.machine, b.operation),
	}
	if f.By.Instance != "" {
		asks = append(asks, evidenceOf(&evidence, b.machine, f.By.Instance, b.plan, b.operation))
	}
	if err := tx.together(asks...); err != nil {
		return err
	}
	switch {
	case len(plans) == 0:
		return unknownRecord("plan", b.plan)
	case len(machines) == 0:
		return unknownRecord("machine", b.machine)
	}
	f.Plan, f.Standing, f.Machine = plans[0].Plan, plans[0].Standing, machines[0]
	f.Existing, f.Other, f.Evidence = first(existing), first(others), first(evidence)
	asks = nil
	if f.Existing != nil {
		asks = append(asks, into(&f.Attempts, scanAttempt, attemptsOf, f.Existing.ID))
	}
	if f.Evidence != nil {
		asks = append(asks, observationsAfter(&f.Newer, b.machine, f.Evidence.Basis))
	}
	return tx.together(asks...)
}

func revisionsRead(approvals []approvalRow, i *installation) ledgerRevisions {
	r := ledgerRevisions{approvals: map[string]int64{}, identities: map[string]int64{}, installation: i.revision}
	for _, a := range approvals {
		r.identities[a.Approver] = a.IdentityRevision
		if a.RevokedRevision == 0 && !a.IdentityRevoked && a.Epoch == i.epoch {
			r.approvals[a.ID] = a.Revision
		}
	}
	return r
}

// rolloutFacts counts under the rollout's lock. I15
func (tx *Tx) rolloutFacts(f *dispatchFacts, b binding) (err error) {
	if b.rollout == "" {
		return nil
	}
	if f.rollout, err = tx.rolloutRow(b.rollout); err != nil {
		return err
	}
	if f.rollout == nil {
		return tx.note(fmt.Errorf("store: rollout %s of plan %s has no row", b.rollout, b.plan))
	}
	f.RolloutLimit, f.RolloutMaxFailed, f.RolloutFailed = f.rollout.Limit, f.rollout.MaxFailed, f.rollout.Failed
	f.RolloutOpen, err = tx.openOf(b.rollout)
	return err
}

// gate stops where a drill wants the transaction held: after every comparison, under its locks.
func (tx *Tx) gate(name string) error {
	if tx.store.cfg.Gate == nil {
		return nil
	}
	return tx.store.cfg.Gate(tx.ctx, name)
}

// Precheck runs the comparisons that need no reading (dispatch.Precheck) as they stand now, so that nothing is decrypted
// and no credential used for a plan that fails them. It holds nothing: the commitment compares again. A refusal is
// recorded, with who asked.
func (s *Store) Precheck(ctx context.Context, planID string, who ledger.Actor) error {
	b, err := s.bindingOfPlan(ctx, planID)
	if err != nil {
		return err
	}
	var r *refusal.Refusal
	err = s.view(ctx, func(tx *Tx) error {
		f, err := tx.facts(b, dispatch.Owner{}, dispatch.Request{})
		if err != nil {
			return err
		}
		if f.Existing != nil && f.Existing.State.Terminal() {
			r = dispatch.Commitment(f.Facts) // comparison 0
			return nil
		}
		r = dispatch.Precheck(f.Facts)
		return nil
	})
	if err != nil || r == nil {
		return err
	}
	return s.refused(ctx, b, r, who, nil)
}

// Commit is the commitment transaction, C: it compares 0 to 6 under its locks and creates the operation. Its COMMIT is the
// dispatch commitment boundary. It returns the operation; a *refusal.Refusal, which is recorded, when a comparison does
// not hold; a *refusal.Unknown when the COMMIT's answer was lost (look the token up); or a failure.
func (s *Store) Commit(ctx context.Context, q dispatch.CommitRequest) (dispatch.Operation, error) {
	if q.Token == "" {
		return dispatch.Operation{}, errNoToken
	}
	b, err := s.bindingOfPlan(ctx, q.Plan)
	if err != nil {
		return dispatch.Operation{}, err
	}
	l := b.locks()
	l.guarded = true
	var op dispatch.Operation
	err = s.update(ctx, l, "the commitment of "+q.Plan, func(tx *Tx) (err error) {
		op, err = tx.commit(b, q)
		return err
	})
	if r, refused := refusal.As(err); refused {
		actor := q.Who
		actor.Instance, actor.Generation, actor.Epoch = q.By.Instance, q.By.Generation, q.By.Epoch
		return dispatch.Operation{}, s.refused(ctx, b, r, actor, func(tx *Tx) error { return tx.driftFromEvidence(b, q.By, r) })
	}
	return op, err
}

func (tx *Tx) commit(b binding, q dispatch.CommitRequest) (dispatch.Operation, error) {
	f, err := tx.facts(b, q.By, q.Request)
	if err != nil {
		return dispatch.Operation{}, err
	}
	if f.Plan.Kind != dispatch.KindApply {
		return dispatch.Operation{}, refusal.New("commitment", "plan-kind",
			fmt.Sprintf("plan %s sends nothing: it adopts what runs", q.Plan), "clew dispatch "+q.Plan)
	}
	if r := dispatch.Commitment(f.Facts); r != nil {
		return dispatch.Operation{}, r
	}
	if err := tx.checkInstance("commitment", q.By); err != nil {
		return dispatch.Operation{}, err
	}
	actor := executorActor(q.By)
	if q.Who.Identity != "" {
		who, err := tx.actor(q.Who, RoleOperator)
		if err != nil {
			return dispatch.Operation{}, err
		}
		actor.Identity, actor.Role, actor.Assurance = who.Identity, who.Role, who.Assurance
	}
	if err := tx.gate("commit"); err != nil {
		return dispatch.Operation{}, err
	}
	return tx.createOperation(b, f, q, actor)
}

// createOperation writes the operation that C found admitted: its entry, its row, the plan's standing, the rollout slot.
func (tx *Tx) createOperation(b binding, f dispatchFacts, q dispatch.CommitRequest, actor ledger.Actor) (dispatch.Operation, error) {
	id, err := tx.newID(OperationPrefix, "operations", "id")
	if err != nil {
		return dispatch.Operation{}, err
	}
	rev, err := tx.next(b.scope())
	if err != nil {
		return dispatch.Operation{}, err
	}
	c := dispatch.Case{
		Op: dispatch.Operation{
			ID: id, Plan: f.Plan.ID, Machine: f.Machine.ID, Kind: f.Plan.Kind, Owner: q.By, Revision: rev, Rollout: b.rollout,
		},
		Plan: f.Plan, Standing: f.Standing, Machine: f.Machine, Epoch: f.Epoch, InRecovery: f.InRecovery, Now: f.Now,
		Without: f.Without,
	}
	op, _, r := dispatch.Step(c, dispatch.Event{Kind: dispatch.Commit, Revision: rev})
	if r != nil {
		return dispatch.Operation{}, r
	}
	st := f.Standing
	st.State, st.Operation = dispatch.PlanCommitted, op.ID
	links := append(b.links(), f.links(b)...)
	_, err = tx.append(b.scope(), dispatch.EntryCommitted, actor, links, dispatch.Body{
		Operation: &op, PlanID: op.Plan, Standing: &st, Event: dispatch.Commit, Token: q.Token, Evidence: f.basis(),
		Approvals: f.read.approvals, Identities: f.read.identities, Installation: f.read.installation,
	})
	if err != nil {
		return dispatch.Operation{}, err
	}
	if err := tx.insertAdmitted(op, q.Token, st); err != nil {
		return dispatch.Operation{}, err
	}
	if f.rollout != nil {
		link := []ledger.Link{{Rel: "operation", Scope: b.scope(), Revision: rev, ID: op.ID}}
		return op, tx.takeSlot(*f.rollout, op, actor, link)
	}
	return op, nil
}

// basis is that of the evidence; 0 without any, which only a control that took comparison 3 away lets pass.
func (f dispatchFacts) basis() int64 {
	if f.Evidence == nil {
		return 0
	}
	return f.Evidence.Basis
}

// links point at what the comparisons rested on.
func (f dispatchFacts) links(b binding) []ledger.Link {
	var out []ledger.Link
	if f.Evidence != nil {
		out = append(out, ledger.Link{Rel: "evidence", Scope: b.scope(), Revision: f.Evidence.Revision})
	}
	for _, a := range f.approvals {
		if _, counts := f.read.approvals[a.ID]; counts {
			out = append(out, ledger.Link{Rel: "approval", Scope: b.scope(), Revision: a.Revision, ID: a.ID})
		}
	}
	return out
}

// insertAdmitted adds an operation and commits its plan to it. Where Step has admitted what a race decides, the row and
// the indexes refuse once more. I1 I12
func (tx *Tx) insertAdmitted(op dispatch.Operation, token string, st dispatch.Standing) error {
	inserted, err := tx.insertOperation(op, token)
	if err != nil {
		return err
	}
	if !inserted {
		return tx.indexRefusal(op)
	}
	guard := ` AND state = 'approved'`
	if tx.store.cfg.Without.Has(dispatch.GuardOneOperation) {
		guard = ""
	}
	n, err := tx.exec(`UPDATE plans SET state = $1, operation = $2 WHERE id = $3`+guard, st.State, st.Operation, op.Plan)
	if err != nil {
		return err
	}
	if n == 0 {
		return &refusal.Refusal{
			Transaction: "commitment", Comparison: 1, Code: "plan-not-approved",
			Message: fmt.Sprintf("plan %s is not approved", op.Plan), Remedy: "clew show " + op.Plan,
		}
	}
	return nil
}

// indexRefusal says which unique index kept an operation out.
func (tx *Tx) indexRefusal(op dispatch.Operation) error {
	existing, err := tx.operationOf(op.Plan)
	if err != nil {
		return err
	}
	if existing != nil {
		return &refusal.Refusal{
			Transaction: "commitment", Comparison: 0, Code: "operation-exists",
			Message: fmt.Sprintf("plan %s is already committed to operation %s", op.Plan, existing.ID), Remedy: "clew show " + op.Plan,
		}
	}
	other, err := tx.holderOf(op.Machine, op.ID)
	if err != nil {
		return err
	}
	if other == nil {
		return tx.note(errors.New("store: an operation was not inserted, and nothing says why"))
	}
	return &refusal.Refusal{
		Transaction: "commitment", Comparison: 4, Code: "scope-held",
		Message: fmt.Sprintf("operation %s of this machine is %s", other.ID, other.State), Remedy: "clew settle " + other.ID,
	}
}
