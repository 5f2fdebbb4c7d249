package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	grpcproxy "github.com/siderolabs/grpc-proxy/proxy"
)

// Sizes that both ends of every connection use: they decide how much one hop takes in before it pushes back.
const (
	maxMessage   = constants.GRPCMaxMessageSize
	streamWindow = 65535 * 32
	connWindow   = 65535 * 16
)

// remote is an endpoint's way to another node: one HTTP/2 connection, cached, with no keepalive and no timeout of its
// own, so that bytes which the kernel has accepted are delivered whenever the network lets them.
type remote struct {
	target string
	tls    func() (*tls.Config, error)
	source string

	mu   sync.Mutex
	conn *grpc.ClientConn
}

var _ grpcproxy.Backend = (*remote)(nil)

func (b *remote) String() string { return b.target }

// GetConnection returns the cached connection, and marks the call as routed.
func (b *remote) GetConnection(ctx context.Context, _ string) (context.Context, *grpc.ClientConn, error) {
	md := outgoing(ctx)
	from := "unknown"

	if in, ok := metadata.FromIncomingContext(ctx); ok && len(in.Get(":authority")) > 0 {
		from = in.Get(":authority")[0]
	}

	md.Set(proxyFromKey, from)
	ctx = metadata.NewOutgoingContext(ctx, md)

	b.mu.Lock()
	defer b.mu.Unlock()

	if b.conn != nil {
		return ctx, b.conn, nil
	}

	config, err := b.tls()
	if err != nil {
		return ctx, nil, err
	}

	b.conn, err = dialNode(b.target, b.source, config)

	return ctx, b.conn, err
}

// dialNode sets the options that decide what happens to a call when the other side is away.
func dialNode(target, source string, config *tls.Config) (*grpc.ClientConn, error) {
	retry := backoff.DefaultConfig
	retry.MaxDelay = 15 * time.Second

	return grpc.NewClient(net.JoinHostPort(target, strconv.Itoa(constants.ApidPort)),
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return plainDialer(source).DialContext(ctx, "tcp", addr)
		}),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connWindow),
		grpc.WithIdleTimeout(15*time.Minute),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: retry, MinConnectTimeout: 20 * time.Second}),
		grpc.WithSharedWriteBuffer(true),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessage),
			grpc.ForceCodecV2(grpcproxy.Codec()),
		))
}

// plainDialer dials as grpc's own dialer does (TCP keepalive with the system's settings), from a chosen address.
func plainDialer(source string) *net.Dialer {
	d := &net.Dialer{
		KeepAlive: -1,
		Control: func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) {
				// An unset keepalive changes nothing that is measured here, so an error is not worth a failed dial.
				_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1)
			})
		},
	}

	if source != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}

	return d
}

// AppendInfo adds metadata.hostname, the target as the caller wrote it, to a reply of a one-to-many call.
//
// Unary replies have the shape {repeated Reply messages = 1} with one message and Reply {Metadata metadata = 1; ...}:
// the metadata field is appended inside that message. Streamed replies are the message itself.
func (b *remote) AppendInfo(streaming bool, resp []byte) ([]byte, error) {
	info, err := proto.Marshal(&common.Empty{Metadata: &common.Metadata{Hostname: b.target}})
	if err != nil || streaming {
		return append(resp, info...), err
	}

	number, wire, n := protowire.ConsumeTag(resp)
	if n < 0 {
		return nil, protowire.ParseError(n)
	}

	if number != 1 || wire != protowire.BytesType {
		return nil, fmt.Errorf("a reply begins with field %d of type %d, not with its message", number, wire)
	}

	message, m := protowire.ConsumeBytes(resp[n:])
	if m < 0 {
		return nil, protowire.ParseError(m)
	}

	out := protowire.AppendTag(nil, 1, protowire.BytesType)
	out = protowire.AppendBytes(out, slices.Concat(message, info))

	return append(out, resp[n+m:]...), nil
}

// BuildError turns a node's error into an otherwise empty reply of a one-to-many call.
func (b *remote) BuildError(streaming bool, err error) ([]byte, error) {
	reply := &common.Empty{Metadata: &common.Metadata{
		Hostname: b.target,
		Error:    err.Error(),
		Status:   status.Convert(err).Proto(),
	}}

	if streaming {
		return proto.Marshal(reply)
	}

	return proto.Marshal(&common.EmptyResponse{Messages: []*common.Empty{reply}})
}

func (b *remote) close() {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.conn != nil {
		b.conn.Close()
		b.conn = nil
	}
}
