package store

import (
	"context"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// RecordResponse records what the sender saw of an attempt: once, in any state. The same response again changes nothing,
// another one is refused. It moves the operation only for the current attempt, by the owner, from sending; a rejection
// that completes a set of rejections also ends an unresolved one. A response that comes after the end raises an alert, and
// one whose attempt has no row (after a restore) is kept as an orphan fact. Only the sender records it. Where even the
// operation is gone it is refused as "unknown-operation", and RecordOrphan keeps it.
func (s *Store) RecordResponse(ctx context.Context, operation string, attempt int, by dispatch.Owner, r dispatch.Response) (dispatch.Operation, error) {
	return s.change(ctx, operation, "the response to an attempt", func(tx *Tx, c *dispatch.Case, b binding) error {
		a := attemptNumber(c, attempt)
		if a == nil {
			return tx.orphan(b, operation, attempt, by, r)
		}
		if a.By.Instance != by.Instance {
			return refusal.New("response", "not-sender", "only the process that sent an attempt records its response", "")
		}
		if a.Response != nil {
			if sameResponse(*a.Response, r) {
				return nil
			}
			return refusal.New("response", "response-recorded",
				fmt.Sprintf("another response to attempt %d of %s is recorded", attempt, operation), "clew show "+operation)
		}
		return tx.respond(c, b, a, by, r)
	})
}

// RecordOrphan records a response to an attempt of an operation that the store does not hold, as a fact on the machine's
// timeline: after a restore, the operation itself may be gone.
func (s *Store) RecordOrphan(ctx context.Context, machine, operation string, attempt int, by dispatch.Owner, r dispatch.Response) error {
	b := binding{machine: machine, operation: operation}
	l := locks{machines: []string{machine}}
	return s.update(ctx, l, "the response to an attempt of "+operation, func(tx *Tx) error {
		return tx.orphan(b, operation, attempt, by, r)
	})
}

// attemptNumber is the attempt inside the case, nil when there is none.
func attemptNumber(c *dispatch.Case, n int) *dispatch.Attempt {
	if n < 1 || n > len(c.Attempts) {
		return nil
	}
	return &c.Attempts[n-1]
}

func sameResponse(a, b dispatch.Response) bool {
	return a.Class == b.Class && a.Code == b.Code && a.Text == b.Text && a.Withheld == b.Withheld
}

// respond writes the fact and then, as an entry of its own, what it moves.
func (tx *Tx) respond(c *dispatch.Case, b binding, a *dispatch.Attempt, by dispatch.Owner, r dispatch.Response) error {
	rev, err := tx.next(b.scope())
	if err != nil {
		return err
	}
	current := a.Number == len(c.Attempts) && c.Op.State == dispatch.Sending && by == c.Op.Owner && by.Epoch == c.Epoch
	r.Revision, r.At, r.Late = rev, tx.Now(), !current
	a.Response = &r
	fact := *a
	body := dispatch.Body{Attempt: &fact, From: c.Op.State}
	if _, err := tx.append(b.scope(), dispatch.EntryResponse, executorActor(by), b.links(), body); err != nil {
		return err
	}
	if err := tx.saveAttempt(fact); err != nil {
		return err
	}
	switch {
	case current:
		return tx.move(c, step{event: dispatch.Event{Kind: responseEvent(r), By: by, Reason: responseReason(r)}, actor: executorActor(by), links: b.links()})
	case c.Op.State.Terminal():
		return tx.lateAlert(c, b, fact, by)
	case c.Op.State == dispatch.Unresolved && r.Class == dispatch.RejectedDef:
		return tx.tryLateReject(c, b, by)
	}
	return nil
}

func responseEvent(r dispatch.Response) dispatch.EventKind {
	switch r.Class {
	case dispatch.Accepted:
		return dispatch.Accept
	case dispatch.RejectedDef:
		return dispatch.Reject
	case dispatch.Inconclusive:
	}
	return dispatch.Lose
}

func responseReason(r dispatch.Response) string {
	switch r.Class {
	case dispatch.Accepted:
		return "accepted by the node"
	case dispatch.RejectedDef:
		return "rejected by the node: " + r.Code
	case dispatch.Inconclusive:
	}
	return "no conclusive answer"
}

// lateAlert says that a response came after the operation had ended, and links what had accounted for the attempt.
func (tx *Tx) lateAlert(c *dispatch.Case, b binding, a dispatch.Attempt, by dispatch.Owner) error {
	links := append(b.links(), ledger.Link{Rel: "response", Scope: b.scope(), Revision: a.Response.Revision})
	if a.Accounting != nil {
		links = append(links, ledger.Link{Rel: "accounting", Scope: b.scope(), Revision: a.Accounting.Revision})
	}
	_, err := tx.append(b.scope(), dispatch.EntryAlert, executorActor(by), links, dispatch.Body{
		Code: "late-response",
		Text: fmt.Sprintf("the node answered attempt %d of %s (%s) after the operation had ended %s", a.Number, c.Op.ID,
			a.Response.Class, c.Op.State),
	})
	return err
}

// tryLateReject ends the operation where the rejection completes the set; what Step does not admit stays as it is.
func (tx *Tx) tryLateReject(c *dispatch.Case, b binding, by dispatch.Owner) error {
	err := tx.move(c, step{event: dispatch.Event{Kind: dispatch.LateReject, By: by, Reason: lateRejectReason}, actor: executorActor(by), links: b.links()})
	if _, stays := refusal.As(err); stays {
		return nil
	}
	return err
}

const lateRejectReason = "every attempt was rejected by the node"

// orphan keeps a response without its attempt's row, once.
func (tx *Tx) orphan(b binding, operation string, attempt int, by dispatch.Owner, r dispatch.Response) error {
	if _, err := tx.machine(b.machine); err != nil {
		return err
	}
	rev, err := tx.next(b.scope())
	if err != nil {
		return err
	}
	known, err := tx.orphanKnown(b, operation, attempt, by, r)
	if err != nil || known {
		return err
	}
	r.Revision, r.At, r.Late = rev, tx.Now(), true
	_, err = tx.append(b.scope(), dispatch.EntryResponse, executorActor(by), b.links(), dispatch.Body{
		Attempt: &dispatch.Attempt{Operation: operation, Number: attempt, By: by, Response: &r}, Orphan: true, Code: r.Code,
		Text: fmt.Sprintf("response to attempt %d of %s, which this store does not hold", attempt, operation),
	})
	return err
}

// orphanKnown says whether the same orphan is recorded already.
func (tx *Tx) orphanKnown(b binding, operation string, attempt int, by dispatch.Owner, r dispatch.Response) (bool, error) {
	bodies, err := list(tx, func(scan func(...any) error) (dispatch.Body, error) {
		var body dispatch.Body
		err := scan(intoJSON(&body))
		return body, err
	}, `SELECT body FROM entries WHERE scope_kind = $1 AND scope_id = $2 AND kind = $3`, ledger.Machine, b.machine, dispatch.EntryResponse)
	if err != nil {
		return false, err
	}
	for _, body := range bodies {
		if a := body.Attempt; body.Orphan && a != nil && a.Operation == operation && a.Number == attempt &&
			a.By.Instance == by.Instance && a.Response != nil && sameResponse(*a.Response, r) {
			return true, nil
		}
	}
	return false, nil
}

// Finish ends an operation by a recorded observation (basis 0: the newest): it completes it, or fails it, or refuses and
// says what is missing. A newer recorded reading that differs blocks either.
func (s *Store) Finish(ctx context.Context, operation string, by dispatch.Owner, basis int64) (dispatch.Operation, error) {
	return s.change(ctx, operation, "the end", func(tx *Tx, c *dispatch.Case, b binding) error {
		if r := dispatch.OwnedBy(*c, by); r != nil {
			return r
		}
		if err := tx.mayEnd(b.machine); err != nil {
			return err
		}
		o, later, err := tx.offered(b.machine, basis)
		if err != nil {
			return err
		}
		e, r := dispatch.Ending(*c, o, later)
		if r != nil {
			return r
		}
		e.By = by
		return tx.move(c, step{
			event: e, actor: executorActor(by),
			links: append(b.links(), ledger.Link{Rel: "observation", Scope: b.scope(), Revision: o.Revision}),
		})
	})
}

// mayEnd fails while the store looks restored: an attempt that the restore lost may still be under way, and the end of an
// operation would let go of its machine. What the target answered is recorded all the same. I5
func (tx *Tx) mayEnd(machine string) error {
	if err := tx.store.Restored(); err != nil {
		return err
	}
	return tx.checkRestored([]string{machine})
}

// offered is the recorded reading with the basis (0: the newest) and every recorded reading that began after it.
func (tx *Tx) offered(machine string, basis int64) (*dispatch.Observation, []dispatch.Observation, error) {
	if basis == 0 {
		o, err := tx.newestObservation(machine)
		return o, nil, err
	}
	o, err := tx.observation(machine, basis)
	if err != nil || o == nil {
		return nil, nil, err
	}
	later, err := tx.observationsAfter(machine, basis)
	return o, later, err
}

// Classify records that the owner found the operation safe to retry, by the recorded observation. It sends nothing. A
// newer reading must admit a retry too.
func (s *Store) Classify(ctx context.Context, operation string, by dispatch.Owner, basis int64) (dispatch.Operation, error) {
	return s.change(ctx, operation, "the classification", func(tx *Tx, c *dispatch.Case, b binding) error {
		o, later, err := tx.offered(b.machine, basis)
		if err != nil {
			return err
		}
		rev, err := tx.next(b.scope())
		if err != nil {
			return err
		}
		op, r := dispatch.Classify(*c, by, o, later, rev)
		if r != nil {
			return r
		}
		body := dispatch.Body{Operation: &op, From: c.Op.State, Text: op.Reason, Evidence: o.Basis}
		links := append(b.links(), ledger.Link{Rel: "observation", Scope: b.scope(), Revision: o.Revision})
		if _, err := tx.append(b.scope(), dispatch.EntryClassified, executorActor(by), links, body); err != nil {
			return err
		}
		c.Op = op
		return tx.saveOperation(op)
	})
}

// Overdue ends the verification at its deadline: without a completion observation the operation is unresolved.
func (s *Store) Overdue(ctx context.Context, operation string, by dispatch.Owner) (dispatch.Operation, error) {
	return s.ownersMove(ctx, operation, by, dispatch.Overdue, "the verification deadline passed without a reading that ends it")
}

// LateReject ends an unresolved operation of which every attempt was definitively rejected.
func (s *Store) LateReject(ctx context.Context, operation string, by dispatch.Owner) (dispatch.Operation, error) {
	return s.ownersMove(ctx, operation, by, dispatch.LateReject, lateRejectReason)
}

func (s *Store) ownersMove(ctx context.Context, operation string, by dispatch.Owner, kind dispatch.EventKind, reason string) (dispatch.Operation, error) {
	return s.change(ctx, operation, "a move ("+string(kind)+")", func(tx *Tx, c *dispatch.Case, b binding) error {
		if kind == dispatch.LateReject {
			if err := tx.mayEnd(b.machine); err != nil {
				return err
			}
		}
		return tx.move(c, step{event: dispatch.Event{Kind: kind, By: by, Reason: reason}, actor: executorActor(by), links: b.links()})
	})
}

// CancelOperation ends an unresolved operation of which nothing was ever attempted: because comparison 1 can never pass
// again, or because who, a recovery-admin, says so and why.
func (s *Store) CancelOperation(ctx context.Context, operation string, by dispatch.Owner, who *ledger.Actor, reason string) (dispatch.Operation, error) {
	return s.change(ctx, operation, "the cancellation", func(tx *Tx, c *dispatch.Case, b binding) error {
		e := dispatch.Event{Kind: dispatch.Cancel, By: by, Reason: reason}
		actor := executorActor(by)
		if who != nil {
			if reason == "" {
				return refusal.New("settling", "no-reason", "a decision needs a reason", "")
			}
			person, err := tx.actor(*who, RoleRecoveryAdmin)
			if err != nil {
				return err
			}
			actor.Identity, actor.Role, actor.Assurance = person.Identity, person.Role, person.Assurance
			e.Decision = person.Identity
		}
		if err := tx.mayEnd(b.machine); err != nil {
			return err
		}
		return tx.move(c, step{event: e, actor: actor, links: b.links()})
	})
}
