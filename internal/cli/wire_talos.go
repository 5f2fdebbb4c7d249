package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/talos"
)

// nodes reaches machines for the executor with the credentials of their cluster's talosconfig.
type nodes struct{ app *app }

// Dial implements executor.Nodes.
func (n *nodes) Dial(ctx context.Context, t executor.Target) (executor.Conn, error) {
	c, err := n.app.credentials(t.Machine.ClusterID)
	if err != nil {
		return nil, err
	}
	o := talosOptions(t.Patience)
	n.app.drillConn(&o)
	conn, err := talos.Dial(ctx, c, talos.Target{Address: t.Address, Route: t.Route}, o)
	if err != nil {
		return nil, withNext(err, "clew machine show %s --refresh", t.Machine.Name)
	}
	return talosConn{conn}, nil
}

// CannotArrive implements executor.Nodes.
func (n *nodes) CannotArrive(ctx context.Context, t executor.Target, at dispatch.Attempt) (executor.SocketVerdict, error) {
	c, err := n.app.credentials(t.Machine.ClusterID)
	if err != nil {
		return executor.SocketVerdict{}, err
	}
	v, err := talos.CannotArrive(ctx, c, talos.Target{Address: t.Address, Route: t.Route}, at)
	return executor.SocketVerdict{Available: v.Available, Holds: v.Holds, Missing: v.Missing, Evidence: v.Evidence}, err
}

// talosOptions are those of a connection that gives up on unacknowledged bytes after patience: one that carries a request
// has to do so at the request's deadline, not earlier, and not later, so that they cannot land long after it.
func talosOptions(patience time.Duration) talos.Options {
	return talos.Options{TCPUserTimeout: cmp.Or(patience, defaultTransportDeadline)}
}

// talosConn is a Talos connection as the executor knows it.
type talosConn struct{ *talos.Conn }

// Addrs implements executor.Conn.
func (c talosConn) Addrs() (local, remote string) { return c.LocalAddr(), c.RemoteAddr() }

// Apply implements executor.Conn.
func (c talosConn) Apply(ctx context.Context, config secret.Bytes, mode string) executor.Outcome {
	o := c.Conn.Apply(ctx, config, talos.ApplyParams{Mode: mode})
	return executor.Outcome{Response: o.Response, NeverLeft: o.NeverLeft, Err: o.Err}
}

var (
	_ executor.Conn  = talosConn{}
	_ executor.Nodes = (*nodes)(nil)
)

// credentials loads the talosconfig context that reaches a cluster, once per run.
func (a *app) credentials(clusterID string) (*talos.Config, error) {
	a.wired.talos.mu.Lock()
	defer a.wired.talos.mu.Unlock()
	if c := a.wired.talos.loaded[clusterID]; c != nil {
		return c, nil
	}
	if a.flags.offline {
		return nil, errors.New("--offline contacts nothing")
	}
	where, err := a.findTalosconfig(clusterID)
	if err != nil {
		return nil, err
	}
	c, err := talos.LoadConfig(where.Path, where.Context)
	if err != nil {
		return nil, withNext(fmt.Errorf("%w (from %s; --talosconfig names another file, --context one of its contexts)", err, where.source), "clew machine import --talosconfig FILE")
	}
	if a.wired.talos.loaded == nil {
		a.wired.talos.loaded = map[string]*talos.Config{}
	}
	a.wired.talos.loaded[clusterID] = c
	return c, nil
}
