package lab_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/clewops/clew/internal/lab"
)

// helperVariable makes the test binary a program that makes a lab and then waits to be killed.
const helperVariable = "CLEW_LAB_TEST_HELPER"

// helper is that program: "tied MODE DIR" or "free MODE DIR"; "send NODE DIR" is for a measurement.
func helper(order string) int {
	f := strings.Fields(order)

	if f[0] == "send" {
		if err := sender(f[1], f[2]); err != nil {
			return 1
		}

		return 0
	}

	exe, err := os.Executable()
	if err != nil {
		return 1
	}

	_, err = lab.Up(context.Background(), lab.Config{
		Dir: f[2], Exe: exe, Timing: quick, Links: lab.LinkMode(f[1]), Workers: 1, Tied: f[0] == "tied",
	})
	if err != nil {
		println("error: " + err.Error())

		return 1
	}

	fmt.Println("up")
	select {}
}

// sender is a client that connects, waits for a line, sends what lies in the node's directory and never gives up.
func sender(name, dir string) error {
	ctx := context.Background()

	l, err := lab.Open(dir)
	if err != nil {
		return err
	}

	n, err := l.Node(name)
	if err != nil {
		return err
	}

	c, err := client.New(ctx, client.WithConfigFromFile(l.Talosconfig()), client.WithEndpoints(n.Address()))
	if err != nil {
		return err
	}

	// The connection has to be there before the network breaks.
	if _, err := c.Version(ctx); err != nil {
		return err
	}

	data, err := os.ReadFile(filepath.Join(n.Dir(), "small.yaml"))
	if err != nil {
		return err
	}

	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n') //lint:ignore errcheck whatever comes means go

	_, err = apply(ctx, c, applyRequest(noReboot, data))

	return err
}

// startHelper runs the helper until its lab is up.
func startHelper(t *testing.T, order string) *exec.Cmd {
	t.Helper()

	cmd := exec.Command(testBinary(t))
	cmd.Env = append(os.Environ(), helperVariable+"="+order)
	cmd.Stderr = os.Stderr

	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill() //lint:ignore errcheck it may have ended
		cmd.Wait()         //lint:ignore errcheck it was killed
	})

	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "up\n" {
		t.Fatalf("the helper said %q, %v", line, err)
	}

	return cmd
}

// trace is what a lab leaves in the system while it is up.
type trace struct {
	dir, runDir  string
	pids         []int
	netns, links []string
}

func traceOf(t *testing.T, l *lab.Lab) trace {
	t.Helper()

	tr := trace{dir: l.Dir(), runDir: l.RunDir()}
	for _, n := range l.Nodes() {
		tr.pids = append(tr.pids, n.PID())
	}

	if id := strings.TrimPrefix(filepath.Base(tr.runDir), "clew-lab-"); l.Links() == lab.LinksNetns {
		tr.links = []string{"clew-" + id}

		var err error
		if tr.netns, err = filepath.Glob("/run/netns/clew-" + id + "-*"); err != nil || len(tr.netns) != len(l.Nodes())+1 {
			t.Errorf("network namespaces %v, %v", tr.netns, err)
		}
	}

	return tr
}

// left names what is still there.
func (tr trace) left() []string {
	var left []string

	for _, path := range append([]string{tr.dir, tr.runDir}, tr.netns...) {
		if !gone(path) {
			left = append(left, path)
		}
	}

	for _, pid := range tr.pids {
		if b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); err == nil && strings.Contains(string(b), tr.dir) {
			left = append(left, "process "+strconv.Itoa(pid))
		}
	}

	for _, name := range tr.links {
		if _, err := net.InterfaceByName(name); err == nil {
			left = append(left, "interface "+name)
		}
	}

	return left
}

// TestDownLeavesNothing in every link mode, with nodes alive, paused and dead, and a second time.
func TestDownLeavesNothing(t *testing.T) {
	t.Parallel()

	for _, mode := range []lab.LinkMode{lab.LinksNone, lab.LinksUserland, lab.LinksNetns} {
		t.Run(string(mode), func(t *testing.T) {
			if mode == lab.LinksNetns {
				needRoot(t)
			}

			r := newRig(t, lab.Config{Links: mode})
			tr := traceOf(t, r.Lab)

			if len(tr.left()) == 0 {
				t.Fatal("the lab leaves no trace while it is up: this test would see nothing")
			}

			must(t, r.node("worker-1").Pause())
			must(t, r.node("worker-2").Kill(t.Context()))
			must(t, r.Down(t.Context()))

			if left := tr.left(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}

			must(t, r.Down(t.Context()))

			if _, err := lab.Open(tr.dir); !errors.Is(err, lab.ErrNoLab) {
				t.Errorf("opening what was removed: %v", err)
			}
		})
	}
}

// TestTwoLabs side by side, and a second one in the same directory.
func TestTwoLabs(t *testing.T) {
	t.Parallel()

	a := newRig(t, lab.Config{Links: lab.LinksUserland, Workers: 1})
	b := newRig(t, lab.Config{Workers: 1})

	for _, r := range []*rig{a, b} {
		for _, n := range r.Nodes() {
			if got, err := hostname(on(t, n), r.admin); err != nil || got != n.Name() {
				t.Errorf("%s answers %q, %v", n.Name(), got, err)
			}
		}
	}

	if a.node("cp-1").Address() == b.node("cp-1").Address() {
		t.Error("both labs have the same addresses")
	}

	// Certificates of one lab open nothing in the other.
	if _, err := a.client(lab.ClusterName, b.node("cp-1").Address()).Version(t.Context()); err == nil {
		t.Error("a client of one lab got into the other")
	}

	_, err := lab.Up(t.Context(), lab.Config{Dir: a.Dir(), Exe: testBinary(t)})
	if !errors.Is(err, lab.ErrAlreadyUp) {
		t.Errorf("a second lab in one directory: %v", err)
	}

	if _, err := a.admin.Version(t.Context()); err != nil {
		t.Errorf("the first lab was disturbed: %v", err)
	}
}

// TestUpThatFailsLeavesNothing: a program that is no node, and a caller that gives up.
func TestUpThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()

	dir := labDir(t)

	_, err := lab.Up(t.Context(), lab.Config{Dir: dir, Exe: "/bin/false", Workers: 1})
	if err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("a program that ends at once: %v", err)
	}

	if !gone(dir) {
		t.Error("its directory is left")
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if _, err := lab.Up(ctx, lab.Config{Dir: dir, Exe: testBinary(t), Workers: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has given up: %v", err)
	}

	if !gone(dir) {
		t.Error("its directory is left")
	}

	for name, cfg := range map[string]lab.Config{
		"links":   {Links: "string", Exe: "x", Dir: dir},
		"workers": {Workers: 99, Exe: "x", Dir: dir},
		"rate":    {Rate: "1mbit", Exe: "x", Dir: dir},
		"version": {Version: "newest", Exe: "x", Dir: dir},
	} {
		if _, err := lab.Up(t.Context(), cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestTiedLabEndsWithItsMaker, however that ends.
func TestTiedLabEndsWithItsMaker(t *testing.T) {
	t.Parallel()

	mode := lab.LinksUserland
	if os.Geteuid() == 0 {
		mode = lab.LinksNetns
	}

	dir := labDir(t)
	cmd := startHelper(t, "tied "+string(mode)+" "+dir)

	l, err := lab.Open(dir)
	must(t, err)

	tr := traceOf(t, l)
	must(t, l.Nodes()[1].Pause()) // a stopped process cannot end by itself
	must(t, cmd.Process.Signal(syscall.SIGKILL))
	eventually(t, "everything to go", func() bool { return len(tr.left()) == 0 })
}

// TestFreeLabOutlivesItsMaker and is removed by somebody else.
func TestFreeLabOutlivesItsMaker(t *testing.T) {
	t.Parallel()

	dir := labDir(t)
	cmd := startHelper(t, "free none "+dir)
	must(t, cmd.Process.Signal(syscall.SIGKILL))
	cmd.Wait() //lint:ignore errcheck it was killed

	l, err := lab.Open(dir)
	must(t, err)

	tr := traceOf(t, l)

	for _, n := range l.Nodes() {
		must(t, n.WaitReady(t.Context()))
	}

	must(t, l.Down(t.Context()))

	if left := tr.left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestProcessesEndWithTheirDirectory, when somebody removes it instead of taking the lab down.
func TestProcessesEndWithTheirDirectory(t *testing.T) {
	t.Parallel()

	r := newRig(t, lab.Config{Links: lab.LinksUserland, Workers: 1})
	tr := traceOf(t, r.Lab)
	must(t, os.RemoveAll(r.Dir()))
	eventually(t, "the processes to end", func() bool {
		return !slices.ContainsFunc(tr.left(), func(s string) bool { return strings.HasPrefix(s, "process") })
	})
	must(t, os.RemoveAll(tr.runDir))
}
