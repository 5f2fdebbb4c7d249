package drill_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewops/clew/internal/drill"
	"github.com/clewops/clew/internal/lab"
)

// foreign is a cluster that the drill knows nothing of but its talosconfig, with the worker that may be changed.
type foreign struct {
	exe    string
	lab    *lab.Lab
	worker *lab.Node
	before string // SHA-256 of what the worker runs
}

func foreignCluster(t *testing.T) foreign {
	t.Helper()
	f := foreign{exe: program(t)}
	l, err := lab.Up(t.Context(), lab.Config{Dir: filepath.Join(t.TempDir(), "foreign"), Links: lab.LinksNone, Workers: 1, Exe: f.exe, Tied: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	for _, n := range l.Nodes() {
		if n.Worker() {
			f.worker = n
		}
	}
	b, err := os.ReadFile(filepath.Join(f.worker.Dir(), "platform.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	f.lab, f.before = l, hex.EncodeToString(sum[:])
	return f
}

// drill is the command on the cluster's worker.
func (f foreign) drill(t *testing.T, out string, more ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	args := append([]string{
		"lab", "drill", "run", "--talos", f.lab.Talosconfig(), "--node", f.worker.Address(), "--store", "sqlite", "--out", out,
	}, more...)
	c := exec.Command(f.exe, args...)
	c.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	said := &bytes.Buffer{}
	c.Stdout, c.Stderr = said, said
	return c, said
}

// landed are the digests of what was written to the worker, in order.
func (f foreign) landed(t *testing.T) []string {
	t.Helper()
	all, err := f.worker.Applies()
	if err != nil {
		t.Fatal(err)
	}
	var sums []string
	for _, a := range all {
		if a.Entry == "landed" {
			sums = append(sums, a.SHA256)
		}
	}
	return sums
}

// wantBack checks that the worker was changed and got its original bytes back.
func (f foreign) wantBack(t *testing.T, said *bytes.Buffer) {
	t.Helper()
	sums := f.landed(t)
	if len(sums) < 2 || sums[0] == f.before || sums[len(sums)-1] != f.before {
		t.Errorf("written: %q; the original is %s; the drill said:\n%s", sums, f.before, said)
	}
	all, err := f.worker.Applies()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if a.Entry == "entered" && a.Mode != "NO_REBOOT" {
			t.Errorf("the worker was asked for mode %s", a.Mode)
		}
	}
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	var e *exec.ExitError
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	if e == nil {
		return 0
	}
	return e.ExitCode()
}

func TestAMachineOfTheUsersOwnGetsItsBytesBack(t *testing.T) {
	f := foreignCluster(t)
	out := filepath.Join(t.TempDir(), "out")
	for name, args := range map[string][]string{
		"without the word that it may be changed": {"--rows", "001"},
		"a control plane":                         {"--rows", "001", "--yes-change-node", "--node", f.lab.Nodes()[0].Address()},
	} {
		c, said := f.drill(t, out, args...)
		if code := exitOf(t, c.Run()); code == 0 {
			t.Errorf("%s: exit code 0: %s", name, said)
		}
		if sums := f.landed(t); len(sums) > 0 {
			t.Fatalf("%s: it was written to", name)
		}
	}
	for _, route := range []string{"direct", "via"} {
		out := filepath.Join(t.TempDir(), "out")
		c, said := f.drill(t, out, "--rows", "001,010,011,046h", "--yes-change-node", "--route", route)
		if code := exitOf(t, c.Run()); code != 0 {
			t.Fatalf("%s: exit code %d: %s", route, code, said)
		}
		f.wantBack(t, said)
		v := verified(t, out)
		if len(v.Problems) > 0 || v.Cells != 4 {
			t.Errorf("%s: the evidence does not hold: %+v", route, v)
		}
		res, err := drill.Load(out)
		if err != nil {
			t.Fatal(err)
		}
		if res.Count(drill.OK) != 3 || res.Count(drill.Skipped) != 1 || res.Evidence() {
			t.Errorf("%s: %s", route, said)
		}
	}
}

func TestAMachineOfTheUsersOwnGetsItsBytesBackAfterAnInterrupt(t *testing.T) {
	f := foreignCluster(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			was := len(f.landed(t))
			c, said := f.drill(t, filepath.Join(t.TempDir(), "out"), "--rows", "001,005,009,010", "--yes-change-node")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			limit := time.After(2 * time.Minute)
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for len(f.landed(t)) == was {
				select {
				case <-tick.C:
				case err := <-ended:
					t.Fatalf("it ended before it changed anything: %v: %s", err, said)
				case <-limit:
					t.Fatal("nothing is changed")
				}
			}
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if code := exitOf(t, <-ended); code != 1 {
				t.Errorf("exit code %d: %s", code, said)
			}
			if !strings.Contains(said.String(), "runs its original configuration") {
				t.Errorf("it does not say that the bytes are back: %s", said)
			}
			f.wantBack(t, said)
		})
	}
}
