package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// MarkMachine records a recovery-admin's judgement of a machine after a restore. The first mark accounts for everything
// that was sent to it before; floor is the deployment's settle floor. Refusals with code "settle-time" pass by waiting
// and reading the machine again.
func (s *Store) MarkMachine(ctx context.Context, who Who, id string, mark dispatch.RecoveryMark, floor time.Duration, reason string) (dispatch.Machine, error) {
	return s.recoverMachine(ctx, who, id, "the mark of machine "+id, func(tx *Tx, f dispatch.RecoveryFacts, actor ledger.Actor) (dispatch.Machine, error) {
		f.SettleFloor, f.Reason = floor, reason
		if r := dispatch.CheckMark(f, mark); r != nil {
			return f.Machine, r
		}
		for _, a := range f.Unaccounted {
			if err := tx.endPreRestore(f, a, actor, reason); err != nil {
				return f.Machine, err
			}
		}
		m := f.Machine
		m.Recovery = mark
		return m, tx.writeMark(m, dispatch.EntryRecovery, actor, reason)
	})
}

// endPreRestore accounts for an attempt by the accounting of its machine. I6 I11
func (tx *Tx) endPreRestore(f dispatch.RecoveryFacts, a dispatch.Attempt, actor ledger.Actor, reason string) error {
	c, err := tx.loadCase(a.Operation)
	if err != nil {
		return err
	}
	b := binding{operation: c.Op.ID, plan: c.Op.Plan, machine: c.Op.Machine, rollout: c.Op.Rollout}
	return tx.account(&c, b, &a, actor, dispatch.Accounting{
		Kind: dispatch.PreRestoreEnd, By: actor.Identity, Reason: reason, Basis: f.Frame.Basis,
	})
}

// ReleaseMachine opens the gate of a machine that is marked ready, while the recovery goes on for others.
func (s *Store) ReleaseMachine(ctx context.Context, who Who, id, reason string) (dispatch.Machine, error) {
	return s.recoverMachine(ctx, who, id, "the release of machine "+id, func(tx *Tx, f dispatch.RecoveryFacts, actor ledger.Actor) (dispatch.Machine, error) {
		if r := dispatch.CheckRelease(f); r != nil {
			return f.Machine, r
		}
		m := f.Machine
		m.Recovery, m.ReleasedEpoch = dispatch.NoRecovery, f.Epoch
		return m, tx.writeMark(m, dispatch.EntryReleased, actor, reason)
	})
}

func (s *Store) recoverMachine(ctx context.Context, who Who, id, what string,
	decide func(tx *Tx, f dispatch.RecoveryFacts, actor ledger.Actor) (dispatch.Machine, error),
) (dispatch.Machine, error) {
	var m dispatch.Machine
	err := s.update(ctx, locks{machines: []string{id}, identities: shared, installation: shared}, what, func(tx *Tx) error {
		actor, err := tx.acting(who, RoleRecoveryAdmin) // I11
		if err != nil {
			return err
		}
		f, err := tx.recoveryFacts(id)
		if err != nil {
			return err
		}
		m, err = decide(tx, f, actor)
		return err
	})
	return m, err
}

func (tx *Tx) recoveryFacts(id string) (dispatch.RecoveryFacts, error) {
	var f dispatch.RecoveryFacts
	i, err := tx.installation()
	if err != nil {
		return f, err
	}
	f.Epoch, f.InRecovery, f.LastBefore = i.epoch, i.inRecovery, i.lastBefore
	if f.Machine, err = tx.machine(id); err != nil {
		return f, err
	}
	if f.Marked, err = tx.markedSince(id, i); err != nil {
		return f, err
	}
	running, err := tx.runningBefore(i.epoch)
	if err != nil {
		return f, err
	}
	for _, r := range running {
		f.Running = append(f.Running, r.ID)
	}
	if err := tx.openFacts(&f); err != nil {
		return f, err
	}
	if f.Frame, err = tx.newestObservation(id); err != nil {
		return f, err
	}
	f.FirstRead, err = tx.firstRead(id, "", f.Marked)
	return f, err
}

// openFacts reads what holds the machine's scope, and which of its attempts are not accounted for.
func (tx *Tx) openFacts(f *dispatch.RecoveryFacts) error {
	op, err := tx.holderOf(f.Machine.ID, "")
	if err != nil || op == nil {
		return err
	}
	f.Open = []dispatch.Operation{*op}
	attempts, err := tx.attempts(op.ID)
	if err != nil {
		return err
	}
	f.FirstReads = map[dispatch.Route]time.Time{}
	for _, a := range attempts {
		if _, done := a.Accounted(); done {
			continue
		}
		f.Unaccounted = append(f.Unaccounted, a)
		if f.FirstReads[a.Route], err = tx.firstRead(f.Machine.ID, a.Route, f.Marked); err != nil {
			return err
		}
	}
	return nil
}

// firstRead is when the first successful read begun after the basis was recorded, on the route or, for "", on any; the
// zero time without one.
func (tx *Tx) firstRead(machine string, route dispatch.Route, after int64) (time.Time, error) {
	var at time.Time
	err := tx.row(`SELECT e.at FROM observations o JOIN entries e
		ON e.scope_kind = $1 AND e.scope_id = o.machine AND e.revision = o.revision
		WHERE o.machine = $2 AND o.basis > $3 AND o.revision > 0 AND (o.route = $4 OR $4 = '') ORDER BY o.revision LIMIT 1`,
		ledger.Machine, machine, after, route).Scan(intoTime(&at))
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return at, err
}
