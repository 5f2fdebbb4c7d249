package store

import (
	"time"

	"github.com/clewops/clew/internal/ledger"
)

// installation is the store's own row, with the head of its chain, as one statement read it.
type installation struct {
	epoch            string
	inRecovery       bool
	enteredRevision  int64
	enteredAt        time.Time
	lastBefore       time.Time // of the last entry before recovery was entered
	databaseIdentity string
	era              int64
	last             *lockedHead // the same with its time and era; not locked
	revision         int64       // of the chain's last entry, as read
	head             ledger.Head // of the chain, as read: anchors move it without any lock of ours
}

// installation reads the row once per transaction. Under the installation lock (shared or exclusive) no recovery can be
// entered between this and the COMMIT.
func (tx *Tx) installation() (*installation, error) {
	if tx.inst == nil {
		if err := tx.flush(); err != nil { // it may be on its way
			return nil, err
		}
	}
	if tx.inst != nil {
		return tx.inst, nil
	}
	i := &installation{}
	if err := i.scan(tx.row(selectInstallation, ledger.Installation).Scan); err != nil {
		return nil, err
	}
	tx.inst = i
	return i, nil
}

const selectInstallation = `SELECT i.epoch, i.in_recovery, i.entered_revision, i.entered_at, i.last_before, i.database_identity, i.era,
	s.revision, s.hash, s.at, s.era FROM installation i JOIN scopes s ON s.kind = $1 AND s.id = '' WHERE i.id = 1`

// installationSoon reads the row along with the first statement whose answer counts: every entry needs its era. The locks
// are on their way before it.
func (tx *Tx) installationSoon() {
	if tx.conn.pipe == nil {
		return
	}
	tx.later(selectInstallation, []any{ledger.Installation}, func(scan func(...any) error) error {
		i := &installation{}
		err := i.scan(scan)
		tx.inst = i
		return err
	})
}

func (i *installation) scan(scan func(...any) error) error {
	var hash string
	i.head = ledger.Head{Scope: installationScope}
	i.last = &lockedHead{}
	err := scan(&i.epoch, intoBool(&i.inRecovery), &i.enteredRevision, intoTime(&i.enteredAt), intoTime(&i.lastBefore),
		&i.databaseIdentity, &i.era, &i.head.Revision, &hash, &i.last.at, &i.last.era)
	if err != nil {
		return err
	}
	if i.head.Hash, err = ledger.ParseHash(hash); err != nil {
		return err
	}
	i.revision = i.head.Revision
	i.last.Head = i.head
	return nil
}

// epoch is the recovery epoch in force.
func (tx *Tx) epoch() (string, error) {
	i, err := tx.installation()
	if err != nil {
		return "", err
	}
	return i.epoch, nil
}

func (tx *Tx) era() (int64, error) {
	i, err := tx.installation()
	if err != nil {
		return 0, err
	}
	return i.era, nil
}
