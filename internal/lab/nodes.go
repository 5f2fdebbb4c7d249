package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewops/clew/internal/lab/node"
)

// Node is a handle on one node.
type Node struct {
	lab *Lab
	rec nodeRecord
}

// Faults are the knobs of a node's ApplyConfiguration and persistence; see node.Faults.
type Faults = node.Faults

// Counters are what a node itself counted, across boots; see node.Counters.
type Counters = node.Counters

// Apply is one line of a node's own journal; see node.Apply.
type Apply = node.Apply

// Status is what a node says of itself over its control socket; see node.Status.
type Status = node.Status

// RestartOptions say how Restart starts a node.
type RestartOptions struct {
	// EmptyState wipes STATE first: the node boots from its platform again, with a new node id.
	EmptyState bool
}

// Name returns the node's name, which is also its hostname.
func (n *Node) Name() string { return n.rec.Name }

// Worker says whether the node is a worker.
func (n *Node) Worker() bool { return n.rec.Worker }

// Address returns the address on which clients reach the node now (port 50000).
func (n *Node) Address() string { return n.address() }

// PID returns the id of the node's process as last started; it does not say that the process lives.
func (n *Node) PID() int { return n.current().PID }

// Alive says whether the process runs; a paused one does.
func (n *Node) Alive() bool { return n.current().alive() }

// Dir returns the node's own directory.
func (n *Node) Dir() string { return n.lab.nodeDir(n.rec.Name) }

// Status asks the node's control socket.
func (n *Node) Status(ctx context.Context) (Status, error) { return n.control().Status(ctx) }

// Fault replaces the node's knobs; the zero Faults heals it. Knobs are lost at a reboot.
func (n *Node) Fault(ctx context.Context, f Faults) error { return n.control().SetFaults(ctx, f) }

// Counters reads the node's journal from disk; it works while the node is dead or paused.
func (n *Node) Counters() (Counters, error) { return node.ReadCounters(n.Dir()) }

// Applies reads the node's journal from disk, oldest first.
func (n *Node) Applies() ([]Apply, error) { return node.ReadApplies(n.Dir()) }

// Pause stops the process with SIGSTOP; its sockets stay open and its kernel still acknowledges.
func (n *Node) Pause() error { return n.current().pause() }

// Continue undoes Pause.
func (n *Node) Continue() error { return n.current().resume() }

// Kill ends the process with SIGKILL and waits until it is gone.
func (n *Node) Kill(ctx context.Context) error { return n.current().kill(ctx) }

// Restart ends the process if it lives and starts it anew, then waits until the node is running and ready.
func (n *Node) Restart(ctx context.Context, opts RestartOptions) error { return n.restart(ctx, opts) }

// RebootOptions say how Reboot reboots; see node.RebootOrder.
type RebootOptions = node.RebootOrder

// Reboot starts a reboot sequence as the node's own API would, or an upgrade sequence when a version is given. It
// returns once the sequence was asked for.
func (n *Node) Reboot(ctx context.Context, opts RebootOptions) error {
	return n.control().Reboot(ctx, opts)
}

// SetTiming replaces the times of the node's sequences until its next boot. An hour for Stop holds a reboot at the
// point where the API still answers; another Reboot with a short one lets it go on.
func (n *Node) SetTiming(ctx context.Context, t Timing) error {
	return n.control().SetTiming(ctx, node.Timing(t))
}

// Move gives the node another address from its spare ones at once and returns it: the old one falls silent, with no
// FIN and no RST.
func (n *Node) Move(ctx context.Context) (string, error) { return n.control().Move(ctx) }

// WaitReady waits until the node is in stage running and ready.
func (n *Node) WaitReady(ctx context.Context) error { return n.waitReady(ctx) }

// current is the process as last recorded: a restart, by whoever, changes it.
func (n *Node) current() process { return readProcess(n.Dir()) }

func (n *Node) control() *node.Control {
	return node.NewControl(n.lab.nodeSettings(n.rec).ControlSocket())
}

func (n *Node) address() string {
	addr, err := node.CurrentAddress(n.Dir())
	if err != nil {
		return n.rec.Public
	}

	return addr
}

func (n *Node) restart(ctx context.Context, opts RestartOptions) error {
	if err := n.Kill(ctx); err != nil {
		return err
	}

	if opts.EmptyState {
		if err := os.RemoveAll(node.StateDir(n.Dir())); err != nil {
			return err
		}
	}

	s := &starter{exe: n.lab.rec.Exe}
	if err := s.start(n.Dir(), n.rec.Netns, childNode, n.lab.dir, n.Name()); err != nil {
		return err
	}

	return n.waitReady(ctx)
}

// waitReady gives up early when the process has ended: it will not become ready any more.
func (n *Node) waitReady(ctx context.Context) error {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()

	for {
		status, err := n.Status(ctx)
		if err == nil && status.Up && status.Ready && status.Stage == "running" {
			return nil
		}

		if !n.current().alive() {
			return fmt.Errorf("node %s has ended: %s", n.Name(), lastLine(filepath.Join(n.Dir(), "log")))
		}

		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for node %s to be ready: %w", n.Name(), ctx.Err())
		}
	}
}

// lastLine is what a log ends with.
func lastLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "its log cannot be read"
	}

	lines := strings.Split(strings.TrimSpace(string(b)), "\n")

	return lines[len(lines)-1]
}
