package cli

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
)

// process starts the program itself, with a home's environment. The caller waits for it.
func (h *home) process(stderr *os.File, args ...string) *exec.Cmd {
	h.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Args, cmd.Env = append([]string{"clew"}, args...), h.env
	if stderr != nil {
		cmd.Stdout, cmd.Stderr = stderr, stderr
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// TestAnOutcomeIsRecordedThoughNobodyListens: whoever reads the output is gone before anything is sent, as after
// "2>&1 | head -1". The operation ends as if somebody listened.
func TestAnOutcomeIsRecordedThoughNobodyListens(t *testing.T) {
	h := imported(t)
	plan := h.planned("-n", "worker-1", "-p", label("listeners", unique("gone")))
	h.person(exitDone, "approve", plan)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	cmd := h.process(w, "dispatch", plan)
	_ = w.Close()
	_ = cmd.Wait()
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		t.Errorf("the process ended by %s", s.Signal())
	}
	h.waitForState(plan, dispatch.Completed)
	h.want(exitDone, "verify")
}

// TestAnOutcomeIsRecordedThoughTheTerminalIsGone: a hangup or a termination signal, and a second one as timeout sends it,
// while the node takes its time to answer.
func TestAnOutcomeIsRecordedThoughTheTerminalIsGone(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) { outlives(t, sig) })
	}
}

func outlives(t *testing.T, sig syscall.Signal) {
	h := imported(t)
	n := worker(t, "worker-1")
	plan := h.planned("-n", "worker-1", "-p", label("listeners", unique("hung-up")))
	h.person(exitDone, "approve", plan)
	if err := n.Fault(t.Context(), lab.Faults{DelayAfter: 2 * time.Second, Times: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Fault(context.Background(), lab.Faults{}) })
	cmd := h.process(nil, "dispatch", plan)
	h.waitForState(plan, dispatch.Sending)
	for range 2 {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		t.Errorf("the process ended by %s", s.Signal())
	}
	log := h.want(exitDone, "log", plan)
	if !strings.Contains(log.stdout, "attempt 1: accepted by the node") {
		t.Errorf("the answer is not recorded:\n%s", log.stdout)
	}
	h.want(exitDone, "verify")
}

// TestASilentTerminalHoldsNothingUp: what is said of the steps goes to a terminal that was stopped, and everything up to
// the operation's end happens all the same.
func TestASilentTerminalHoldsNothingUp(t *testing.T) {
	h := imported(t)
	plan := h.planned("-n", "worker-1", "-p", label("listeners", unique("stopped")))
	h.person(exitDone, "approve", plan)
	read, write := io.Pipe() // a write waits until somebody reads
	code := make(chan int, 1)
	go func() {
		code <- Main(t.Context(), []string{"dispatch", plan}, strings.NewReader(""), io.Discard, write, h.env)
	}()
	h.waitForState(plan, dispatch.Completed)
	go func() { _, _ = io.Copy(io.Discard, read) }()
	if got := <-code; got != exitDone {
		t.Errorf("exit %d", got)
	}
	_ = write.Close()
}
