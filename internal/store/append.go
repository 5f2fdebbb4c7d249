package store

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/clewops/clew/internal/ledger"
)

// lockedHead is a scope's head while this transaction holds its row.
type lockedHead struct {
	ledger.Head
	at      int64 // microseconds; of the last entry
	era     int64 // clock era of the last entry
	exists  bool  // its row exists
	held    bool  // its row is locked by this transaction
	saved   int64 // the revision that the row still has
	changed bool
}

const selectHead = `SELECT revision, hash, at, era FROM scopes WHERE kind = $1 AND id = $2`

// lockScope locks a scope's row. create makes the row first if it does not exist.
func (tx *Tx) lockScope(s ledger.Scope, create bool) error {
	if tx.known(s) != nil {
		return nil
	}
	if tx.conn.pipe != nil && !create {
		h := &lockedHead{Head: ledger.Head{Scope: s}}
		tx.heads[s] = h
		tx.later(selectHead+lockClause, []any{s.Kind, s.ID}, func(scan func(...any) error) error {
			err := h.scan(scan)
			h.held = h.exists
			return err
		})
		return nil
	}
	h, err := tx.readHead(s, selectHead+lockClause)
	if err != nil {
		return err
	}
	if !h.exists && create {
		_, err := tx.exec(`INSERT INTO scopes (kind, id, revision, hash, at, era) VALUES ($1, $2, 0, $3, 0, 0)
			ON CONFLICT DO NOTHING`, s.Kind, s.ID, ledger.Hash{})
		if err != nil {
			return err
		}
		// Another transaction may have created it and moved on in the meantime.
		if h, err = tx.readHead(s, selectHead+lockClause); err != nil {
			return err
		}
		if !h.exists {
			return fmt.Errorf("store: the row of scope %s was not created", s)
		}
	}
	h.held = h.exists
	tx.heads[s] = h
	return nil
}

func (tx *Tx) readHead(s ledger.Scope, query string) (*lockedHead, error) {
	h := &lockedHead{Head: ledger.Head{Scope: s}}
	err := h.scan(tx.row(query, s.Kind, s.ID).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return h, nil
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// scan reads the scope's row.
func (h *lockedHead) scan(scan func(...any) error) error {
	var hash string
	if err := scan(&h.Revision, &hash, &h.at, &h.era); err != nil {
		return err
	}
	h.exists, h.saved = true, h.Revision
	var err error
	h.Hash, err = ledger.ParseHash(hash)
	return err
}

// known is the head of a scope that this transaction has locked, nil for others.
func (tx *Tx) known(s ledger.Scope) *lockedHead {
	h := tx.heads[s]
	if h == nil {
		return nil
	}
	if !h.held {
		_ = tx.flush() // the lock may be on its way; where it fails, so does the transaction
	}
	if !h.held {
		return nil
	}
	return h
}

// head is where the scope's timeline ends as this transaction sees it, its own entries included. Without the scope's
// lock it may be past already.
func (tx *Tx) head(s ledger.Scope) (ledger.Head, error) {
	if h := tx.known(s); h != nil {
		return h.Head, nil
	}
	h, err := tx.readHead(s, selectHead)
	if err != nil {
		return ledger.Head{}, err
	}
	return h.Head, nil
}

// next is the revision that the next entry of the scope gets. The scope must be locked, or new: anything else is a
// mistake of the caller, and the error says so.
func (tx *Tx) next(s ledger.Scope) (int64, error) {
	h, err := tx.forAppend(s)
	if err != nil {
		return 0, err
	}
	return h.Revision + 1, nil
}

// forAppend gives the head of a locked scope, and locks scopes other than machines that the caller did not name.
func (tx *Tx) forAppend(s ledger.Scope) (*lockedHead, error) {
	if !tx.writes {
		return nil, fmt.Errorf("store: an entry for %s in a transaction that only reads", s)
	}
	if known := tx.known(s); known != nil {
		return known, nil
	}
	if err := tx.lockScope(s, true); err != nil {
		return nil, err
	}
	h := tx.heads[s]
	if s.Kind == ledger.Machine && h.Revision > 0 {
		// Locked this late it could wait for a transaction that waits for this one, and what was read before the lock
		// may be past.
		return nil, tx.note(fmt.Errorf("store: %s was not locked at the start of the transaction", s))
	}
	return h, nil
}

// append adds an entry to its scope, at the transaction's time. body is encoded as compact JSON; nil leaves it empty.
func (tx *Tx) append(s ledger.Scope, kind string, actor ledger.Actor, links []ledger.Link, body any) (ledger.Entry, error) {
	h, err := tx.forAppend(s)
	if err != nil {
		return ledger.Entry{}, err
	}
	e := ledger.Entry{
		Scope: s, Revision: h.Revision + 1, Kind: kind, At: tx.Now(), Actor: actor, Links: links, Prev: h.Hash,
	}
	if body != nil {
		if e.Body, err = compact(body); err != nil {
			return ledger.Entry{}, tx.note(err)
		}
	}
	if e.Hash, err = e.Sum(); err != nil {
		return ledger.Entry{}, tx.note(err)
	}
	if err := tx.insertEntry(e); err != nil {
		return ledger.Entry{}, err
	}
	era, err := tx.era()
	if err != nil {
		return ledger.Entry{}, err
	}
	h.Revision, h.Hash, h.at, h.era, h.changed = e.Revision, e.Hash, micros(e.At), era, true
	return e, nil
}

func (tx *Tx) insertEntry(e ledger.Entry) error {
	return tx.exec1(`INSERT INTO entries (scope_kind, scope_id, revision, kind, at, actor, links, body, prev, hash)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		e.Scope.Kind, e.Scope.ID, e.Revision, e.Kind, e.At, asJSON(e.Actor), asJSON(e.Links), string(e.Body), e.Prev, e.Hash)
}

// saveHeads writes the heads that moved, each once and only over the revision that was locked.
func (tx *Tx) saveHeads() error {
	for _, h := range tx.heads {
		if !h.changed {
			continue
		}
		err := tx.exec1(`UPDATE scopes SET revision = $1, hash = $2, at = $3, era = $4
			WHERE kind = $5 AND id = $6 AND revision = $7`,
			h.Revision, h.Hash, h.at, h.era, h.Scope.Kind, h.Scope.ID, h.saved)
		if err != nil {
			return err
		}
	}
	return nil
}
