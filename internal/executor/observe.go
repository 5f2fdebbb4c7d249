package executor

import (
	"context"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/secret"
)

// Observe makes one recorded read on conn, for planning, drift, import or an adoption, and returns the active
// configuration beside the observation. plan is the plan that it is made for, "" without one.
func (e *Executor) Observe(ctx context.Context, conn Conn, t Target, p dispatch.Purpose, plan string) (dispatch.Observation, secret.Bytes, error) {
	kept := &keepingConn{Conn: conn}
	o, err := e.observe(ctx, kept, t, link{purpose: p, plan: plan})
	return o, kept.config, err
}

// keepingConn keeps the configuration of the last read, which no observation holds.
type keepingConn struct {
	Conn
	config secret.Bytes
}

// Read implements Conn.
func (k *keepingConn) Read(ctx context.Context) (dispatch.Reading, secret.Bytes, error) {
	r, config, err := k.Conn.Read(ctx)
	k.config = config
	return r, config, err
}
