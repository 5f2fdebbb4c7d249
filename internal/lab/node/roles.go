package node

import (
	"context"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// rolesKey is the metadata in which an apid tells the next hop who is asking.
const rolesKey = "talos-role"

var errNotAuthorized = status.Error(codes.PermissionDenied, "not authorized")

type rolesContextKey struct{}

func withRoles(ctx context.Context, roles role.Set) context.Context {
	return context.WithValue(ctx, rolesContextKey{}, roles)
}

func rolesOf(ctx context.Context) role.Set {
	roles, ok := ctx.Value(rolesContextKey{}).(role.Set)
	if !ok {
		return role.Zero
	}

	return roles
}

// rolesFromMetadata trusts the caller's metadata: right for machined, which only its apid can reach, and for
// an impersonator.
func rolesFromMetadata(ctx context.Context) role.Set {
	md, _ := metadata.FromIncomingContext(ctx)
	roles, _ := role.Parse(md.Get(rolesKey))

	return roles
}

// rolesFromPeer reads the roles from the client certificate's organizations; only an impersonator's metadata counts.
func rolesFromPeer(ctx context.Context) role.Set {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return role.Zero
	}

	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return role.Zero
	}

	roles, _ := role.Parse(info.State.PeerCertificates[0].Subject.Organization)
	if md, _ := metadata.FromIncomingContext(ctx); roles.Includes(role.Impersonator) && len(md.Get(rolesKey)) > 0 {
		return rolesFromMetadata(ctx)
	}

	return roles
}

// Sets of roles that methods are open to.
var (
	adminOnly   = role.MakeSet(role.Admin)
	operators   = role.MakeSet(role.Admin, role.Operator)
	readers     = role.MakeSet(role.Admin, role.Operator, role.Reader)
	etcdReaders = role.MakeSet(role.Admin, role.Operator, role.Reader, role.EtcdBackup)
)

// allowed lists, per service, the methods that are open to more than admins.
var allowed = map[string]map[string]role.Set{
	"cluster.ClusterService": {"HealthCheck": readers},
	"inspect.InspectService": {"ControllerRuntimeDependencies": readers},
	"machine.ImageService": {
		"List": readers, "Pull": operators,
		"Verify": role.MakeSet(role.Admin, role.Operator, role.Reader, role.ImageVerifier),
	},
	"machine.MachineService": {
		// Readers are let in for maintenance mode; the handler turns them away otherwise. Operators never are.
		"ApplyConfiguration": role.MakeSet(role.Admin, role.Reader),
		"CPUInfo":            readers, "CPUFreqStats": readers, "Containers": readers, "DiskStats": readers,
		"DiskUsage": readers, "Dmesg": readers, "Events": readers, "Hostname": readers, "ImageList": readers,
		"List": readers, "LoadAvg": readers, "Logs": readers, "LogsContainers": readers, "Memory": readers,
		"Mounts": readers, "NetworkDeviceStats": readers, "Netstat": readers, "Processes": readers,
		"ServiceList": readers, "Stats": readers, "SystemStat": readers, "Version": readers,
		"EtcdAlarmList": etcdReaders, "EtcdMemberList": etcdReaders, "EtcdStatus": etcdReaders,
		"EtcdSnapshot":    role.MakeSet(role.Admin, role.Operator, role.EtcdBackup),
		"EtcdAlarmDisarm": operators, "EtcdDefragment": operators, "ImagePull": operators,
		"PacketCapture": operators, "Reboot": operators, "Restart": operators, "ServiceRestart": operators,
		"ServiceStart": operators, "ServiceStop": operators, "Shutdown": operators,
		"MetaWrite": role.MakeSet(role.Admin, role.MetaWriter), "MetaDelete": role.MakeSet(role.Admin, role.MetaWriter),
	},
	"cosi.resource.State":    {"Get": readers, "List": readers, "Watch": readers},
	"storage.StorageService": {"Disks": readers},
	"time.TimeService":       {"Time": readers, "TimeCheck": readers},
}

// authorize answers PermissionDenied unless the caller has a role that the method is open to. Methods that nobody
// listed are for admins.
func authorize(ctx context.Context, fullMethod string) error {
	service, method, _ := strings.Cut(strings.TrimPrefix(fullMethod, "/"), "/")

	roles, ok := allowed[service][method]
	if !ok {
		roles = adminOnly
	}

	if !rolesOf(ctx).IncludesAny(roles) {
		return errNotAuthorized
	}

	return nil
}

// rolesStream carries the roles in the context of a stream.
type rolesStream struct {
	grpc.ServerStream
	ctx context.Context // this is how grpc hands a context to a stream handler
}

func (s *rolesStream) Context() context.Context { return s.ctx }
