package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// headFile is where this host remembers the world's heads.
func headFile(t *testing.T, w *world.World) string {
	t.Helper()
	if w.Place.Location.Engine == config.SQLite {
		return w.Place.Location.Path + ".head"
	}
	files, err := filepath.Glob(filepath.Join(w.Place.StateDir, "heads", "*.head"))
	if err != nil || len(files) != 1 {
		t.Fatalf("head files: %v, %v", files, err)
	}
	return files[0]
}

// What a commitment or an attempt left is remembered on this host at once.
func TestVerifyComparesTheHeadFile(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m := w.Machine("one")
		m.Sending(w.Process(), m.Approved(w.Config("next")))
		x := tampering(t, w)
		scope := ledger.Scope{Kind: ledger.Machine, ID: m.ID}
		last := x.one(`SELECT revision FROM scopes WHERE kind = $1 AND id = $2`, scope.Kind, scope.ID).(int64)
		if _, err := w.Store.Anchor(ctx); err != nil { // so that the store writes no anchor while the test tampers
			t.Fatal(err)
		}
		x.undo(func() {
			x.cut(scope, last)
			r := verify(t, w, store.VerifyOptions{})
			if !slices.ContainsFunc(r.Problems, func(p store.Problem) bool {
				return p.Scope == scope && p.Revision == last && strings.Contains(p.Text, "head file")
			}) {
				t.Errorf("the cut is not found by what this host remembers: %v", r.Problems)
			}
		}, "entries", "scopes")

		path := headFile(t, w)
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damaged := slices.Clone(kept)
		damaged[20] ^= 1
		for _, c := range []struct {
			says string
			file []byte
			ok   bool
		}{{"damaged", damaged, false}, {"absent", nil, true}, {"compared", kept, true}} {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if c.file != nil {
				if err := os.WriteFile(path, c.file, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if r := verify(t, w, store.VerifyOptions{}); r.HeadFile != c.says || r.Holds() != c.ok {
				t.Errorf("want %q, the report says %q and finds %v", c.says, r.HeadFile, r.Problems)
			}
		}
	})
}

// Recoveries and clock steps are told whole, and a head's clock era is one that its entry can have.
func TestVerifyRecoveriesAndClockSteps(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		m := w.Machine("one")
		m.Sending(w.Process(), m.Approved(w.Config("next")))
		_, err := w.Store.Anchor(ctx)
		ok(err)
		ok(w.Store.StepClock(ctx, w.Admin, "the clock was an hour ahead"))
		_, err = w.Store.EnterRecovery(ctx, w.Admin, "a drill")
		ok(err)
		_, err = w.Store.CloseMachines(ctx, w.Admin, w.Process().ID)
		ok(err)
		_, err = w.Store.Anchor(ctx) // so that the store writes no anchor while the test tampers
		ok(err)
		wantHolds(t, verify(t, w, store.VerifyOptions{}))

		x := tampering(t, w)
		ben := ledger.Scope{Kind: ledger.Identity, ID: "ben"} // anchored before the step
		for _, c := range []struct {
			scope ledger.Scope
			era   int64
			ok    bool
		}{{ben, 1, true}, {ben, 2, false}, {ben, 0, false}, {ledger.Scope{Kind: ledger.Installation}, 1, false}, {ledger.Scope{Kind: ledger.Machine, ID: m.ID}, 3, false}} {
			x.undo(func() {
				x.exec(`UPDATE scopes SET era = $1 WHERE kind = $2 AND id = $3`, c.era, c.scope.Kind, c.scope.ID)
				if r := verify(t, w, store.VerifyOptions{}); r.Holds() != c.ok {
					t.Errorf("%s in clock era %d: found %v", c.scope, c.era, r.Problems)
				}
			}, "scopes")
		}
	})
}
