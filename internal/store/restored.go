package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// LooksRestored says why the database does not look like the one that was last seen. It is a failure: commitments and
// attempts fail with it until a recovery is entered. Reading goes on.
type LooksRestored struct{ Why string }

// Error says why, and what to do.
func (e *LooksRestored) Error() string {
	return "the store looks restored: " + e.Why +
		"; nothing is dispatched until a recovery-admin enters recovery: clew admin recovery enter"
}

// Restored is nil, or why the store looks restored.
func (s *Store) Restored() error {
	if err := s.engine.replaced(); err != nil {
		return s.looksRestored(err.Error())
	}
	if r := s.restored.Load(); r != nil {
		return r
	}
	return nil
}

// looksRestored remembers the first reason: what is seen after it may look sound again.
func (s *Store) looksRestored(why string) error {
	s.restored.CompareAndSwap(nil, &LooksRestored{Why: why})
	if r := s.restored.Load(); r != nil {
		return r
	}
	return &LooksRestored{Why: why}
}

// SyncHead makes sure, right before a send, that this host will remember what it saw, and that the store is still the
// one that was opened. An error means: do not send.
func (s *Store) SyncHead(context.Context) error {
	if err := s.head.flush(); err != nil {
		return fmt.Errorf("write the head file %s: %w", s.head.path, err)
	}
	return s.Restored()
}

// syncHeads notes the heads that a guarded transaction saw and left, and writes them.
func (s *Store) syncHeads(tx *Tx, machines []string) error {
	i, err := tx.installation()
	if err != nil {
		return err
	}
	heads := []ledger.Head{i.head}
	for _, id := range machines {
		if h := tx.heads[machineScope(id)]; h != nil && h.held {
			heads = append(heads, h.Head)
		}
	}
	s.head.note(heads...)
	return s.head.flush()
}

// checkHeadFile compares the database with what this host last saw, when the store is opened. A host that never saw it
// begins to remember. A file's memory lies beside it from the first entry on, so that a file in use without one is a file
// of which it is not known what was last seen.
func (s *Store) checkHeadFile(ctx context.Context) error {
	// The file is read before the database: read after it, it could be ahead of what the snapshot shows.
	seen, seenErr := s.head.load()
	return s.view(ctx, func(tx *Tx) error {
		i, err := tx.installation()
		if err != nil {
			return err
		}
		id, err := s.engine.identity(ctx, tx.conn)
		if err != nil {
			return err
		}
		if i.databaseIdentity != id {
			_ = s.looksRestored(fmt.Sprintf("its recovery epoch is bound to another database (%s) than this one (%s)",
				i.databaseIdentity, id))
			return nil
		}
		switch {
		case errors.Is(seenErr, fs.ErrNotExist) && s.engine.name() == string(config.SQLite) && i.head.Revision > 1:
			_ = s.looksRestored(fmt.Sprintf("the store is in use, and the head file beside it (%s) is gone, so it is not known what was last seen",
				s.head.path))
			return nil
		case errors.Is(seenErr, fs.ErrNotExist):
			return tx.beginHeadFile()
		case errors.Is(seenErr, errHeadDamaged):
			_ = s.looksRestored(fmt.Sprintf("%v (%s), so it is not known what was last seen", seenErr, s.head.path))
			return nil
		case seenErr != nil:
			return seenErr
		}
		return tx.compareHeads(i, id, seen)
	})
}

func (tx *Tx) compareHeads(i *installation, id string, seen headState) error {
	if seen.Epoch != i.epoch {
		return tx.otherEpoch(seen.Epoch, i.epoch)
	}
	if seen.Database != id {
		_ = tx.store.looksRestored(fmt.Sprintf("the database is %s, last seen was %s", id, seen.Database))
		return nil
	}
	now, err := tx.currentHeads()
	if err != nil {
		return err
	}
	for scope, was := range seen.Heads {
		if is := now[scope]; is.Revision < was.Revision {
			_ = tx.store.looksRestored(fmt.Sprintf("%s ends at revision %d, and revision %d was seen", scope, is.Revision, was.Revision))
			return nil
		}
	}
	if was, ok := seen.Heads[installationScope]; ok {
		return ignoreRestored(tx.compareHead(was))
	}
	return nil
}

// ignoreRestored: at the opening, a store that looks restored is remembered as such and opens.
func ignoreRestored(err error) error {
	var r *LooksRestored
	if errors.As(err, &r) {
		return nil
	}
	return err
}

// checkRestored is the check of every commitment and attempt, inside its transaction: the timelines that it is about to
// extend still contain what this host saw last.
func (tx *Tx) checkRestored(machines []string) error {
	i, err := tx.installation()
	if err != nil {
		return err
	}
	scopes := []ledger.Scope{installationScope}
	for _, id := range machines {
		scopes = append(scopes, machineScope(id))
	}
	epoch, heads, err := tx.store.head.seen(scopes...)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tx.store.looksRestored(fmt.Sprintf("the head file %s is gone, so it is not known what was last seen", tx.store.head.path))
	case errors.Is(err, errHeadDamaged):
		return tx.store.looksRestored(fmt.Sprintf("%v (%s), so it is not known what was last seen", err, tx.store.head.path))
	case err != nil:
		return err
	}
	if epoch != i.epoch {
		if err := tx.otherEpoch(epoch, i.epoch); err != nil {
			return err
		}
		return tx.store.Restored()
	}
	for _, was := range heads {
		if err := tx.compareHead(was); err != nil {
			return err
		}
	}
	return nil
}

// compareHead checks that a timeline still contains the entry that was its end when this host last looked.
func (tx *Tx) compareHead(was ledger.Head) error {
	if was.Revision == 0 {
		return nil
	}
	is, err := tx.lastHead(was)
	if err != nil {
		return err
	}
	if is.Revision < was.Revision {
		return tx.store.looksRestored(fmt.Sprintf("%s ends at revision %d, and revision %d was seen", was.Scope, is.Revision, was.Revision))
	}
	got := is.Hash.String()
	if is.Revision > was.Revision {
		err := tx.row(`SELECT hash FROM entries WHERE scope_kind = $1 AND scope_id = $2 AND revision = $3`,
			was.Scope.Kind, was.Scope.ID, was.Revision).Scan(&got)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	if got != was.Hash.String() {
		return tx.store.looksRestored(fmt.Sprintf("%s has another history than the one that was seen: its revision %d differs", was.Scope, was.Revision))
	}
	return nil
}

// lastHead is the scope's head, at least as new as what was read from the head file before the call: the installation's
// as this transaction read it only if it is not behind, since anchors move it under no lock of ours.
func (tx *Tx) lastHead(was ledger.Head) (ledger.Head, error) {
	if was.Scope == installationScope {
		i, err := tx.installation()
		if err != nil {
			return ledger.Head{}, err
		}
		if i.head.Revision >= was.Revision {
			return i.head, nil
		}
	}
	return tx.head(was.Scope)
}

// otherEpoch judges an epoch that is not the one this host saw last: where the installation's chain says that a recovery
// ended the one that was seen, somebody has dealt with the restore, and this host begins to remember anew.
func (tx *Tx) otherEpoch(seen, is string) error {
	ended, err := tx.endedEpochs()
	if err != nil {
		return err
	}
	if ended[seen] {
		return tx.beginHeadFile()
	}
	_ = tx.store.looksRestored(fmt.Sprintf("its recovery epoch is %s, last seen was %s", is, seen))
	return nil
}

// endedEpochs are the epochs that recoveries on this chain ended.
func (tx *Tx) endedEpochs() (map[string]bool, error) {
	bodies, err := list(tx, func(scan func(...any) error) (InstallationBody, error) {
		var b InstallationBody
		return b, scan(intoJSON(&b))
	}, `SELECT body FROM entries WHERE scope_kind = $1 AND kind = $2`, ledger.Installation, dispatch.EntryRecoveryEntered)
	if err != nil {
		return nil, err
	}
	ended := map[string]bool{}
	for _, b := range bodies {
		for _, e := range b.Previous {
			ended[e] = true
		}
	}
	return ended, nil
}

// beginHeadFile writes the head file from what the database shows now.
func (tx *Tx) beginHeadFile() error {
	i, err := tx.installation()
	if err != nil {
		return err
	}
	heads, err := tx.currentHeads()
	if err != nil {
		return err
	}
	if err := tx.store.head.replace(headState{Epoch: i.epoch, Database: i.databaseIdentity, Heads: heads}); err != nil {
		return fmt.Errorf("write the head file: %w", err)
	}
	return nil
}

// currentHeads are the committed heads of the installation and all machines, by one statement.
func (tx *Tx) currentHeads() (map[ledger.Scope]ledger.Head, error) {
	heads, err := list(tx, scanHead, `SELECT kind, id, revision, hash FROM scopes WHERE kind IN ($1, $2)`,
		ledger.Installation, ledger.Machine)
	if err != nil {
		return nil, err
	}
	out := make(map[ledger.Scope]ledger.Head, len(heads))
	for _, h := range heads {
		out[h.Scope] = h
	}
	return out, nil
}

func scanHead(scan func(...any) error) (ledger.Head, error) {
	var h ledger.Head
	var hash string
	if err := scan(&h.Scope.Kind, &h.Scope.ID, &h.Revision, &hash); err != nil {
		return h, err
	}
	var err error
	h.Hash, err = ledger.ParseHash(hash)
	return h, err
}
