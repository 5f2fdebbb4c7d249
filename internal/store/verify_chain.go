package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// verifier reads entries scope by scope and keeps what is wrong with them. It knows nothing of where they come from: a
// store and a bundle are checked alike.
type verifier struct {
	report  Report
	limit   int
	rows    entryRows
	heads   map[ledger.Scope]*claimedHead
	anchors map[ledger.Scope][]anchor
	logs    map[ledger.Scope]*anchorLog
	history *dispatch.History
	eras    eras
	replay  *replay // nil for a bundle, which has no tables

	// Of the scope that is being read.
	chain   ledger.Chain
	reading bool
	sound   bool      // its chain holds so far
	judged  []Problem // what History says of it, kept until the chain is known to hold
	last    ledger.Entry
	due     []anchor // its anchors that are kept whole, by revision
	log     anchorWalk
	reached anchor // the highest that the installation's chain recorded of it
	records *dispatch.Records

	seen     map[ledger.Scope]bool
	suspects []ledger.Scope // whose anchors do not fit: which, is still to be said
}

// claimedHead is a row of scopes, or a bundle's word for it, which has no time and no era.
type claimedHead struct {
	scope    ledger.Scope
	revision int64
	hash     string
	row      bool
	at       int64
	era      int64
	bad      string // why the row cannot be one that the store wrote
}

// anchor is somebody's memory that an entry stood there.
type anchor struct {
	revision int64
	hash     ledger.Hash
	by       int64  // revision of the installation's chain that recorded it; 0 when it was not the chain
	who      string // "this host's head file" or "the checkpoint", where it was not the chain
}

func (a anchor) String() string {
	if a.who != "" {
		return a.who
	}
	return fmt.Sprintf("the anchor of installation revision %d", a.by)
}

const defaultMaxProblems = 1000

func newVerifier(engine string, o VerifyOptions) *verifier {
	c := &verifier{
		report: Report{Engine: engine, Problems: []Problem{}}, limit: o.MaxProblems, rows: entryRows{actors: map[string]ledger.Actor{}},
		heads: map[ledger.Scope]*claimedHead{}, anchors: map[ledger.Scope][]anchor{}, logs: map[ledger.Scope]*anchorLog{}, seen: map[ledger.Scope]bool{},
	}
	if c.limit <= 0 {
		c.limit = defaultMaxProblems
	}
	c.history = dispatch.NewHistory(func(p Problem) { c.judged = append(c.judged, p) })
	if o.Checkpoint != nil {
		c.remember(o.Checkpoint.Heads, "the checkpoint")
	}
	return c
}

func (c *verifier) problem(p Problem) {
	if len(c.report.Problems) >= c.limit {
		c.report.More++
		return
	}
	c.report.Problems = append(c.report.Problems, p)
}

// broken reports an entry that the chain cannot contain, and with it that the scope's meaning is not judged.
func (c *verifier) broken(revision int64, format string, args ...any) {
	c.sound = false
	c.problem(Problem{Scope: c.chain.Head.Scope, Revision: revision, Text: fmt.Sprintf(format, args...)})
}

// remember adds heads that somebody outside the store saw.
func (c *verifier) remember(heads []ledger.Head, who string) {
	for _, h := range heads {
		if h.Revision > 0 {
			c.anchors[h.Scope] = append(c.anchors[h.Scope], anchor{revision: h.Revision, hash: h.Hash, who: who})
		}
	}
}

// enter begins a scope, unless it is the one being read.
func (c *verifier) enter(s ledger.Scope) {
	if c.reading && s == c.chain.Head.Scope {
		return
	}
	c.leave()
	c.reading, c.sound, c.last, c.records = true, true, ledger.Entry{}, nil
	c.chain = ledger.Chain{Head: ledger.Head{Scope: s}}
	if c.seen[s] { // values of another type sort apart
		c.broken(0, "entries of this scope stand in two places")
	} else {
		c.report.Scopes++
	}
	c.seen[s] = true
	c.due = c.anchors[s]
	delete(c.anchors, s)
	slices.SortStableFunc(c.due, func(a, b anchor) int { return cmp.Compare(a.revision, b.revision) })
	c.log = walk(c.logs[s])
	c.reached = anchor{}
	if l := c.logs[s]; l != nil {
		c.reached = l.last
	}
	delete(c.logs, s)
	for _, a := range c.due {
		if a.by != 0 && a.revision >= c.reached.revision {
			c.reached = a
		}
	}
}

// entry reads the scope's next entry. proved says that its hash was found to cover it.
func (c *verifier) entry(e ledger.Entry, proved bool) error {
	c.report.Entries++
	c.link(e, proved)
	c.last = e
	for len(c.due) > 0 && c.due[0].revision <= e.Revision {
		a := c.due[0]
		c.due = c.due[1:]
		if a.revision == e.Revision && a.hash != e.Hash {
			c.broken(e.Revision, "%s recorded another entry here (hash %s, is %s)", a, a.hash, e.Hash)
		}
	}
	c.log.entry(e)
	if e.Scope.Kind == ledger.Installation {
		c.installation(e)
	}
	if c.replay != nil {
		c.replay.entry(e)
	}
	if err := c.history.Add(e); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return nil
}

// link checks that the entry continues the chain. Entries that are missing before it are named, and the entry is then
// checked by itself.
func (c *verifier) link(e ledger.Entry, proved bool) {
	head := &c.chain.Head
	if next := head.Revision + 1; e.Revision > next {
		c.missing(next, e.Revision-1)
		head.Revision, head.Hash = e.Revision-1, e.Prev
	}
	if proved && e.Revision == head.Revision+1 && e.Prev == head.Hash {
		head.Revision, head.Hash = e.Revision, e.Hash
		return
	}
	if err := c.chain.Next(e); err != nil {
		c.broken(e.Revision, "%v", err)
		head.Revision, head.Hash = e.Revision, e.Hash
	}
}

func (c *verifier) missing(from, to int64) {
	if from == to {
		c.broken(from, "the entry is missing")
		return
	}
	c.broken(from, "the entries of revisions %d to %d are missing", from, to)
}

// installation keeps what the installation's chain remembers of the other scopes.
func (c *verifier) installation(e ledger.Entry) {
	c.eras.add(e)
	if e.Kind != dispatch.EntryAnchored {
		return
	}
	var b AnchorBody
	if err := json.Unmarshal(e.Body, &b); err != nil {
		c.broken(e.Revision, "its anchors cannot be read: %v", err)
		return
	}
	c.report.AnchoredAt, c.report.AnchoredRevision = e.At, e.Revision
	for _, h := range b.Heads {
		c.anchored(h.Scope, anchor{revision: h.Revision, hash: h.Hash, by: e.Revision})
	}
	if c.replay != nil {
		c.replay.anchors(b)
	}
}

// leave ends the scope being read: its head, its anchors, and what History says of it.
func (c *verifier) leave() {
	if !c.reading {
		return
	}
	c.reading = false
	s := c.chain.Head.Scope
	c.head(s)
	for _, a := range c.due {
		if a.revision > c.chain.Head.Revision {
			c.broken(a.revision, "the entry is missing: %s recorded it", a)
		}
	}
	if !c.log.holds() {
		c.sound = false
		c.suspects = append(c.suspects, s)
	}
	switch last := c.chain.Head.Revision; {
	case s.Kind == ledger.Installation:
		c.report.Installation = c.chain.Head
	case c.reached.revision < last:
		from := c.reached.revision + 1
		c.report.Unanchored = append(c.report.Unanchored, Unanchored{Scope: s, From: from, Entries: last - c.reached.revision})
	}
	c.records = c.history.EndScope()
	if !c.sound {
		c.report.Unjudged = append(c.report.Unjudged, s)
		c.judged, c.records = nil, nil
	}
	c.judge()
}

// judge hands on what History says.
func (c *verifier) judge() {
	for _, p := range c.judged {
		c.problem(p)
	}
	c.judged = nil
}

// head compares the scope's row with its last entry.
func (c *verifier) head(s ledger.Scope) {
	last := c.chain.Head
	h := c.heads[s]
	delete(c.heads, s)
	if h == nil {
		c.broken(last.Revision, "the scope has entries up to here and no head")
		return
	}
	switch {
	case h.bad != "":
		c.broken(last.Revision, "the scope's head %s", h.bad)
	case h.revision > last.Revision:
		c.missing(last.Revision+1, h.revision)
	case h.revision < last.Revision:
		c.broken(h.revision+1, "the scope's head is revision %d: this entry and those after it are none of its own", h.revision)
	case h.hash != last.Hash.String():
		c.broken(last.Revision, "the scope's head has another hash (%.80s, the entry's is %s)", h.hash, last.Hash)
	case !h.row:
	case h.at != micros(c.last.At):
		c.broken(last.Revision, "the scope's head has another time than the entry")
	case !c.eras.possible(h.era, c.last, c.reached):
		c.broken(last.Revision, "the scope's head has clock era %d, which the entry cannot have", h.era)
	}
}

// end runs what can be said after the last scope: heads without entries, scopes that are gone, what is not anchored.
func (c *verifier) end() {
	c.leave()
	for _, s := range sortedScopes(c.heads) {
		if h := c.heads[s]; !h.unused() {
			c.problem(Problem{Scope: s, Revision: max(h.revision, 1), Text: "the scope has a head and no entry"})
		}
	}
	for s, l := range c.logs {
		c.anchors[s] = append(c.anchors[s], l.last)
	}
	for _, s := range sortedScopes(c.anchors) {
		a := slices.MaxFunc(c.anchors[s], func(a, b anchor) int { return cmp.Compare(a.revision, b.revision) })
		c.problem(Problem{Scope: s, Revision: a.revision, Text: fmt.Sprintf("the scope is missing: %s recorded this entry", a)})
	}
	c.history.End()
	c.judge()
}

// unused says whether the row was only made to be locked: a rollout's, before its first entry.
func (h claimedHead) unused() bool {
	return h.bad == "" && h.scope.Kind == ledger.Rollout && h.revision == 0 && h.hash == (ledger.Hash{}).String() && h.at == 0 && h.era == 0
}

func sortedScopes[V any](m map[ledger.Scope]V) []ledger.Scope {
	return slices.SortedFunc(maps.Keys(m), func(a, b ledger.Scope) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
}
