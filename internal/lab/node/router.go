package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"

	"github.com/siderolabs/grpc-proxy/proxy"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Metadata keys of routing. nodeKey and nodesKey come from clients; proxyFromKey marks a call that has been routed.
const (
	nodeKey      = "node"
	nodesKey     = "nodes"
	proxyFromKey = "proxyfrom"
)

// oneToMany are the services whose answers can be joined.
var oneToMany = []string{
	"/machine.MachineService/", "/cluster.ClusterService/", "/inspect.InspectService/",
	"/storage.StorageService/", "/time.TimeService/",
}

// router decides where a call goes.
type router struct {
	local  proxy.Backend
	isSelf func(target string) bool

	// tls is nil on a node without a client identity, which never forwards.
	tls    func() (*tls.Config, error)
	source func() string

	mu      sync.Mutex
	remotes map[string]*remote
}

// direct is the grpc-proxy director.
func (r *router) direct(ctx context.Context, method string) (proxy.Mode, []proxy.Backend, error) {
	here := []proxy.Backend{r.local}

	md, _ := metadata.FromIncomingContext(ctx)
	if _, routed := md[proxyFromKey]; routed {
		return proxy.One2One, here, nil
	}

	nodes, many := md[nodesKey]
	node, one := md[nodeKey]

	if one && len(node) != 1 {
		return proxy.One2One, nil, status.Error(codes.InvalidArgument, "node metadata must be single-valued")
	}

	if r.tls == nil {
		// Without an identity the only reachable target is oneself. With one, even oneself is reached over TCP.
		one = one && !r.isSelf(node[0])
		many = many && !(len(nodes) == 1 && r.isSelf(nodes[0]))
	}

	switch {
	case many:
		return r.toMany(method, nodes)
	case one:
		backends, err := r.toRemotes(node)

		return proxy.One2One, backends, err
	default:
		return proxy.One2One, here, nil
	}
}

func (r *router) toMany(method string, targets []string) (proxy.Mode, []proxy.Backend, error) {
	for _, prefix := range oneToMany {
		if strings.HasPrefix(method, prefix) {
			backends, err := r.toRemotes(targets)

			return proxy.One2Many, backends, err
		}
	}

	return proxy.One2One, nil,
		status.Errorf(codes.InvalidArgument, "one-2-many proxying is not supported for method %s", method)
}

func (r *router) toRemotes(targets []string) ([]proxy.Backend, error) {
	if r.tls == nil {
		return nil, status.Error(codes.PermissionDenied, "no request forwarding")
	}

	backends := make([]proxy.Backend, len(targets))

	for i, target := range targets {
		if target == "" || hasPort(target) {
			return nil, status.Error(codes.Internal, fmt.Sprintf("invalid target %q", target))
		}

		backends[i] = r.remote(target)
	}

	return backends, nil
}

// remote returns the one cached backend of a target.
func (r *router) remote(target string) *remote {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.remotes == nil {
		r.remotes = map[string]*remote{}
	}

	b, ok := r.remotes[target]
	if !ok {
		b = &remote{target: target, tls: r.tls, source: r.source()}
		r.remotes[target] = b
	}

	return b
}

func (r *router) close() {
	r.mu.Lock()
	defer r.mu.Unlock()

	for _, b := range r.remotes {
		b.close()
	}

	r.remotes = nil
}

func hasPort(target string) bool {
	if _, err := netip.ParseAddr(target); err == nil {
		return false
	}

	_, _, err := net.SplitHostPort(target)

	return err == nil
}

// newLocal connects the front to machined over its unix socket, passing the caller's metadata on and adding roles.
func newLocal(socket string) (proxy.Backend, *grpc.ClientConn, error) {
	conn, err := grpc.NewClient("unix://"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithSharedWriteBuffer(true),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessage),
			grpc.ForceCodecV2(proxy.Codec()),
		))
	if err != nil {
		return nil, nil, err
	}

	return &proxy.SingleBackend{GetConn: func(ctx context.Context) (context.Context, *grpc.ClientConn, error) {
		return metadata.NewOutgoingContext(ctx, outgoing(ctx)), conn, nil
	}}, conn, nil
}

// outgoing is the metadata of the next hop: the caller's own, less routing, with the roles that this hop established.
func outgoing(ctx context.Context) metadata.MD {
	md, _ := metadata.FromIncomingContext(ctx)
	md = md.Copy()

	for _, key := range []string{":authority", nodeKey, nodesKey, rolesKey} {
		delete(md, key)
	}

	if roles := rolesOf(ctx).Strings(); len(roles) > 0 {
		md.Set(rolesKey, roles...)
	}

	return md
}
