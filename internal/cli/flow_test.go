package cli

import (
	"strings"
	"testing"
)

func TestImportApplyAndLog(t *testing.T) {
	h := imported(t)
	if r := h.want(exitDone); !strings.Contains(r.stdout, "quiet") {
		t.Errorf("bare clew after the import: %s", r.stdout)
	}
	r := h.person(exitDone, "apply", "-n", "worker-1", "-p", label("rack", "r1"))
	if !strings.Contains(r.stdout, "completed on worker-1") {
		t.Errorf("apply: %s", r.stdout)
	}
	for _, args := range [][]string{
		{"machine", "list"}, {"machine", "show", "worker-1", "--refresh"}, {"log"}, {"log", "-o", "md"}, {"show", "-"}, {"verify"}, {"plan", "list", "--all"}, {"-v", "machine", "show", "worker-1"}, {"whoami"},
	} {
		r := h.want(exitDone, args...)
		t.Logf("$ clew %s\n%s%s", strings.Join(args, " "), r.stdout, r.stderr)
	}
}
