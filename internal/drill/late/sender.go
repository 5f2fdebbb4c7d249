package late

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/talos"
)

// sender is a connection that stood before the partition. Nobody asks what a send came to: the node's journal says it.
type sender struct {
	attempt dispatch.Attempt // what an executor would have recorded; zero for a plain client
	send    func(ctx context.Context, config []byte)
	close   func()
}

func (w *worker) sender(ctx context.Context, t Trial) (sender, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if t.Client == Cancel {
		return w.plain(ctx, t)
	}
	target := w.target(t)
	conn, err := talos.Dial(ctx, w.config, target, talos.Options{TCPUserTimeout: t.deadline(), WithoutAbort: t.Client == Leave})
	if err != nil {
		return sender{}, err
	}
	s := sender{
		send: func(ctx context.Context, config []byte) {
			out := conn.Apply(ctx, secret.Of(config), talos.ApplyParams{Mode: dispatch.ModeNoReboot})
			if t.Client == Abort && out.Response.Class == dispatch.Inconclusive {
				conn.Abort()
			}
		},
		close: conn.Abort,
	}
	if _, _, err = conn.Read(ctx); err == nil {
		s.attempt, err = attempt(ctx, conn, target)
	}
	if err != nil {
		conn.Abort()
	}
	return s, err
}

// attempt is what an executor records of an attempt on the connection before it sends.
func attempt(ctx context.Context, conn *talos.Conn, t talos.Target) (dispatch.Attempt, error) {
	host, err := talos.LocalHost()
	if err != nil {
		return dispatch.Attempt{}, err
	}
	sockets, err := conn.Baseline(ctx)
	return dispatch.Attempt{
		Number: 1, Route: t.Route, LocalAddr: conn.LocalAddr(), RemoteAddr: conn.RemoteAddr(), Host: host, Sockets: sockets,
	}, err
}

// plain is a gRPC client that does nothing about its connection.
func (w *worker) plain(ctx context.Context, t Trial) (sender, error) {
	hop, on := w.node.Address(), func(ctx context.Context) context.Context { return ctx }
	if t.Route == Endpoint {
		hop = w.lab.Nodes()[0].Address()
		on = func(ctx context.Context) context.Context { return client.WithNode(ctx, w.node.Address()) }
	}
	c, err := client.New(context.WithoutCancel(ctx), client.WithConfigFromFile(w.lab.Talosconfig()),
		client.WithContextName(lab.ClusterName), client.WithEndpoints(hop))
	if err != nil {
		return sender{}, err
	}
	s := sender{
		send: func(ctx context.Context, config []byte) {
			_, _ = c.ApplyConfiguration(on(ctx), &machine.ApplyConfigurationRequest{ // see sender
				Data: config, Mode: machine.ApplyConfigurationRequest_NO_REBOOT,
			})
		},
		close: func() { _ = c.Close() }, // it may be gone already
	}
	if _, err := c.Version(on(ctx)); err != nil {
		s.close()
		return s, err
	}
	return s, nil
}

func (w *worker) target(t Trial) talos.Target {
	target := talos.Target{Address: w.node.Address(), Route: dispatch.Direct}
	if t.Route == Endpoint {
		target.Route = dispatch.Via(w.lab.Nodes()[0].Address())
	}
	return target
}
