package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/secret"
)

// node is a machine as it really is, whatever the store says of it.
type node struct {
	name    string
	address string
	reading dispatch.Reading
	down    bool           // no connection can be made, and reads fail
	shown   map[string]int // the last step at whose end it ran a configuration, by digest
}

// runs makes the node run a configuration, as an apply without reboot does.
func (n *node) runs(digest string) {
	n.reading.Active.Digest, n.reading.Active.Present = digest, true
	n.reading.Persistent.Digest, n.reading.Persistent.Present = digest, true
	n.reading.Active.Version++
	n.reading.Persistent.Version++
}

// place is where a request that was sent is.
type place int

const (
	inKernel place = iota // with the sender's kernel, which an abort empties
	onTheWay              // at a hop beyond, which nothing empties
	landed
	rejected
	dropped
)

// flight is one request that was sent.
type flight struct {
	name     string
	key      dispatch.AttemptKey
	machine  *node
	artifact string
	at       place
	conn     *conn
	rewound  bool // sent before a restore: the store may not know it any more
	answer   *dispatch.Response
}

// pending says whether the request can still reach its node.
func (f *flight) pending() bool { return f.at == inKernel || f.at == onTheWay }

var (
	errDown  = errors.New("no route to host")
	errCut   = errors.New("connection cut")
	errAway  = errors.New("the store is away")
	errStuck = errors.New("the simulation lost a process") // never seen by anybody
)

// conn is one connection of a process.
type conn struct {
	p      *proc
	n      *node
	local  string
	closed bool
}

// Dial implements executor.Nodes.
func (p *proc) Dial(_ context.Context, t executor.Target) (executor.Conn, error) {
	n := p.s.nodeOf(t.Machine.ID)
	if n == nil || n.down {
		return nil, errDown
	}
	p.s.ports++
	c := &conn{p: p, n: n, local: fmt.Sprintf("10.5.1.1:%d", 40000+p.s.ports)}
	p.conns = append(p.conns, c)
	return c, nil
}

// Addrs implements executor.Conn.
func (c *conn) Addrs() (local, remote string) { return c.local, c.n.address + ":50000" }

// Read implements executor.Conn.
func (c *conn) Read(context.Context) (dispatch.Reading, secret.Bytes, error) {
	if c.closed || c.n.down {
		return dispatch.Reading{}, secret.Bytes{}, errCut
	}
	return c.n.reading, secret.Of(nil), nil
}

// Baseline implements executor.Conn.
func (c *conn) Baseline(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"simulated":true}`), nil
}

// Apply implements executor.Conn: the request leaves at once, and the sender then waits for what becomes of it.
func (c *conn) Apply(_ context.Context, config secret.Bytes, _ string) executor.Outcome {
	lost := executor.Outcome{Response: dispatch.Response{Class: dispatch.Inconclusive, Code: "Unavailable"}, Err: errCut}
	if c.closed || c.p.unsent || c.n.down {
		c.p.unsent = false
		lost.NeverLeft = true
		return lost
	}
	f := c.p.s.send(c, dispatch.Digest(config.Reveal()))
	for {
		c.p.pause("answer " + f.name)
		switch {
		case f.answer != nil:
			return executor.Outcome{Response: *f.answer}
		case c.closed, c.p.gaveUp:
			c.p.gaveUp = false
			return lost
		}
	}
}

// Abort implements executor.Conn: the kernel throws away what it still holds. A process that was killed aborts nothing.
func (c *conn) Abort() {
	if c.closed || !c.p.alive {
		return
	}
	c.closed = true
	for _, f := range c.p.s.flights {
		if f.conn == c && f.at == inKernel {
			f.at = dropped
		}
	}
}

// CannotArrive implements executor.Nodes. It knows where the request is, as the sockets of the hops show it. What the
// sender's own kernel still holds for a process that runs is the business of the abort: without that guard nobody looks.
func (p *proc) CannotArrive(_ context.Context, _ executor.Target, a dispatch.Attempt) (executor.SocketVerdict, error) {
	p.pause("sockets")
	v := executor.SocketVerdict{Available: true, Holds: true, Evidence: json.RawMessage(`{"sockets":"gone"}`)}
	for _, f := range p.s.flights {
		if f.key != (dispatch.AttemptKey{Operation: a.Operation, Number: a.Number}) || !f.pending() {
			continue
		}
		if f.at == inKernel && f.conn.p.alive && p.s.place.without.Has(dispatch.GuardAbort) {
			continue
		}
		v.Holds, v.Missing = false, "a connection of the attempt still holds bytes"
	}
	return v, nil
}
