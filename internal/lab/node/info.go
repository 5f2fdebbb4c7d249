package node

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"runtime"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	timeapi "github.com/siderolabs/talos/pkg/machinery/api/time"
	"github.com/siderolabs/talos/pkg/machinery/version"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// bootIDPath is the one file that a lab node lets admins read.
const bootIDPath = "/proc/sys/kernel/random/boot_id"

// Version answers as soon as the API is there.
func (m *machined) Version(context.Context, *emptypb.Empty) (*machine.VersionResponse, error) {
	return &machine.VersionResponse{Messages: []*machine.Version{{
		Version: &machine.VersionInfo{
			Tag: m.boot.version, Sha: version.SHA, Built: version.Built,
			GoVersion: runtime.Version(), Os: "linux", Arch: runtime.GOARCH,
		},
		Platform: &machine.PlatformInfo{Name: "metal", Mode: "metal"},
		Features: &machine.FeaturesInfo{Rbac: true},
	}}}, nil
}

// Hostname answers the node's name.
func (m *machined) Hostname(context.Context, *emptypb.Empty) (*machine.HostnameResponse, error) {
	return &machine.HostnameResponse{Messages: []*machine.Hostname{{Hostname: m.settings.Name}}}, nil
}

// SystemStat answers when the node booted; the counters of the machine underneath would not be the node's.
func (m *machined) SystemStat(context.Context, *emptypb.Empty) (*machine.SystemStatResponse, error) {
	return &machine.SystemStatResponse{Messages: []*machine.SystemStat{
		{BootTime: uint64(m.boot.since.Unix()), CpuTotal: &machine.CPUStat{}, SoftIrq: &machine.SoftIRQStat{}},
	}}, nil
}

// Read streams the boot id, and no other file: the machine's own files are none of a client's business.
func (m *machined) Read(req *machine.ReadRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	if req.GetPath() != bootIDPath {
		return status.Errorf(codes.Unimplemented, "a lab node offers only %s for reading", bootIDPath)
	}

	return stream.Send(&common.Data{Bytes: []byte(m.boot.id + "\n")})
}

// clock is TimeService: a lab node's clock is the machine's, and nobody asks a time server.
type clock struct {
	timeapi.UnimplementedTimeServiceServer
}

func (*clock) Time(context.Context, *emptypb.Empty) (*timeapi.TimeResponse, error) {
	now := timestamppb.New(time.Now())

	return &timeapi.TimeResponse{Messages: []*timeapi.Time{{Localtime: now, Remotetime: now}}}, nil
}

// onControlPlane turns away what only a control plane can answer.
func (m *machined) onControlPlane(what string) error {
	if m.settings.Worker {
		return status.Errorf(codes.Unimplemented, "%s is only available on control plane nodes", what)
	}

	return nil
}

// memberID is the etcd member id of a node: any stable number that differs between nodes.
func (m *machined) memberID() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, m.boot.nodeID)

	return h.Sum64()
}

// EtcdMemberList answers the one member of a lab cluster.
func (m *machined) EtcdMemberList(context.Context, *machine.EtcdMemberListRequest) (*machine.EtcdMemberListResponse, error) {
	if err := m.onControlPlane("member list"); err != nil {
		return nil, err
	}

	addr := m.boot.address()

	return &machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{{
		LegacyMembers: []string{m.settings.Name},
		Members: []*machine.EtcdMember{{
			Id: m.memberID(), Hostname: m.settings.Name,
			PeerUrls:   []string{"https://" + net.JoinHostPort(addr, "2380")},
			ClientUrls: []string{"https://" + net.JoinHostPort(addr, "2379")},
		}},
	}}}, nil
}

// EtcdStatus answers a healthy single member that leads itself.
func (m *machined) EtcdStatus(context.Context, *emptypb.Empty) (*machine.EtcdStatusResponse, error) {
	if err := m.onControlPlane("status"); err != nil {
		return nil, err
	}

	return &machine.EtcdStatusResponse{Messages: []*machine.EtcdStatus{{
		MemberStatus: &machine.EtcdMemberStatus{
			MemberId: m.memberID(), Leader: m.memberID(), RaftTerm: 2, ProtocolVersion: "3.6.0", StorageVersion: "3.6.0",
		},
	}}}, nil
}

// EtcdAlarmList answers that there are none.
func (m *machined) EtcdAlarmList(context.Context, *emptypb.Empty) (*machine.EtcdAlarmListResponse, error) {
	if err := m.onControlPlane("alarm list"); err != nil {
		return nil, err
	}

	return &machine.EtcdAlarmListResponse{Messages: []*machine.EtcdAlarm{{}}}, nil
}
