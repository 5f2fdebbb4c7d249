package talos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	configpb "github.com/siderolabs/talos/pkg/machinery/api/resource/config"
	clusterres "github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	hardwareres "github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	networkres "github.com/siderolabs/talos/pkg/machinery/resources/network"
	runtimeres "github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/resources/siderolink"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/secret"
)

// getResource reads one COSI resource as it came over the wire.
func (c *Conn) getResource(ctx context.Context, what string, md resource.Metadata) (*cosi.Resource, error) {
	var resp *cosi.GetResponse
	err := c.do(ctx, what, func(ctx context.Context) (err error) {
		resp, err = cosi.NewStateClient(c.client.Conn()).Get(ctx, &cosi.GetRequest{
			Namespace: md.Namespace(), Type: md.Type(), Id: md.ID(), Options: &cosi.GetOptions{},
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	got := resp.GetResource().GetMetadata()
	if got.GetNamespace() != md.Namespace() || got.GetType() != md.Type() || got.GetId() != md.ID() {
		return nil, errors.New(what + ": another resource was answered")
	}
	return resp.GetResource(), nil
}

// getTyped reads one COSI resource as the machinery's type for it.
func getTyped[T interface {
	resource.Resource
	meta.ResourceDefinitionProvider
}](ctx context.Context, c *Conn, what string, id resource.ID) (T, error) {
	var zero T
	d := zero.ResourceDefinition()
	raw, err := c.getResource(ctx, what, resource.NewMetadata(d.DefaultNamespace, d.Type, id, resource.VersionUndefined))
	if err != nil {
		return zero, err
	}
	unreadable := errors.New(what + ": what the node answered cannot be read")
	wire, err := protobuf.Unmarshal(raw)
	if err != nil {
		return zero, unreadable
	}
	r, err := protobuf.UnmarshalResource(wire)
	if err != nil {
		return zero, unreadable
	}
	typed, ok := r.(T)
	if !ok {
		return zero, unreadable
	}
	return typed, nil
}

// machineConfig reads one of the two configuration resources. The bytes are taken from the wire and never through a
// parser: a configuration that this machinery cannot parse still has a digest.
func (c *Conn) machineConfig(ctx context.Context, id resource.ID) (dispatch.Resource, secret.Bytes, error) {
	what := fmt.Sprintf("reading the configuration resource %q", id)
	raw, err := c.getResource(ctx, what,
		resource.NewMetadata(configres.NamespaceName, configres.MachineConfigType, id, resource.VersionUndefined))
	switch {
	case answered(err, codes.NotFound):
		return dispatch.Resource{}, secret.Bytes{}, nil
	case answered(err, codes.PermissionDenied):
		return dispatch.Resource{}, secret.Bytes{}, fmt.Errorf("%w (it takes a talosconfig with the role os:admin)", err)
	case err != nil:
		return dispatch.Resource{}, secret.Bytes{}, err
	}
	var spec configpb.MachineConfigSpec
	if err := proto.Unmarshal(raw.GetSpec().GetProtoSpec(), &spec); err != nil || len(spec.GetYamlMarshalled()) == 0 {
		return dispatch.Resource{}, secret.Bytes{}, errors.New(what + ": the answer holds no configuration")
	}
	version, err := strconv.ParseUint(raw.GetMetadata().GetVersion(), 10, 64)
	if err != nil {
		return dispatch.Resource{}, secret.Bytes{}, errors.New(what + ": its version is not a number")
	}
	created := raw.GetMetadata().GetCreated()
	if created.CheckValid() != nil {
		return dispatch.Resource{}, secret.Bytes{}, errors.New(what + ": its creation time is missing")
	}
	return dispatch.Resource{
		Present: true,
		Digest:  dispatch.Digest(spec.GetYamlMarshalled()),
		Version: version,
		Created: created.AsTime(),
	}, secret.Of(spec.GetYamlMarshalled()), nil
}

// readStatus reads stage, in Talos' own words ("running", "shutting down", ...), and health.
func (c *Conn) readStatus(ctx context.Context, r *dispatch.Reading) error {
	status, err := getTyped[*runtimeres.MachineStatus](ctx, c, "reading the machine status", runtimeres.MachineStatusID)
	if err != nil {
		return err
	}
	r.Stage, r.Ready = status.TypedSpec().Stage.String(), status.TypedSpec().Status.Ready
	for _, unmet := range status.TypedSpec().Status.UnmetConditions {
		r.Unmet = append(r.Unmet, unmet.Name)
	}
	return nil
}

func (c *Conn) readIdentity(ctx context.Context, r *dispatch.Reading) (err error) {
	r.NodeID, err = c.nodeID(ctx)
	return err
}

// nodeID is Talos' own identity of the node, kept across boots and upgrades.
func (c *Conn) nodeID(ctx context.Context) (string, error) {
	const what = "reading the node's identity"
	identity, err := getTyped[*clusterres.Identity](ctx, c, what, clusterres.LocalIdentity)
	if err != nil {
		return "", err
	}
	if identity.TypedSpec().NodeID == "" {
		return "", errors.New(what + ": it has none")
	}
	return identity.TypedSpec().NodeID, nil
}

// readOptional reads what a node may lack. Only an answer that it is not there, or not served, counts as lacking.
func (c *Conn) readOptional(ctx context.Context, r *dispatch.Reading) error {
	host, err := getTyped[*networkres.HostnameStatus](ctx, c, "reading the host name", networkres.HostnameID)
	switch {
	case err == nil:
		r.HostName = host.TypedSpec().FQDN()
	case !lacking(err):
		return err
	}
	system, err := getTyped[*hardwareres.SystemInformation](ctx, c, "reading the hardware's identity", hardwareres.SystemInformationID)
	switch {
	case err == nil:
		r.UUID = system.TypedSpec().UUID
	case !lacking(err):
		return err
	}
	// Omni configures its machines through SideroLink, which is set by a document or on the kernel's command line.
	switch link, err := getTyped[*siderolink.Config](ctx, c, "reading the SideroLink configuration", siderolink.ConfigID); {
	case err == nil:
		r.Omni = r.Omni || link.TypedSpec().APIEndpoint != ""
	case !lacking(err):
		return err
	}
	return c.readAddresses(ctx, r)
}

// readAddresses takes the addresses that the node itself offers to services; Kubernetes' own come and go with pods.
func (c *Conn) readAddresses(ctx context.Context, r *dispatch.Reading) error {
	for _, id := range []resource.ID{
		networkres.FilteredNodeAddressID(networkres.NodeAddressRoutedID, k8s.NodeAddressFilterNoK8s),
		networkres.NodeAddressRoutedID,
		networkres.NodeAddressCurrentID,
	} {
		list, err := getTyped[*networkres.NodeAddress](ctx, c, "reading the node's addresses", id)
		if lacking(err) {
			continue
		}
		if err != nil {
			return err
		}
		for _, a := range list.TypedSpec().Addresses {
			r.Addresses = append(r.Addresses, a.Addr().String())
		}
		if len(r.Addresses) > 0 {
			slices.Sort(r.Addresses)
			r.Addresses = slices.Compact(r.Addresses)
			return nil
		}
	}
	r.Addresses = []string{c.target.Address}
	return nil
}

// lacking says whether the node answered that it does not have the resource, or does not serve its type or to this role.
func lacking(err error) bool { return answered(err, codes.NotFound, codes.PermissionDenied) }
