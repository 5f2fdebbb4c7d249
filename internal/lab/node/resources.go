package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	"github.com/cosi-project/runtime/pkg/state/registry"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/cri"
	"github.com/siderolabs/talos/pkg/machinery/resources/etcd"
	"github.com/siderolabs/talos/pkg/machinery/resources/files"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/kubespan"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/siderolabs/talos/pkg/machinery/resources/perf"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"github.com/siderolabs/talos/pkg/machinery/resources/security"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// namespaces of a node, with the descriptions that "get namespaces" shows.
var namespaces = map[resource.Namespace]string{
	runtime.NamespaceName:         "Talos core runtime",
	cluster.NamespaceName:         "Cluster membership",
	cluster.RawNamespaceName:      "Cluster membership by discovery source",
	config.NamespaceName:          "Machine configuration",
	cri.NamespaceName:             "Container runtime",
	etcd.NamespaceName:            "etcd",
	files.NamespaceName:           "Files",
	hardware.NamespaceName:        "Hardware",
	k8s.NamespaceName:             "Kubernetes on every node",
	k8s.ControlPlaneNamespaceName: "Kubernetes control plane",
	kubespan.NamespaceName:        "KubeSpan",
	network.NamespaceName:         "Networking",
	network.ConfigNamespaceName:   "Networking, configured",
	perf.NamespaceName:            "Performance",
	secrets.NamespaceName:         "Secrets",
	security.NamespaceName:        "Security",
}

// newState makes the in-memory state of one boot with its namespaces and resource definitions.
func newState(ctx context.Context) (state.State, error) {
	st := state.WrapCore(namespaced.NewState(func(ns resource.Namespace) state.CoreState {
		return inmem.NewStateWithOptions(
			inmem.WithHistoryInitialCapacity(8),
			inmem.WithHistoryMaxCapacity(1024),
			inmem.WithHistoryGap(4),
		)(ns)
	}))

	ns := registry.NewNamespaceRegistry(st)
	if err := ns.RegisterDefault(ctx); err != nil {
		return nil, err
	}

	for name, description := range namespaces {
		if err := ns.Register(ctx, name, description); err != nil {
			return nil, err
		}
	}

	rd := registry.NewResourceRegistry(st)
	if err := rd.RegisterDefault(ctx); err != nil {
		return nil, err
	}

	for _, r := range definitions {
		if err := rd.Register(ctx, r); err != nil {
			return nil, err
		}
	}

	return st, nil
}

// accessPolicy is what the API lets through: no write at all, sensitive types for admins only, nothing unregistered.
func accessPolicy(st state.State) state.FilteringRule {
	return func(ctx context.Context, access state.Access) error {
		if !access.Verb.Readonly() {
			return status.Error(codes.PermissionDenied, "write access is not allowed")
		}

		rd, err := safe.StateGet[*meta.ResourceDefinition](ctx, st, resource.NewMetadata(
			meta.NamespaceName, meta.ResourceDefinitionType, strings.ToLower(access.ResourceType), resource.VersionUndefined))
		if state.IsNotFoundError(err) {
			return status.Errorf(codes.PermissionDenied, "resource type %q is not supported", access.ResourceType)
		}

		if err != nil {
			return err
		}

		switch s := rd.TypedSpec().Sensitivity; s {
		case meta.NonSensitive:
		case meta.Sensitive:
			if !rolesOf(ctx).Includes(role.Admin) {
				return errNotAuthorized
			}
		default:
			return fmt.Errorf("unexpected sensitivity %q", s)
		}

		_, err = safe.StateGet[*meta.Namespace](ctx, st, resource.NewMetadata(
			meta.NamespaceName, meta.NamespaceType, access.ResourceNamespace, resource.VersionUndefined))
		if state.IsNotFoundError(err) {
			return status.Errorf(codes.PermissionDenied, "namespace %q is not supported", access.ResourceNamespace)
		}

		return err
	}
}
