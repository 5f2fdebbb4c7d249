package store_test

import (
	"context"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

func TestAReadIsRecordedOnce(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		o := m.End(m.Begin(p, dispatch.ForDrift))
		if o.Basis == 0 || o.Revision <= o.Basis || o.StartedAt.IsZero() {
			t.Fatalf("recorded: %+v", o)
		}
		later := o
		later.Reading.Stage = "booting"
		again, _, err := w.Store.RecordRead(ctx, later)
		if err != nil || again.Revision != o.Revision || again.Reading.Stage != "running" {
			t.Errorf("recorded again: %+v, %v", again, err)
		}
		other := m.Begin(p, dispatch.ForDrift)
		other.Instance = w.Process().ID
		_, _, err = w.Store.RecordRead(ctx, other)
		wantRefusal(t, err, refusal.None, "read-over")
		latest := fine[*dispatch.Observation](t)(w.Store.LatestObservation(ctx, m.ID))
		if latest.Basis != o.Basis {
			t.Errorf("the latest is %d, want %d", latest.Basis, o.Basis)
		}
	})
}

// I6: a read that failed shows nothing, and can no longer be recorded.
func TestI6AFailedReadShowsNothing(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		before := fine[*dispatch.Observation](t)(w.Store.LatestObservation(ctx, m.ID))
		o := m.Begin(p, dispatch.ForDrift)
		for range 2 {
			if err := w.Store.FailRead(ctx, m.ID, o.Basis, p.ID, "no route to host"); err != nil {
				t.Fatal(err)
			}
		}
		o.Reading = m.Node
		_, _, err := w.Store.RecordRead(ctx, o)
		wantRefusal(t, err, refusal.None, "read-over")
		after := fine[*dispatch.Observation](t)(w.Store.LatestObservation(ctx, m.ID))
		if after.Basis != before.Basis {
			t.Errorf("the latest reading is %d, was %d", after.Basis, before.Basis)
		}
		if n := len(bodies(t, w, m.ID, dispatch.EntryReadFailed)); n != 1 {
			t.Errorf("%d failures are on the timeline", n)
		}
	})
}

// heldAttempt holds an attempt inside its transaction and begins a read meanwhile, with the store that read opens. It
// returns the basis and the attempt, and whether the read had begun before the attempt was let go.
func heldAttempt(t *testing.T, w *world.World, adjust ...func(*store.Config)) (basis int64, attempt dispatch.Attempt, atOnce bool) {
	t.Helper()
	m, p := w.Machine("w1"), w.Process()
	op := m.Commit(p, m.Approved(w.Config("next")))
	reader := w.Open(adjust...) // before the lock is held: opening takes it too
	held, release := make(chan struct{}), make(chan struct{})
	gated := w.Open(func(c *store.Config) {
		c.Gate = func(_ context.Context, name string) error {
			if name == "attempt" {
				close(held)
				<-release
			}
			return nil
		}
	})
	plan := w.View(op).Plan
	attempted := make(chan dispatch.AttemptResult, 1)
	go func() {
		r, err := gated.Attempt(ctx, dispatch.AttemptRequest{Operation: op.ID, By: op.Owner, Request: world.Request(plan), Token: world.Token(), Host: p.Host})
		if err != nil {
			t.Errorf("the attempt: %v", err)
		}
		attempted <- r
	}()
	<-held
	began := make(chan int64, 1)
	go func() {
		basis, err := reader.StartRead(ctx, dispatch.Observation{Machine: m.ID, Purpose: dispatch.ForCompletion, Instance: p.ID, Route: dispatch.Direct})
		if err != nil {
			t.Errorf("the read: %v", err)
		}
		began <- basis
	}()
	select {
	case basis = <-began:
		atOnce = true
	case <-w.Waiting():
	}
	close(release)
	attempt = (<-attempted).Attempt
	if !atOnce {
		basis = <-began
	}
	return basis, attempt, atOnce
}

// A read that begins while a transaction is open is ordered after what that transaction records.
func TestABasisIsTakenUnderTheScopeLock(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		basis, attempt, atOnce := heldAttempt(t, w)
		if atOnce || basis <= attempt.Revision {
			t.Errorf("the read began at %d (without waiting: %v), the attempt is of revision %d", basis, atOnce, attempt.Revision)
		}
	})
}

// Without the lock its basis is the newest revision that can be seen: a reading of the time after the attempt then counts
// as one from before it, or the other way round. On SQLite writers queue whatever is locked.
func TestControlWithoutTheBasisLock(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		if w.Place.Location.Engine == config.SQLite {
			t.Skip("on SQLite there is no reading of a basis beside an open transaction")
		}
		w.Unchecked("a control")
		basis, attempt, atOnce := heldAttempt(t, w, without(dispatch.GuardBasisLock))
		if !atOnce || basis >= attempt.Revision {
			t.Errorf("the read began at %d (without waiting: %v), the attempt is of revision %d", basis, atOnce, attempt.Revision)
		}
	})
}
