package wrap_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/wrap/journal"
)

// TestKilledWrapper kills the wrapper at moments from before its start to after its end: a command that ran has exactly one
// act, which has an end that somebody saw, or is lost.
func TestKilledWrapper(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const tries = 60
	step := r.duration() * 2 / tries
	for i := range tries {
		name := fmt.Sprint("pod-", i)
		cmd := exec.CommandContext(t.Context(), r.program(true))
		cmd.Args, cmd.Env, cmd.Dir = []string{"kubectl", "delete", "pod", name}, append(slices.Clone(r.env), r.path(true)), r.dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		killer := time.AfterFunc(time.Duration(i)*step, func() {
			// Nobody has waited for it yet, or it is found to have ended.
			_ = cmd.Process.Signal(syscall.SIGKILL)
		})
		_ = cmd.Wait() // either end will do
		killer.Stop()
		// The tool may run on: its group is empty when it has ended.
		for wait := time.Now().Add(patience); !errors.Is(syscall.Kill(-cmd.Process.Pid, 0), syscall.ESRCH); {
			if time.Now().After(wait) {
				t.Fatal("the tool did not end")
			}
			time.Sleep(time.Millisecond)
		}
	}
	began, ended := map[string]int{}, map[string]int{}
	names := map[string]string{}
	lost := 0
	for _, x := range r.delivered(r.journalFile()) {
		switch x.Kind {
		case journal.Begin:
			names[x.Key] = x.Act.Targets[0].Name
			began[names[x.Key]]++
			if x.Act.Class != act.Mutate {
				t.Errorf("%s is %s", names[x.Key], x.Act.Class)
			}
		case journal.End:
			ended[names[x.Key]]++
		case journal.Lost:
			ended[names[x.Key]]++
			lost++
		case journal.Placed:
		}
	}
	ran := 0
	for i := range tries {
		name := fmt.Sprint("pod-", i)
		_, err := os.Stat(filepath.Join(r.dir, name))
		if err == nil {
			ran++
		}
		if n := began[name]; n > 1 || err == nil && n != 1 || ended[name] != n {
			t.Errorf("%s: ran %t, %d acts, %d ends", name, err == nil, n, ended[name])
		}
	}
	t.Logf("%d of %d commands ran, %d acts were lost", ran, tries, lost)
	if lost == 0 || ran == 0 {
		t.Error("the wrapper was never killed while it held an act, or always before the command ran")
	}
}

// duration is how long a wrapped command takes here.
func (r *rig) duration() time.Duration {
	start := time.Now()
	r.tool(true, "", "delete", "pod", "first")
	return max(time.Since(start), 5*time.Millisecond)
}

// mount mounts a small file system on a directory of the rig.
func (r *rig) mount(dir, options string) {
	r.t.Helper()
	if os.Getuid() != 0 {
		r.t.Skip("only root can mount a full or read-only file system")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		r.t.Skipf("this system does not let root mount: %v", err)
	}
	r.t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			r.t.Error(err)
		}
	})
}

// TestFullDisk fills the disk before the first command and between two: commands run as ever, and the session is told
// once.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		r := newRig(t)
		r.mount(filepath.Join(r.dir, "home"), "size=64k")
		if !early {
			r.tool(true, "", "delete", "pod", "recorded")
		}
		fill, err := os.Create(filepath.Join(r.dir, "home", "fill"))
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = fill.Write(make([]byte, 512))
		}
		if err := fill.Close(); err != nil {
			t.Fatal(err)
		}
		said := 0
		for i := range 4 {
			name := fmt.Sprint("pod-", i)
			plain, wrapped := r.tool(false, "", "delete", "pod", name+"-alone"), r.tool(true, "", "delete", "pod", name)
			if _, err := os.Stat(filepath.Join(r.dir, name)); err != nil || plain.status != wrapped.status || plain.stdout != wrapped.stdout {
				t.Errorf("%s: alone %v, wrapped %v", name, plain, wrapped)
			}
			said += strings.Count(wrapped.stderr, "not recorded (no space left on device)")
		}
		// A full file system may still have room for a record or two in a block that is begun.
		if said > 1 || early && said != 1 {
			t.Errorf("early %t: it was said %d times", early, said)
		}
	}
}

// TestReadOnlyHome journals below TMPDIR and says so once.
func TestReadOnlyHome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	home := filepath.Join(r.dir, "home")
	r.mount(home, "size=64k,ro")
	var said []string
	for i := range 3 {
		x := r.tool(true, "", "delete", "pod", fmt.Sprint("pod-", i))
		if x.status != 0 {
			t.Errorf("got %v", x)
		}
		said = append(said, x.stderr)
	}
	if !strings.Contains(said[0], "cannot be written (read-only file system); kept in ") || said[1] != "" || said[2] != "" {
		t.Errorf("said %q", said)
	}
	dir := filepath.Join(r.dir, "tmp", fmt.Sprintf("clew-%d", os.Getuid()), "journal")
	if got := r.delivered(journal.File(dir, "s-bob")); len(got) != 6 {
		t.Errorf("%d records", len(got))
	}
}

// TestVersionManager puts a stand-in between, which looks for the tool in PATH as version managers do, and so finds the
// shim: the real tool runs once, and there is one act.
func TestVersionManager(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]string{"by exec": "exec ", "as a child": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			manager := filepath.Join(r.dir, "manager")
			if err := os.Mkdir(manager, 0o700); err != nil {
				t.Fatal(err)
			}
			r.write(filepath.Join(manager, "kubectl"), "#!/bin/sh\n"+how+"kubectl \"$@\"\n")
			r.env = append(r.env, "MANAGER="+manager)
			x := r.sh(true, `PATH="${PATH%%:*}:$MANAGER:${PATH#*:}" kubectl both 3`, "")
			if x.status != 3 || x.stdout != "out both 3\n" {
				t.Errorf("got %v", x)
			}
			if got := r.delivered(r.journalFile()); len(got) != 2 {
				t.Errorf("%d records", len(got))
			}
			if x := r.sh(true, `rm real/kubectl; PATH="${PATH%%:*}:$MANAGER" /bin/bash -c 'kubectl both 3'`, ""); x.status != 127 {
				t.Errorf("with nothing behind: %v", x)
			}
		})
	}
}

// TestShims runs the tool by each kind of shim.
func TestShims(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	clewx := filepath.Join(binaries, "clewx")
	script := "#!/bin/sh\nexec " + clewx + " shim kubectl \"$@\"\n"
	shim := filepath.Join(r.shims, "kubectl")
	for name, lay := range map[string]func() error{
		"a link":      func() error { return os.Symlink(clewx, shim) },
		"a hard link": func() error { return os.Link(clewx, shim) },
		"a script":    func() error { return os.WriteFile(shim, []byte(script), 0o700) },
	} {
		if err := os.Remove(shim); err != nil {
			t.Fatal(err)
		}
		if err := lay(); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"kubectl both 3", shim + " both 3", clewx + " exec -- kubectl both 3"} {
			if x := r.sh(true, line, ""); x.status != 3 || !strings.HasPrefix(x.stdout, "out both 3\n") {
				t.Errorf("%s, %s: %v", name, line, x)
			}
			if got := r.delivered(r.journalFile()); len(got) != 2 {
				t.Errorf("%s, %s: %d records", name, line, len(got))
			}
		}
	}
	if x := r.sh(true, clewx+" what", ""); x.status != 64 {
		t.Errorf("usage: %v", x)
	}
	if x := r.sh(true, clewx+" exec -- nothing-of-this-name", ""); x.status != 127 {
		t.Errorf("not found: %v", x)
	}
}

// TestSecretsStayOut plants secrets where command lines have them.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const secret = "hunter2hunter2"
	for _, line := range []string{
		"kubectl create secret generic x --from-literal=k=" + secret, "kubectl --token " + secret + " get pods", "kubectl patch deploy web -p " + secret,
		"kubectl exec web -- login " + secret, "kubectl " + secret, "kubectl get pods --unknown " + secret, "KUBECONFIG=/" + secret + " kubectl get pods",
		"kubectl get pods --server https://u:" + secret + "@10.0.0.1", "kubectl apply -f - <<<" + secret,
	} {
		r.sh(true, line, "")
	}
	b, err := os.ReadFile(r.journalFile())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.delivered(r.journalFile())) < 16 || strings.Contains(string(b), secret) {
		t.Errorf("the journal is\n%s", b)
	}
	if !strings.Contains(string(b), "from-literal") {
		t.Error("control: nothing of the command lines is in the journal")
	}
}
