package store

import (
	"slices"

	"github.com/clewops/clew/internal/ledger"
)

// lockMode is how one of the two locks without a row is taken.
type lockMode int

const (
	unlocked lockMode = iota
	shared
	exclusive
)

// locks names what a transaction locks, before it reads anything. They are taken in the order of the fields, which is
// the one order of the whole store, so that no two transactions wait for each other.
//
// A rollout or another scope that does not exist yet is created, so that its first writers wait for each other. A
// machine that does not exist is not: a name that is wrong leaves nothing behind, and a new one has no rival yet. Its
// first append creates it.
type locks struct {
	machines     []string // ids; sorted here
	plan         string
	approval     string
	identities   lockMode // shared where approvals count; exclusive to revoke an identity
	installation lockMode // shared where the epoch counts; exclusive to enter or leave recovery
	rollout      string
	others       []ledger.Scope // sorted here

	// guarded marks the commitment and the attempt: they fail when the store looks restored or the clock is behind
	// the machine's or the installation's last entry, and the head file is synced after their COMMIT.
	guarded bool

	// remember syncs the head file after the COMMIT of a transaction that is not guarded: the look-up after a lost answer
	// saw what the lost transaction left, and a send may follow it.
	remember bool
}

func machineScope(id string) ledger.Scope { return ledger.Scope{Kind: ledger.Machine, ID: id} }
func rolloutScope(id string) ledger.Scope { return ledger.Scope{Kind: ledger.Rollout, ID: id} }

var installationScope = ledger.Scope{Kind: ledger.Installation}

// take locks everything that l names.
func (tx *Tx) take(l locks) error {
	machines := slices.Compact(slices.Sorted(slices.Values(l.machines)))
	for _, id := range machines {
		if err := tx.lockScope(machineScope(id), false); err != nil {
			return err
		}
	}
	if l.plan != "" {
		if err := tx.lockRow(`SELECT id FROM plans WHERE id = $1 FOR UPDATE`, l.plan); err != nil {
			return err
		}
	}
	if l.approval != "" {
		if err := tx.lockRow(`SELECT id FROM approvals WHERE id = $1 FOR UPDATE`, l.approval); err != nil {
			return err
		}
	}
	if err := tx.note(tx.store.engine.lock(tx.ctx, tx.conn, l.identities, l.installation)); err != nil {
		return err
	}
	if l.rollout != "" {
		if err := tx.lockScope(rolloutScope(l.rollout), true); err != nil {
			return err
		}
	}
	others := slices.SortedFunc(slices.Values(l.others), func(a, b ledger.Scope) int {
		if a.Less(b) {
			return -1
		}
		return 1
	})
	for _, s := range slices.Compact(others) {
		if err := tx.lockScope(s, true); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) lockRow(query, id string) error {
	if tx.conn.pipe != nil {
		tx.later(query, []any{id}, nil)
		return nil
	}
	rows, err := tx.query(query, id)
	if err != nil {
		return err
	}
	_, err = all(rows, func(scan func(...any) error) (string, error) {
		var got string
		err := scan(&got)
		return got, err
	})
	return tx.note(err)
}
