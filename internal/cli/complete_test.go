package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// complete asks for completion as a shell does.
func (h *home) complete(args ...string) string {
	h.t.Helper()
	r := h.run(append([]string{"__complete"}, args...)...)
	if r.code != exitDone {
		h.t.Errorf("completing %v: exit %d: %s", args, r.code, r.stderr)
	}
	return r.stdout
}

func TestCompletion(t *testing.T) {
	h := imported(t)
	plan := h.planned("-n", "worker-1", "-p", label("complete", "me"))
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"machine", "show", ""}, "worker-1\t"},
		{[]string{"machine", "freeze", ""}, "worker-2\t"},
		{[]string{"apply", "-n", ""}, "worker-1\t"},
		{[]string{"approve", ""}, plan + "\t"},
		{[]string{"dispatch", "p-"}, plan + "\t"},
		{[]string{"plan", "cancel", ""}, plan + "\t"},
		{[]string{"show", ""}, plan + "\t"},
		{[]string{"log", ""}, "cp-1\t"},
		{[]string{"admin", "role", "add", "x", ""}, "approver"},
		{[]string{"admin", "identity", "create", "x", "--role", ""}, "operator"},
	} {
		if got := h.complete(tc.args...); !strings.Contains(got, tc.want) {
			t.Errorf("%v: %q lacks %q", tc.args, got, tc.want)
		}
	}
}

// TestCompletionWithoutAStore creates none and stays silent.
func TestCompletionWithoutAStore(t *testing.T) {
	h := newHome(t)
	for _, args := range [][]string{{"machine", "show", ""}, {"approve", ""}, {"settle", ""}, {"show", ""}} {
		if got := h.complete(args...); strings.Contains(got, "clew") {
			t.Errorf("%v: %q", args, got)
		}
	}
	if _, err := os.Stat(filepath.Join(h.dir, ".local")); err == nil {
		t.Error("completing created something")
	}
}
