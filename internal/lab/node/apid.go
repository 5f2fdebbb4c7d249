package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/siderolabs/grpc-proxy/proxy"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// Files of a node's pki directory. The client pair, an impersonator's, is what lets an endpoint forward; workers have
// none.
const (
	ServerCertFile = "pki/server.crt"
	ServerKeyFile  = "pki/server.key"
	ClientCertFile = "pki/client.crt"
	ClientKeyFile  = "pki/client.key"
)

// streamedMethods answer with a stream of messages, which decides how one-to-many answers are framed.
var streamedMethods = map[string]bool{
	"/machine.MachineService/Copy": true, "/machine.MachineService/DiskUsage": true,
	"/machine.MachineService/Dmesg": true, "/machine.MachineService/EtcdSnapshot": true,
	"/machine.MachineService/Events": true, "/machine.MachineService/ImageList": true,
	"/machine.MachineService/Kubeconfig": true, "/machine.MachineService/List": true,
	"/machine.MachineService/Logs": true, "/machine.MachineService/PacketCapture": true,
	"/machine.MachineService/Read": true, "/cluster.ClusterService/HealthCheck": true,
	"/machine.LifecycleService/Install": true, "/machine.LifecycleService/Upgrade": true,
}

// newApidServer builds the front: mTLS against the accepted OS CAs of the active configuration, everything else is
// the router's.
func newApidServer(b *boot, r *router) (*grpc.Server, error) {
	cert, err := tls.LoadX509KeyPair(b.settings.path(ServerCertFile), b.settings.path(ServerKeyFile))
	if err != nil {
		return nil, fmt.Errorf("loading the server certificate: %w", err)
	}

	base := &tls.Config{
		Certificates:          []tls.Certificate{cert},
		ClientAuth:            tls.RequireAndVerifyClientCert,
		MinVersion:            tls.VersionTLS13,
		NextProtos:            []string{"h2"},
		VerifyPeerCertificate: onlyClientAuth,
	}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool, err := acceptedCAs(b.activeConfig())
		if err != nil {
			return nil, err
		}

		c := base.Clone()
		c.ClientCAs = pool

		return c, nil
	}

	return grpc.NewServer(
		grpc.Creds(credentials.NewTLS(base)),
		grpc.ForceServerCodecV2(proxy.Codec()),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connWindow),
		grpc.SharedWriteBuffer(true),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			ctx := withRoles(stream.Context(), rolesFromPeer(stream.Context()))

			return next(srv, &rolesStream{ServerStream: stream, ctx: ctx})
		}),
		grpc.UnknownServiceHandler(proxy.TransparentHandler(r.direct,
			proxy.WithStreamedDetector(func(method string) bool { return streamedMethods[method] }))),
	), nil
}

// acceptedCAs are the issuing CA of the machine configuration and those it accepts besides.
func acceptedCAs(cfg config.Config) (*x509.CertPool, error) {
	if cfg == nil || cfg.Machine() == nil {
		return nil, errors.New("no machine configuration")
	}

	pool := x509.NewCertPool()

	if ca := cfg.Machine().Security().IssuingCA(); ca != nil {
		pool.AppendCertsFromPEM(ca.Crt)
	}

	for _, ca := range cfg.Machine().Security().AcceptedCAs() {
		pool.AppendCertsFromPEM(ca.Crt)
	}

	return pool, nil
}

// onlyClientAuth refuses a leaf whose extended key usage is anything but client authentication, so that a server
// certificate of the same CA is no login.
func onlyClientAuth(_ [][]byte, chains [][]*x509.Certificate) error {
	if len(chains) == 0 || len(chains[0]) == 0 {
		return errors.New("no verified chain")
	}

	leaf := chains[0][0]
	if !slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) {
		return fmt.Errorf("certificate %q is not for client authentication alone", leaf.Subject)
	}

	return nil
}

// clientTLS is how an endpoint introduces itself to other nodes; nil on a worker, which has no such identity.
func clientTLS(b *boot) (func() (*tls.Config, error), error) {
	cert, err := tls.LoadX509KeyPair(b.settings.path(ClientCertFile), b.settings.path(ClientKeyFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("loading the client certificate: %w", err)
	}

	return func() (*tls.Config, error) {
		pool, err := acceptedCAs(b.activeConfig())
		if err != nil {
			return nil, err
		}

		return &tls.Config{
			Certificates: []tls.Certificate{cert},
			RootCAs:      pool,
			MinVersion:   tls.VersionTLS13,
		}, nil
	}, nil
}

// gracefulStop lets running calls end for a while, as apid does, and then ends them.
func gracefulStop(ctx context.Context, srv *grpc.Server) {
	done := make(chan struct{})

	go func() {
		defer close(done)
		srv.GracefulStop()
	}()

	select {
	case <-done:
	case <-ctx.Done():
		srv.Stop()
		<-done
	}
}
