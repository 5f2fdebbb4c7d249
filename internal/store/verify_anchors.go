package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// anchorLog remembers every anchor of a scope in about a byte each: the revisions, and one digest over all revisions and
// hashes. A store's past has as many anchors as entries. Which anchor differs is looked up where one does.
type anchorLog struct {
	steps []byte // from one revision to the next, as varints
	sum   [sha256.Size]byte
	last  anchor
}

// add takes the next anchor; false when it is not further than the one before, and must be kept whole.
func (l *anchorLog) add(a anchor) bool {
	if a.revision < l.last.revision {
		return false
	}
	l.steps = binary.AppendUvarint(l.steps, uint64(a.revision-l.last.revision))
	l.sum = foldAnchor(l.sum, a.revision, a.hash)
	l.last = a
	return true
}

func foldAnchor(sum [sha256.Size]byte, revision int64, h ledger.Hash) [sha256.Size]byte {
	var b [2*sha256.Size + 8]byte
	copy(b[:], sum[:])
	binary.BigEndian.PutUint64(b[sha256.Size:], uint64(revision))
	copy(b[sha256.Size+8:], h[:])
	return sha256.Sum256(b[:])
}

// anchorWalk goes through a scope's entries beside its log.
type anchorWalk struct {
	log   *anchorLog // nil without one
	rest  []byte
	next  int64 // the anchored revision that is awaited, 0 after the last
	sum   [sha256.Size]byte
	wrong bool
}

func walk(l *anchorLog) anchorWalk {
	w := anchorWalk{log: l}
	if l != nil {
		w.rest = l.steps
		w.advance()
	}
	return w
}

func (w *anchorWalk) advance() {
	step, n := binary.Uvarint(w.rest)
	if n <= 0 {
		w.next = 0
		return
	}
	w.next, w.rest = w.next+int64(step), w.rest[n:]
}

// entry reads the next entry.
func (w *anchorWalk) entry(e ledger.Entry) {
	for w.next != 0 && w.next <= e.Revision {
		if w.next == e.Revision {
			w.sum = foldAnchor(w.sum, e.Revision, e.Hash)
		} else {
			w.wrong = true // the entry is missing
		}
		w.advance()
	}
}

// holds says, after the last entry, whether every anchor recorded what stands there.
func (w *anchorWalk) holds() bool {
	return w.log == nil || (!w.wrong && w.next == 0 && w.sum == w.log.sum)
}

// anchored keeps an anchor that the installation's chain recorded.
func (c *verifier) anchored(s ledger.Scope, a anchor) {
	if c.replay != nil { // a bundle cannot be read again
		l := c.logs[s]
		if l == nil {
			l = &anchorLog{}
			c.logs[s] = l
		}
		if l.add(a) {
			return
		}
	}
	c.anchors[s] = append(c.anchors[s], a)
}

// explainAnchors says which anchors of the suspected scopes recorded something else than what stands there.
func (tx *Tx) explainAnchors(c *verifier) error {
	if len(c.suspects) == 0 {
		return nil
	}
	found, err := tx.anchorsOf(c.suspects)
	if err != nil {
		return err
	}
	for _, s := range c.suspects {
		if err := tx.explainScope(c, s, found[s]); err != nil {
			return err
		}
	}
	c.suspects = nil
	return nil
}

// anchorsOf reads the scopes' anchors once more.
func (tx *Tx) anchorsOf(scopes []ledger.Scope) (map[ledger.Scope][]anchor, error) {
	found := map[ledger.Scope][]anchor{}
	for _, s := range scopes {
		found[s] = nil
	}
	rows, err := tx.query(`SELECT revision, body FROM entries WHERE scope_kind = $1 AND kind = $2 ORDER BY revision`,
		ledger.Installation, dispatch.EntryAnchored)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var by int64
		var body string
		if err := rows.Scan(&by, &body); err != nil {
			return nil, tx.note(err)
		}
		var b AnchorBody
		if json.Unmarshal([]byte(body), &b) != nil {
			continue // that was said
		}
		for _, h := range b.Heads {
			if _, asked := found[h.Scope]; asked {
				found[h.Scope] = append(found[h.Scope], anchor{revision: h.Revision, hash: h.Hash, by: by})
			}
		}
	}
	return found, tx.note(rows.Err())
}

func (tx *Tx) explainScope(c *verifier, s ledger.Scope, anchors []anchor) error {
	stands := map[int64]string{} // hashes as the columns hold them, whatever that is
	rows, err := tx.query(`SELECT revision, hash FROM entries WHERE scope_kind = $1 AND scope_id = $2`, s.Kind, s.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var revision, hash any
		if err := rows.Scan(&revision, &hash); err != nil {
			return tx.note(err)
		}
		if n, ok := revision.(int64); ok {
			stands[n] = text(hash)
		}
	}
	if err := rows.Err(); err != nil {
		return tx.note(err)
	}
	said := false
	for _, a := range anchors {
		what := ""
		switch is, ok := stands[a.revision]; {
		case !ok:
			what = fmt.Sprintf("the entry is missing: %s recorded it", a)
		case is != a.hash.String():
			what = fmt.Sprintf("%s recorded another entry here (hash %s, is %.80s)", a, a.hash, is)
		default:
			continue
		}
		said = true
		c.problem(Problem{Scope: s, Revision: a.revision, Text: what})
	}
	if !said {
		c.problem(Problem{Scope: s, Text: "the anchors of the installation's chain recorded other entries than those that stand here"})
	}
	return nil
}
