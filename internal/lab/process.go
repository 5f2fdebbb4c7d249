package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const processFile = "process.json"

// tiedVariable tells a child which descriptor ends when the process that called Up has ended.
const tiedVariable = "CLEW_LAB_TIED"

// process is one process of a lab, known by its id and by when it started: an id alone is given out again.
type process struct {
	PID     int    `json:"pid"`
	Started string `json:"started"`
}

// readProcess reads who runs for dir; the zero process when nobody ever did.
func readProcess(dir string) process {
	var p process

	b, err := os.ReadFile(filepath.Join(dir, processFile))
	if err != nil || json.Unmarshal(b, &p) != nil {
		return process{}
	}

	return p
}

// recordSelf is the first thing a child does, so that even a parent that dies at once leaves no unknown process.
func recordSelf(dir string) error {
	started, err := startTime(os.Getpid())
	if err != nil {
		return err
	}

	return writeJSON(filepath.Join(dir, processFile), process{PID: os.Getpid(), Started: started})
}

// alive says whether this very process still runs.
func (p process) alive() bool {
	if p.PID <= 0 {
		return false
	}

	started, err := startTime(p.PID)

	return err == nil && started == p.Started
}

// state says "running", "paused" or "dead".
func (p process) state() string {
	switch {
	case !p.alive():
		return "dead"
	case stopped(p.PID):
		return "paused"
	default:
		return "running"
	}
}

var errNotRunning = errors.New("the process is not running")

func (p process) signal(s syscall.Signal) error {
	if !p.alive() {
		return errNotRunning
	}

	return syscall.Kill(p.PID, s)
}

func (p process) pause() error  { return p.signal(syscall.SIGSTOP) }
func (p process) resume() error { return p.signal(syscall.SIGCONT) }

// kill ends the process and waits until it is gone. It is no error when it was gone already.
func (p process) kill(ctx context.Context) error {
	if err := p.signal(syscall.SIGKILL); err != nil && !errors.Is(err, errNotRunning) && !errors.Is(err, syscall.ESRCH) {
		return err
	}

	return waitFor(ctx, fmt.Sprintf("process %d to end", p.PID), func() bool { return !p.alive() })
}

// waitFor looks again and again, at short intervals, until cond holds or ctx ends.
func waitFor(ctx context.Context, what string, cond func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()

	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}

	return nil
}

// starter starts the processes of one lab.
type starter struct {
	exe  string
	tied *os.File // the end of the lifeline that children read; nil when the lab is not tied
}

// kept are the environment variables that children get: what they need to run, and nothing that may hold a secret.
var kept = []string{"PATH", "HOME", "TMPDIR", "GODEBUG", "GORACE", "GOTRACEBACK", "GOCOVERDIR"}

// start runs "EXE lab ARGS..." in a session of its own, in the network namespace netns ("" for this one), logging to
// dir/log, and records it in dir.
func (s *starter) start(dir, netns string, args ...string) error {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()

	cmd := exec.Command(s.exe, append([]string{"lab"}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}

	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(kept, name) {
			cmd.Env = append(cmd.Env, v)
		}
	}

	if s.tied != nil {
		cmd.ExtraFiles = []*os.File{s.tied}
		cmd.Env = append(cmd.Env, tiedVariable+"=3")
	}

	if err := startIn(netns, cmd); err != nil {
		return fmt.Errorf("starting %s %s: %w", filepath.Base(s.exe), strings.Join(args, " "), err)
	}

	started, err := startTime(cmd.Process.Pid)
	if err != nil {
		started = "" // it has ended already; its log says why
	}

	go cmd.Wait() //lint:ignore errcheck only so that it does not stay a zombie

	return writeJSON(filepath.Join(dir, processFile), process{PID: cmd.Process.Pid, Started: started})
}

// lifelines keeps the writing ends: children notice when this process, and with it they, are gone.
var lifelines sync.Map // lab directory -> *os.File

// tie makes the lifeline of the lab in dir.
func tie(dir string) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}

	lifelines.Store(dir, w)

	return r, nil
}

func untie(dir string) {
	if w, ok := lifelines.LoadAndDelete(dir); ok {
		w.(*os.File).Close() //lint:ignore errcheck closing the last end is the message itself
	}
}
