package store

import (
	"context"
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store/storetest"
)

// anchoredHeads are the newest heads that the installation's chain tells of.
func anchoredHeads(t *testing.T, s *Store) map[ledger.Scope]ledger.Head {
	t.Helper()
	out := map[ledger.Scope]ledger.Head{}
	for _, e := range checkChain(t, s, installationScope) {
		if e.Kind != dispatch.EntryAnchored {
			continue
		}
		var b AnchorBody
		if err := json.Unmarshal(e.Body, &b); err != nil {
			t.Fatal(err)
		}
		for _, h := range b.Heads {
			out[h.Scope] = h
		}
	}
	return out
}

func TestACleanEndAnchorsEverythingThatMoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		s := open(t, p)
		write(t, s, testScope, 3)
		write(t, s, identityScope("ann"), 1)
		closeNow(t, s)
		s = open(t, p)
		heads := anchoredHeads(t, s)
		for _, scope := range []ledger.Scope{testScope, identityScope("ann")} {
			if heads[scope] != headOf(t, s, scope) {
				t.Errorf("%s: anchored %+v", scope, heads[scope])
			}
		}
		before := headOf(t, s, installationScope)
		closeNow(t, s) // only read: nothing to anchor, nothing written
		s = openAt(t, p)
		if after := headOf(t, s, installationScope); after != before {
			t.Errorf("a process that only read moved the installation's chain")
		}
	})
}

// What a process left that was killed is anchored by the next one that writes.
func TestAnchorsCatchUp(t *testing.T) {
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		killed := openAt(t, p)
		write(t, killed, testScope, 2)
		next := openAt(t, p)
		write(t, next, identityScope("ann"), 1)
		n, err := next.Anchor(context.Background())
		if err != nil || n != 2 {
			t.Fatalf("%d heads anchored, %v", n, err)
		}
		if n, err := next.Anchor(context.Background()); err != nil || n != 0 {
			t.Fatalf("%d heads anchored again, %v", n, err)
		}
		if h := anchoredHeads(t, next)[testScope]; h != headOf(t, next, testScope) {
			t.Fatalf("anchored %+v", h)
		}
	})
}

// An anchor waits for no machine: a transaction that holds one's scope may take long.
func TestAnAnchorWaitsForNoMachine(t *testing.T) {
	s := openAt(t, storetestPostgres(t))
	ctx := context.Background()
	mustGuarded(t, s, 1)
	err := s.update(ctx, locks{machines: []string{testMachine}, identities: shared, installation: shared}, "a test", func(tx *Tx) error {
		if _, err := tx.append(machineScope(testMachine), "test.written", ledger.Actor{}, nil, nil); err != nil {
			return err
		}
		n, err := s.Anchor(ctx)
		if n != 1 && err == nil {
			t.Errorf("%d heads anchored", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if h := anchoredHeads(t, s)[machineScope(testMachine)]; h.Revision != 1 {
		t.Fatalf("anchored %+v: only what was committed counts", h)
	}
}

// An open store anchors by itself what it wrote, without being asked or closed.
func TestAnOpenStoreAnchorsByItself(t *testing.T) {
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		s := openAt(t, p, func(c *Config) { c.AnchorEvery = time.Millisecond })
		write(t, s, testScope, 1)
		left := func() (n int) {
			err := s.view(context.Background(), func(tx *Tx) error {
				heads, err := tx.unanchored(10)
				n = len(heads)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for deadline := time.Now().Add(time.Minute); left() > 0; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatal("it was not anchored")
			}
		}
	})
}
