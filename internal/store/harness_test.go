package store

import (
	"context"
	"testing"

	"github.com/clewops/clew/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// openAt opens a store at a place; several at one place are what several processes would be.
func openAt(t testing.TB, p storetest.Place, adjust ...func(*Config)) *Store {
	t.Helper()
	cfg := Config{Location: p.Location, StateDir: p.StateDir}
	for _, f := range adjust {
		f(&cfg)
	}
	s, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// onEach runs a test on a fresh store of every engine.
func onEach(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, p storetest.Place) { test(t, openAt(t, p)) })
}
