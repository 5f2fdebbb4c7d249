package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheKeyIsMadeOnce: with another key than the store's a plan could be approved and never be sent.
func TestTheKeyIsMadeOnce(t *testing.T) {
	h := imported(t)
	plan := h.planned("-n", "worker-1", "-p", label("key", "right"))
	h.person(exitDone, "approve", plan)
	entries := h.entries()
	change := []string{"plan", "create", "-n", "worker-1", "-p", label("key", "wrong")}
	says := func(what, path string, r result) {
		t.Helper()
		for _, part := range []string{path, "no stored configuration can be sent", "CLEW_KEY_FILE", "next: clew whoami"} {
			if !strings.Contains(r.stderr, part) {
				t.Errorf("%s: the error does not say %q: %s", what, part, r.stderr)
			}
		}
	}

	typo := &home{t: t, dir: h.dir, env: append([]string{"CLEW_KEY_FILE=" + filepath.Join(h.dir, "typo")}, h.env...)}
	says("a wrong name", "typo", typo.want(exitFailure, change...))
	if _, err := os.Lstat(filepath.Join(h.dir, "typo")); err == nil {
		t.Error("a second key was made")
	}

	// A store of its own has a key of its own; it is not the first one's.
	other := newHome(t, "XDG_STATE_HOME="+t.TempDir(), "CLEW_KEY_FILE="+filepath.Join(h.dir, "other"))
	other.person(exitDone, "machine", "import", "--talosconfig", theLab(t).Talosconfig())
	wrong := &home{t: t, dir: h.dir, env: append([]string{"CLEW_KEY_FILE=" + filepath.Join(h.dir, "other")}, h.env...)}
	says("another key", "other", wrong.want(exitFailure, change...))
	if got := h.entries(); got != entries {
		t.Errorf("%d entries were written with the wrong key", got-entries)
	}
	r := wrong.run("dispatch", plan)
	if r.code != exitFailure {
		t.Errorf("dispatch with another key: exit %d: %s", r.code, r.stderr)
	}
	says("dispatch", "other", r)
	wrong.want(exitDone, "machine", "show", "worker-1", "--refresh") // reading needs no key

	key := filepath.Join(h.dir, ".local", "state", "clew", "artifact.key")
	if err := os.Rename(key, key+".kept"); err != nil {
		t.Fatal(err)
	}
	says("a lost key", "artifact.key", h.want(exitFailure, change...))
	if err := os.Rename(key+".kept", key); err != nil {
		t.Fatal(err)
	}
	// A new key before the old one: new configurations are encrypted with it, old ones still open.
	old, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := os.ReadFile(filepath.Join(h.dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, append(fresh, old...), 0o600); err != nil {
		t.Fatal(err)
	}
	h.want(exitDone, "dispatch", plan)
	h.want(exitDone, change...)
}
