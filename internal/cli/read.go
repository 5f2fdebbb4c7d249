package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

// readDeadline bounds one read of a node, its connection included.
const readDeadline = 15 * time.Second

// dial connects to a machine.
func (a *app) dial(ctx context.Context, t executor.Target) (*talos.Conn, error) {
	c, err := a.credentials(t.Machine.ClusterID)
	if err != nil {
		return nil, err
	}
	conn, err := talos.Dial(ctx, c, talos.Target{Address: t.Address, Route: t.Route}, talosOptions(t.Patience))
	if err != nil {
		return nil, withNext(fmt.Errorf("reaching %s (%s): %w: is it up, and has the talosconfig its cluster's credentials?", t.Machine.Name, t.Route, err),
			"clew machine import --talosconfig FILE")
	}
	return conn, nil
}

// observe reads a machine and records what it showed. Route "" is the way that it was last read.
func (a *app) observe(ctx context.Context, st *store.Store, m dispatch.Machine, route dispatch.Route, p dispatch.Purpose) (dispatch.Observation, secret.Bytes, error) {
	e, err := a.theExecutor(ctx, st)
	if err != nil {
		return dispatch.Observation{}, secret.Bytes{}, err
	}
	t, err := target(ctx, st, m, route)
	if err != nil {
		return dispatch.Observation{}, secret.Bytes{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	conn, err := a.dial(ctx, t)
	if err != nil {
		return dispatch.Observation{}, secret.Bytes{}, err
	}
	defer conn.Abort()
	return e.Observe(ctx, talosConn{conn}, t, p, "")
}

// look reads a machine and writes nothing down.
func look(ctx context.Context, conn *talos.Conn, t executor.Target) (dispatch.Observation, secret.Bytes, error) {
	started := time.Now()
	r, config, err := conn.Read(ctx)
	if err != nil {
		return dispatch.Observation{}, config, fmt.Errorf("reading %s (%s): %w", t.Machine.Name, t.Route, err)
	}
	return dispatch.Observation{
		Machine: t.Machine.ID, StartedAt: started, Purpose: dispatch.ForPlanning, Route: t.Route, ReadAddress: t.Address, Reading: r,
	}, config, nil
}

// target is where a machine is reached: the address that it was last read at, as long as it is one of its own.
func target(ctx context.Context, st *store.Store, m dispatch.Machine, route dispatch.Route) (executor.Target, error) {
	t := executor.Target{Machine: m, Route: route}
	if len(m.Assignment.Addresses) == 0 {
		return t, withNext(fmt.Errorf("no address of %s is known", m.Name), "clew machine import")
	}
	t.Address = m.Assignment.Addresses[0]
	last, err := st.LatestObservation(ctx, m.ID)
	if err != nil {
		return t, err
	}
	if last != nil && slices.Contains(m.Assignment.Addresses, last.ReadAddress) {
		t.Address = last.ReadAddress
	}
	if t.Route == "" && last != nil {
		t.Route = last.Route
	}
	if t.Route == "" {
		t.Route = dispatch.Direct
	}
	return t, nil
}
