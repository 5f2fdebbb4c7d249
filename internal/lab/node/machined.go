package node

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	cosistate "github.com/cosi-project/runtime/pkg/state"
	cosiserver "github.com/cosi-project/runtime/pkg/state/protobuf/server"
	clusterapi "github.com/siderolabs/talos/pkg/machinery/api/cluster"
	inspectapi "github.com/siderolabs/talos/pkg/machinery/api/inspect"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	storageapi "github.com/siderolabs/talos/pkg/machinery/api/storage"
	timeapi "github.com/siderolabs/talos/pkg/machinery/api/time"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// machined is the server behind apid. It answers MachineService; methods that it does not override answer
// Unimplemented, after authorization, through the embedded server.
type machined struct {
	machine.UnimplementedMachineServiceServer

	settings Settings
	log      *slog.Logger
	boot     *boot
}

// newMachinedServer builds the gRPC server: roles from metadata, authorization by method, panics as Internal.
func newMachinedServer(m *machined) *grpc.Server {
	srv := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connWindow),
		grpc.SharedWriteBuffer(true),
		grpc.ChainUnaryInterceptor(recoverUnary(m.log), authorizeUnary),
		grpc.ChainStreamInterceptor(recoverStream(m.log), authorizeStream),
	)

	machine.RegisterMachineServiceServer(srv, m)
	machine.RegisterLifecycleServiceServer(srv, &lifecycle{machined: m})
	machine.RegisterImageServiceServer(srv, &images{machined: m})
	machine.RegisterDebugServiceServer(srv, &machine.UnimplementedDebugServiceServer{})
	clusterapi.RegisterClusterServiceServer(srv, &clusterapi.UnimplementedClusterServiceServer{})
	inspectapi.RegisterInspectServiceServer(srv, &inspectapi.UnimplementedInspectServiceServer{})
	storageapi.RegisterStorageServiceServer(srv, &storageapi.UnimplementedStorageServiceServer{})
	timeapi.RegisterTimeServiceServer(srv, &clock{})
	cosi.RegisterStateServer(srv, cosiserver.NewState(cosistate.Filter(m.boot.state, accessPolicy(m.boot.state))))

	return srv
}

// listenMachined opens the unix socket afresh; the one of an earlier boot may still be there.
func listenMachined(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}

	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}

	return &peerListener{Listener: l}, nil
}

// peerListener admits only this process: the socket is apid's, and both servers of a lab node are one process.
type peerListener struct{ net.Listener }

func (l *peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}

		if pid, err := peerPID(conn); err == nil && pid == os.Getpid() {
			return conn, nil
		}

		conn.Close()
	}
}

func authorizeUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx = withRoles(ctx, rolesFromMetadata(ctx))
	if err := authorize(ctx, info.FullMethod); err != nil {
		return nil, err
	}

	return next(ctx, req)
}

func authorizeStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx := withRoles(stream.Context(), rolesFromMetadata(stream.Context()))
	if err := authorize(ctx, info.FullMethod); err != nil {
		return err
	}

	return next(srv, &rolesStream{ServerStream: stream, ctx: ctx})
}

func recoverUnary(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
		defer recoverAs(log, info.FullMethod, &err)

		return next(ctx, req)
	}
}

func recoverStream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		defer recoverAs(log, info.FullMethod, &err)

		return next(srv, stream)
	}
}

func recoverAs(log *slog.Logger, method string, err *error) {
	if r := recover(); r != nil {
		log.Error("a handler panicked", "method", method, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "%v", r)
	}
}
