package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

// TestRecoveryAfterARestore puts an old copy of the store back. Nothing is dispatched until a recovery-admin has been
// through the procedure, and nothing from before it authorizes.
func TestRecoveryAfterARestore(t *testing.T) {
	t.Parallel() // it waits for the settle time
	h := imported(t)
	plan := h.planned("-n", "worker-1", "-p", label("restored", "plan"))
	h.person(exitDone, "approve", plan)
	file := filepath.Join(h.dir, ".local", "state", "clew", "store.db")
	backup, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h.want(exitDone, "dispatch", plan)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(file + suffix); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, backup, 0o600); err != nil {
		t.Fatal(err)
	}

	if r := h.want(exitNeedsYou); !strings.Contains(r.stdout, "looks restored") || !strings.Contains(r.stdout, "clew admin recovery enter") {
		t.Errorf("bare clew: %s", r.stdout)
	}
	if r := h.want(exitFailure, "dispatch", plan); !strings.Contains(r.stderr, "looks restored") {
		t.Errorf("dispatch in a restored store: %s", r.stderr)
	}
	reason := []string{"--reason", "the disk died"}
	h.want(exitRefused, append([]string{"admin", "recovery", "enter"}, reason...)...)
	h.want(exitUsage, "admin", "recovery", "enter")
	h.person(exitDone, append([]string{"admin", "recovery", "enter"}, reason...)...)
	s := decode[store.RecoveryStatus](t, h.want(exitDone, "admin", "recovery", "status", "-o", "json"))
	if !s.InRecovery || s.Restored != "" {
		t.Errorf("after the entry: %+v", s)
	}
	h.person(exitDone, append([]string{"admin", "recovery", "enter"}, reason...)...) // cut short and typed again
	if again := decode[store.RecoveryStatus](t, h.want(exitDone, "admin", "recovery", "status", "-o", "json")); again.Epoch != s.Epoch {
		t.Error("typed again, it issued another epoch")
	}
	if r := h.want(exitRefused, "dispatch", plan); !strings.Contains(r.stderr, "comparison 1") {
		t.Errorf("an approval from before the restore: %s", r.stderr)
	}
	h.person(exitRefused, append([]string{"admin", "recovery", "leave"}, reason...)...)
	h.person(exitRefused, append([]string{"admin", "recovery", "release", "worker-1"}, reason...)...)
	h.person(exitDone, append([]string{"admin", "recovery", "mark", "worker-1", "worker-2", "ready", "--wait", "5m"}, reason...)...)
	h.person(exitDone, append([]string{"admin", "recovery", "release", "worker-1", "worker-2"}, reason...)...)
	h.person(exitDone, append([]string{"admin", "recovery", "leave"}, reason...)...)
	h.person(exitDone, append([]string{"admin", "recovery", "clock"}, reason...)...)

	// What was sent before the restore is drift now: found, and accepted by a decision of its own.
	h.want(exitNeedsYou, "machine", "diff", "worker-1")
	adopt := h.planned("--adopt", "-n", "worker-1")
	h.person(exitDone, "approve", adopt)
	h.want(exitDone, "dispatch", adopt)
	if m := h.machine("worker-1"); m.Status != "in sync" && m.Status != "pending" || m.Recovery != dispatch.NoRecovery {
		t.Errorf("at the end: %+v", m)
	}
	h.want(exitDone, "verify")
	if r := h.want(exitDone, "admin", "retention", "--configurations", "30d", "--dry-run"); !strings.Contains(r.stdout, "would drop 0") {
		t.Errorf("retention: %s", r.stdout)
	}
	h.want(exitRefused, "admin", "retention", "--configurations", "1h")
	h.want(exitUsage, "admin", "retention")
}
