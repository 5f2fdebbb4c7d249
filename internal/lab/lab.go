package lab

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"
)

// LinkMode says what lies between clients and nodes.
type LinkMode string

// The link modes; see the package documentation.
const (
	LinksNone     LinkMode = "none"
	LinksUserland LinkMode = "userland"
	LinksNetns    LinkMode = "netns"
)

// Client is the name of the client's side in Lab.Link: every process that is not a node.
const Client = "client"

// Timing sets how long a node's sequences take. Zero fields take DefaultTiming's values.
type Timing struct {
	// Stop is how long the API still answers after a reboot, upgrade or shutdown was accepted (stage rebooting, ...).
	Stop time.Duration `json:"stop"`
	// Gap is how long the API is away before the next boot brings it back.
	Gap time.Duration `json:"gap"`
	// Boot is how long a node stays in stage booting once its API is back.
	Boot time.Duration `json:"boot"`
}

// DefaultTiming is short enough for tests and long enough to be seen by a person.
var DefaultTiming = Timing{Stop: time.Second, Gap: 3 * time.Second, Boot: 500 * time.Millisecond}

// Config describes a lab to make.
type Config struct {
	// Dir keeps the lab's files; it is created with mode 0700.
	Dir string
	// Links is what lies between clients and nodes; empty means LinksNone.
	Links LinkMode
	// Workers is the number of worker nodes; zero means 2.
	Workers int
	// Exe is the binary that is started as "EXE lab node|link|keep ..."; it must hand these to Child.
	Exe string
	// Version is the Talos version that the nodes report, such as "v1.13.6" (the default).
	Version string
	// Timing of the sequences.
	Timing Timing
	// Rate limits every bridge port with a token bucket, in tc's notation ("1mbit"); netns mode only.
	Rate string
	// Tied makes the lab end, and be removed, when the process that called Up has ended.
	Tied bool
}

// ErrNoLab is returned by Open and Down for a directory that holds no lab.
var ErrNoLab = errors.New("no lab here")

// ErrAlreadyUp is returned by Up for a directory that already holds a lab.
var ErrAlreadyUp = errors.New("a lab is already there")

// NotOfferedError says that this machine cannot run what was asked for, and why.
type NotOfferedError struct{ Reason string }

func (e *NotOfferedError) Error() string { return e.Reason }

// Lab is a handle on a running lab. It holds no connection and may be copied, and used by several processes at once.
type Lab struct {
	dir string
	rec record
}

// Up makes a lab and waits until every node is running and ready. On an error nothing is left behind.
//
// Errors: *OrderError for a Config that cannot be, ErrAlreadyUp, *NotOfferedError, or whatever went wrong while starting.
func Up(ctx context.Context, cfg Config) (*Lab, error) {
	return up(ctx, cfg)
}

// Open reads the record of the lab in dir. Errors: ErrNoLab, or an unreadable record.
func Open(dir string) (*Lab, error) {
	rec, err := readRecord(dir)
	if err != nil {
		return nil, err
	}

	return &Lab{dir: dir, rec: rec}, nil
}

// Dir returns the directory of the lab.
func (l *Lab) Dir() string { return l.dir }

// RunDir returns the directory of the lab's sockets.
func (l *Lab) RunDir() string { return l.rec.RunDir }

// Links returns what lies between clients and nodes.
func (l *Lab) Links() LinkMode { return l.rec.Links }

// Talosconfig returns the path of a talosconfig with the contexts "admin" (the current one), "operator" and "reader",
// whose endpoint is the control-plane node.
func (l *Lab) Talosconfig() string { return filepath.Join(l.dir, "talosconfig") }

// Nodes returns every node, the control plane first.
func (l *Lab) Nodes() []*Node {
	nodes := make([]*Node, 0, len(l.rec.Nodes))
	for i := range l.rec.Nodes {
		nodes = append(nodes, &Node{lab: l, rec: l.rec.Nodes[i]})
	}

	return nodes
}

// Node returns the node of that name. Error: *OrderError when there is none.
func (l *Lab) Node(name string) (*Node, error) {
	for _, n := range l.Nodes() {
		if n.Name() == name {
			return n, nil
		}
	}

	return nil, orderErrorf("the lab has no node %q; there are: %s", name, strings.Join(l.names(), ", "))
}

func (l *Lab) names() []string {
	names := make([]string, 0, len(l.rec.Nodes))
	for _, n := range l.rec.Nodes {
		names = append(names, n.Name)
	}

	return names
}

// Link returns the link by which from (a node's name or Client) reaches the node to.
//
// In netns mode the handle stands for the bridge port of to, whoever from is. Without links it is an error.
func (l *Lab) Link(from, to string) (*Link, error) {
	if l.rec.Links == LinksNone {
		return nil, &NotOfferedError{"this lab has no links that can carry faults; make it with --links userland or netns"}
	}

	if _, err := l.Node(to); err != nil {
		return nil, err
	}

	if from != Client {
		if _, err := l.Node(from); err != nil {
			return nil, err
		}
	}

	return &Link{lab: l, from: from, to: to}, nil
}

// Down ends the recorded processes, removes the recorded namespaces and then the directory. It is safe to repeat.
func (l *Lab) Down(ctx context.Context) error {
	return l.down(ctx)
}
