package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// desk is the real executor on a real store, with machines behind nodes that answer at once, or after a send's time.
type desk struct {
	*executor.Executor
	t        testing.TB
	w        *world.World
	proc     *world.Process
	machines []*world.Machine
	calls    *calls
	send     time.Duration
}

// calls stands between the executor and the store.
type calls struct {
	executor.Store
	around func(call string, do func())
}

func (c *calls) do(call string, do func()) {
	if c.around == nil {
		do()
		return
	}
	c.around(call, do)
}

func (c *calls) StartRead(ctx context.Context, o dispatch.Observation) (basis int64, err error) {
	c.do("start-read", func() { basis, err = c.Store.StartRead(ctx, o) })
	return basis, err
}

func (c *calls) RecordRead(ctx context.Context, o dispatch.Observation) (got dispatch.Observation, d dispatch.DriftChange, err error) {
	c.do("read", func() { got, d, err = c.Store.RecordRead(ctx, o) })
	return got, d, err
}

func (c *calls) Commit(ctx context.Context, r dispatch.CommitRequest) (op dispatch.Operation, err error) {
	c.do("commit", func() { op, err = c.Store.Commit(ctx, r) })
	return op, err
}

func (c *calls) Attempt(ctx context.Context, r dispatch.AttemptRequest) (res dispatch.AttemptResult, err error) {
	c.do("attempt", func() { res, err = c.Store.Attempt(ctx, r) })
	return res, err
}

func (c *calls) RecordResponse(ctx context.Context, id string, n int, by dispatch.Owner, r dispatch.Response) (op dispatch.Operation, err error) {
	c.do("response", func() { op, err = c.Store.RecordResponse(ctx, id, n, by, r) })
	return op, err
}

func (c *calls) Finish(ctx context.Context, id string, by dispatch.Owner, basis int64) (op dispatch.Operation, err error) {
	c.do("finish", func() { op, err = c.Store.Finish(ctx, id, by, basis) })
	return op, err
}

func newDesk(t testing.TB, engine config.Engine, machines int) *desk {
	t.Helper()
	w := world.New(t, storetest.New(t, engine))
	d := &desk{t: t, w: w, proc: w.Process(), calls: &calls{Store: w.Store}}
	began := time.Now()
	d.Executor = &executor.Executor{
		Store: d.calls, Nodes: d, Keeper: keeper{}, Instance: d.proc.ID, Host: d.proc.Host, Token: world.Token,
		Elapsed: func() time.Duration { return time.Since(began) }, SettleFloor: dispatch.MinimumSettle,
	}
	for i := range machines {
		m := w.Unadopted(fmt.Sprintf("m%04d", i))
		d.machines = append(d.machines, m)
		p := d.plan(m, m.Node.Active.Digest, func(p *dispatch.Plan) {
			p.Kind, p.Operation, p.Mode, p.Expected = dispatch.KindAdopt, "", "", m.Node.Active.Digest
			p.Post, p.Pre.Ready = dispatch.Postconditions{}, false
		})
		o := m.Read(d.proc, dispatch.ForAdoption, p.ID)
		_, err := w.Store.Adopt(ctx, p.ID, d.proc.Owner(), o.Basis)
		no(t, err)
	}
	return d
}

// plan reads a machine, plans an artifact for it and approves it, as the commands do.
func (d *desk) plan(m *world.Machine, artifact string, change ...func(*dispatch.Plan)) dispatch.Plan {
	d.t.Helper()
	var o dispatch.Observation
	d.calls.do("start-read", func() { o = m.Begin(d.proc, dispatch.ForPlanning) })
	d.calls.do("read", func() { o = m.End(o) })
	p := m.Draft(artifact)
	for _, f := range change {
		f(&p)
	}
	var err error
	d.calls.do("plan", func() { p, _, err = d.w.Store.CreatePlan(ctx, d.w.Author, p, o) })
	no(d.t, err)
	d.calls.do("approve", func() { _, _, err = d.w.Store.Approve(ctx, d.w.Approver, p.ID, store.ApproveOptions{}) })
	no(d.t, err)
	return p
}

// configuration is the name of the n-th configuration.
func configuration(n int) string { return fmt.Sprintf("configuration %06d", n) }

// digest is what the world stores a configuration under.
func digest(name string) string { return dispatch.Digest(bytesOf(name)) }

// operation brings one change from its configuration to its completion.
func (d *desk) operation(n int) {
	d.t.Helper()
	d.calls.do("artifact", func() { d.w.Config(configuration(n)) })
	d.dispatch(d.plan(d.machines[n%len(d.machines)], digest(configuration(n))))
}

func (d *desk) dispatch(p dispatch.Plan) {
	res, err := d.Dispatch(ctx, p.ID, 0)
	if err != nil || res.State != dispatch.Completed {
		d.t.Errorf("plan %s ended %s (%s): %v", p.ID, res.State, res.Reason, err)
	}
}

// Dial implements executor.Nodes.
func (d *desk) Dial(_ context.Context, t executor.Target) (executor.Conn, error) {
	for _, m := range d.machines {
		if m.ID == t.Machine.ID {
			return &line{d: d, m: m}, nil
		}
	}
	return nil, errors.New("no such machine")
}

// CannotArrive implements executor.Nodes; no attempt is lost here.
func (d *desk) CannotArrive(context.Context, executor.Target, dispatch.Attempt) (executor.SocketVerdict, error) {
	return executor.SocketVerdict{}, nil
}

// line is a connection to one machine's node.
type line struct {
	d *desk
	m *world.Machine
}

func (l *line) Addrs() (local, remote string) { return "10.5.0.1:40000", "10.5.0.2:50000" }

func (l *line) Read(context.Context) (dispatch.Reading, secret.Bytes, error) {
	return l.m.Node, secret.Of(nil), nil
}

func (l *line) Baseline(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"next_hop":{"listed":true,"receive_queue":0}}`), nil
}

func (l *line) Apply(ctx context.Context, c secret.Bytes, _ string) executor.Outcome {
	select {
	case <-ctx.Done():
		return executor.Outcome{Err: ctx.Err(), Response: world.Response(dispatch.Inconclusive)}
	case <-time.After(l.d.send):
	}
	l.m.Runs(dispatch.Digest(c.Reveal()))
	return executor.Outcome{Response: world.Response(dispatch.Accepted)}
}

func (l *line) Abort() {}

// keeper gives the bytes that a world's configuration stands for.
type keeper struct{}

func (keeper) Unseal(armored string) (secret.Bytes, error) {
	lines := strings.Split(armored, "\n")
	if len(lines) < 3 {
		return secret.Bytes{}, errors.New("not an artifact")
	}
	return secret.Of(bytesOf(lines[1])), nil
}

func bytesOf(name string) []byte { return []byte("version: v1alpha1 # " + name) }
