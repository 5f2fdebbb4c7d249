package executor

import (
	"context"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
)

// link says what a read is for.
type link struct {
	purpose   dispatch.Purpose
	plan      string
	operation string
}

// observe makes one recorded read on conn: the started entry first, so that its basis orders the reading, then the
// reading or the record that nothing was read.
func (e *Executor) observe(ctx context.Context, conn Conn, t Target, l link) (dispatch.Observation, error) {
	local, remote := conn.Addrs()
	o := dispatch.Observation{
		Machine: t.Machine.ID, Purpose: l.purpose, Plan: l.plan, Operation: l.operation, Instance: e.Instance,
		Route: t.Route, ReadAddress: t.Address, LocalAddr: local, RemoteAddr: remote,
	}
	basis, err := e.Store.StartRead(ctx, o)
	if err != nil {
		return o, fmt.Errorf("recording that the read begins: %w", err)
	}
	o.Basis = basis
	reading, _, err := conn.Read(ctx)
	if err != nil {
		if ferr := e.Store.FailRead(context.WithoutCancel(ctx), t.Machine.ID, basis, e.Instance, readFailure(err)); ferr != nil {
			e.log().Warn("a failed read was not recorded", "machine", t.Machine.ID, "error", ferr)
		}
		return o, fmt.Errorf("reading %s (%s): %w", t.Machine.Name, t.Route, err)
	}
	o.Reading = reading
	o, _, err = e.Store.RecordRead(ctx, o)
	if err != nil {
		return o, fmt.Errorf("recording the reading: %w", err)
	}
	return o, nil
}

// readFailure is the text of a failed read that goes into the ledger: the adapter's errors hold no configuration.
func readFailure(err error) string {
	const most = 300
	s := err.Error()
	if len(s) > most {
		s = s[:most]
	}
	return s
}

// observeAnew dials, reads once and closes.
func (e *Executor) observeAnew(ctx context.Context, t Target, l link) (dispatch.Observation, error) {
	conn, err := e.Nodes.Dial(ctx, t)
	if err != nil {
		return dispatch.Observation{}, fmt.Errorf("reaching %s (%s): %w", t.Machine.Name, t.Route, err)
	}
	defer conn.Abort()
	return e.observe(ctx, conn, t, l)
}
