package drill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Gate is a place at which an executor can be stopped.
type Gate string

// The gates, in the order in which an executor comes to them. Commit and attempt lie inside their transactions, after
// every comparison and with the locks held; guard is before the send guard, send after it.
const (
	GateEvidence  Gate = "evidence"
	GateCommit    Gate = "commit"
	GateCommitted Gate = "committed"
	GateAttempt   Gate = "attempt"
	GateGuard     Gate = "guard"
	GateSend      Gate = "send"
	GateResponse  Gate = "response"
	GateVerify    Gate = "verify"
	GateComplete  Gate = "complete"
)

var gates = []Gate{
	GateEvidence, GateCommit, GateCommitted, GateAttempt, GateGuard, GateSend, GateResponse, GateVerify, GateComplete,
}

// gatePoll is how often a file is looked for.
const gatePoll = 5 * time.Millisecond

// gateDir holds the gates of one executor as files: NAME.armed by the drill, NAME.reached by the executor, NAME.open by
// the drill. The executor removes them as it goes on, armed first, so that a gate acts once for each time it is armed.
type gateDir string

func (d gateDir) file(g Gate, what string) string {
	return filepath.Join(string(d), string(g)+"."+what)
}

func (d gateDir) put(g Gate, what string) error {
	f, err := os.OpenFile(d.file(g, what), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// has looks in the directory and not for the file alone: a directory that is gone, or cannot be read, is an error and
// never "not there".
func (d gateDir) has(g Gate, what string) (bool, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return false, fmt.Errorf("checking gate %s: %w", g, err)
	}
	name := filepath.Base(d.file(g, what))
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }), nil
}

// arm makes the executor stop at g the next time it comes there.
func (d gateDir) arm(g Gate) error {
	if !slices.Contains(gates, g) {
		return fmt.Errorf("no gate is called %q", g)
	}
	return d.put(g, "armed")
}

// open lets an executor that stands at g go on.
func (d gateDir) open(g Gate) error { return d.put(g, "open") }

// Stop is the executor's side: it returns at once where g is not armed, and else when the gate is opened. An error while
// a gate is checked is an error.
func (d gateDir) Stop(ctx context.Context, name string) error {
	g := Gate(name)
	if !slices.Contains(gates, g) {
		return fmt.Errorf("no gate is called %q", name)
	}
	armed, err := d.has(g, "armed")
	if err != nil || !armed {
		return err
	}
	if err := d.put(g, "reached"); err != nil {
		return fmt.Errorf("at gate %s: %w", g, err)
	}
	for {
		open, err := d.has(g, "open")
		if err != nil {
			return err
		}
		if open {
			return d.clear(g)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("at gate %s: %w", g, ctx.Err())
		case <-time.After(gatePoll):
		}
	}
}

func (d gateDir) clear(g Gate) error {
	var errs error
	for _, what := range []string{"armed", "reached", "open"} {
		errs = errors.Join(errs, os.Remove(d.file(g, what)))
	}
	return errs
}
