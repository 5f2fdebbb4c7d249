package talos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/secret"
)

const bootIDPath = "/proc/sys/kernel/random/boot_id"

// maxFile bounds what is read of a file of a node.
const maxFile = 4096

// Read reads what the node shows, all of it on this connection, and returns with it the bytes of the active
// configuration. The reading is of one boot: a node that boots meanwhile is an error. Host name, UUID and addresses are
// optional and may be empty, addresses then being the one that was asked; everything else that the node does not say
// is an error, but an absent configuration resource, which is read as absent.
func (c *Conn) Read(ctx context.Context) (dispatch.Reading, secret.Bytes, error) {
	ctx = c.toNode(ctx)
	var r dispatch.Reading
	var config secret.Bytes
	var err error
	if r.BootID, err = c.bootID(ctx); err != nil {
		return dispatch.Reading{}, secret.Bytes{}, err
	}
	steps := []func() error{
		func() error { return c.readVersion(ctx, &r) },
		func() error { return c.readStatus(ctx, &r) },
		func() error { return c.readIdentity(ctx, &r) },
		func() (err error) { config, err = c.readConfigs(ctx, &r); return err },
		func() error { return c.readOptional(ctx, &r) },
		func() error { return c.sameBoot(ctx, r.BootID) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return dispatch.Reading{}, secret.Bytes{}, err
		}
	}
	return r, config, nil
}

func (c *Conn) sameBoot(ctx context.Context, before string) error {
	after, err := c.bootID(ctx)
	if err != nil {
		return err
	}
	if after != before {
		return errors.New("the node booted while it was read; read it again")
	}
	return nil
}

func (c *Conn) readVersion(ctx context.Context, r *dispatch.Reading) error {
	const what = "reading the Talos version"
	var resp *machine.VersionResponse
	err := c.do(ctx, what, func(ctx context.Context) (err error) {
		resp, err = c.client.MachineClient.Version(ctx, &emptypb.Empty{})
		return err
	})
	if err != nil {
		return err
	}
	if len(resp.GetMessages()) != 1 || resp.GetMessages()[0].GetMetadata().GetError() != "" {
		return errors.New(what + ": the answer is not one of a single node")
	}
	r.TalosVersion = resp.GetMessages()[0].GetVersion().GetTag()
	if r.TalosVersion == "" {
		return errors.New(what + ": the node does not say it")
	}
	c.version.Store(r.TalosVersion)
	return nil
}

func (c *Conn) bootID(ctx context.Context) (string, error) {
	const what = "reading the boot id"
	b, err := c.readFile(ctx, what, bootIDPath)
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(b))
	if id == "" {
		return "", errors.New(what + ": it is empty")
	}
	return id, nil
}

// readFile reads a small file of the node.
func (c *Conn) readFile(ctx context.Context, what, path string) ([]byte, error) {
	var content []byte
	err := c.do(ctx, what, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx) // ends the stream also when its rest is not read
		defer cancel()
		stream, err := c.client.MachineClient.Read(ctx, &machine.ReadRequest{Path: path})
		if err != nil {
			return err
		}
		for {
			data, err := stream.Recv()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case data.GetMetadata().GetError() != "":
				return errors.New("the answer is not one of a single node")
			}
			content = append(content, data.GetBytes()...)
			if len(content) > maxFile {
				return errors.New("the file is larger than expected")
			}
		}
	})
	return content, err
}

// readConfigs reads both configuration resources. Role, cluster and management are those of the active one.
func (c *Conn) readConfigs(ctx context.Context, r *dispatch.Reading) (secret.Bytes, error) {
	var active secret.Bytes
	var err error
	if r.Active, active, err = c.machineConfig(ctx, configres.ActiveID); err != nil {
		return secret.Bytes{}, err
	}
	if r.Persistent, _, err = c.machineConfig(ctx, configres.PersistentID); err != nil {
		return secret.Bytes{}, err
	}
	if !r.Active.Present {
		return secret.Bytes{}, nil
	}
	return active, describeConfig(active, r)
}

// describeConfig fills in what the active configuration says of the node. Errors say nothing of its content.
func describeConfig(config secret.Bytes, r *dispatch.Reading) error {
	provider, err := configloader.NewFromBytes(config.Reveal())
	if err != nil {
		return fmt.Errorf("the node's active configuration (%s) holds something that this version of Clew does not know",
			dispatch.ShortDigest(r.Active.Digest))
	}
	r.Omni = r.Omni || provider.SideroLink() != nil
	if provider.Machine() == nil || provider.Cluster() == nil {
		return nil // a configuration without a v1alpha1 document: the node waits for one
	}
	r.ClusterID = provider.Cluster().ID()
	switch provider.Machine().Type() {
	case machinetype.TypeControlPlane, machinetype.TypeInit:
		r.Role = dispatch.ControlPlane
	case machinetype.TypeWorker:
		r.Role = dispatch.Worker
	case machinetype.TypeUnknown:
		return errors.New("the node's active configuration names no machine type")
	}
	if r.ClusterID == "" {
		return errors.New("the node's active configuration names no cluster id")
	}
	return nil
}
