package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// EnterRecovery issues a new recovery epoch, in one transaction that waits for the commitments and attempts under way
// and locks no machine: from its COMMIT on, no approval, instance, ownership or release of before authorizes anything. It
// binds the epoch to the database as it is now, and this host begins to remember it anew. It takes a recovery-admin.
//
// CloseMachines follows; a crash in between leaves every gate closed.
func (s *Store) EnterRecovery(ctx context.Context, who Who, reason string) (epoch string, err error) {
	if reason == "" {
		return "", refusal.New("recovery", "no-reason", "entering recovery needs a reason", "")
	}
	if err := s.engine.replaced(); err != nil {
		return "", fmt.Errorf("%w: close the store and open it again first", err)
	}
	seen, err := s.lastSeenEpoch()
	if err != nil {
		return "", err
	}
	epoch = random128()
	err = s.update(ctx, locks{identities: shared, installation: exclusive}, "the entry into recovery", func(tx *Tx) error {
		actor, err := tx.acting(who, RoleRecoveryAdmin) // I11
		if err != nil {
			return err
		}
		return tx.enterRecovery(epoch, seen, actor, reason)
	})
	if err != nil {
		return "", err
	}
	s.restored.Store(nil)
	return epoch, s.view(ctx, func(tx *Tx) error { return tx.beginHeadFile() })
}

// lastSeenEpoch is what the head file says, "" when it says nothing: a host that saw an epoch that the restored database
// does not know can only understand the new one if it is told that it followed.
func (s *Store) lastSeenEpoch() (string, error) {
	seen, err := s.head.load()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errHeadDamaged) {
		return "", nil
	}
	return seen.Epoch, err
}

func (tx *Tx) enterRecovery(epoch, seen string, actor ledger.Actor, reason string) error {
	i, err := tx.installation()
	if err != nil {
		return err
	}
	database, err := tx.store.engine.identity(tx.ctx, tx.conn)
	if err != nil {
		return tx.note(err)
	}
	previous := []string{i.epoch}
	if seen != "" && seen != i.epoch {
		previous = append(previous, seen)
	}
	var last time.Time
	if err := tx.row(`SELECT COALESCE(MAX(at), 0) FROM scopes`).Scan(intoTime(&last)); err != nil {
		return err
	}
	revision, err := tx.next(installationScope)
	if err != nil {
		return err
	}
	if err := tx.exec1(`UPDATE installation SET epoch = $1, in_recovery = 1, entered_revision = $2, entered_at = $3,
		last_before = $4, database_identity = $5`, epoch, revision, tx.Now(), last, database); err != nil {
		return err
	}
	tx.inst = nil
	actor.Epoch = epoch
	_, err = tx.append(installationScope, dispatch.EntryRecoveryEntered, actor, nil,
		InstallationBody{Epoch: epoch, Previous: previous, Database: database, Era: i.era, LastBefore: last, Text: reason})
	return err
}

// CloseMachines closes every machine that is not yet closed in this epoch, one transaction each: its open operation is
// taken over by instance, which must have started in this epoch, and never retries; the machine is marked unaccounted. It
// goes on where an earlier call ended, and returns how many it closed.
func (s *Store) CloseMachines(ctx context.Context, who Who, instance string) (int, error) {
	var ids []string
	err := s.view(ctx, func(tx *Tx) (err error) {
		i, err := tx.installation()
		if err != nil {
			return err
		}
		if !i.inRecovery {
			return refusal.New("recovery", "not-entered", "no recovery is under way", "clew admin recovery enter --reason TEXT")
		}
		ids, err = list(tx, scanText, `SELECT id FROM machines ORDER BY id`)
		return err
	})
	if err != nil {
		return 0, err
	}
	closed := 0
	for _, id := range ids {
		did, err := s.closeMachine(ctx, who, id, instance)
		if err != nil {
			return closed, err
		}
		if did {
			closed++
		}
	}
	return closed, nil
}

func (s *Store) closeMachine(ctx context.Context, who Who, id, instance string) (closed bool, err error) {
	l := locks{machines: []string{id}, identities: shared, installation: shared}
	err = s.update(ctx, l, "the closing of machine "+id, func(tx *Tx) error {
		actor, err := tx.acting(who, RoleRecoveryAdmin)
		if err != nil {
			return err
		}
		i, err := tx.installation()
		if err != nil {
			return err
		}
		marked, err := tx.markedSince(id, i)
		if err != nil || marked != 0 {
			return err
		}
		if err := tx.takeOverRestored(id, instance, i.epoch); err != nil {
			return err
		}
		m, err := tx.machine(id)
		if err != nil {
			return err
		}
		m.Recovery = dispatch.PreRestore
		closed = true
		return tx.writeMark(m, dispatch.EntryRecovery, actor, "a restore may have lost what was sent to it")
	})
	return closed, err
}

// markedSince is the revision of the machine's first mark in this epoch, 0 while there is none.
func (tx *Tx) markedSince(id string, i *installation) (int64, error) {
	entries, err := list(tx, scanEntry, selectEntry+` WHERE scope_kind = $1 AND scope_id = $2 AND kind = $3 ORDER BY revision`,
		ledger.Machine, id, dispatch.EntryRecovery)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e.Actor.Epoch == i.epoch {
			return e.Revision, nil
		}
	}
	return 0, nil
}

// takeOverRestored moves what holds the machine's scope into the new epoch, as what a restore rewound. I8
func (tx *Tx) takeOverRestored(machine, instance, epoch string) error {
	op, err := tx.holderOf(machine, "")
	if err != nil || op == nil {
		return err
	}
	next := dispatch.Owner{Instance: instance, Generation: op.Owner.Generation + 1, Epoch: epoch}
	if err := tx.checkInstance("takeover", next); err != nil {
		return err
	}
	c, err := tx.caseOf(*op)
	if err != nil {
		return err
	}
	c.Op.PreRestore = true
	return tx.takeOver(&c, binding{operation: op.ID, plan: op.Plan, machine: machine, rollout: op.Rollout}, next, "a restore ended its owner's epoch")
}

func (tx *Tx) writeMark(m dispatch.Machine, kind string, actor ledger.Actor, text string) error {
	if _, err := tx.append(machineScope(m.ID), kind, actor, nil, dispatch.Body{Machine: &m, Text: text}); err != nil {
		return err
	}
	return tx.saveMachine(m)
}

// StepClock records that the clock was set, and begins a new clock era: what was recorded before is no longer compared
// with it. Ages stay what they are. It takes a recovery-admin.
func (s *Store) StepClock(ctx context.Context, who Who, reason string) error {
	if reason == "" {
		return refusal.New("recovery", "no-reason", "recording a clock step needs a reason", "")
	}
	return s.update(ctx, locks{identities: shared, installation: exclusive}, "the clock step", func(tx *Tx) error {
		actor, err := tx.acting(who, RoleRecoveryAdmin)
		if err != nil {
			return err
		}
		i, err := tx.installation()
		if err != nil {
			return err
		}
		if err := tx.exec1(`UPDATE installation SET era = $1`, i.era+1); err != nil {
			return err
		}
		tx.inst = nil
		_, err = tx.append(installationScope, dispatch.EntryClockStep, actor, nil, InstallationBody{Epoch: i.epoch, Era: i.era + 1, Text: reason})
		return err
	})
}

// LeaveRecovery ends the recovery, once every machine that could be a target is released, or blocked and frozen. The
// epoch stays. It takes a recovery-admin.
func (s *Store) LeaveRecovery(ctx context.Context, who Who, reason string) error {
	return s.update(ctx, locks{identities: shared, installation: exclusive}, "the end of recovery", func(tx *Tx) error {
		actor, err := tx.acting(who, RoleRecoveryAdmin)
		if err != nil {
			return err
		}
		i, err := tx.installation()
		if err != nil {
			return err
		}
		machines, err := list(tx, scanMachine, selectMachine+` ORDER BY m.name`)
		if err != nil {
			return err
		}
		if r := dispatch.CheckLeave(machines, i.epoch, i.inRecovery); r != nil {
			return r
		}
		if err := tx.exec1(`UPDATE installation SET in_recovery = 0`); err != nil {
			return err
		}
		tx.inst = nil
		_, err = tx.append(installationScope, dispatch.EntryRecoveryLeft, actor, nil, InstallationBody{Epoch: i.epoch, Era: i.era, Text: reason})
		return err
	})
}

// RecoveryStatus is where a recovery stands.
type RecoveryStatus struct {
	Epoch      string             `json:"epoch"`
	InRecovery bool               `json:"in_recovery"`
	EnteredAt  time.Time          `json:"entered_at,omitzero"`
	Restored   string             `json:"restored,omitempty"` // why the store looks restored and recovery must be entered
	Machines   []dispatch.Machine `json:"machines"`           // by name
	Running    []Instance         `json:"running"`            // of earlier epochs, not shown to have stopped
}

// Recovery says where a recovery stands, or that none is under way.
func (s *Store) Recovery(ctx context.Context) (RecoveryStatus, error) {
	var out RecoveryStatus
	if err := s.Restored(); err != nil {
		out.Restored = err.Error()
	}
	err := s.view(ctx, func(tx *Tx) error {
		i, err := tx.installation()
		if err != nil {
			return err
		}
		out.Epoch, out.InRecovery, out.EnteredAt = i.epoch, i.inRecovery, i.enteredAt
		if out.Machines, err = list(tx, scanMachine, selectMachine+` ORDER BY m.name`); err != nil {
			return err
		}
		out.Running, err = tx.runningBefore(i.epoch)
		return err
	})
	return out, err
}

// runningBefore are the instances of other epochs that nothing shows to have stopped.
func (tx *Tx) runningBefore(epoch string) ([]Instance, error) {
	instances, err := list(tx, scanInstance, selectInstance+` WHERE epoch <> $1 AND ended_revision = 0 AND attested_by = '' ORDER BY id`, epoch)
	if err != nil {
		return nil, err
	}
	here := *tx.store.here.Load()
	return slices.DeleteFunc(instances, func(i Instance) bool { return Stopped(i, here, LockFree) != "" }), nil
}
