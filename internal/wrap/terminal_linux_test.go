package wrap_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// screen is a shell with job control at a terminal.
type screen struct {
	t    *testing.T
	tty  *os.File
	got  chan string
	text strings.Builder
	read int // of text, what was waited for
}

// shell starts one.
func (r *rig) shell(wrapped bool) *screen {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "/bin/bash", "--norc", "--noprofile", "-i")
	cmd.Env = append(slices.Clone(r.env), r.path(wrapped), "PS1=> ", "HISTFILE=/dev/null", "INPUTRC=/dev/null")
	cmd.Dir = r.dir
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 200})
	if err != nil {
		r.t.Fatal(err)
	}
	s := &screen{t: r.t, tty: tty, got: make(chan string)}
	go func() {
		defer close(s.got)
		for {
			b := make([]byte, 4096)
			n, err := tty.Read(b)
			if err != nil {
				return
			}
			s.got <- string(b[:n])
		}
	}()
	r.t.Cleanup(func() {
		_ = tty.Close() // the shell and what it started hang up
		for range s.got {
		}
		_ = cmd.Wait()
	})
	return s
}

// await waits until a text has come since the last one that was waited for.
func (s *screen) await(text string) {
	s.t.Helper()
	limit := time.After(patience)
	for {
		if i := strings.Index(s.text.String()[s.read:], text); i >= 0 {
			s.read += i + len(text)
			return
		}
		select {
		case more, ok := <-s.got:
			if !ok {
				s.t.Fatalf("the terminal is gone; %q did not come in\n%s", text, s.text.String())
			}
			s.text.WriteString(more)
		case <-limit:
			s.t.Fatalf("%q did not come in\n%s", text, s.text.String())
		}
	}
}

// types types a text, and waits until something is answered.
func (s *screen) types(text, answer string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
	s.await(answer)
}

// play is what somebody does at a terminal.
func play(s *screen) string {
	s.await("> ")
	s.types("set +o emacs; stty -echo\n", "> ")
	status := func(want string) { s.types("echo status=$?\n", "status="+want) }
	s.types("kubectl tty\n", "0 is a terminal")
	s.await("1 is a terminal")
	s.await("2 is a terminal")
	status("0")
	s.types("kubectl group\n", "front")
	s.types("kubectl both 3 | kubectl group\n", "front")

	// Interrupted, resized, stopped and continued, once in the foreground and once in the background.
	s.types("kubectl count\n", "ready")
	s.types("\x03", "got INT")
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 30, Cols: 190}); err != nil {
		s.t.Fatal(err)
	}
	s.await("got WINCH")
	s.types("\x1a", "got TSTP")
	s.types("\x1c", "got QUIT")
	s.types("\x03", "got INT")
	front, err := unix.IoctlGetInt(int(s.tty.Fd()), unix.TIOCGPGRP)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := unix.Kill(-front, unix.SIGUSR1); err != nil {
		s.t.Fatal(err)
	}
	s.await("bye")
	status("9")
	return s.text.String()
}

// stops is what somebody does with a job that can be stopped.
func stops(s *screen) string {
	s.await("> ")
	s.types("set +o emacs; stty -echo\n", "> ")
	status := func(want string) { s.types("echo status=$?\n", "status="+want) }
	s.types("kubectl slow\n", "ready")
	s.types("\x1a", "Stopped")
	status("148")
	s.types("jobs\n", "Stopped")
	s.types("fg\n", "kubectl slow")
	s.types("one\n", "line: one")
	status("4")
	s.types("kubectl slow\n", "ready")
	s.types("\x03", "> ")
	status("130")
	// In the background it may not read from the terminal, and is stopped for trying.
	s.types("kubectl slow &\n", "ready")
	s.types("while ! jobs | grep -q Stopped; do sleep 0.01; done; jobs\n", "Stopped")
	s.types("fg\n", "kubectl slow")
	s.types("again\n", "line: again")
	status("4")
	s.types("kubectl plain &\n", "ready")
	s.types("kill %1; wait %1\n", "Terminated")
	status("143")
	s.types("stty -a | cksum\n", "> ")
	return s.text.String()
}

// TestTransparentTerminal does the same at a terminal with the shim and without it, and compares what the screen shows.
func TestTransparentTerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env = append(r.env, "KUBECONFIG="+filepath.Join(r.dir, "none"))
	// Numbers of processes, and the order of a shell's notes and a job's words, differ from run to run.
	words := func(text string) []string {
		var list []string
		for line := range strings.Lines(strings.ReplaceAll(text, "> ", "\n")) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "[1] ") {
				list = append(list, line)
			}
		}
		slices.Sort(list)
		return list
	}
	for name, does := range map[string]func(*screen) string{"signals": play, "stops": stops} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, wrapped := words(does(r.shell(false))), words(does(r.shell(true)))
			if !slices.Equal(plain, wrapped) {
				t.Errorf("alone:\n%s\nwrapped:\n%s", strings.Join(plain, "\n"), strings.Join(wrapped, "\n"))
			}
		})
	}
}

// TestBeforeACommand says at a terminal, and nowhere else, that a notice concerns what the command needs.
func TestBeforeACommand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server := there(t)
	r.kubeconfig(server)
	r.upgrade(server, "s-alice")
	if x := r.tool(true, "", "both", "0"); strings.Contains(x.stderr, "clew") {
		t.Errorf("without a terminal: %v", x)
	}
	s := r.shell(true)
	s.await("> ")
	s.types("kubectl both 0\n", "clew: i-7k2 concerns cp-2>etcd>API")
	s.await("out both 0")
	s.types("kubectl both 5\n", "out both 5")
	s.types("echo end\n", "end")
	if n := strings.Count(s.text.String(), "clew: i-7k2 concerns"); n != 1 {
		t.Errorf("said %d times:\n%s", n, s.text.String())
	}
}
