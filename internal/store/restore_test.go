package store

import (
	"context"
	"os"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store/storetest"
)

var ann = Who{Identity: "ann", Role: RoleRecoveryAdmin}

func admit(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.EnsureLocalIdentity(context.Background(), "ann"); err != nil {
		t.Fatal(err)
	}
}

func enter(t *testing.T, s *Store) string {
	t.Helper()
	epoch, err := s.EnterRecovery(context.Background(), ann, "restored from a backup")
	if err != nil {
		t.Fatal(err)
	}
	return epoch
}

// A rewound store goes on after recovery is entered, in a new epoch, also for processes that open it later; and a second
// restore, to before that, is noticed again.
func TestEnteringRecoveryEndsTheSuspicion(t *testing.T) {
	p := sqlitePlace(t, t.TempDir())
	path := p.Location.Path
	s := open(t, p)
	admit(t, s)
	mustGuarded(t, s, 2)
	before, _, err := s.Epoch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	closeNow(t, s)
	copyStore(t, path, path+".backup")
	s = open(t, p)
	mustGuarded(t, s, 3)
	closeNow(t, s)

	copyStore(t, path+".backup", path)
	s = open(t, p)
	wantRestored(t, guarded(s), "was seen")
	epoch := enter(t, s)
	if got, in, err := s.Epoch(context.Background()); err != nil || got != epoch || !in || got == before {
		t.Fatalf("epoch %s, in recovery %t, %v", got, in, err)
	}
	mustGuarded(t, s, 1)
	closeNow(t, s)
	s = open(t, p)
	mustGuarded(t, s, 1)
	checkChain(t, s, installationScope)
	closeNow(t, s)

	copyStore(t, path+".backup", path)
	s = openAt(t, p)
	wantRestored(t, guarded(s), "its recovery epoch is "+before)
}

// A copy that was moved to another file is bound to it by entering recovery.
func TestEnteringRecoveryBindsTheDatabase(t *testing.T) {
	p := sqlitePlace(t, t.TempDir())
	s := open(t, p)
	admit(t, s)
	closeNow(t, s)
	copyStore(t, p.Location.Path, p.Location.Path+".new")
	if err := os.Rename(p.Location.Path+".new", p.Location.Path); err != nil {
		t.Fatal(err)
	}
	s = open(t, p)
	wantRestored(t, guarded(s), "bound to another database")
	enter(t, s)
	mustGuarded(t, s, 1)
	closeNow(t, s)
	mustGuarded(t, openAt(t, p), 1)
}

// Recovery is entered on one host. Another one, whose head file knows the epoch that ended, follows; one that saw an epoch
// of which the store knows nothing does not.
func TestOtherHostsFollowANewEpoch(t *testing.T) {
	p := storetestPostgres(t)
	here := openAt(t, p)
	admit(t, here)
	mustGuarded(t, here, 1)
	elsewhere := p
	elsewhere.StateDir = t.TempDir()
	there := openAt(t, elsewhere)
	mustGuarded(t, there, 1)

	enter(t, here)
	mustGuarded(t, here, 1)
	mustGuarded(t, there, 1) // a running process
	closeNow(t, open(t, elsewhere))
	mustGuarded(t, openAt(t, elsewhere), 1) // and one that opens the store later

	stranger := p
	stranger.StateDir = t.TempDir()
	s := openAt(t, stranger)
	state, err := s.head.load()
	if err != nil {
		t.Fatal(err)
	}
	state.Epoch = random128()
	if err := s.head.replace(state); err != nil {
		t.Fatal(err)
	}
	wantRestored(t, guarded(s), "its recovery epoch is")
}

// Entering waits for the commitments under way, and none begins in the old epoch after it.
func TestEnteringRecoveryTakesARecoveryAdminAndAReason(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		admit(t, s)
		if _, err := s.CreateIdentity(ctx, ann, "bob", "", []string{RoleApprover, RoleOperator}); err != nil {
			t.Fatal(err)
		}
		before := headOf(t, s, installationScope)
		for _, who := range []Who{{Identity: "bob", Role: RoleRecoveryAdmin}, {Identity: "eve", Role: RoleRecoveryAdmin}, {Identity: "ann", Role: RoleRecoveryAdmin, Agent: true}} {
			if _, err := s.EnterRecovery(ctx, who, "a reason"); err == nil {
				t.Errorf("%+v entered recovery", who)
			} else if _, ok := refusal.As(err); !ok {
				t.Errorf("%+v: %v", who, err)
			}
		}
		if _, err := s.EnterRecovery(ctx, ann, ""); err == nil {
			t.Error("entered without a reason")
		}
		if err := s.LeaveRecovery(ctx, ann, "none is under way"); err == nil {
			t.Error("left what was not entered")
		}
		if after := headOf(t, s, installationScope); after != before {
			t.Error("a refusal moved the chain")
		}
	})
}

// The lock of the installation: recovery is not entered while a commitment holds it.
func TestRecoveryWaitsForACommitmentUnderWay(t *testing.T) {
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		s, other := openAt(t, p), openAt(t, p)
		admit(t, s)
		entered := make(chan error, 1)
		started := make(chan struct{})
		l := locks{machines: []string{testMachine}, identities: shared, installation: shared, guarded: true}
		var seen string
		err := s.update(context.Background(), l, "a commitment", func(tx *Tx) error {
			go func() {
				close(started)
				_, err := other.EnterRecovery(context.Background(), ann, "a test")
				entered <- err
			}()
			<-started
			select {
			case err := <-entered:
				t.Errorf("recovery was entered during a commitment: %v", err)
			default:
			}
			e, err := tx.append(machineScope(testMachine), dispatch.EntryCommitted, identityActor, nil, nil)
			seen = e.Kind
			return err
		})
		if err != nil || seen == "" {
			t.Fatal(err)
		}
		if err := <-entered; err != nil {
			t.Fatal(err)
		}
		// The commitment's entry is older than the recovery's.
		c, r := checkChain(t, s, machineScope(testMachine)), checkChain(t, s, installationScope)
		if last := r[len(r)-1]; last.Kind != dispatch.EntryRecoveryEntered || last.At.Before(c[0].At) {
			t.Fatalf("the recovery is of %s, the commitment of %s", last.At, c[0].At)
		}
	})
}
