package store

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewops/clew/internal/ledger"
)

// steppedClock is a host's clock that a test sets.
type steppedClock struct{ offset atomic.Int64 }

func (c *steppedClock) now() time.Time       { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *steppedClock) step(d time.Duration) { c.offset.Add(int64(d)) }

func TestCommitmentsFailWhileTheClockIsBehind(t *testing.T) {
	clock := &steppedClock{}
	s := openAt(t, sqlitePlace(t, t.TempDir()), func(c *Config) { c.Clock = clock.now })
	if _, err := s.EnsureLocalIdentity(context.Background(), "ann"); err != nil {
		t.Fatal(err)
	}
	mustGuarded(t, s, 1)
	clock.step(-900 * time.Millisecond)
	mustGuarded(t, s, 1) // within the tolerance
	clock.step(900 * time.Millisecond)
	clock.step(time.Hour)
	mustGuarded(t, s, 1)
	clock.step(-time.Hour)
	var behind *ClockBehind
	if err := guarded(s); !errors.As(err, &behind) || behind.Scope != machineScope(testMachine) {
		t.Fatalf("got %v", err)
	}
	write(t, s, testScope, 1) // anything else goes on
	clock.step(time.Hour)
	mustGuarded(t, s, 1)
	clock.step(-time.Hour)
	if err := s.StepClock(context.Background(), Who{Identity: "ann", Role: RoleRecoveryAdmin}, "it was an hour ahead"); err != nil {
		t.Fatal(err)
	}
	mustGuarded(t, s, 1)
	clock.step(-time.Minute) // a second step, in the new era
	if err := guarded(s); !errors.As(err, &behind) {
		t.Fatalf("got %v", err)
	}
	checkChain(t, s, machineScope(testMachine))
	checkChain(t, s, installationScope)
}

// The installation's chain counts too: a machine that was never touched has no entry to compare with.
func TestTheClockIsComparedWithTheInstallation(t *testing.T) {
	clock := &steppedClock{}
	s := openAt(t, sqlitePlace(t, t.TempDir()), func(c *Config) { c.Clock = clock.now })
	clock.step(-time.Minute)
	var behind *ClockBehind
	if err := guarded(s); !errors.As(err, &behind) || behind.Scope != (ledger.Scope{Kind: ledger.Installation}) {
		t.Fatalf("got %v", err)
	}
}

func TestTimesAreTheDatabases(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		before := time.Now().Add(-time.Minute)
		e := write(t, s, testScope, 1)
		if e.At.Before(before) || e.At.After(time.Now().Add(time.Minute)) || e.At.Location() != time.UTC ||
			!e.At.Equal(e.At.Truncate(time.Microsecond)) {
			t.Fatalf("the entry is of %s", e.At)
		}
	})
}
