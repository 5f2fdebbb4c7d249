package node

import (
	"sync"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// images is the part of ImageService that an upgrade needs: it remembers what was pulled in this boot.
type images struct {
	machine.UnimplementedImageServiceServer

	machined *machined
}

// Pull accepts every reference and answers with its name; a lab node fetches nothing.
func (s *images) Pull(req *machine.ImageServicePullRequest, stream grpc.ServerStreamingServer[machine.ImageServicePullResponse]) error {
	if req.GetImageRef() == "" {
		return status.Error(codes.InvalidArgument, "image reference is required")
	}

	s.machined.boot.pulled.Store(req.GetImageRef(), true)

	return stream.Send(&machine.ImageServicePullResponse{
		Response: &machine.ImageServicePullResponse_Name{Name: req.GetImageRef()},
	})
}

// lifecycle is the newer way to upgrade: it installs, and leaves draining and rebooting to the client.
type lifecycle struct {
	machine.UnimplementedLifecycleServiceServer

	machined *machined
	mu       sync.Mutex
}

// Upgrade installs a pulled image. Once it has begun it goes on without its caller, with the lock held.
func (s *lifecycle) Upgrade(req *machine.LifecycleServiceUpgradeRequest, stream grpc.ServerStreamingServer[machine.LifecycleServiceUpgradeResponse]) error {
	if !s.mu.TryLock() {
		return status.Error(codes.FailedPrecondition, "another installation/upgrade is already in progress")
	}
	defer s.mu.Unlock()

	image := req.GetSource().GetImageName()
	if image == "" {
		return status.Error(codes.InvalidArgument, "installer image name is required")
	}

	b := s.machined.boot
	if _, ok := b.pulled.Load(image); !ok {
		return status.Errorf(codes.Internal, "upgrade failed: installer image %q not found in containerd store", image)
	}

	version, err := imageVersion(image)
	if err != nil {
		return status.Error(codes.Internal, "upgrade failed: "+err.Error())
	}

	send := func(p *machine.LifecycleServiceInstallProgress) error {
		return stream.Send(&machine.LifecycleServiceUpgradeResponse{Progress: p})
	}

	// A caller that has gone does not stop the installer, so an error of this message is not looked at.
	_ = send(&machine.LifecycleServiceInstallProgress{
		Response: &machine.LifecycleServiceInstallProgress_Message{Message: "running Talos installer " + version},
	})

	exit := int32(0)
	if err := b.install(version); err != nil {
		b.log.Error("installing", "error", err)

		exit = 1
	}

	return send(&machine.LifecycleServiceInstallProgress{
		Response: &machine.LifecycleServiceInstallProgress_ExitCode{ExitCode: exit},
	})
}
