package talos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/clewops/clew/internal/dispatch"
)

// apidPort is the port of the Talos API on every node.
const apidPort = constants.ApidPort

// Target is a node and the way to it.
type Target struct {
	Address string         // IP address or host name, without a port
	Route   dispatch.Route // direct, or via one pinned endpoint
}

// Options of a connection. The zero value is a plain one.
type Options struct {
	// TCPUserTimeout is how long sent bytes may stay unacknowledged before the kernel gives the connection up; 0 leaves
	// the kernel's own rule. It has an effect on Linux only.
	TCPUserTimeout time.Duration
	// WithoutAbort is for controls, which take the abort away in all its layers to see what it prevents: when its context
	// ends, Apply leaves the request and the connection as they are, and TCPUserTimeout is ignored.
	WithoutAbort bool

	port         int    // of the Talos API, 0 for apidPort
	withoutCheck string // see CannotArriveWithout
}

// Conn is one TCP connection to a node or to its pinned endpoint, with the Talos API on it. It never dials again: once
// the connection is gone every call fails. It is safe for concurrent use.
type Conn struct {
	wire    *wire
	client  *client.Client
	target  Target // as checked: Address and the route's endpoint are bare hosts
	hop     string // host of the next hop
	port    int
	options Options
	local   string
	remote  string
	closed  sync.Once    // the client
	version atomic.Value // string: the Talos version as last read on this connection
}

// Dial connects to the node, or to the endpoint of its route, and returns when the other side has accepted the
// credentials. It says nothing yet about a node behind an endpoint.
func Dial(ctx context.Context, c *Config, t Target, o Options) (*Conn, error) {
	conn := &Conn{options: o, port: apidPort}
	if o.port != 0 {
		conn.port = o.port
	}
	if o.WithoutAbort {
		o.TCPUserTimeout = 0
	}
	if err := conn.setTarget(t); err != nil {
		return nil, err
	}
	hostPort := net.JoinHostPort(conn.hop, strconv.Itoa(conn.port))
	w, err := dialWire(ctx, hostPort, o.TCPUserTimeout)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", hostPort, err)
	}
	conn.wire, conn.local, conn.remote = w, w.LocalAddr().String(), w.RemoteAddr().String()
	credentials := *c.context
	conn.client, err = client.New(ctx,
		client.WithConfigContext(&credentials),
		client.WithEndpoints(hostPort),
		client.WithGRPCDialOptions(
			grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return w.handOut() }),
			grpc.WithStatsHandler(callEvents{}),
			grpc.WithDisableServiceConfig(), // else a DNS record could ask for retries
			grpc.WithDisableRetry(),
			grpc.WithIdleTimeout(0),
		))
	if err != nil {
		w.abort()
		return nil, fmt.Errorf("connecting to %s: the credentials of context %q cannot be used", hostPort, c.name)
	}
	if err := conn.handshake(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("connecting to %s: %w", hostPort, err)
	}
	return conn, nil
}

func (c *Conn) setTarget(t Target) error {
	host, err := hostOf(t.Address)
	if err != nil {
		return fmt.Errorf("the node's address: %w", err)
	}
	if !t.Route.Valid() {
		return fmt.Errorf("route %q: use %s or via:ENDPOINT", t.Route, dispatch.Direct)
	}
	c.target, c.hop = Target{Address: host, Route: dispatch.Direct}, host
	if endpoint := t.Route.Endpoint(); endpoint != "" {
		if c.hop, err = hostOf(endpoint); err != nil {
			return fmt.Errorf("the route's endpoint: %w", err)
		}
		c.target.Route = dispatch.Via(c.hop)
	}
	return nil
}

// handshake waits until TLS and HTTP/2 stand.
func (c *Conn) handshake(ctx context.Context) error {
	cc := c.client.Conn()
	cc.Connect()
	for {
		state := cc.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			return c.handshakeError(ctx)
		case connectivity.Idle, connectivity.Connecting:
		}
		if !cc.WaitForStateChange(ctx, state) {
			return ctx.Err()
		}
	}
}

// handshakeError asks the library for the reason, which it tells only to a call. Nothing but a handshake was ever on
// the connection, so its text holds no configuration.
func (c *Conn) handshakeError(ctx context.Context) error {
	_, err := c.client.MachineClient.Version(ctx, &emptypb.Empty{})
	if err == nil {
		return errors.New("the connection could not be set up")
	}
	return errors.New(status.Convert(err).Message())
}

// LocalAddr is this side of the connection, host:port.
func (c *Conn) LocalAddr() string { return c.local }

// RemoteAddr is the next hop's side of the connection, host:port.
func (c *Conn) RemoteAddr() string { return c.remote }

// Abort ends the connection at once: the kernel discards what is queued and resets the connection. When it returns,
// nothing more can be written to it. It may be repeated.
func (c *Conn) Abort() {
	c.wire.abort()
	_ = c.closeClient()
}

// Close ends the connection in order. After an unanswered Apply it is an abort.
func (c *Conn) Close() error {
	err := c.closeClient()
	if e := c.wire.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
		err = errors.Join(err, e)
	}
	return err
}

func (c *Conn) closeClient() (err error) {
	c.closed.Do(func() { err = c.client.Close() })
	return err
}

// toNode addresses a call to the node: through an endpoint by single-node routing metadata, directly without any.
func (c *Conn) toNode(ctx context.Context) context.Context {
	if c.target.Route == dispatch.Direct {
		return ctx
	}
	return client.WithNode(ctx, c.target.Address)
}
