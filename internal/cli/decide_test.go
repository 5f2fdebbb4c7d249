package cli

import (
	"strings"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
)

// TestOnlyAPersonAtATerminalDecides: without a terminal, in the environment of a known agent, and with another word than
// the one asked for, nothing is decided.
func TestOnlyAPersonAtATerminalDecides(t *testing.T) {
	h := imported(t)
	plan := h.planned("-n", "worker-1", "-p", label("decided", "by"))
	entries := h.entries()
	same := func(word string) string { return word }
	demand := func(r result, part string) {
		t.Helper()
		if !strings.HasPrefix(lastRefusal(r.stderr), "refused by clew: ") || !strings.Contains(r.stderr, part) || !strings.Contains(r.stderr, "clew approve "+plan) {
			t.Errorf("want %q and the person's command, got: %s", part, r.stderr)
		}
		if got := h.entries(); got != entries {
			t.Errorf("%d entries were written", got-entries)
		}
	}
	demand(h.want(exitRefused, "approve", plan), "no terminal")
	for _, variable := range []string{
		"CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=x", "CODEX_SANDBOX=1", "CURSOR_TRACE_ID=x", "GEMINI_CLI=1", "GITHUB_ACTIONS=true",
		"CI=true", "CLEW_SESSION_KIND=agent", "CLEW_SESSION=agent-7",
	} {
		inside := &home{t: t, dir: h.dir, env: append([]string{variable}, h.env...)}
		name, _, _ := strings.Cut(variable, "=")
		demand(inside.answering(exitRefused, same, "approve", plan), name)
	}
	for _, wrong := range []string{"yes", "", plan[:len(plan)-1], strings.ToUpper(plan) + "!"} {
		demand(h.answering(exitRefused, func(string) string { return wrong }, "approve", plan), "was not typed")
	}
	for _, harmless := range []string{"CI=false", "CI=", "CLEW_SESSION=ada", "CLAUDECODE="} {
		outside := &home{t: t, dir: h.dir, env: append([]string{harmless}, h.env...)}
		if name, _ := newApp(nil, nil, nil, outside.env).agent(); name != "" {
			t.Errorf("%s is taken for %s", harmless, name)
		}
	}
	r := h.answering(exitDone, func(word string) string { return " " + word + " " }, "approve", plan)
	if !strings.Contains(r.stderr, "decided: by") && !strings.Contains(r.stderr, "decided") {
		t.Errorf("the difference is not shown where the question stands: %s", r.stderr)
	}
	v := decode[planView](t, h.want(exitDone, "show", plan, "-o", "json").recordOf(t))
	if v.Standing.State != dispatch.PlanApproved || len(v.Approvals) != 1 || !v.Approvals[0].Self {
		t.Errorf("approved: %+v", v)
	}
}

// lastRefusal is the line of stderr that says what was refused; a question may stand before it.
func lastRefusal(stderr string) string {
	if i := strings.LastIndex(stderr, "refused by clew: "); i >= 0 {
		return stderr[i:]
	}
	return ""
}

// TestApplyAsksOnlyThePersonWhoMay: a declined apply leaves the plan, and says how to go on.
func TestApplyAsksOnlyThePersonWhoMay(t *testing.T) {
	h := imported(t)
	r := h.answering(exitRefused, func(string) string { return "no" }, "apply", "-n", "worker-1", "-p", label("declined", "yes"))
	if !strings.Contains(r.stderr, "clew plan cancel p-") {
		t.Errorf("declined: %s", r.stderr)
	}
	// Two approvals: one person is asked for neither.
	r = h.person(exitNeedsYou, "apply", "-n", "worker-1", "-p", label("declined", "two"), "--approvals", "2")
	if strings.Contains(r.stderr, "type ") || !strings.Contains(r.stdout, "clew approve p-") {
		t.Errorf("two approvals: %s%s", r.stdout, r.stderr)
	}
	// Breaking the glass is one approval that counts as the policy's number, marked for ever.
	h.want(exitUsage, "apply", "-n", "worker-1", "-p", label("declined", "glass"), "--break-glass", "")
	h.want(exitRefused, "apply", "-n", "worker-1", "-p", label("declined", "glass"), "--break-glass", "outage")
	h.person(exitDone, "apply", "-n", "worker-1", "-p", label("declined", "glass"), "--approvals", "2", "--break-glass", "outage of the shop")
	if r := h.want(exitDone, "log", "--kind", "plan.approved", "--kind", "alert"); !strings.Contains(r.stdout, "BREAK-GLASS: outage of the shop") {
		t.Errorf("the log: %s", r.stdout)
	}
}
