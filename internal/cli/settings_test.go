package cli

import (
	"context"
	"strings"
	"testing"
)

func TestStoreLocationFromFlag(t *testing.T) {
	show := func(_ context.Context, a *app) error {
		l, err := a.storeLocation()
		if err != nil {
			return err
		}
		if _, err := a.storeLocation(); err != nil { // asked for twice, told once
			return err
		}
		_, err = a.stdout.Write([]byte(l.String()))
		return err
	}
	if r := runWith(t, show); r.code != 0 || !strings.HasSuffix(r.stdout, "/.local/state/clew/store.db") {
		t.Errorf("default: exit %d, %q %q", r.code, r.stdout, r.stderr)
	}
	r := runWith(t, show, "--store", "postgres://ada:hunter2@db/clew")
	if r.code != 0 || strings.Contains(r.stdout+r.stderr, "hunter2") {
		t.Errorf("exit %d, %q %q", r.code, r.stdout, r.stderr)
	}
	if strings.Count(r.stderr, "PGPASSFILE") != 1 {
		t.Errorf("the note about the password appears other than once: %q", r.stderr)
	}
	for _, bad := range []string{"", "mysql://x", "a\nb"} {
		if r := runWith(t, show, "--store", bad); r.code != exitUsage {
			t.Errorf("--store %q: exit %d, want %d", bad, r.code, exitUsage)
		}
	}
}
