package drill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

// Process is one executor: a process of its own, with an identity of its own, that runs one command of clew.
type Process struct {
	Name string

	s       *Stage
	gates   gateDir
	cmd     *exec.Cmd
	output  lockedBuffer
	done    chan struct{} // closed when it has ended
	ended   bool          // the script has seen its end
	without dispatch.Without
	as      string // who acts; "" is an operator of its own
}

// Option changes how an executor is started.
type Option func(*Process)

// Guarded starts an executor with every guard in place, in a row that takes some away.
func Guarded() Option { return func(p *Process) { p.without = nil } }

// By starts the process for a person with other roles than an operator's.
func By(person string) Option { return func(p *Process) { p.as = person } }

// Dispatch starts an executor that dispatches a plan, with gates armed. It does not go on looking for evidence: what stays
// unresolved is left to Settle.
func (s *Stage) Dispatch(name string, p *Plan, armed ...Gate) *Process {
	return s.Clew(name, armed, []string{"dispatch", p.ID, "--wait", "0"})
}

// Settle starts an executor that settles the operation of a plan.
func (s *Stage) Settle(name string, p *Plan, armed []Gate, flags []string, options ...Option) *Process {
	return s.Clew(name, armed, append([]string{"settle", s.Operation(p)}, flags...), options...)
}

// Clew starts any command of clew as an executor.
func (s *Stage) Clew(name string, armed []Gate, args []string, options ...Option) *Process {
	if slices.ContainsFunc(s.procs, func(p *Process) bool { return p.Name == name }) {
		s.Fail("there is an executor %q already", name)
	}
	p := &Process{Name: name, s: s, done: make(chan struct{}), without: s.Row.Without}
	for _, o := range options {
		o(p)
	}
	if p.as == "" {
		p.as = s.Person(operator(len(s.procs)), store.RoleOperator)
	}
	dir := s.path(executorsDir, name)
	p.gates = gateDir(filepath.Join(dir, "gates"))
	s.must(os.MkdirAll(string(p.gates), 0o700), "making the gates of %s", name)
	for _, g := range armed {
		s.must(p.gates.arm(g), "arming a gate of %s", name)
	}
	orders := filepath.Join(dir, "orders.json")
	s.must(Orders{Gates: string(p.gates), Without: p.without, Clock: s.clock}.write(orders), "writing the orders of %s", name)
	if s.real != nil && s.real.Context != "" {
		args = append([]string{"--context", s.real.Context}, args...)
	}
	args = append([]string{"lab", "drill", "executor", orders, "--", "--as", p.as, "-o", "json"}, args...)
	p.cmd = exec.Command(s.run.o.Exe, args...)
	p.cmd.Env, p.cmd.Dir = s.env(), s.dir
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is for the drill
	// The executor ends when its standard input does: with the drill, however that ends. It holds locks at its gates.
	_, err := p.cmd.StdinPipe()
	s.must(err, "starting executor %s", name)
	s.must(p.cmd.Start(), "starting executor %s", name)
	s.procs = append(s.procs, p)
	s.Note("executor %s is process %d: clew %s (gates: %v)", name, p.cmd.Process.Pid, strings.Join(args[5:], " "), armed)
	go func() {
		_ = p.cmd.Wait() // how it ended is in its state
		close(p.done)
	}()
	return p
}

// env is what an executor gets of the environment: the row's own home, store and key. The database's password is in a file.
func (s *Stage) env() []string {
	env := []string{
		"HOME=" + s.path("home"), "PATH=" + os.Getenv("PATH"), "TALOSCONFIG=" + s.talosconfig(), "TMPDIR=" + os.TempDir(),
		config.EnvKeyFile + "=" + s.keyFile(), "CLEW_SETTLE_FLOOR=" + s.run.o.SettleFloor.String(),
	}
	if s.Store == config.SQLite {
		return append(env, config.EnvStore+"="+s.place.location.Path)
	}
	plain, password, err := databaseURL(s.place.location.URL)
	s.must(err, "naming the database")
	file := s.path("database-password")
	s.must(replaceFile(file, password+"\n"), "writing the password file")
	return append(env, config.EnvStore+"="+plain, config.EnvPasswordFile+"="+file)
}

// replaceFile writes a private file as a whole: a process that was started a moment ago may be reading it.
func replaceFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Arms arms a gate again, or one that was not armed at the start.
func (p *Process) Arms(g Gate) { p.s.must(p.gates.arm(g), "arming gate %s of %s", g, p.Name) }

// Reaches waits until the executor stands at a gate that is armed.
func (p *Process) Reaches(g Gate) {
	ctx, cancel := context.WithTimeout(p.s.ctx, patience)
	defer cancel()
	tick := time.NewTicker(gatePoll)
	defer tick.Stop()
	for {
		reached, err := p.gates.has(g, "reached")
		p.s.must(err, "waiting for %s", p.Name)
		if reached {
			p.s.Note("%s stands at %s", p.Name, g)
			return
		}
		select {
		case <-tick.C:
		case <-p.done:
			p.ended = true
			p.s.Fail("executor %s ended (%s) before it reached %s: %s", p.Name, p.status(), g, p.lastWords())
		case <-ctx.Done():
			p.s.Fail("executor %s did not reach %s: %w", p.Name, g, ctx.Err())
		}
	}
}

// Opens lets the executor go on from a gate.
func (p *Process) Opens(g Gate) {
	p.s.must(p.gates.open(g), "opening gate %s of %s", g, p.Name)
	p.s.Note("%s goes on from %s", p.Name, g)
}

// Ends waits until the process has ended, and reads its exit code.
func (p *Process) Ends() {
	p.await()
	p.s.Set(p.Name+".exit", p.status())
}

func (p *Process) await() {
	ctx, cancel := context.WithTimeout(p.s.ctx, 4*patience)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
		p.s.Fail("executor %s does not end: %w", p.Name, ctx.Err())
	}
	p.ended = true
	p.s.Note("%s (process %d) ended: %s", p.Name, p.PID(), p.waitStatus())
	p.s.log.output(p.Name, p.s.run.hide(p.output.String()))
}

// Kill ends the process with SIGKILL. Its process id and wait status are recorded.
func (p *Process) Kill() {
	done := p.s.inject("executor "+p.Name, "kill", strconv.Itoa(p.PID()))
	p.s.must(p.cmd.Process.Kill(), "killing %s", p.Name)
	p.await()
	done(p.waitStatus())
	p.s.Set(p.Name+".exit", p.status())
}

// Pause stops the process with SIGSTOP.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP, "pause") }

// Continue undoes Pause.
func (p *Process) Continue() { p.signal(syscall.SIGCONT, "continue") }

func (p *Process) signal(sig syscall.Signal, kind string) {
	done := p.s.inject("executor "+p.Name, kind, strconv.Itoa(p.PID()))
	p.s.must(p.cmd.Process.Signal(sig), "%s of %s", kind, p.Name)
	done("")
}

// status is the exit code, or "killed".
func (p *Process) status() string {
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return "killed"
	}
	return strconv.Itoa(p.cmd.ProcessState.ExitCode())
}

func (p *Process) waitStatus() string {
	ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		return p.cmd.ProcessState.String()
	}
	return fmt.Sprintf("%s (wait status 0x%x)", p.cmd.ProcessState, uint32(ws))
}

// lastWords is the end of what the executor said, for an error.
func (p *Process) lastWords() string {
	text := strings.TrimSpace(p.s.run.hide(p.output.String()))
	return text[max(0, len(text)-400):]
}

// discard ends a process that the script left running.
func (p *Process) discard() {
	select {
	case <-p.done:
		return
	default:
	}
	_ = p.cmd.Process.Kill() // it may just have ended
	<-p.done
	p.s.Note("executor %s (process %d) was left running and is ended: %s", p.Name, p.PID(), p.waitStatus())
	p.s.log.output(p.Name, p.s.run.hide(p.output.String()))
}

// lockedBuffer takes both streams of a process.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is what was written so far.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
