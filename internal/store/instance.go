package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// Instance is one start of a process that may own operations. Host, process and lock file are how others can later show
// that it has stopped.
type Instance struct {
	ID            string        `json:"id"`
	Host          dispatch.Host `json:"host"`
	PID           int           `json:"pid"`
	LockPath      string        `json:"lock_path"`
	LockDevice    uint64        `json:"lock_device"`
	LockInode     uint64        `json:"lock_inode"`
	Epoch         string        `json:"epoch"` // in which it started
	StartedAt     time.Time     `json:"started_at"`
	EndedRevision int64         `json:"ended_revision,omitempty"` // on its own timeline
	AttestedBy    string        `json:"attested_by,omitempty"`    // the recovery-admin who says that it has ended
	Revision      int64         `json:"revision"`
}

// instanceBody is the body of an instance's entries: how it stands after the entry, and why.
type instanceBody struct {
	Instance
	Text string `json:"text,omitempty"`
}

func instanceScope(id string) ledger.Scope { return ledger.Scope{Kind: ledger.Instance, ID: id} }

const selectInstance = `SELECT id, host, pid, lock_path, lock_dev, lock_ino, epoch, started_at, ended_revision,
	attested_by, revision FROM instances`

func scanInstance(scan func(...any) error) (Instance, error) {
	var i Instance
	var device, inode string
	err := scan(&i.ID, intoJSON(&i.Host), &i.PID, &i.LockPath, &device, &inode, &i.Epoch, intoTime(&i.StartedAt),
		&i.EndedRevision, &i.AttestedBy, &i.Revision)
	if err != nil {
		return i, err
	}
	if i.LockDevice, err = strconv.ParseUint(device, 10, 64); err != nil {
		return i, fmt.Errorf("instance %s: %w", i.ID, err)
	}
	if i.LockInode, err = strconv.ParseUint(inode, 10, 64); err != nil {
		return i, fmt.Errorf("instance %s: %w", i.ID, err)
	}
	return i, nil
}

// StartInstance records the start of a process and returns its id, 128 random bits. The process holds an exclusive flock
// on the lock file, by the given device and inode, until it ends, however it ends.
func (s *Store) StartInstance(ctx context.Context, host dispatch.Host, pid int, lockPath string, device, inode uint64) (string, error) {
	i := Instance{
		ID: InstancePrefix + random128(), Host: host, PID: pid, LockPath: lockPath, LockDevice: device, LockInode: inode,
	}
	s.here.Store(&host)
	err := s.update(ctx, locks{installation: shared}, "the start of an instance", func(tx *Tx) error {
		var err error
		if i.Epoch, err = tx.epoch(); err != nil {
			return err
		}
		i.StartedAt, i.Revision = tx.Now(), 1
		actor := ledger.Actor{Instance: i.ID, Epoch: i.Epoch}
		if _, err := tx.append(instanceScope(i.ID), dispatch.EntryInstanceStarted, actor, nil, instanceBody{Instance: i}); err != nil {
			return err
		}
		return tx.exec1(`INSERT INTO instances (id, host, pid, lock_path, lock_dev, lock_ino, epoch, started_at,
			ended_revision, attested_by, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, '', $9)`,
			i.ID, asJSON(i.Host), i.PID, i.LockPath, strconv.FormatUint(device, 10), strconv.FormatUint(inode, 10), i.Epoch,
			i.StartedAt, i.Revision)
	})
	return i.ID, err
}

// EndInstance records that the process ends and will send nothing any more. It is the process itself that says so.
func (s *Store) EndInstance(ctx context.Context, id string) error {
	return s.changeInstance(ctx, id, "the end of instance "+id, func(tx *Tx, i *Instance, revision int64) (string, ledger.Actor, string, error) {
		i.EndedRevision = revision
		return dispatch.EntryInstanceEnded, ledger.Actor{Instance: id, Epoch: i.Epoch}, "", nil
	})
}

// AttestInstance records that a recovery-admin vouches for the end of a process that nothing else shows to have ended.
func (s *Store) AttestInstance(ctx context.Context, who Who, id, reason string) error {
	if reason == "" {
		return refusal.New("recovery", "no-reason", "an attestation needs a reason: how is it known that the process has ended?", "")
	}
	return s.changeInstance(ctx, id, "the attestation of instance "+id, func(tx *Tx, i *Instance, _ int64) (string, ledger.Actor, string, error) {
		actor, err := tx.acting(who, RoleRecoveryAdmin) // I11
		if err != nil {
			return "", actor, "", err
		}
		i.AttestedBy = actor.Identity
		return dispatch.EntryInstanceAttested, actor, reason, nil
	})
}

func (s *Store) changeInstance(ctx context.Context, id, what string,
	change func(tx *Tx, i *Instance, revision int64) (kind string, actor ledger.Actor, text string, err error),
) error {
	scope := instanceScope(id)
	return s.update(ctx, locks{identities: shared, others: []ledger.Scope{scope}}, what, func(tx *Tx) error {
		i, err := tx.instance(id)
		if err != nil {
			return err
		}
		if i.EndedRevision != 0 {
			return nil // ended is ended
		}
		if i.Revision, err = tx.next(scope); err != nil {
			return err
		}
		kind, actor, text, err := change(tx, &i, i.Revision)
		if err != nil {
			return err
		}
		if _, err := tx.append(scope, kind, actor, nil, instanceBody{Instance: i, Text: text}); err != nil {
			return err
		}
		return tx.exec1(`UPDATE instances SET ended_revision = $1, attested_by = $2, revision = $3 WHERE id = $4`,
			i.EndedRevision, i.AttestedBy, i.Revision, id)
	})
}

func (tx *Tx) instance(id string) (Instance, error) {
	i, err := scanInstance(tx.row(selectInstance+` WHERE id = $1`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return i, found(err, "instance", id)
	}
	return i, err
}

// Instance reads one; ErrNotFound when the store does not know it, as after a restore.
func (s *Store) Instance(ctx context.Context, id string) (Instance, error) {
	var i Instance
	err := s.view(ctx, func(tx *Tx) (err error) {
		i, err = tx.instance(id)
		return err
	})
	return i, err
}

// Instances lists all, the newest first.
func (s *Store) Instances(ctx context.Context) ([]Instance, error) {
	var out []Instance
	err := s.view(ctx, func(tx *Tx) (err error) {
		out, err = list(tx, scanInstance, selectInstance+` ORDER BY started_at DESC, id`)
		return err
	})
	return out, err
}
