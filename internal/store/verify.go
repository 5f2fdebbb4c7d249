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
)

// Problem is one place where a store or a bundle does not hold: an entry, a head, or a row of a projected table.
type Problem = dispatch.Problem

// VerifyOptions say what else to compare with.
type VerifyOptions struct {
	// Checkpoint is what an earlier export said of the heads; nil compares with none. Only this shows a history that was
	// rewritten from some entry on to its end, heads and anchors with it.
	Checkpoint *Checkpoint

	// MaxProblems bounds Report.Problems; 0 is 1000.
	MaxProblems int
}

// Report is what a verification found. Without Problems, everything that was looked at holds.
type Report struct {
	Engine   string    `json:"engine"` // "sqlite", "postgres" or "bundle"
	At       time.Time `json:"at"`     // of the store as it was read
	Entries  int64     `json:"entries"`
	Scopes   int64     `json:"scopes"`
	Problems []Problem `json:"problems"`
	More     int64     `json:"more_problems,omitempty"` // beyond MaxProblems

	// Unjudged are timelines whose chain is broken: what they say was not judged any further.
	Unjudged []ledger.Scope `json:"unjudged,omitempty"`

	// AnchoredAt is the time of the newest anchor, AnchoredRevision its revision in the installation's chain; zero before
	// the first. Unanchored says from where on a cut tail, or a scope that is gone, would not show.
	AnchoredAt       time.Time    `json:"anchored_at,omitzero"`
	AnchoredRevision int64        `json:"anchored_revision,omitempty"`
	Unanchored       []Unanchored `json:"unanchored,omitempty"`

	// HeadFile says whether this host's memory of the heads was compared, and if not, why: "compared", "absent",
	// "of another epoch", "damaged" (which is a Problem too). Empty for a bundle.
	HeadFile string `json:"head_file,omitempty"`

	// Installation is the head of the installation's chain: of a checkpoint made now.
	Installation ledger.Head `json:"installation"`
}

// Holds says whether nothing was found.
func (r Report) Holds() bool { return len(r.Problems) == 0 && r.More == 0 }

// Unanchored is a scope's end that no anchor covers yet.
type Unanchored struct {
	Scope   ledger.Scope `json:"scope"`
	From    int64        `json:"from"`    // the first entry that is not anchored
	Entries int64        `json:"entries"` // how many
}

// Verify reads every entry in one snapshot and checks the chains, their heads and anchors, what this host and the
// checkpoint remember, that the projected tables are what the entries say, and the invariants of the dispatch contract.
// What does not hold is in the report; an error means that it could not be found out.
func (s *Store) Verify(ctx context.Context, o VerifyOptions) (Report, error) {
	c := newVerifier(s.Engine(), o)
	c.replay = newReplay(c)
	seen, err := s.head.load() // before the snapshot, which can only be further
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errHeadDamaged) {
		return Report{}, err
	}
	loaded := err
	if err := s.Restored(); err != nil {
		c.problem(Problem{Scope: installationScope, Text: err.Error()})
	}
	err = s.view(ctx, func(tx *Tx) error {
		c.report.At = tx.Now()
		if err := tx.rememberedHeads(c, seen, loaded); err != nil {
			return err
		}
		if err := tx.claimedHeads(c); err != nil {
			return err
		}
		kinds, err := tx.scopeKinds()
		if err != nil {
			return err
		}
		for _, kind := range kinds {
			if err := tx.verifyKind(c, kind); err != nil {
				return err
			}
			if err := tx.explainAnchors(c); err != nil {
				return err
			}
		}
		c.end()
		return c.replay.rest(tx)
	})
	return c.report, err
}

// rememberedHeads compares with what this host last saw, if it saw this recovery epoch.
func (tx *Tx) rememberedHeads(c *verifier, seen headState, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.report.HeadFile = "absent"
		return nil
	case err != nil:
		c.report.HeadFile = "damaged"
		c.problem(Problem{Scope: installationScope, Text: fmt.Sprintf("%v: %s", err, tx.store.head.path)})
		return nil
	}
	epochs, err := list(tx, scanText, `SELECT epoch FROM installation WHERE id = 1`)
	if err != nil {
		return err
	}
	if len(epochs) == 1 && epochs[0] != seen.Epoch {
		c.report.HeadFile = "of another epoch"
		return nil
	}
	c.report.HeadFile = "compared"
	for _, h := range seen.Heads {
		c.remember([]ledger.Head{h}, "this host's head file")
	}
	return nil
}

// scopeKinds are the kinds of scopes in the order of verification: those of the contract first, then all others.
func (tx *Tx) scopeKinds() ([]string, error) {
	kinds := append([]string{}, dispatch.HistoryOrder...)
	found, err := list(tx, scanText, `SELECT kind FROM scopes GROUP BY kind UNION SELECT scope_kind FROM entries GROUP BY scope_kind ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	for _, k := range found {
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}

const entryColumns = `SELECT scope_id, revision, kind, at, actor, links, body, prev, hash FROM entries `

// verifyKind reads the entries of one kind of scopes. Machines are read one by one, each followed by the rows that are
// projected from it.
func (tx *Tx) verifyKind(c *verifier, kind string) error {
	if kind != ledger.Machine {
		return tx.verifyEntries(c, kind, entryColumns+`WHERE scope_kind = $1 ORDER BY scope_id, revision`, kind)
	}
	ids, err := list(tx, scanText, `SELECT scope_id FROM entries WHERE scope_kind = $1 GROUP BY scope_id ORDER BY scope_id`, kind)
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := tx.verifyEntries(c, kind, entryColumns+`WHERE scope_kind = $1 AND scope_id = $2 ORDER BY revision`, kind, id)
		if err != nil {
			return err
		}
		if c.records != nil {
			if err := c.replay.machine(tx, id, c.records); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifyEntries feeds the verifier with the rows of a query, scope by scope.
func (tx *Tx) verifyEntries(c *verifier, kind, query string, args ...any) error {
	rows, err := tx.query(query, args...)
	if err != nil {
		return err
	}
	err = c.readRows(kind, rows)
	return tx.note(err)
}

func (c *verifier) readRows(kind string, rows cursor) error {
	defer rows.Close()
	c.records = nil
	stop := make(chan struct{})
	batches := c.rows.read(kind, rows, stop)
	defer func() { // the rows are the reader's until it has ended
		close(stop)
		for range batches {
		}
	}()
	for b := range batches {
		for _, e := range b.entries {
			c.enter(e.Scope)
			if e.bad != "" {
				c.broken(e.Revision, "%s", e.bad)
				continue
			}
			if err := c.entry(e.Entry, e.proved); err != nil {
				return err
			}
		}
		if b.err != nil {
			return b.err
		}
	}
	c.leave()
	return nil
}

// claimedHeads reads the rows of scopes: where each says that its timeline ends.
func (tx *Tx) claimedHeads(c *verifier) error {
	heads, err := list(tx, func(scan func(...any) error) (claimedHead, error) {
		h := claimedHead{row: true}
		var revision, at, era any
		err := scan(&h.scope.Kind, &h.scope.ID, &revision, &h.hash, &at, &era)
		for value, to := range map[*any]*int64{&revision: &h.revision, &at: &h.at, &era: &h.era} {
			n, ok := (*value).(int64)
			if !ok {
				h.bad = "holds a value of another type"
			}
			*to = n
		}
		return h, err
	}, `SELECT kind, id, revision, hash, at, era FROM scopes`)
	for _, h := range heads {
		c.heads[h.scope] = &h
	}
	return err
}
