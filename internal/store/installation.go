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
	if tx.inst != nil {
		return tx.inst, nil
	}
	i := &installation{head: ledger.Head{Scope: installationScope}}
	var hash string
	last := &lockedHead{}
	err := tx.row(`SELECT i.epoch, i.in_recovery, i.entered_revision, i.entered_at, i.last_before, i.database_identity, i.era,
			s.revision, s.hash, s.at, s.era
		FROM installation i JOIN scopes s ON s.kind = $1 AND s.id = '' WHERE i.id = 1`, ledger.Installation).
		Scan(&i.epoch, intoBool(&i.inRecovery), &i.enteredRevision, intoTime(&i.enteredAt), intoTime(&i.lastBefore), &i.databaseIdentity, &i.era,
			&i.head.Revision, &hash, &last.at, &last.era)
	if err != nil {
		return nil, err
	}
	if i.head.Hash, err = ledger.ParseHash(hash); err != nil {
		return nil, err
	}
	i.revision = i.head.Revision
	last.Head, i.last = i.head, last
	tx.inst = i
	return i, nil
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
