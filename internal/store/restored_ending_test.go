package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// forgetHeads takes away what this host remembers of the store: then it is not known what a restore may have lost.
func forgetHeads(t *testing.T, w *world.World) {
	t.Helper()
	w.Unchecked("what this host saw last is gone")
	removed := 0
	for _, dir := range []string{filepath.Dir(w.Place.Location.Path), w.Place.StateDir} {
		if dir == "" || dir == "." {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".head") || filepath.Base(filepath.Dir(path)) == "heads") {
				removed++
				return os.Remove(path)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if removed == 0 {
		t.Fatal("there is no head file to remove")
	}
}

// I5: an attempt that a restore lost may still be under way, so nothing ends and lets go of its machine before recovery is
// entered. What the target answers is recorded all the same.
func TestI5NothingEndsWhileTheStoreLooksRestored(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Sending(p, m.Approved(w.Config("next")))
		other := w.Machine("w2")
		waiting := other.Commit(p, other.Approved(w.Config("other")))
		m.Runs(w.View(op).Plan.Artifact)
		forgetHeads(t, w)
		op = m.Respond(op, 1, dispatch.Accepted)
		o := m.Read(p, dispatch.ForCompletion, op.Plan, op.ID)
		var restored *store.LooksRestored
		if _, err := w.Store.Finish(ctx, op.ID, op.Owner, o.Basis); !errors.As(err, &restored) {
			t.Errorf("completing: %v", err)
		}
		wantState(t, w, op, dispatch.Verifying)
		if _, err := w.Store.CancelOperation(ctx, waiting.ID, waiting.Owner, nil, "it is over"); !errors.As(err, &restored) {
			t.Errorf("cancelling: %v", err)
		}
		wantState(t, w, waiting, dispatch.Committed)
	})
}

// A revocation is remembered outside the store: a restore to before it would bring back what authorizes.
func TestARevocationIsRemembered(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m := w.Machine("w1")
		plan := m.Approved(w.Config("next"))
		if err := w.Store.RevokeApproval(ctx, w.Approver, plan.ID, "a mistake"); err != nil {
			t.Fatal(err)
		}
		head := m.Head()
		w.Unchecked("its timeline is rewound")
		w.Spoil(`UPDATE scopes SET revision = revision - 1 WHERE kind = 'machine' AND id = $1`, m.ID)
		_, err := w.Store.Commit(ctx, dispatch.CommitRequest{Plan: plan.ID, By: w.Process().Owner(), Request: world.Request(plan), Token: world.Token()})
		var restored *store.LooksRestored
		if !errors.As(err, &restored) {
			t.Errorf("with the revocation at %d rewound: %v", head, err)
		}
	})
}
