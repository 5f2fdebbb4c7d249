package executor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// fate is what becomes of one send.
type fate int

const (
	answered  fate = iota // lands, and the answer arrives
	refused               // the node refuses
	lostAfter             // lands, and the answer is lost
	lostIn                // is lost on the way: nothing lands
	unsent                // nothing of it leaves
	forgotten             // is answered, and does not land
)

// errCut is what a cut connection gives.
var errCut = errors.New("connection cut")

// node is a machine's node behind links that a test breaks. It is the second implementation of Nodes and Conn.
type node struct {
	mu       sync.Mutex
	m        *world.Machine
	fates    []fate // of the coming sends; answered when used up
	landings int
	sends    int
	aborted  int
	dead     bool // no connection can be made, and reads fail
	failing  int  // reads that fail before one succeeds
	verdict  SocketVerdict
	onSend   func()
	dialed   []Target
}

func (n *node) Dial(_ context.Context, t Target) (Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialed = append(n.dialed, t)
	if n.dead {
		return nil, errCut
	}
	return &conn{n: n}, nil
}

func (n *node) CannotArrive(context.Context, Target, dispatch.Attempt) (SocketVerdict, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.verdict, nil
}

type conn struct{ n *node }

func (c *conn) Addrs() (local, remote string) { return "10.5.0.1:40000", "10.5.0.2:50000" }

func (c *conn) Read(context.Context) (dispatch.Reading, secret.Bytes, error) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if c.n.dead {
		return dispatch.Reading{}, secret.Bytes{}, errCut
	}
	if c.n.failing > 0 {
		c.n.failing--
		return dispatch.Reading{}, secret.Bytes{}, errCut
	}
	return c.n.m.Node, secret.Of(nil), nil
}

func (c *conn) Baseline(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"seen":true}`), nil
}

func (c *conn) Apply(_ context.Context, config secret.Bytes, mode string) Outcome {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if mode != dispatch.ModeNoReboot {
		return Outcome{Err: errors.New("no such mode"), NeverLeft: true, Response: dispatch.Response{Class: dispatch.Inconclusive}}
	}
	f := answered
	if len(c.n.fates) > 0 {
		f, c.n.fates = c.n.fates[0], c.n.fates[1:]
	}
	if f != unsent {
		c.n.sends++
	}
	if c.n.onSend != nil {
		c.n.onSend()
	}
	if f == answered || f == lostAfter {
		c.n.landings++
		c.n.m.Runs(dispatch.Digest(config.Reveal()))
	}
	switch f {
	case answered, forgotten:
		return Outcome{Response: world.Response(dispatch.Accepted)}
	case refused:
		return Outcome{Response: world.Response(dispatch.RejectedDef)}
	case lostAfter, lostIn:
	case unsent:
		return Outcome{Response: world.Response(dispatch.Inconclusive), NeverLeft: true, Err: errCut}
	}
	return Outcome{Response: world.Response(dispatch.Inconclusive), Err: errCut}
}

func (c *conn) Abort() {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	c.n.aborted++
}

// keeper gives the bytes that world.Config stands for.
type keeper struct{}

func (keeper) Unseal(armored string) (secret.Bytes, error) {
	lines := strings.Split(armored, "\n")
	if len(lines) < 3 {
		return secret.Bytes{}, errors.New("not an artifact")
	}
	return secret.Of([]byte("version: v1alpha1 # " + lines[1])), nil
}

// clock is the executor's: pauses move it at once.
type clock struct {
	mu  sync.Mutex
	now time.Duration
}

func (c *clock) elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += d
}

// faulty is a store that fails where a test says so.
type faulty struct {
	Store
	before map[string]func() error // by method: an error instead of the call
	after  map[string]func() error // an error although the call took effect
}

func (f *faulty) around(method string, call func() error) error {
	if b := f.before[method]; b != nil {
		if err := b(); err != nil {
			return err
		}
	}
	if err := call(); err != nil {
		return err
	}
	if a := f.after[method]; a != nil {
		return a()
	}
	return nil
}

func (f *faulty) Commit(ctx context.Context, r dispatch.CommitRequest) (op dispatch.Operation, err error) {
	err = f.around("Commit", func() error { op, err = f.Store.Commit(ctx, r); return err })
	return op, err
}

func (f *faulty) Attempt(ctx context.Context, r dispatch.AttemptRequest) (res dispatch.AttemptResult, err error) {
	err = f.around("Attempt", func() error { res, err = f.Store.Attempt(ctx, r); return err })
	return res, err
}

func (f *faulty) RecordResponse(ctx context.Context, id string, n int, by dispatch.Owner, r dispatch.Response) (op dispatch.Operation, err error) {
	err = f.around("RecordResponse", func() error { op, err = f.Store.RecordResponse(ctx, id, n, by, r); return err })
	return op, err
}

func (f *faulty) SyncHead(ctx context.Context) error {
	return f.around("SyncHead", func() error { return f.Store.SyncHead(ctx) })
}

func (f *faulty) StillMine(ctx context.Context, id string, n int, by dispatch.Owner) (mine bool, err error) {
	err = f.around("StillMine", func() error { mine, err = f.Store.StillMine(ctx, id, n, by); return err })
	return mine, err
}

func (f *faulty) FindToken(ctx context.Context, machine, token string, by dispatch.Owner) (found dispatch.Found, err error) {
	err = f.around("FindToken", func() error { found, err = f.Store.FindToken(ctx, machine, token, by); return err })
	return found, err
}

// wrongKeeper gives other bytes than the artifact's.
type wrongKeeper struct{}

func (wrongKeeper) Unseal(string) (secret.Bytes, error) {
	return secret.Of([]byte("other: bytes")), nil
}
