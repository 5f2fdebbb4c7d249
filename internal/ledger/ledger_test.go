package ledger

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// chain is a sound timeline of n entries.
func chain(t *testing.T, n int) []Entry {
	t.Helper()
	var out []Entry
	var prev Hash
	for i := range n {
		e := Entry{
			Scope: Scope{Kind: Machine, ID: "m-1"}, Revision: int64(i + 1), Kind: "test", Prev: prev,
			At:    time.UnixMicro(1_700_000_000_000_000 + int64(i)).UTC(),
			Actor: Actor{Identity: "ada", Role: "author"},
			Links: []Link{{Rel: "after", Scope: Scope{Kind: Machine, ID: "m-1"}, Revision: int64(i)}},
			Body:  json.RawMessage(`{"n":` + strings.Repeat("1", i+1) + `}`),
		}
		sum, err := e.Sum()
		if err != nil {
			t.Fatal(err)
		}
		e.Hash, prev = sum, sum
		out = append(out, e)
	}
	return out
}

// follow returns the first break of a timeline.
func follow(entries []Entry) error {
	c := Chain{Head: Head{Scope: Scope{Kind: Machine, ID: "m-1"}}}
	for _, e := range entries {
		if err := c.Next(e); err != nil {
			return err
		}
	}
	return nil
}

func TestChainHolds(t *testing.T) {
	if err := follow(chain(t, 5)); err != nil {
		t.Fatal(err)
	}
}

// Every field of an entry is covered: a change of any one shows at that entry.
func TestChainShowsEveryChange(t *testing.T) {
	changes := map[string]func(e *Entry){
		"scope kind": func(e *Entry) { e.Scope.Kind = Identity },
		"scope id":   func(e *Entry) { e.Scope.ID = "m-2" },
		"revision":   func(e *Entry) { e.Revision++ },
		"kind":       func(e *Entry) { e.Kind = "other" },
		"time":       func(e *Entry) { e.At = e.At.Add(time.Microsecond) },
		"actor":      func(e *Entry) { e.Actor.Identity = "eve" },
		"links":      func(e *Entry) { e.Links[0].Revision = 7 },
		"no links":   func(e *Entry) { e.Links = nil },
		"body":       func(e *Entry) { e.Body = json.RawMessage(`{"n":2}`) },
		"prev":       func(e *Entry) { e.Prev[0] ^= 1 },
		"hash":       func(e *Entry) { e.Hash[0] ^= 1 },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			entries := chain(t, 5)
			change(&entries[2])
			err := follow(entries)
			if err == nil {
				t.Fatal("not seen")
			}
			if !strings.Contains(err.Error(), "revision") {
				t.Errorf("the error names no entry: %v", err)
			}
		})
	}
}

func TestChainShowsMissingAndSwappedEntries(t *testing.T) {
	entries := chain(t, 5)
	if err := follow(slices.Delete(slices.Clone(entries), 2, 3)); err == nil || !strings.Contains(err.Error(), "revision 4") {
		t.Errorf("a missing entry: %v", err)
	}
	swapped := slices.Clone(entries)
	swapped[1], swapped[2] = swapped[2], swapped[1]
	if err := follow(swapped); err == nil || !strings.Contains(err.Error(), "revision 3") {
		t.Errorf("swapped entries: %v", err)
	}
	// Contents exchanged under the old revisions.
	swapped = slices.Clone(entries)
	swapped[1].Body, swapped[2].Body = swapped[2].Body, swapped[1].Body
	if err := follow(swapped); err == nil || !strings.Contains(err.Error(), "revision 2 was changed") {
		t.Errorf("exchanged contents: %v", err)
	}
}

// Where a field ends is part of the hash: text cannot move from one field to the next.
func TestFieldsDoNotRunTogether(t *testing.T) {
	a := Entry{Scope: Scope{Kind: "ab", ID: "c"}}
	b := Entry{Scope: Scope{Kind: "a", ID: "bc"}}
	ha, err := a.Sum()
	if err != nil {
		t.Fatal(err)
	}
	hb, err := b.Sum()
	if err != nil {
		t.Fatal(err)
	}
	if ha == hb {
		t.Error("two entries have one hash")
	}
}

func TestScopesInLockOrder(t *testing.T) {
	scopes := []Scope{{Rollout, "a"}, {Machine, "b"}, {Identity, "z"}, {Machine, "a"}, {Identity, "a"}}
	slices.SortFunc(scopes, func(a, b Scope) int {
		if a.Less(b) {
			return -1
		}
		return 1
	})
	want := []Scope{{Machine, "a"}, {Machine, "b"}, {Identity, "a"}, {Identity, "z"}, {Rollout, "a"}}
	if !slices.Equal(scopes, want) {
		t.Errorf("order %v, want %v", scopes, want)
	}
}

func TestHashText(t *testing.T) {
	h := chain(t, 1)[0].Hash
	text, err := h.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var back Hash
	if err := back.UnmarshalText(text); err != nil || back != h {
		t.Errorf("read back %s, %v", back, err)
	}
	for _, bad := range []string{"", "zz", string(text) + "00", strings.Repeat("g", 64)} {
		if _, err := ParseHash(bad); err == nil {
			t.Errorf("%q was taken for a hash", bad)
		}
	}
}
