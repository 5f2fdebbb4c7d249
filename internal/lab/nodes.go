package lab

import (
	"context"
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
func (n *Node) Address(ctx context.Context) string { return n.address(ctx) }

// PID returns the id of the node's process as last started; it does not say that the process lives.
func (n *Node) PID() int { return n.current().Process.PID }

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
func (n *Node) Pause() error { return n.current().Process.pause() }

// Continue undoes Pause.
func (n *Node) Continue() error { return n.current().Process.resume() }

// Kill ends the process with SIGKILL and waits until it is gone.
func (n *Node) Kill(ctx context.Context) error { return n.current().Process.kill(ctx) }

// Restart ends the process if it lives and starts it anew, then waits until the node is running and ready.
func (n *Node) Restart(ctx context.Context, opts RestartOptions) error { return n.restart(ctx, opts) }

// Reboot reboots the node as its Reboot API would, and returns once the sequence has started. A positive gap
// replaces the configured time without an API, once.
func (n *Node) Reboot(ctx context.Context, gap time.Duration) error {
	return n.control().Reboot(ctx, node.RebootOrder{Gap: gap})
}

// Upgrade installs version (such as "v1.13.7") and reboots the node into it.
func (n *Node) Upgrade(ctx context.Context, version string, gap time.Duration) error {
	return n.control().Reboot(ctx, node.RebootOrder{Gap: gap, Version: version})
}

// Move gives the node another address from its spare ones at once and returns it: the old one falls silent, with no
// FIN and no RST.
func (n *Node) Move(ctx context.Context) (string, error) { return n.control().Move(ctx) }

// WaitReady waits until the node is in stage running and ready.
func (n *Node) WaitReady(ctx context.Context) error { return n.waitReady(ctx) }
