package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// binding is what a plan or an operation belongs to. It never changes, so it is read before the locks that it names.
type binding struct {
	operation string // "" before the commitment
	plan      string
	machine   string
	rollout   string
}

// locks are those of every transaction that may move the operation: its machine's timeline, its plan, what counts its
// approvals and its epoch, and the rollout whose slot it may free.
func (b binding) locks() locks {
	return locks{
		machines: []string{b.machine}, plan: b.plan, identities: shared, installation: shared, rollout: b.rollout,
	}
}

func (b binding) scope() ledger.Scope { return machineScope(b.machine) }

// links point at the records that an entry is about.
func (b binding) links() []ledger.Link {
	var out []ledger.Link
	if b.plan != "" {
		out = append(out, ledger.Link{Rel: "plan", Scope: b.scope(), ID: b.plan})
	}
	if b.operation != "" {
		out = append(out, ledger.Link{Rel: "operation", Scope: b.scope(), ID: b.operation})
	}
	return out
}

func (s *Store) bindingOfPlan(ctx context.Context, id string) (binding, error) {
	b := binding{plan: id}
	err := s.lookup(ctx, func(tx *Tx) error {
		err := tx.row(`SELECT machine, rollout FROM plans WHERE id = $1`, id).Scan(&b.machine, &b.rollout)
		return found(err, "plan", id)
	})
	return b, err
}

func (s *Store) bindingOfOperation(ctx context.Context, id string) (binding, error) {
	b := binding{operation: id}
	err := s.lookup(ctx, func(tx *Tx) error {
		err := tx.row(`SELECT plan, machine, rollout FROM operations WHERE id = $1`, id).Scan(&b.plan, &b.machine, &b.rollout)
		return found(err, "operation", id)
	})
	return b, err
}

// loadCase reads an operation with everything that its next step depends on.
func (tx *Tx) loadCase(id string) (dispatch.Case, error) {
	op, err := tx.operation(id)
	if err != nil {
		return dispatch.Case{}, err
	}
	return tx.caseOf(op)
}

func (tx *Tx) caseOf(op dispatch.Operation) (dispatch.Case, error) {
	c := dispatch.Case{Op: op, Now: tx.Now(), Without: tx.store.cfg.Without}
	var plans []planRow
	var approvals []approvalRow
	var machines []dispatch.Machine
	err := tx.together(
		into(&plans, scanPlan, planByID, op.Plan),
		into(&approvals, scanApproval, approvalsOf, op.Plan),
		into(&c.Attempts, scanAttempt, attemptsOf, op.ID),
		into(&machines, scanMachine, machineByID, op.Machine),
	)
	switch {
	case err != nil:
		return c, err
	case len(plans) == 0:
		return c, unknownRecord("plan", op.Plan)
	case len(machines) == 0:
		return c, unknownRecord("machine", op.Machine)
	}
	c.Plan, c.Standing, c.Machine = plans[0].Plan, plans[0].Standing, machines[0]
	c.Approvals = plainApprovals(approvals)
	i, err := tx.installation()
	if err != nil {
		return c, err
	}
	c.Epoch, c.InRecovery = i.epoch, i.inRecovery
	return c, nil
}

// change runs fn on an operation's case under the locks of everything that may move it, and returns the operation as fn
// left it in the case. An operation that the store does not hold, as after a restore, is a refusal "unknown-operation".
func (s *Store) change(ctx context.Context, opID, what string, fn func(tx *Tx, c *dispatch.Case, b binding) error) (dispatch.Operation, error) {
	b, err := s.bindingOfOperation(ctx, opID)
	if errors.Is(err, ErrNotFound) {
		// A refusal: a failure would be tried again, and it will not come back.
		return dispatch.Operation{}, refusal.New("operation", "unknown-operation", err.Error(), "clew log")
	}
	if err != nil {
		return dispatch.Operation{}, err
	}
	var op dispatch.Operation
	err = s.update(ctx, b.locks(), what+" of "+opID, func(tx *Tx) error {
		c, err := tx.loadCase(opID)
		if err != nil {
			return err
		}
		if err := fn(tx, &c, b); err != nil {
			return err
		}
		op = c.Op
		return nil
	})
	return op, err
}

// executorActor is an executor as the author of an entry.
func executorActor(by dispatch.Owner) ledger.Actor {
	return ledger.Actor{Instance: by.Instance, Generation: by.Generation, Epoch: by.Epoch}
}

// instanceFacts is what rules ask of a process.
type instanceFacts struct {
	host  dispatch.Host
	epoch string
	ended bool // recorded its end, was found stopped, or is attested to have ended
}

// instanceFacts reads a process' row; nil when the store knows none.
func (tx *Tx) instanceFacts(id string) (*instanceFacts, error) {
	var f instanceFacts
	var endedRevision int64
	var attested string
	err := tx.row(`SELECT host, epoch, ended_revision, attested_by FROM instances WHERE id = $1`, id).
		Scan(intoJSON(&f.host), &f.epoch, &endedRevision, &attested)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f.ended = endedRevision > 0 || attested != ""
	return &f, nil
}

// checkInstance refuses a process that may not begin anything: one that this store does not know (a restore may have
// lost it), that counts as ended, or that belongs to another recovery epoch. I8
func (tx *Tx) checkInstance(transaction string, by dispatch.Owner) error {
	no := func(code, why string) error {
		return refusal.New(transaction, code, why+": start the command again", "")
	}
	f, err := tx.instanceFacts(by.Instance)
	if err != nil {
		return err
	}
	epoch, err := tx.epoch()
	if err != nil {
		return err
	}
	switch {
	case f == nil:
		return no("unknown-instance", fmt.Sprintf("the store does not know this process (instance %.8s)", by.Instance))
	case f.ended:
		return no("instance-ended", fmt.Sprintf("this process (instance %.8s) is recorded as ended", by.Instance))
	case f.epoch != epoch || by.Epoch != epoch:
		return no("other-epoch", "this process belongs to another recovery epoch")
	}
	return nil
}
