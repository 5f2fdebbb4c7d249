// Package ledger is the shape of the append-only timeline: scopes, entries, revisions and the hash chain. It is pure:
// who stores entries, and under which lock a revision is taken, is the store's business.
//
// An entry never changes and is never removed. Each scope counts its own revisions from 1; an entry's hash covers the
// hash of the entry before it, so that a changed, removed or swapped entry shows at that entry.
package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Kinds of scopes. A scope is what one lock orders: hot paths never share one.
const (
	Machine      = "machine"
	Identity     = "identity"
	Installation = "installation" // one per store; id "" ; the chain that anchors all heads
	Instance     = "instance"
	Rollout      = "rollout"
)

// Scope names one timeline.
type Scope struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// String is kind/id.
func (s Scope) String() string { return s.Kind + "/" + s.ID }

// Less is the lock order of scopes: machines first, then by kind and id.
func (s Scope) Less(o Scope) bool {
	if (s.Kind == Machine) != (o.Kind == Machine) {
		return s.Kind == Machine
	}
	if s.Kind != o.Kind {
		return s.Kind < o.Kind
	}
	return s.ID < o.ID
}

// Hash is the SHA-256 of an entry; the zero Hash stands before the first entry of a scope.
type Hash [sha256.Size]byte

// String is lower-case hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText is lower-case hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(b []byte) error {
	p, err := ParseHash(string(b))
	if err == nil {
		*h = p
	}
	return err
}

// ParseHash reads 64 hex digits.
func ParseHash(s string) (Hash, error) {
	var h Hash
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("not a SHA-256 in hex: %.80q", s)
	}
	copy(h[:], b)
	return h, nil
}

// Assurance says how an identity is known: a local store only hears a name asserted, a server authenticates it.
type Assurance string

// The two assurances.
const (
	Asserted      Assurance = "asserted"
	Authenticated Assurance = "authenticated"
)

// Actor says who wrote an entry: an identity in a role, or an executor's instance at a generation, and the recovery
// epoch it acted in.
type Actor struct {
	Identity   string    `json:"identity,omitempty"`
	Role       string    `json:"role,omitempty"`
	Assurance  Assurance `json:"assurance,omitempty"`
	Instance   string    `json:"instance,omitempty"`
	Generation int64     `json:"generation,omitempty"`
	Epoch      string    `json:"epoch,omitempty"`
}

// Link names an entry or record that an entry relies on. Revision 0 links to the record as a whole.
type Link struct {
	Rel      string `json:"rel"`
	Scope    Scope  `json:"scope"`
	Revision int64  `json:"revision,omitempty"`
	ID       string `json:"id,omitempty"` // record id: p-..., op-..., i-...
}

// Entry is one fact of a scope's timeline. At is the database's time in UTC, microseconds; Body is compact JSON whose
// shape Kind fixes.
type Entry struct {
	Scope    Scope           `json:"scope"`
	Revision int64           `json:"revision"`
	Kind     string          `json:"kind"`
	At       time.Time       `json:"at"`
	Actor    Actor           `json:"actor"`
	Links    []Link          `json:"links,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"`
	Prev     Hash            `json:"prev"`
	Hash     Hash            `json:"hash"`
}

// Head is where a scope's timeline ends.
type Head struct {
	Scope    Scope `json:"scope"`
	Revision int64 `json:"revision"`
	Hash     Hash  `json:"hash"`
}

// Sum is the hash of the entry's every field but Hash itself. Each field is preceded by its length, so that no two
// different entries have the same preimage.
func (e Entry) Sum() (Hash, error) {
	actor, err := json.Marshal(e.Actor)
	if err != nil {
		return Hash{}, err
	}
	links, err := json.Marshal(e.Links)
	if err != nil {
		return Hash{}, err
	}
	return e.SumOf(actor, links), nil
}

// SumOf is Sum for who has the JSON of the entry's Actor and Links (null without links) at hand, and ignores the fields.
func (e Entry) SumOf(actor, links []byte) Hash {
	h := sha256.New()
	var n [8]byte
	put := func(b []byte) {
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	num := func(v int64) {
		binary.BigEndian.PutUint64(n[:], uint64(v))
		h.Write(n[:])
	}
	put([]byte("clew entry 1"))
	put([]byte(e.Scope.Kind))
	put([]byte(e.Scope.ID))
	num(e.Revision)
	put([]byte(e.Kind))
	num(e.At.UnixMicro())
	put(actor)
	put(links)
	put(e.Body)
	h.Write(e.Prev[:])
	var out Hash
	h.Sum(out[:0])
	return out
}

// Chain follows one scope's entries in order and says where the chain breaks.
type Chain struct {
	Head Head
}

// Next checks that e is the entry right after the head, and moves the head to it. The error names e.
func (c *Chain) Next(e Entry) error {
	at := fmt.Sprintf("%s revision %d", e.Scope, e.Revision)
	if e.Scope != c.Head.Scope {
		return fmt.Errorf("%s stands in the chain of %s", at, c.Head.Scope)
	}
	if e.Revision != c.Head.Revision+1 {
		return fmt.Errorf("%s follows revision %d: an entry is missing or out of order", at, c.Head.Revision)
	}
	if e.Prev != c.Head.Hash {
		return fmt.Errorf("%s does not continue the entry before it (hash %s, expected %s)", at, e.Prev, c.Head.Hash)
	}
	sum, err := e.Sum()
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if sum != e.Hash {
		return fmt.Errorf("%s was changed: its hash is %s, its content gives %s", at, e.Hash, sum)
	}
	c.Head.Revision, c.Head.Hash = e.Revision, e.Hash
	return nil
}
