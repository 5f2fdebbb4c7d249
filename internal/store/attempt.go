package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

// Attempt is the attempt transaction, A: it compares 1, 2, 3 and 6 to 9 under its locks and records the attempt, without
// which nothing is sent. It returns the attempt; a *refusal.Refusal, which is recorded; a *refusal.Unknown when the
// COMMIT's answer was lost (look the token up, never ask again); or a failure. Refused by 1, 2, 3 or 6, an operation that
// is committed becomes unresolved as the owner's refusal is recorded.
//
// The send guard's clock starts before the call: Attempt.StartedAt is the store's time, not the sender's.
func (s *Store) Attempt(ctx context.Context, q dispatch.AttemptRequest) (dispatch.AttemptResult, error) {
	if q.Token == "" {
		return dispatch.AttemptResult{}, errNoToken
	}
	b, err := s.bindingOfOperation(ctx, q.Operation)
	if err != nil {
		return dispatch.AttemptResult{}, err
	}
	l := b.locks()
	l.rollout = "" // an attempt keeps the slot that the commitment took
	l.guarded = true
	var out dispatch.AttemptResult
	err = s.update(ctx, l, "an attempt of "+q.Operation, func(tx *Tx) (err error) {
		out, err = tx.attempt(b, q)
		return err
	})
	if r, refused := refusal.As(err); refused {
		return dispatch.AttemptResult{}, s.refused(ctx, b, r, executorActor(q.By), func(tx *Tx) error {
			return tx.moveRefused(b, q.By, r)
		})
	}
	return out, err
}

func (tx *Tx) attempt(b binding, q dispatch.AttemptRequest) (dispatch.AttemptResult, error) {
	var none dispatch.AttemptResult
	unranked := b
	unranked.rollout = ""
	f, err := tx.facts(unranked, q.By, q.Request)
	if err != nil {
		return none, err
	}
	if f.Existing == nil || f.Existing.ID != b.operation {
		// Only a control that lets a plan have two operations comes here with another one than the plan's first.
		op, err := tx.operation(b.operation)
		if err != nil {
			return none, err
		}
		f.Existing = &op
		if f.Attempts, err = tx.attempts(op.ID); err != nil {
			return none, err
		}
	}
	f.LocalAddr = q.LocalAddr
	if r := dispatch.AttemptAllowed(f.Facts); r != nil {
		return none, r
	}
	if err := tx.checkInstance("attempt", q.By); err != nil {
		return none, err
	}
	if err := tx.gate("attempt"); err != nil {
		return none, err
	}
	return tx.recordAttempt(b, f, q)
}

// recordAttempt writes the attempt that A found admitted.
func (tx *Tx) recordAttempt(b binding, f dispatchFacts, q dispatch.AttemptRequest) (dispatch.AttemptResult, error) {
	var none dispatch.AttemptResult
	rev, err := tx.next(b.scope())
	if err != nil {
		return none, err
	}
	before := *f.Existing
	c := dispatch.Case{
		Op: before, Plan: f.Plan, Standing: f.Standing, Approvals: f.Approvals, Attempts: f.Attempts, Machine: f.Machine,
		Epoch: f.Epoch, InRecovery: f.InRecovery, Now: f.Now, Without: f.Without,
	}
	op, _, r := dispatch.Step(c, dispatch.Event{Kind: dispatch.RecordAttempt, By: q.By, Revision: rev})
	if r != nil {
		return none, r
	}
	a := dispatch.Attempt{
		Operation: op.ID, Number: len(f.Attempts) + 1, By: q.By, Revision: rev, StartedAt: tx.Now(), Route: f.Plan.Route,
		LocalAddr: q.LocalAddr, RemoteAddr: q.RemoteAddr, Host: q.Host, Sockets: q.Sockets,
		Approvals: f.read.approvals, Identities: f.read.identities, Installation: f.read.installation,
	}
	if f.Evidence != nil { // always, unless a control took comparison 3 away
		a.Evidence, op.SendBoot = f.Evidence.Basis, f.Evidence.Reading.BootID
	}
	_, err = tx.append(b.scope(), dispatch.EntryAttempt, executorActor(q.By), append(b.links(), f.links(b)...), dispatch.Body{
		Operation: &op, Attempt: &a, Event: dispatch.RecordAttempt, From: before.State, Token: q.Token, Evidence: a.Evidence,
	})
	if err != nil {
		return none, err
	}
	if err := tx.takeForSending(before, op, q.By); err != nil {
		return none, err
	}
	bound := f.Plan.MaxAttempts
	if f.Without.Has(dispatch.GuardAttempts) {
		bound = max(bound, a.Number)
	}
	if err := tx.insertAttempt(a, q.Token, bound); err != nil {
		return none, err
	}
	return dispatch.AttemptResult{Operation: op, Attempt: a}, nil
}

// takeForSending is the UPDATE inside which comparison 7 is made once more: the row changes only for its owner, at its
// generation and epoch, and from a state that admits an attempt. I2 I8
func (tx *Tx) takeForSending(before, op dispatch.Operation, by dispatch.Owner) error {
	w := tx.store.cfg.Without
	query, args := updateOperation, operationColumns(op)
	and := func(clause string, values ...any) {
		args = append(args, values...)
		query += clause
	}
	if !w.Has(dispatch.GuardOwnership) {
		if !w.Has(dispatch.GuardOwner) {
			and(fmt.Sprintf(` AND instance = $%d AND generation = $%d`, len(args)+1, len(args)+2), by.Instance, by.Generation)
		}
		and(fmt.Sprintf(` AND epoch = $%d`, len(args)+1), by.Epoch)
		if !w.Has(dispatch.GuardOwnedState) {
			// before.Retry was judged to be this owner's classification; the row must still hold the same one.
			and(fmt.Sprintf(` AND (state = 'committed' OR (state = 'unresolved' AND retry <> '' AND retry = $%d))`, len(args)+1),
				asJSON(before.Retry))
		}
	}
	n, err := tx.exec(query, args...)
	if err != nil {
		return err
	}
	if n == 0 {
		return &refusal.Refusal{
			Transaction: "attempt", Comparison: 7, Code: "not-owner",
			Message: "another executor owns the operation now", Remedy: "clew settle " + op.ID,
		}
	}
	return nil
}

// moveRefused follows the refusal of an attempt by comparison 1, 2, 3 or 6: the owner's committed operation becomes
// unresolved. An operation that has moved since, or another's, stays as it is.
func (tx *Tx) moveRefused(b binding, by dispatch.Owner, r *refusal.Refusal) error {
	c, err := tx.loadCase(b.operation)
	if err != nil {
		return err
	}
	if c.Op.State != dispatch.Committed {
		return nil
	}
	err = tx.move(&c, step{
		event: dispatch.Event{Kind: dispatch.AttemptRefused, By: by, Comparison: r.Comparison, Reason: r.Message},
		actor: executorActor(by), links: b.links(),
		body: dispatch.Body{Comparison: &r.Comparison, Code: r.Code},
	})
	if _, stays := refusal.As(err); stays {
		return nil
	}
	return err
}

// errNoToken: without a token, a COMMIT whose answer is lost could never be looked up.
var errNoToken = errors.New("store: the transaction has no token")

// FindToken says whether the commitment or the attempt with this token took effect. It waits, under the machine's scope
// lock, for a COMMIT in flight. Sendable is judged in the same transaction: a look-up takes time, in which the operation
// may have moved on.
func (s *Store) FindToken(ctx context.Context, machine, token string, by dispatch.Owner) (dispatch.Found, error) {
	var f dispatch.Found
	if token == "" {
		return f, errNoToken
	}
	l := locks{machines: []string{machine}, installation: shared, remember: true}
	err := s.update(ctx, l, "the look-up of a token", func(tx *Tx) error {
		f = dispatch.Found{}
		a, err := tx.attemptByToken(machine, token)
		if err != nil {
			return err
		}
		if a != nil {
			op, err := tx.operation(a.Operation)
			if err != nil {
				return err
			}
			f = dispatch.Found{Found: true, Operation: &op, Attempt: a}
			f.Sendable, err = tx.mine(op, *a, by)
			return err
		}
		op, err := tx.oneOperation(selectOperation+` WHERE machine = $1 AND token = $2`, machine, token)
		if op != nil {
			f = dispatch.Found{Found: true, Operation: op}
		}
		return err
	})
	return f, err
}

// mine says whether the attempt may still be sent by its recorder: the operation is sending, owned by it in the current
// epoch, and the attempt unaccounted. I2
func (tx *Tx) mine(op dispatch.Operation, a dispatch.Attempt, by dispatch.Owner) (bool, error) {
	epoch, err := tx.epoch()
	if err != nil {
		return false, err
	}
	_, accounted := a.Accounted()
	return op.State == dispatch.Sending && op.Owner == by && by.Epoch == epoch && a.By == by && !accounted && a.Response == nil, nil
}

// StillMine is an unlocked read, made just before the write to the socket: the operation is sending, owned by by in the
// current epoch, and the attempt unaccounted.
func (s *Store) StillMine(ctx context.Context, operation string, attempt int, by dispatch.Owner) (bool, error) {
	var mine bool
	err := s.view(ctx, func(tx *Tx) error {
		op, err := tx.operation(operation)
		if err != nil {
			return err
		}
		attempts, err := tx.attempts(operation)
		if err != nil {
			return err
		}
		if attempt < 1 || attempt != len(attempts) {
			return nil
		}
		mine, err = tx.mine(op, attempts[attempt-1], by)
		return err
	})
	return mine, err
}
