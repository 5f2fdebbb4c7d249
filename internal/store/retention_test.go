package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// Only what nothing needs any more is dropped: not what runs, what is selected, nor what an open plan or operation binds.
func TestRetentionDropsOnlyWhatNothingNeeds(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, other, p := w.Machine("w1"), w.Machine("w2"), w.Process()
		first := m.Complete(p, m.Approved(w.Config("first")))
		old := w.View(first).Plan.Artifact
		m.Complete(p, m.Approved(w.Config("second"))) // applied and selected
		sent := m.Sending(p, m.Approved(w.Config("sent")))
		open := other.Plan(w.Config("open"))
		other.Plan(w.Config("selected"))
		loose := w.Config("loose")
		keep := store.Retention{Configurations: 48 * time.Hour}

		if got := fine[store.RetentionBody](t)(w.Store.Retain(ctx, w.Admin, keep, false, "")); len(got.Dropped) != 0 {
			t.Fatalf("dropped before its time: %v", got.Dropped)
		}
		w.Spoil(`UPDATE artifacts SET created_at = created_at - $1`, (72 * time.Hour).Microseconds())
		fresh := w.Config("fresh")
		want := []string{loose, old}
		slices.Sort(want)
		if got := fine[store.RetentionBody](t)(w.Store.Retain(ctx, w.Admin, keep, true, "")); !slices.Equal(got.Dropped, want) {
			t.Fatalf("would drop %v, want %v", got.Dropped, want)
		}
		fine[string](t)(w.Store.Artifact(ctx, loose)) // that was a dry run
		got := fine[store.RetentionBody](t)(w.Store.Retain(ctx, w.Admin, keep, false, "monthly"))
		slices.Sort(got.Dropped)
		if !slices.Equal(got.Dropped, want) {
			t.Fatalf("dropped %v, want %v", got.Dropped, want)
		}
		for _, digest := range []string{fresh, open.Artifact, w.View(sent).Plan.Artifact, m.Record().Applied, other.Record().Desired, other.Record().Applied} {
			fine[string](t)(w.Store.Artifact(ctx, digest))
		}
		_, err := w.Store.Artifact(ctx, loose)
		wantCode(t, err, "not-kept")
		entries, err := w.Store.Entries(ctx, store.EntryFilter{Kinds: []string{dispatch.EntryRetention}})
		if err != nil || len(entries) != 1 {
			t.Fatalf("%d entries tell of it, %v", len(entries), err)
		}
		if w.Config("loose") != loose { // kept again
			t.Fatal("another digest")
		}
		fine[string](t)(w.Store.Artifact(ctx, loose))
	})
}

func TestRetentionTakesARecoveryAdminAndADay(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		_, err := w.Store.Retain(ctx, w.Admin, store.Retention{Configurations: time.Hour}, false, "")
		wantCode(t, err, "too-short")
		_, err = w.Store.Retain(ctx, w.Author, store.Retention{Configurations: 48 * time.Hour}, false, "")
		if _, ok := refusal.As(err); !ok {
			t.Fatalf("got %v", err)
		}
	})
}
