package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/ledger"
)

// EntryFilter picks entries. The zero filter picks all.
type EntryFilter struct {
	Scope  *ledger.Scope
	Kinds  []string  // of entries: any of these
	Scopes []string  // kinds of scopes: any of these
	Since  time.Time // not before
	By     string    // identity or instance who wrote it
	After  *Cursor   // entries after this one, in the order of the listing
	Newest bool      // the last Limit entries instead of the first; still listed oldest first
	Limit  int       // 0: no limit
}

// Cursor is a place in the order of all entries: by time, then scope and revision. Scopes have no common order but
// time; within one scope, revisions are the order.
type Cursor struct {
	At       time.Time    `json:"at"`
	Scope    ledger.Scope `json:"scope"`
	Revision int64        `json:"revision"`
}

// CursorOf is the place of an entry.
func CursorOf(e ledger.Entry) Cursor { return Cursor{At: e.At, Scope: e.Scope, Revision: e.Revision} }

const selectEntry = `SELECT scope_kind, scope_id, revision, kind, at, actor, links, body, prev, hash FROM entries`

func scanEntry(scan func(...any) error) (ledger.Entry, error) {
	var e ledger.Entry
	var body, prev, hash string
	err := scan(&e.Scope.Kind, &e.Scope.ID, &e.Revision, &e.Kind, intoTime(&e.At), intoJSON(&e.Actor), intoJSON(&e.Links),
		&body, &prev, &hash)
	if err != nil {
		return e, err
	}
	if body != "" {
		e.Body = []byte(body)
	}
	if e.Prev, err = ledger.ParseHash(prev); err != nil {
		return e, fmt.Errorf("%s revision %d: %w", e.Scope, e.Revision, err)
	}
	if e.Hash, err = ledger.ParseHash(hash); err != nil {
		return e, fmt.Errorf("%s revision %d: %w", e.Scope, e.Revision, err)
	}
	return e, nil
}

// where collects conditions with numbered parameters.
type where struct {
	terms []string
	args  []any
}

func (w *where) arg(v any) string {
	w.args = append(w.args, v)
	return fmt.Sprintf("$%d", len(w.args))
}

func (w *where) in(column string, values []string) {
	if len(values) == 0 {
		return
	}
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = w.arg(v)
	}
	w.terms = append(w.terms, column+" IN ("+strings.Join(marks, ", ")+")")
}

func (w *where) add(term string) { w.terms = append(w.terms, term) }

func (w *where) text() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.terms, " AND ")
}

func (f EntryFilter) where() (*where, error) {
	w := &where{}
	if f.Scope != nil {
		w.add("scope_kind = " + w.arg(f.Scope.Kind))
		w.add("scope_id = " + w.arg(f.Scope.ID))
	}
	w.in("kind", f.Kinds)
	w.in("scope_kind", f.Scopes)
	if !f.Since.IsZero() {
		w.add("at >= " + w.arg(f.Since))
	}
	if f.By != "" {
		// The actor is JSON with these names: a value is matched with the quotes around it.
		value, err := compact(f.By)
		if err != nil {
			return nil, err
		}
		const contains = "replace(actor, %s, '') <> actor"
		w.add("(" + fmt.Sprintf(contains, w.arg(`"identity":`+string(value))) + " OR " +
			fmt.Sprintf(contains, w.arg(`"instance":`+string(value))) + ")")
	}
	switch c := f.After; {
	case c != nil && f.Scope != nil:
		w.add("revision > " + w.arg(c.Revision))
	case c != nil:
		w.add(fmt.Sprintf("(at, scope_kind, scope_id, revision) > (%s, %s, %s, %s)",
			w.arg(c.At), w.arg(c.Scope.Kind), w.arg(c.Scope.ID), w.arg(c.Revision)))
	}
	return w, nil
}

// Entries lists entries, oldest first: of one scope by revision, otherwise by time.
func (s *Store) Entries(ctx context.Context, f EntryFilter) ([]ledger.Entry, error) {
	w, err := f.where()
	if err != nil {
		return nil, err
	}
	direction := ""
	if f.Newest {
		direction = " DESC"
	}
	order := " ORDER BY at%[1]s, scope_kind%[1]s, scope_id%[1]s, revision%[1]s"
	if f.Scope != nil {
		order = " ORDER BY revision%[1]s" // whatever the clock did
	}
	query := selectEntry + w.text() + fmt.Sprintf(order, direction)
	if f.Limit > 0 {
		query += " LIMIT " + w.arg(f.Limit)
	}
	var out []ledger.Entry
	err = s.view(ctx, func(tx *Tx) error {
		out, err = list(tx, scanEntry, query, w.args...)
		return err
	})
	if f.Newest {
		slices.Reverse(out)
	}
	return out, err
}

// Entry reads one entry; ErrNotFound when there is none.
func (s *Store) Entry(ctx context.Context, scope ledger.Scope, revision int64) (ledger.Entry, error) {
	var e ledger.Entry
	err := s.view(ctx, func(tx *Tx) (err error) {
		e, err = scanEntry(tx.row(selectEntry+` WHERE scope_kind = $1 AND scope_id = $2 AND revision = $3`,
			scope.Kind, scope.ID, revision).Scan)
		return found(err, "entry", fmt.Sprintf("%s revision %d", scope, revision))
	})
	return e, err
}

// Heads are the heads of all scopes, by kind and id.
func (s *Store) Heads(ctx context.Context) ([]ledger.Head, error) {
	var out []ledger.Head
	err := s.view(ctx, func(tx *Tx) (err error) {
		out, err = list(tx, scanHead, `SELECT kind, id, revision, hash FROM scopes WHERE revision > 0 ORDER BY kind, id`)
		return err
	})
	return out, err
}
