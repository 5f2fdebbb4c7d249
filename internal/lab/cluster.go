package lab

import (
	stdx509 "crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/siderolabs/crypto/x509"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"

	"github.com/clewops/clew/internal/lab/node"
)

// ClusterName is the name of a lab's cluster and of the admin's context in its talosconfig; the other contexts add
// "-operator" and "-reader".
const ClusterName = "clew-lab"

// certificateLife is longer than any lab, and short enough that a forgotten talosconfig dies by itself.
const certificateLife = 30 * 24 * time.Hour

// cluster holds the secrets of a lab while it is being made; nothing keeps them afterwards but the nodes' files.
type cluster struct {
	input *generate.Input
	ca    *x509.CertificateAuthority
	nodes []nodeRecord
}

func newCluster(version string, nodes []nodeRecord) (*cluster, error) {
	contract, err := config.ParseContractFromVersion(version)
	if err != nil {
		return nil, err
	}

	// A newer contract would give the same bundle but for an RSA key of 4096 bits, for service accounts that no lab has;
	// generating it takes longer than everything else together.
	bundle, err := secrets.NewBundle(secrets.NewFixedClock(time.Now()), config.TalosVersion1_6)
	if err != nil {
		return nil, fmt.Errorf("generating the cluster's secrets: %w", err)
	}

	endpoint := nodes[0].Public

	input, err := generate.NewInput(ClusterName, "https://"+net.JoinHostPort(endpoint, "6443"), constants.DefaultKubernetesVersion,
		generate.WithSecretsBundle(bundle),
		generate.WithVersionContract(contract),
		generate.WithEndpointList([]string{endpoint}),
		generate.WithInstallDisk("/dev/vda"),
		generate.WithInstallImage("ghcr.io/siderolabs/installer:"+version),
		generate.WithAdditionalSubjectAltNames([]string{endpoint}),
	)
	if err != nil {
		return nil, err
	}

	ca, err := x509.NewCertificateAuthorityFromCertificateAndKey(bundle.Certs.OS)
	if err != nil {
		return nil, err
	}

	return &cluster{input: input, ca: ca, nodes: nodes}, nil
}

// platformConfig is what a node boots from: the generated configuration with all of its comments, under its own name.
func (c *cluster) platformConfig(n nodeRecord) ([]byte, error) {
	kind := machine.TypeControlPlane
	if n.Worker {
		kind = machine.TypeWorker
	}

	cfg, err := c.input.Config(kind)
	if err != nil {
		return nil, err
	}

	patch, err := configpatcher.LoadPatch([]byte(
		"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: " + n.Name + "\nauto: off\n"))
	if err != nil {
		return nil, err
	}

	out, err := configpatcher.Apply(configpatcher.WithConfig(cfg), []configpatcher.Patch{patch})
	if err != nil {
		return nil, fmt.Errorf("naming %s in its configuration: %w", n.Name, err)
	}

	named, err := out.Config()
	if err != nil {
		return nil, err
	}

	b, err := named.EncodeBytes(encoder.WithComments(encoder.CommentsAll))
	if err != nil {
		return nil, err
	}

	return append([]byte("# "+n.Name+" of a clew lab: a practice node, safe to break.\n"), b...), nil
}

// writeNode fills a node's directory with its configuration and certificates.
func (c *cluster) writeNode(dir string, n nodeRecord) error {
	b, err := c.platformConfig(n)
	if err != nil {
		return err
	}

	if err := os.MkdirAll(filepath.Join(dir, "pki"), 0o700); err != nil {
		return err
	}

	if err := writeFile(filepath.Join(dir, "platform.yaml"), b); err != nil {
		return err
	}

	ips := []net.IP{net.ParseIP(n.Public), net.IPv4(127, 0, 0, 1)}
	for _, a := range n.Spare {
		ips = append(ips, net.ParseIP(a))
	}

	if err := c.writePair(dir, node.ServerCertFile, node.ServerKeyFile,
		x509.CommonName(n.Name), x509.DNSNames([]string{n.Name}), x509.IPAddresses(ips),
		x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}),
	); err != nil || n.Worker {
		return err
	}

	return c.writePair(dir, node.ClientCertFile, node.ClientKeyFile,
		x509.CommonName("apid"), x509.Organization(string(role.Impersonator)),
		x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth}),
	)
}

func (c *cluster) writePair(dir, cert, key string, opts ...x509.Option) error {
	now := time.Now()
	opts = append(opts,
		x509.NotBefore(now.Add(-time.Minute)), x509.NotAfter(now.Add(certificateLife)),
		x509.KeyUsage(stdx509.KeyUsageDigitalSignature),
	)

	pair, err := x509.NewKeyPair(c.ca, opts...)
	if err != nil {
		return err
	}

	return errors.Join(
		writeFile(filepath.Join(dir, cert), pair.CrtPEM),
		writeFile(filepath.Join(dir, key), pair.KeyPEM),
	)
}

// talosconfig makes the client configuration: one context a role, with the control plane as endpoint.
func (c *cluster) talosconfig() ([]byte, error) {
	cfg := &clientconfig.Config{Context: ClusterName, Contexts: map[string]*clientconfig.Context{}}

	var addrs []string
	for _, n := range c.nodes {
		addrs = append(addrs, n.Public)
	}

	for suffix, r := range map[string]role.Role{"": role.Admin, "-operator": role.Operator, "-reader": role.Reader} {
		cert, err := c.input.Options.SecretsBundle.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(r), certificateLife)
		if err != nil {
			return nil, err
		}

		cfg.Contexts[ClusterName+suffix] = &clientconfig.Context{
			Endpoints: []string{c.nodes[0].Public},
			Nodes:     addrs,
			CA:        base64.StdEncoding.EncodeToString(c.input.Options.SecretsBundle.Certs.OS.Crt),
			Crt:       base64.StdEncoding.EncodeToString(cert.Crt),
			Key:       base64.StdEncoding.EncodeToString(cert.Key),
		}
	}

	return cfg.Bytes()
}
