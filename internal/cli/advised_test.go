package cli

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

// wantNext demands that every line of advice can be typed, and that the first is the one that is wanted.
func wantNext(t *testing.T, r result, want string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(r.stderr + r.stdout) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "next: "); ok {
			got = append(got, command)
			if err := typed(command); err != nil {
				t.Errorf("%q cannot be typed: %v", command, err)
			}
		}
	}
	if len(got) == 0 || got[0] != want {
		t.Errorf("the advice is %q, want %q: %s%s", got, want, r.stdout, r.stderr)
	}
}

// TestRefusalsAdvise: where somebody stood without a way on.
func TestRefusalsAdvise(t *testing.T) {
	h := imported(t)
	wantNext(t, h.want(exitRefused, "plan", "create", "-n", "cp-1", "-p", "{}"), "clew machine list")
	wantNext(t, h.want(exitRefused, "plan", "create", "-n", "worker-1", "-p", label("a", "b"), "--expires", "1ns"), "clew plan create --help")
	wantNext(t, h.want(exitFailure, "show", "p-none"), "clew plan list --all")
	wantNext(t, h.want(exitRefused, "apply", "-n", "worker-1", "-p", "{}", "--break-glass", "why"), "clew apply -n worker-1 -p PATCH --break-glass REASON")
	h.want(exitUsage, "plan", "create", "-n", "worker-1", "-p", "{}", "--max-age", "1ns")

	first, second := h.planned("-n", "worker-1", "-p", label("x", "1")), h.planned("-n", "worker-1", "-p", label("x", "2"))
	h.person(exitDone, "approve", first, second)
	h.want(exitDone, "dispatch", first)
	r := h.want(exitNeedsYou)
	wantNext(t, r, "clew plan cancel "+second)
	if strings.Contains(r.stdout, "clew dispatch "+second) {
		t.Errorf("a plan for the machine as it was is advised: %s", r.stdout)
	}
	wantNext(t, h.want(exitRefused, "dispatch", second), "clew plan create -n worker-1 -p PATCH")
}

// TestHeldMachine: what it runs while an operation holds it is that operation's doing, which is named; whose executor is at
// work is not to be settled.
func TestHeldMachine(t *testing.T) {
	h := imported(t)
	st := h.open()
	before := h.machine("worker-1")
	plan := h.planned("-n", "worker-1", "-p", label("held", "1"))
	h.person(exitDone, "approve", plan)
	n := worker(t, "worker-1")
	if err := n.Fault(t.Context(), lab.Faults{DropResponse: true, Times: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Fault(context.Background(), lab.Faults{}) })
	_ = h.run("dispatch", plan, "--wait", "0")
	open, err := st.OpenOperations(t.Context())
	if err != nil || len(open) != 1 {
		t.Fatalf("%d operations are open, %v", len(open), err)
	}
	op := open[0].Operation.ID
	r := h.want(exitRefused, "plan", "create", "-n", "worker-1", "-p", label("held", "2"))
	wantNext(t, r, "clew settle "+op)
	if !strings.Contains(r.stderr, op) || strings.Contains(r.stderr, "--refresh") {
		t.Errorf("planning on a held machine (it ran %s): %s", before.Applied, r.stderr)
	}
	running := open[0]
	running.OwnerStopped = ""
	if got := settling(running); got != "clew show "+op {
		t.Errorf("of an executor at work: %q", got)
	}
	// The practice link ends TCP on its way: no evidence can be had, and only a decision goes on.
	wantNext(t, h.want(exitUnresolved, "settle", op), "clew settle "+op+" --judge REASON")
}

// TestAMachineThatIsAway: the way on is to see whether it answers; nothing came into being.
func TestAMachineThatIsAway(t *testing.T) {
	h := imported(t)
	plan := h.planned("-n", "worker-1", "-p", label("away", "1"))
	h.person(exitDone, "approve", plan)
	link := []string{"lab", "fault", "--dir", filepath.Join(sharedLab.dir, "lab"), "client:worker-1"}
	r := h.want(exitDone, append(slices.Clone(link), "cut", "-o", "json")...)
	t.Cleanup(func() { h.runIn(context.Background(), strings.NewReader(""), append(slices.Clone(link), "heal")...) })
	if got := decode[faultView](t, r); got.Target != "client:worker-1" || got.Kind != "cut" {
		t.Errorf("the fault as JSON: %s", r.stdout)
	}
	wantNext(t, h.want(exitFailure, "dispatch", plan), "clew machine show worker-1 --refresh")
}

// TestWordsAreSaidOnce: prefixes that a reason on record has already.
func TestWordsAreSaidOnce(t *testing.T) {
	for reason, want := range map[string]string{
		"": "rejected by the node", "rejected by the node: InvalidArgument": "rejected by the node: InvalidArgument",
		"rejected by the node: ": "rejected by the node", "no": "rejected by the node: no",
	} {
		if got := rejection(reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
	var out strings.Builder
	a := newApp(strings.NewReader(""), &out, &out, nil)
	a.outcomeText(&out, outcome{Result: executor.Result{Operation: "op-1", Machine: "worker-1", State: dispatch.Rejected, Reason: "rejected by the node: InvalidArgument"}})
	if strings.Count(out.String(), "rejected by the node") != 1 {
		t.Errorf("%s", out.String())
	}
}

// TestLockFilesOfTheStoppedGo: only those that the store shows to have stopped, and never what somebody holds.
func TestLockFilesOfTheStoppedGo(t *testing.T) {
	h := newHome(t)
	h.want(exitDone, "admin", "identity", "create", "ada")
	st := h.open()
	host, err := talos.LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	lock := func() *lockFile {
		l, err := newLock(dir)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	start := func(l *lockFile, host dispatch.Host) string {
		id, err := st.StartInstance(t.Context(), host, 1, l.file.Name(), l.device, l.inode)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	ended, booted, killed, held, unknown, own := lock(), lock(), lock(), lock(), lock(), lock()
	id := start(ended, host)
	if err := st.EndInstance(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	earlier := host
	earlier.BootID = "an earlier boot"
	start(booted, earlier)
	start(killed, host)
	id = start(held, host)
	if err := st.EndInstance(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*lockFile{ended, booted, killed, unknown} {
		_ = l.file.Close()
	}
	defer held.file.Close()
	clearLocks(t.Context(), st, own.file.Name(), host)
	for name, c := range map[string]struct {
		lock *lockFile
		gone bool
	}{"ended": {ended, true}, "booted since": {booted, true}, "killed": {killed, false}, "held": {held, false}, "unknown": {unknown, false}, "own": {own, false}} {
		_, err := os.Stat(c.lock.file.Name())
		if gone := errors.Is(err, os.ErrNotExist); gone != c.gone {
			t.Errorf("%s: gone: %v, want %v", name, gone, c.gone)
		}
	}
}

// TestABusyStoreSaysWhatToDo: another program holds it.
func TestABusyStoreSaysWhatToDo(t *testing.T) {
	if store.Away(errors.New("anything")) || store.Away(refusal.New("x", "y", "z", "")) {
		t.Error("not every failure passes by waiting")
	}
	h := newHome(t)
	h.want(exitDone, "admin", "identity", "create", "ada")
	db, err := sql.Open("sqlite", filepath.Join(h.dir, ".local", "state", "clew", "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	holding, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holding.Close()
	if _, err := holding.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	r := h.want(exitFailure, "admin", "identity", "create", "oli")
	if !strings.Contains(r.stderr, "another program holds") {
		t.Errorf("%s", r.stderr)
	}
	wantNext(t, r, "clew")
}
