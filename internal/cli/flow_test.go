package cli

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/store"
)

// applied makes and sends one change as a person.
func (h *home) applied(node, patch string) []outcome {
	h.t.Helper()
	r := h.person(exitDone, "apply", "-n", node, "-p", patch, "-o", "json")
	return decode[[]outcome](h.t, r)
}

// planned makes a plan and returns its id.
func (h *home) planned(args ...string) string {
	h.t.Helper()
	r := h.want(exitDone, append([]string{"plan", "create", "-o", "json"}, args...)...)
	return decode[planView](h.t, r).Plan.ID
}

// machine reads a machine as the program shows it.
func (h *home) machine(name string) machineView {
	h.t.Helper()
	return decode[machineView](h.t, h.want(exitDone, "machine", "show", name, "-o", "json"))
}

// TestTheMainJob runs the job on both engines: import, apply, what the node runs, the log, verification.
func TestTheMainJob(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			h := newHome(t)
			if engine == "postgres" {
				h.env = append(h.env, "CLEW_STORE="+database(t).Reveal())
			}
			if r := h.want(exitDone); !strings.Contains(r.stdout, "clew machine import") {
				t.Errorf("the first run does not say what to type: %s", r.stdout)
			}
			h.person(exitDone, "machine", "import", "--talosconfig", theLab(t).Talosconfig())
			if r := h.want(exitDone); !strings.Contains(r.stdout, "quiet") {
				t.Errorf("bare clew after the import: %s", r.stdout)
			}
			before := h.machine("worker-1")
			got := h.applied("worker-1", label("engine", engine))
			if len(got) != 1 || got[0].State != dispatch.Completed {
				t.Fatalf("apply: %+v", got)
			}
			after := h.machine("worker-1")
			if after.Applied == before.Applied || after.AppliedSource != got[0].Operation || after.Status != "in sync" {
				t.Errorf("before %+v, after %+v", before, after)
			}
			if c, err := worker(t, "worker-1").Counters(); err != nil || len(c.Landings) == 0 {
				t.Errorf("the node itself counted %d landings, %v", len(c.Landings), err)
			}
			log := h.want(exitDone, "log", got[0].Operation)
			for _, part := range []string{"attempt 1 recorded", "accepted by the node", "→ completed"} {
				if !strings.Contains(log.stdout, part) {
					t.Errorf("the log lacks %q:\n%s", part, log.stdout)
				}
			}
			if r := h.want(exitDone, "verify"); !strings.Contains(r.stdout, engine) {
				t.Errorf("verify: %s", r.stdout)
			}
		})
	}
}

func TestApplyWithoutATerminalWaitsForAPerson(t *testing.T) {
	h := imported(t)
	r := h.want(exitNeedsYou, "apply", "-n", "worker-1", "-p", label("by", "pipeline"))
	plan := regexp.MustCompile(`clew approve (p-\w+)`).FindStringSubmatch(r.stdout)
	if plan == nil {
		t.Fatalf("the other person's command is not printed: %s", r.stdout)
	}
	if r := h.want(exitNeedsYou); !strings.Contains(r.stdout, "clew approve "+plan[1]) {
		t.Errorf("bare clew does not say what waits: %s", r.stdout)
	}
	if r := h.want(exitRefused, "dispatch", plan[1]); !strings.Contains(r.stderr, "comparison 1") {
		t.Errorf("an unapproved plan: %s", r.stderr)
	}
	h.person(exitDone, "approve", plan[1])
	if r := h.want(exitDone, "dispatch", plan[1]); !strings.Contains(r.stdout, "completed on worker-1") {
		t.Errorf("dispatch: %s", r.stdout)
	}
	if r := h.want(exitRefused, "dispatch", plan[1]); !strings.Contains(r.stderr, "comparison 0") {
		t.Errorf("dispatched twice: %s", r.stderr)
	}
}

func TestRevokedAndCancelledPlansAreRefused(t *testing.T) {
	h := imported(t)
	before, err := worker(t, "worker-1").Counters()
	if err != nil {
		t.Fatal(err)
	}
	revoked, cancelled := h.planned("-n", "worker-1", "-p", label("x", "1")), h.planned("-n", "worker-1", "-p", label("x", "2"))
	h.person(exitDone, "approve", revoked, cancelled)
	h.want(exitDone, "plan", "revoke", revoked, "--reason", "wrong")
	h.want(exitDone, "plan", "cancel", cancelled, "--reason", "not needed")
	for id, word := range map[string]string{revoked: "revoked", cancelled: "cancelled"} {
		r := h.want(exitRefused, "dispatch", id)
		if !strings.HasPrefix(r.stderr, "refused by clew (comparison 1)") || !strings.Contains(r.stderr, word) {
			t.Errorf("%s: %s", word, r.stderr)
		}
		h.answering(exitRefused, func(w string) string { return w }, "approve", id)
	}
	after, err := worker(t, "worker-1").Counters()
	if err != nil || len(after.Landings) != len(before.Landings) {
		t.Errorf("something was sent: before %+v, after %+v, %v", before, after, err)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	h := imported(t)
	entries := h.entries()
	r := h.want(exitDone, "apply", "-n", "worker-1", "-p", label("dry", "run"), "--dry-run")
	if !strings.Contains(r.stdout, "dry: run") && !strings.Contains(r.stdout, "dry") {
		t.Errorf("no difference is shown: %s", r.stdout)
	}
	if got := h.entries(); got != entries {
		t.Errorf("%d entries before, %d after", entries, got)
	}
	if h.machine("worker-1").Pending {
		t.Error("the dry run selected its configuration")
	}
}

// TestOnlyTheEncodingWouldChange: patching encodes anew, so a patch that demands what is there would send other bytes that
// mean the same. It is refused; a whole file that says the same in other bytes is somebody's wish and goes.
func TestOnlyTheEncodingWouldChange(t *testing.T) {
	h := imported(t)
	h.applied("worker-1", label("encoded", unique("anew")))
	var written []byte
	limit := time.Now().Add(time.Minute)
	for applied := h.machine("worker-1").Applied; dispatch.Digest(written) != applied; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the node has not written what it accepted")
		}
		written, _ = os.ReadFile(filepath.Join(worker(t, "worker-1").Dir(), "state", "config.yaml"))
	}
	file := filepath.Join(t.TempDir(), "same.yaml")
	if err := os.WriteFile(file, append([]byte("# the same in other bytes\n"), written...), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := h.person(exitDone, "apply", "-n", "worker-1", "-f", file); !strings.Contains(r.stdout, "completed") {
		t.Errorf("a file: %s", r.stdout)
	}
	entries := h.entries()
	r := h.want(exitRefused, "apply", "-n", "worker-1", "-p", "machine: {type: worker}")
	if !strings.Contains(r.stderr, "worker-1 already runs what the patch demands") {
		t.Errorf("a patch: %s", r.stderr)
	}
	if got := h.entries(); got != entries {
		t.Errorf("%d entries before, %d after", entries, got)
	}
}

func TestFreezeStopsChangesUntilAnApproverLiftsIt(t *testing.T) {
	h := imported(t)
	plan := h.planned("-n", "worker-1", "-p", label("frozen", "no"))
	h.person(exitDone, "approve", plan)
	h.want(exitUsage, "machine", "freeze", "worker-1")
	h.want(exitDone, "machine", "freeze", "worker-1", "--reason", "the disk is being replaced")
	if r := h.want(exitRefused, "dispatch", plan); !strings.Contains(r.stderr, "comparison 6") || !strings.Contains(r.stderr, "disk") {
		t.Errorf("frozen: %s", r.stderr)
	}
	h.want(exitRefused, "machine", "unfreeze", "worker-1")
	h.person(exitDone, "machine", "unfreeze", "worker-1")
	h.want(exitDone, "dispatch", plan)
}

func TestDriftIsSeenAdoptedAndReverted(t *testing.T) {
	h, other := imported(t), imported(t)
	other.applied("worker-1", label("drift", "one"))
	if r := h.want(exitRefused, "apply", "-n", "worker-1", "-p", label("a", "b"), "--dry-run"); !strings.Contains(r.stderr, "refused by clew") {
		t.Errorf("planning over another tool's change: %s", r.stderr)
	}
	r := h.want(exitNeedsYou, "machine", "diff", "worker-1")
	if !strings.Contains(r.stdout, "drift") || !strings.Contains(r.stdout, "next: clew plan create -n worker-1 --adopt\n") {
		t.Errorf("diff: %s", r.stdout)
	}
	if r := h.want(exitNeedsYou); !strings.Contains(r.stdout, "clew machine diff worker-1") {
		t.Errorf("bare clew: %s", r.stdout)
	}
	adopt := h.planned("--adopt", "-n", "worker-1")
	h.person(exitDone, "approve", adopt)
	if r := h.want(exitDone, "dispatch", adopt); !strings.Contains(r.stdout, "completed") {
		t.Errorf("adoption: %s", r.stdout)
	}
	m := h.machine("worker-1")
	if m.Drift != nil || m.Status != "in sync" {
		t.Errorf("after the adoption: %+v", m)
	}

	other.applied("worker-1", label("drift", "two"))
	h.want(exitNeedsYou, "machine", "diff", "worker-1")
	if r := h.person(exitDone, "apply", "-n", "worker-1", "--revert"); !strings.Contains(r.stdout, "completed") {
		t.Errorf("revert: %s", r.stdout)
	}
	if got := h.machine("worker-1"); got.Applied != m.Applied || got.Drift != nil {
		t.Errorf("after the revert: %+v, want %s applied", got, m.Applied)
	}
	h.want(exitDone, "verify")
}

// TestALostAnswerStaysUnresolved: the node applies too late for its answer. Nothing is guessed; a newer plan waits; a person
// decides after the settle time.
func TestALostAnswerStaysUnresolved(t *testing.T) {
	t.Parallel() // it waits for the settle time
	h := imported(t)
	n := worker(t, "worker-2")
	plan := h.planned("-n", "worker-2", "-p", label("lost", "answer"), "--transport-deadline", "2s")
	newer := h.planned("-n", "worker-2", "-p", label("lost", "newer"))
	h.person(exitDone, "approve", plan, newer)
	// The node takes the request and its time: when its change lands, nobody waits for the answer any more.
	if err := n.Fault(t.Context(), lab.Faults{DelayBefore: 20 * time.Second, Times: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Fault(context.Background(), lab.Faults{}) })
	r := h.want(exitUnresolved, "dispatch", plan, "--wait", "0s")
	op := regexp.MustCompile(`clew settle (op-\w+)`).FindStringSubmatch(r.stdout)
	if op == nil {
		t.Fatalf("what to type next is missing: %s%s", r.stdout, r.stderr)
	}
	if r := h.want(exitRefused, "dispatch", newer); !strings.Contains(r.stderr, "comparison 4") || !strings.Contains(r.stderr, "clew settle "+op[1]) {
		t.Errorf("the newer plan: %s", r.stderr)
	}
	if r := h.want(exitNeedsYou); !strings.Contains(r.stdout, "clew settle "+op[1]) {
		t.Errorf("bare clew: %s", r.stdout)
	}
	if r := h.want(exitUnresolved, "settle", op[1]); !strings.Contains(r.stdout, "missing:") {
		t.Errorf("settle does not say what is missing: %s", r.stdout)
	}
	h.want(exitRefused, "settle", op[1], "--judge", "no terminal")
	r = h.person(exitDone, "settle", op[1], "--judge", "the node runs it", "--wait", "2m")
	if !strings.Contains(r.stdout, "completed on worker-2") {
		t.Errorf("judged: %s", r.stdout)
	}
	if r := h.want(exitDone, "show", op[1]); !strings.Contains(r.stdout, "decision") || !strings.Contains(r.stdout, "the node runs it") {
		t.Errorf("the decision does not show: %s", r.stdout)
	}
	h.want(exitDone, "verify")
}

func TestLeavingIsSafe(t *testing.T) {
	h := imported(t)
	n := worker(t, "worker-1")
	plan := h.planned("-n", "worker-1", "-p", label("leaving", "early"), "--transport-deadline", "2s")
	h.person(exitDone, "approve", plan)
	if err := n.Fault(t.Context(), lab.Faults{DropResponse: true, Times: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Fault(context.Background(), lab.Faults{}) })
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var r result
	done := make(chan struct{})
	go func() {
		defer close(done)
		r = h.runIn(ctx, strings.NewReader(""), "dispatch", plan, "--wait", "5m")
	}()
	h.waitForState(plan, dispatch.Unresolved)
	leave()
	<-done
	if r.code != exitUnresolved || !strings.Contains(r.stderr, "leaving is safe") || !strings.Contains(r.stderr, "clew settle op-") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	h.want(exitDone, "verify")
}

// waitForState waits until a plan's operation is in a state.
func (h *home) waitForState(plan string, want dispatch.State) {
	h.t.Helper()
	st := h.open()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		v, err := st.Plan(h.t.Context(), plan)
		if err != nil {
			h.t.Fatal(err)
		}
		if v.Operation != nil && v.Operation.State == want {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	h.t.Fatalf("the operation of %s did not become %s", plan, want)
}

// TestAKilledExecutorIsTakenOver kills a process that waits for a node's answer. The next command takes over what it
// left; nothing is guessed about what it sent.
func TestAKilledExecutorIsTakenOver(t *testing.T) {
	h := imported(t)
	n := worker(t, "worker-1")
	plan := h.planned("-n", "worker-1", "-p", label("killed", "executor"), "--transport-deadline", "50s")
	h.person(exitDone, "approve", plan)
	if err := n.Fault(t.Context(), lab.Faults{DropResponse: true, Times: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Fault(context.Background(), lab.Faults{}) })
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Args, cmd.Env = []string{"clew", "dispatch", plan}, h.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	h.waitForState(plan, dispatch.Sending)
	v := decode[planView](t, h.want(exitDone, "show", plan, "-o", "json").recordOf(t))
	if r := h.want(exitRefused, "settle", v.Operation); !strings.Contains(r.stderr, "not shown to have stopped") {
		t.Errorf("its executor still runs: %s", r.stderr)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	r := h.want(exitUnresolved, "settle", v.Operation)
	if !strings.Contains(r.stderr, "taken over") || !strings.Contains(r.stdout, "missing:") {
		t.Errorf("settle: %s%s", r.stdout, r.stderr)
	}
	if r := h.want(exitDone, "log", v.Operation); !strings.Contains(r.stdout, "its lock file is free") {
		t.Errorf("the log does not say why it counts as stopped: %s", r.stdout)
	}
	h.want(exitDone, "verify")
}

// recordOf is the record inside the answer of clew show.
func (r result) recordOf(t *testing.T) result {
	t.Helper()
	got := decode[struct {
		Record json.RawMessage `json:"record"`
	}](t, r)
	return result{stdout: string(got.Record)}
}

func TestTheNodesRejectionIsNotARefusal(t *testing.T) {
	h := imported(t)
	n := worker(t, "worker-1")
	entries := h.entries()
	r := h.want(exitNotHeld, "apply", "-n", "worker-1", "-p", `{"machine":{"sysfs":{},"env":{"needs":"reboot"}}}`, "--dry-run")
	if !strings.HasPrefix(r.stderr, "rejected by the node: ") {
		t.Errorf("a change that needs a reboot: %s", r.stderr)
	}
	if got := h.entries(); got != entries {
		t.Errorf("%d entries before, %d after", entries, got)
	}
	plan := h.planned("-n", "worker-1", "-p", label("rejected", "yes"))
	h.person(exitDone, "approve", plan)
	if err := n.Fault(t.Context(), lab.Faults{Refuse: "FailedPrecondition", Times: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Fault(context.Background(), lab.Faults{}) })
	if r := h.want(exitNotHeld, "dispatch", plan); !strings.Contains(r.stdout, "rejected by the node") {
		t.Errorf("rejected at the send: %s%s", r.stdout, r.stderr)
	}
}

func TestRolloutClosesAndAnApproverOpensIt(t *testing.T) {
	h := imported(t)
	n := worker(t, "worker-1")
	first := h.planned("-n", "worker-1", "-p", label("roll", "1"), "--rollout", "spring=1")
	second := h.planned("-n", "worker-2", "-p", label("roll", "1"), "--rollout", "spring=1")
	h.person(exitDone, "approve", first, second)
	if err := n.Fault(t.Context(), lab.Faults{Refuse: "FailedPrecondition", Times: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Fault(context.Background(), lab.Faults{}) })
	h.want(exitNotHeld, "dispatch", first)
	if r := h.want(exitRefused, "dispatch", second); !strings.Contains(r.stderr, "comparison 5") || !strings.Contains(r.stderr, "clew plan rollout open spring") {
		t.Errorf("the closed rollout: %s", r.stderr)
	}
	h.want(exitRefused, "plan", "rollout", "open", "spring", "--reason", "no terminal")
	h.person(exitDone, "plan", "rollout", "open", "spring", "--reason", "the first node is looked after")
	h.want(exitDone, "dispatch", second)
}

func TestImportAgain(t *testing.T) {
	h := newHome(t)
	config := theLab(t).Talosconfig()
	if r := h.want(exitDone, "machine", "import", "--talosconfig", config, "--dry-run"); !strings.Contains(r.stdout, "would be registered") {
		t.Errorf("dry run: %s", r.stdout)
	}
	if _, err := os.Stat(filepath.Join(h.dir, ".local/state/clew/store.db")); err == nil {
		t.Error("the dry run created a store")
	}
	r := h.want(exitNeedsYou, "machine", "import", "--talosconfig", config)
	command := regexp.MustCompile(`clew (approve p-\S+ p-\w+)`).FindStringSubmatch(r.stderr)
	if command == nil {
		t.Fatalf("the person's command is not printed: %s", r.stderr)
	}
	if r := h.want(exitNeedsYou, "machine", "import", "--talosconfig", config); !strings.Contains(r.stderr, command[1]) {
		t.Errorf("imported again, other plans were made: %s", r.stderr)
	}
	h.person(exitDone, strings.Fields(command[1])...)
	r = h.want(exitDone, "machine", "import", "--talosconfig", config)
	if strings.Count(r.stdout, "accepted as the baseline") != 2 {
		t.Errorf("approved by another command: %s", r.stdout)
	}
	if r := h.want(exitDone, "machine", "import"); strings.Contains(r.stdout, "accepted") {
		t.Errorf("a third time: %s", r.stdout)
	}
	if m := h.machine("cp-1"); m.Role != dispatch.ControlPlane || m.Status != "observed only" {
		t.Errorf("the control plane: %+v", m)
	}
	if r := h.want(exitRefused, "plan", "create", "-n", "cp-1", "-p", label("a", "b")); !strings.Contains(r.stderr, "never targets") {
		t.Errorf("a plan for a control plane: %s", r.stderr)
	}
}

func TestRolesAreDemanded(t *testing.T) {
	h := imported(t)
	h.want(exitDone, "admin", "identity", "create", "ada", "--role", store.RoleAuthor)
	h.want(exitDone, "admin", "identity", "create", "oli", "--role", store.RoleOperator, "--role", store.RoleApprover)
	h.want(exitRefused, "--as", "nobody", "plan", "create", "-n", "worker-1", "-p", label("a", "b"))
	r := h.want(exitDone, "--as", "ada", "plan", "create", "-n", "worker-1", "-p", label("two", "people"), "-o", "json")
	plan := decode[planView](t, r).Plan.ID
	if r := h.answering(exitRefused, func(w string) string { return w }, "--as", "ada", "approve", plan); !strings.Contains(r.stderr, "approver") {
		t.Errorf("an author approves: %s", r.stderr)
	}
	h.want(exitRefused, "--as", "ada", "dispatch", plan)
	r = h.person(exitDone, "--as", "oli", "approve", plan, "-o", "json")
	if a := decode[[]planView](t, r)[0].Approvals; len(a) != 1 || a[0].Self || a[0].Assurance != "asserted" {
		t.Errorf("approval: %+v", a)
	}
	h.want(exitDone, "admin", "identity", "revoke", "oli", "--reason", "left")
	if r := h.want(exitRefused, "dispatch", plan); !strings.Contains(r.stderr, "comparison 1") {
		t.Errorf("the approver was revoked: %s", r.stderr)
	}
}

func TestThroughAnEndpoint(t *testing.T) {
	h := imported(t)
	r := h.person(exitDone, "apply", "-n", "worker-1", "-p", label("through", "cp-1"), "--route", "via", "-o", "json")
	op := decode[[]outcome](t, r)[0].Operation
	v := decode[operationRecord](t, h.want(exitDone, "show", op, "-o", "json").recordOf(t))
	if len(v.Attempts) != 1 || v.Attempts[0].Route.Endpoint() == "" || v.Operation.State != dispatch.Completed {
		t.Errorf("sent through an endpoint: %+v", v)
	}
	// The next change is direct again: the node answers directly.
	plan := decode[planView](t, h.want(exitDone, "plan", "create", "-n", "worker-1", "-p", label("through", "nobody"), "-o", "json"))
	if plan.Plan.Route != dispatch.Direct {
		t.Errorf("the default route is %s", plan.Plan.Route)
	}
}
