package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// RecordNotSent records that the sender's own connection shows that nothing of the request was written: the attempt is
// accounted for as never left, and a sending operation becomes unresolved. Recording it again changes nothing.
func (s *Store) RecordNotSent(ctx context.Context, operation string, attempt int, by dispatch.Owner, reason string) (dispatch.Operation, error) {
	return s.change(ctx, operation, "that an attempt was not sent", func(tx *Tx, c *dispatch.Case, b binding) error {
		a, err := unaccounted(c, attempt)
		if err != nil {
			return err
		}
		if a.By.Instance != by.Instance {
			return refusal.New("response", "not-sender", "only the process that recorded an attempt knows that it never left", "")
		}
		if a.Accounting != nil && a.Accounting.Kind == dispatch.NeverLeft {
			return nil
		}
		if _, done := a.Accounted(); done {
			return alreadyAccounted(operation)
		}
		if err := tx.account(c, b, a, executorActor(by), dispatch.Accounting{Kind: dispatch.NeverLeft, By: by.Instance, Reason: reason}); err != nil {
			return err
		}
		if c.Op.State != dispatch.Sending || a.Number != len(c.Attempts) || by != c.Op.Owner || by.Epoch != c.Epoch {
			return nil
		}
		return tx.move(c, step{event: dispatch.Event{Kind: dispatch.Lose, By: by, Reason: "not sent: " + reason}, actor: executorActor(by), links: b.links()})
	})
}

// AccountByEvidence records that a lost attempt's bytes cannot arrive any more. The caller judged the hops' sockets; the
// store checks that it runs where the attempt was sent from, that the sender ended or is the caller, and the two late
// reads. Only the operation's owner accounts.
func (s *Store) AccountByEvidence(ctx context.Context, operation string, attempt int, by dispatch.Owner, acc dispatch.Accounting) (dispatch.Operation, error) {
	return s.change(ctx, operation, "an accounting by evidence", func(tx *Tx, c *dispatch.Case, b binding) error {
		if r := dispatch.OwnedBy(*c, by); r != nil {
			return r
		}
		a, err := unaccounted(c, attempt)
		if err != nil {
			return err
		}
		if _, done := a.Accounted(); done {
			return alreadyAccounted(operation)
		}
		if !tx.store.cfg.Without.Has(dispatch.GuardAccounting) {
			f := dispatch.EvidenceFacts{Attempt: *a, By: by, Accounting: acc}
			if f.SenderEnded, err = tx.instanceStopped(a.By.Instance); err != nil {
				return err
			}
			if err := tx.evidenceOnRoute(&f, b); err != nil {
				return err
			}
			if r := dispatch.CheckEvidence(f); r != nil {
				return r
			}
		}
		acc.By = by.Instance
		return tx.account(c, b, a, executorActor(by), acc)
	})
}

// evidenceOnRoute reads where the caller runs and the late reads that it recorded for this operation.
func (tx *Tx) evidenceOnRoute(f *dispatch.EvidenceFacts, b binding) error {
	i, err := tx.instanceFacts(f.By.Instance)
	if err != nil {
		return err
	}
	if i != nil {
		f.Host = i.host
	}
	f.Reads, err = list(tx, scanObservation, selectObservation+` WHERE machine = $1 AND operation = $2 AND purpose = $3
		AND basis > $4 AND revision > 0 ORDER BY basis`, b.machine, b.operation, dispatch.ForAccounting, f.Attempt.Revision)
	return err
}

// decisionEvidence is what the record of a decision keeps of the facts that it rested on.
type decisionEvidence struct {
	Sender    string    `json:"sender"`               // why the sending process counts as ended
	FirstRead time.Time `json:"first_read,omitzero"`  // on the attempt's route, after the deadline
	RouteGone string    `json:"route_gone,omitempty"` // attestation that the endpoint restarted or is gone
	Floor     string    `json:"settle_floor"`
}

// AccountByDecision records a recovery-admin's judgement that a lost attempt can no longer land. Its conditions are facts
// of the ledger, all read in the transaction: the sender ended, the settle time passed since the first read on the
// attempt's route after the deadline, and a recovery observation frames it. I6 I11
func (s *Store) AccountByDecision(ctx context.Context, operation string, attempt int, who ledger.Actor, d dispatch.Decision) (dispatch.Operation, error) {
	return s.change(ctx, operation, "an accounting by decision", func(tx *Tx, c *dispatch.Case, b binding) error {
		actor, err := tx.actor(who, RoleRecoveryAdmin)
		if err != nil {
			return err
		}
		a, err := unaccounted(c, attempt)
		if err != nil {
			return err
		}
		if _, done := a.Accounted(); done {
			return alreadyAccounted(operation)
		}
		f := dispatch.DecisionFacts{Plan: c.Plan, Attempt: *a, Decision: d}
		if f.SenderEnded, err = tx.instanceStopped(a.By.Instance); err != nil {
			return err
		}
		if err := tx.decisionFacts(&f, b); err != nil {
			return err
		}
		if r := dispatch.CheckDecision(f); r != nil && !tx.store.cfg.Without.Has(dispatch.GuardAccounting) {
			return r
		}
		evidence, err := json.Marshal(decisionEvidence{Sender: f.SenderEnded, FirstRead: f.FirstRead, RouteGone: d.RouteGone, Floor: d.SettleFloor.String()})
		if err != nil {
			return err
		}
		return tx.account(c, b, a, actor, dispatch.Accounting{
			Kind: dispatch.ByDecision, By: actor.Identity, Reason: d.Reason, Basis: d.Basis, Evidence: evidence,
		})
	})
}

// decisionFacts reads the framing observation, the newest one, and the first on the route after the deadline. A read
// counts from its record on: it succeeded then, not when it began.
func (tx *Tx) decisionFacts(f *dispatch.DecisionFacts, b binding) (err error) {
	if f.Frame, err = tx.observation(b.machine, f.Decision.Basis); err != nil {
		return err
	}
	newest, err := tx.newestObservation(b.machine)
	if err != nil {
		return err
	}
	if newest != nil {
		f.NewestBasis = newest.Basis
	}
	err = tx.row(`SELECT e.at FROM observations o JOIN entries e ON e.scope_kind = $1 AND e.scope_id = o.machine AND e.revision = o.revision
		WHERE o.machine = $2 AND o.route = $3 AND o.basis > $4 AND o.started_at > $5 AND o.revision > 0
		ORDER BY o.revision LIMIT 1`, ledger.Machine, b.machine, f.Attempt.Route, f.Attempt.Revision, dispatch.Deadline(f.Plan, f.Attempt)).
		Scan(intoTime(&f.FirstRead))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func unaccounted(c *dispatch.Case, n int) (*dispatch.Attempt, error) {
	a := attemptNumber(c, n)
	if a == nil {
		return nil, unknownRecord("attempt", dispatch.AttemptKey{Operation: c.Op.ID, Number: n}.String())
	}
	return a, nil
}

func alreadyAccounted(operation string) error {
	return refusal.New("settling", "accounted", "the attempt is accounted for already", "clew settle "+operation)
}

// account writes the accounting of one attempt, a fact that moves nothing by itself.
func (tx *Tx) account(c *dispatch.Case, b binding, a *dispatch.Attempt, actor ledger.Actor, acc dispatch.Accounting) error {
	rev, err := tx.next(b.scope())
	if err != nil {
		return err
	}
	acc.Revision, acc.At = rev, tx.Now()
	a.Accounting = &acc
	fact := *a
	links := b.links()
	if acc.Basis != 0 {
		links = append(links, ledger.Link{Rel: "observation", Scope: b.scope(), Revision: acc.Basis})
	}
	body := dispatch.Body{Attempt: &fact, From: c.Op.State, Text: acc.Reason, Evidence: acc.Basis}
	if _, err := tx.append(b.scope(), dispatch.EntryAccounted, actor, links, body); err != nil {
		return err
	}
	return tx.saveAttempt(fact)
}
