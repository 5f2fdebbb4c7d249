package wrap_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lines are command lines for a shell, generated from what can stand on them.
func lines() []string {
	var list []string
	for _, does := range []string{"both 0", "both 3", "big 10", "exit 0", "exit 255", "both 1 a 'b c' \"\" '*' -n=x --token x"} {
		for _, redirect := range []string{
			"", "2>&1", ">/dev/null", "2>/dev/null", ">&-", "2>&-", "<&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-", "</dev/null",
			"1<>/dev/null", ">/dev/full", "2>&1 | cat", "2>&1 | tail -5", "| jq -R .", "2>&1 >/dev/null | tail -1",
			"| head -c 3", "& wait $!; echo $?", "; echo $?", "|| echo failed $?", "3>&1 1>&2 2>&3",
		} {
			list = append(list, "kubectl "+does+" "+redirect)
		}
	}
	for _, ignored := range []string{"''", "-"} {
		for _, sig := range []string{"INT", "TERM", "HUP", "QUIT", "PIPE", "USR1", "USR2", "TSTP", "CHLD", "ALRM", "RTMIN+3"} {
			if ignored == "''" && sig == "CHLD" {
				continue // bash itself does not pass that on
			}
			list = append(list, fmt.Sprintf("trap %s %s; kubectl status", ignored, sig))
		}
	}
	for _, sig := range []string{"HUP", "INT", "QUIT", "ILL", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "XCPU", "VTALRM", "SYS", "RTMIN+5"} {
		list = append(list, "ulimit -c 0; kubectl die "+sig+" 2>/dev/null; echo $?", "ulimit -c 0; (kubectl die "+sig+") 2>/dev/null | cat; echo ${PIPESTATUS[@]}")
	}
	return append(list,
		"kubectl fds", "kubectl fds 5</dev/null 9>/dev/null", "kubectl fd3 3<<<three", "kubectl cat < <(echo fed)", "kubectl cat <(echo a)",
		"yes | kubectl stdin | cat", "kubectl both 0 | kubectl cat | kubectl cat 7; echo ${PIPESTATUS[@]}", "umask 077; kubectl status",
		"ulimit -n 64; kubectl status", "ulimit -Sn 32; kubectl status", "nice -n 5 kubectl status", "nohup kubectl status 2>&1", "cd /; kubectl exit 4",
		"set -m; kubectl both 2 & wait $!; echo $?", "kubectl big 5000000 | cksum", "kubectl big 3000000 5 | head -c 10; echo ${PIPESTATUS[@]}",
		"command kubectl both 0", "exec kubectl both 6", "env -i HOME=\"$HOME\" PATH=\"$PATH\" kubectl environ | grep -v ^PATH=", "timeout 30 kubectl exit 5; echo $?",
		"setsid -w kubectl both 8", "A=$'x\\ny' kubectl environ | grep -A1 ^A=", "kubectl args $(seq 20000)", "kubectl args \"$(head -c 120000 /dev/zero | tr '\\0' x)\"",
		"kubectl cat /dev/fd/4 4<<<four", "(kubectl both 3; kubectl both 4) 2>&1", "xargs -n1 kubectl both 0 <<<'a b c'", "sh -c 'kubectl both 5'",
		"for i in 1 2 3; do kubectl exit $i; echo $?; done", "! kubectl exit 3", "kubectl", "x=$(kubectl both 2 2>&1); echo \"$x\" $?",
		"coproc kubectl cat; echo hi >&${COPROC[1]}; exec {COPROC[1]}>&-; cat <&${COPROC[0]}", "time -p true; kubectl both 0 a\\\nb",
	)
}

// TestTransparentLines runs command lines with the shim and without it.
func TestTransparentLines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env = append(r.env, "KUBECONFIG="+filepath.Join(r.dir, "none"))
	n := 0
	for _, line := range lines() {
		stdin := "in\nput\n"
		plain, wrapped := r.sh(false, line, stdin), r.sh(true, line, stdin)
		if plain != wrapped {
			t.Errorf("%.200s\n\talone:   %v\n\twrapped: %v", line, plain, wrapped)
		}
		n++
	}
	for status := range 256 {
		if plain, wrapped := r.tool(false, "", "exit", fmt.Sprint(status)), r.tool(true, "", "exit", fmt.Sprint(status)); plain != wrapped || plain.status != status {
			t.Errorf("status %d: alone %v, wrapped %v", status, plain, wrapped)
		}
		n++
	}
	t.Logf("%d command lines", n)
}

// survived are the signals of which no program dies, and two that belong to libraries.
var survived = []syscall.Signal{
	syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGURG, syscall.SIGWINCH, 32, 33,
}

// TestTransparentDeath compares how a command dies as the caller's wait shows it, which a shell does not.
func TestTransparentDeath(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if slices.Contains(survived, sig) {
			continue
		}
		plain, wrapped := r.tool(false, "", "die", fmt.Sprint(int(sig))), r.tool(true, "", "die", fmt.Sprint(int(sig)))
		if plain != wrapped || plain.signal != sig {
			t.Errorf("signal %d: alone %v, wrapped %v", sig, plain, wrapped)
		}
	}
}

// TestTransparentEnvironment passes what no shell would.
func TestTransparentEnvironment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, odd := range [][]string{
		{"TWICE=a", "TWICE=b"}, {"noequals"}, {"=odd"}, {""}, {"EMPTY="}, {"BIN=\xff\xfe"}, {"BIG=" + strings.Repeat("x", 100000)},
	} {
		cmd := func(wrapped bool) string {
			// The tool's own shell would tidy up: what it was started with is read from the system.
			env := append(append(slices.Clone(r.env), r.path(true)), odd...)
			out, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			pid, err := syscall.ForkExec(r.program(wrapped), []string{"kubectl", "environ"}, &syscall.ProcAttr{Env: env, Dir: r.dir, Files: []uintptr{0, in.Fd(), 2}})
			if err != nil {
				t.Fatal(err)
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(out)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		if plain, wrapped := cmd(false), cmd(true); plain != wrapped || plain == "" {
			t.Errorf("%.40q: alone %.3000q, wrapped %.3000q", odd, plain, wrapped)
		}
	}
}

// running is a command that is sent signals.
type running struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Scanner
	log []string
}

func (r *rig) start(wrapped bool, args ...string) *running {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), r.program(wrapped))
	cmd.Args, cmd.Env, cmd.Dir = append([]string{"kubectl"}, args...), append(slices.Clone(r.env), r.path(wrapped)), r.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	x := &running{t: r.t, cmd: cmd, out: bufio.NewScanner(out)}
	r.t.Cleanup(func() {
		if cmd.ProcessState == nil { // the test has failed: the whole group is its own, and not waited for
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	})
	x.line()
	return x
}

// line reads one line of what the command says.
func (x *running) line() {
	x.t.Helper()
	if !x.out.Scan() {
		x.t.Fatalf("nothing came after %q: %v", x.log, x.out.Err())
	}
	x.log = append(x.log, x.out.Text())
}

// stopped waits until the process that was started has stopped.
func (x *running) stopped() syscall.Signal {
	x.t.Helper()
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(x.cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
		x.t.Fatalf("it did not stop: %v, %v", ws, err)
	}
	return ws.StopSignal()
}

func (x *running) end() result {
	x.t.Helper()
	for x.out.Scan() {
		x.log = append(x.log, x.out.Text())
	}
	_ = x.cmd.Wait() // how it ended is what is compared
	return resultOf(x.cmd.ProcessState, strings.Join(x.log, "\n"), "")
}

// TestTransparentSignals sends signals to the process that was started, and to its group: the command gets each once.
func TestTransparentSignals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	signals := []syscall.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGWINCH, syscall.SIGALRM, syscall.SIGPIPE,
	}
	for _, group := range []bool{false, true} {
		play := func(wrapped bool) result {
			x := r.start(wrapped, "count")
			to := x.cmd.Process.Pid
			if group {
				to = -to
			}
			for range 2 {
				for _, sig := range signals {
					if err := syscall.Kill(to, sig); err != nil {
						t.Fatal(err)
					}
					x.line()
				}
			}
			if err := syscall.Kill(to, syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			return x.end()
		}
		if plain, wrapped := play(false), play(true); plain != wrapped || plain.status != 9 {
			t.Errorf("to the group: %t\n\talone:   %v\n\twrapped: %v", group, plain, wrapped)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.Signal(40)} {
		play := func(wrapped bool) result {
			x := r.start(wrapped, "plain")
			// The rarer ones are passed on when the command has run for a moment, and get lost before.
			again := time.NewTicker(20 * time.Millisecond)
			defer again.Stop()
			ended := make(chan result, 1)
			go func() { ended <- x.end() }()
			for {
				if err := x.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Error(err)
				}
				select {
				case got := <-ended:
					return got
				case <-again.C:
				}
			}
		}
		if plain, wrapped := play(false), play(true); plain != wrapped || plain.signal != sig {
			t.Errorf("signal %d: alone %v, wrapped %v", sig, plain, wrapped)
		}
	}
}

// TestTransparentStop stops and continues a command, alone and as a group.
func TestTransparentStop(t *testing.T) {
	t.Skip("known defect: a stop signal sent by kill, right after the start or a SIGCONT, is sometimes lost; those of a terminal are not")
	t.Parallel()
	r := newRig(t)
	for _, group := range []bool{false, true} {
		for _, sig := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
			play := func(wrapped bool) string {
				x := r.start(wrapped, "plain")
				to := x.cmd.Process.Pid
				if group {
					to = -to
				}
				send := func(sig syscall.Signal) {
					if err := syscall.Kill(to, sig); err != nil {
						t.Fatal(err)
					}
				}
				var seen []string
				for range 2 {
					send(sig)
					seen = append(seen, x.stopped().String())
					send(syscall.SIGCONT)
				}
				send(syscall.SIGTERM)
				return fmt.Sprint(seen, x.end())
			}
			if plain, wrapped := play(false), play(true); plain != wrapped {
				t.Errorf("%v, to the group: %t\n\talone:   %v\n\twrapped: %v", sig, group, plain, wrapped)
			}
		}
	}
}

// TestSignalsControl shows that the tests see a wrapper that passes on what the group has got already.
func TestSignalsControl(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.start(false, "count")
	for range 2 { // once to the group, once passed on
		if err := unix.Kill(-x.cmd.Process.Pid, unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		x.line()
	}
	if err := unix.Kill(x.cmd.Process.Pid, unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if got := x.end(); strings.Count(got.stdout, "got TERM") != 2 {
		t.Errorf("the second one was not seen: %v", got)
	}
}

// TestEntryControl builds the wrapper without its entry point: then closed descriptors and ignored signals are lost, and
// the comparison sees it.
func TestEntryControl(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	shim := r.program(true)
	if err := os.Remove(shim); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", shim, "../../cmd/clewx")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, line := range []string{"kubectl both 0 >&-", "trap '' TERM; kubectl status"} {
		if plain, wrapped := r.sh(false, line, ""), r.sh(true, line, ""); plain == wrapped {
			t.Errorf("%s: no difference was seen", line)
		}
	}
}
