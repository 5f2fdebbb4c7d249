package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// demo is one run: a clew binary, a home of its own, and a screen.
type demo struct {
	ctx   context.Context
	clew  string
	dir   string
	out   io.Writer
	netns bool

	mu sync.Mutex // guards out: two programs may print at once
}

func (d *demo) caption(format string, args ...any) {
	d.print("\n# " + fmt.Sprintf(format, args...) + "\n")
}

func (d *demo) print(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = io.WriteString(d.out, s)
}

// program is one clew command at a terminal.
type program struct {
	d    *demo
	cmd  *exec.Cmd
	tty  *os.File
	args []string

	mu    sync.Mutex
	seen  bytes.Buffer
	typed int // how much of seen was already answered
	done  chan struct{}
	err   error
}

// prompt is how the program asks a person to type a confirmation.
var prompt = regexp.MustCompile(`type (\S+): $`)

// start runs clew at a terminal of its own, shows what it prints, and types what it asks for.
func (d *demo) start(args ...string) (*program, error) {
	d.print("\n$ clew " + shown(args) + "\n")
	p := &program{d: d, args: args, done: make(chan struct{})}
	p.cmd = exec.CommandContext(d.ctx, d.clew, args...)
	p.cmd.Env = environment(d.dir)
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGINT) }
	p.cmd.WaitDelay = 10 * time.Second
	var err error
	if p.tty, err = pty.StartWithSize(p.cmd, &pty.Winsize{Rows: 40, Cols: 140}); err != nil {
		return nil, fmt.Errorf("starting clew: %w", err)
	}
	go p.watch()
	return p, nil
}

func shown(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if strings.ContainsAny(a, " {}\"") {
			out[i] = "'" + a + "'"
		}
	}
	return strings.Join(out, " ")
}

// watch copies the terminal to the screen and answers prompts.
func (p *program) watch() {
	defer close(p.done)
	buf := make([]byte, 4096)
	for {
		n, err := p.tty.Read(buf)
		if n > 0 {
			p.d.print(string(buf[:n]))
			p.answer(buf[:n])
		}
		if err != nil { // the other side of the terminal is closed: EIO on Linux
			break
		}
	}
	p.err = p.cmd.Wait()
	_ = p.tty.Close()
}

func (p *program) answer(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen.Write(b)
	if m := prompt.FindSubmatch(p.seen.Bytes()[p.typed:]); m != nil {
		p.typed = p.seen.Len()
		_, _ = p.tty.Write(append(m[1], '\n'))
	}
}

func (p *program) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// waitFor waits until the program has printed text.
func (p *program) waitFor(text string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if strings.Contains(p.output(), text) {
			return nil
		}
		select {
		case <-p.done:
			if strings.Contains(p.output(), text) {
				return nil
			}
			return fmt.Errorf("clew %s ended without saying %q", shown(p.args), text)
		case <-p.d.ctx.Done():
			return p.d.ctx.Err()
		case <-tick.C:
		}
	}
}

// expectExit waits for the end and demands the exit code.
func (p *program) expectExit(code int) error {
	<-p.done
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(p.err, &exit):
		got = exit.ExitCode()
	case p.err != nil:
		return p.err
	}
	if got != code {
		return fmt.Errorf("clew %s ended with exit code %d, expected %d", shown(p.args), got, code)
	}
	return nil
}

// expect runs clew to its end and demands the exit code.
func (d *demo) expect(code int, args ...string) error {
	p, err := d.start(args...)
	if err != nil {
		return err
	}
	return p.expectExit(code)
}

// clewQuiet runs clew off the screen.
func (d *demo) clewQuiet(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(d.ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.clew, args...)
	cmd.Env = environment(d.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("clew %s: %w: %s", shown(args), err, out)
	}
	return string(out), nil
}
