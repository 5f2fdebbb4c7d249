package talos

import (
	"errors"
	"fmt"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"go.yaml.in/yaml/v4"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/secret"
)

// MachineConfig is a machine configuration that Talos' strict loader took. Its bytes are the ones that were read.
type MachineConfig struct {
	bytes    secret.Bytes
	provider config.Provider
	docs     []*yaml.Node // the same documents as they were written, for messages and comparison
}

// ParseConfig reads the configuration of a running node with Talos' strict loader: an unknown key, an unknown kind of
// document and a configuration without its v1alpha1 document are refused. It takes at most MaxConfig bytes and does not
// validate. Errors are *refusal.Refusal with Talos' own message, from which values that may be secret are taken out.
//
// The caller keeps b unchanged.
func ParseConfig(b []byte) (*MachineConfig, error) {
	docs, err := readDocuments(b)
	if err != nil {
		return nil, err
	}
	provider, err := load(b)
	switch {
	case errors.Is(err, configloader.ErrNoConfig):
		return nil, invalid("config-empty", "the configuration is empty")
	case err != nil:
		return nil, invalid("config-invalid", "Talos does not take the configuration: "+cleanMessage(err, hiddenIn(docs)))
	case !provider.CompleteForBoot():
		return nil, invalid("config-incomplete",
			"the configuration has no v1alpha1 document (machine and cluster): a running node needs one")
	}
	return &MachineConfig{bytes: secret.Of(b), provider: provider, docs: docs}, nil
}

// load is Talos' loader, with a panic of the libraries below it turned into an error.
func load(b []byte, opts ...configloader.Opt) (p config.Provider, err error) {
	defer recovered(&err)
	return configloader.NewFromBytes(b, opts...)
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("recovered: %v", p)
	}
}

func invalid(code, message string) *refusal.Refusal {
	return refusal.New("planning", code, message, "")
}

// Bytes is the configuration as it was read.
func (m *MachineConfig) Bytes() secret.Bytes { return m.bytes }

// Role is the machine's role, "" for a type that Talos does not know.
func (m *MachineConfig) Role() dispatch.Role {
	switch m.provider.Machine().Type() {
	case machine.TypeInit, machine.TypeControlPlane:
		return dispatch.ControlPlane
	case machine.TypeWorker:
		return dispatch.Worker
	case machine.TypeUnknown:
	}
	return ""
}

// ClusterID is cluster.id, "" when the configuration names none.
func (m *MachineConfig) ClusterID() string { return m.provider.Cluster().ID() }

// ClusterName is cluster.clusterName, "" when the configuration names none.
func (m *MachineConfig) ClusterName() string { return m.provider.Cluster().Name() }

// Omni says whether the machine belongs to a management service such as Omni: it is told to join one by SideroLink,
// with a document or with a kernel argument of its installation. Such a service writes the configuration itself.
func (m *MachineConfig) Omni() bool {
	if m.provider.SideroLink() != nil {
		return true
	}
	for _, arg := range m.provider.Machine().Install().ExtraKernelArgs() {
		if strings.HasPrefix(arg, constants.KernelParamSideroLink+"=") {
			return true
		}
	}
	return false
}

// Validate runs Talos' static validation of a configuration for a running, installed metal node. It returns Talos'
// warnings; errors are as ParseConfig's.
func Validate(b []byte) (warnings []string, err error) {
	m, err := ParseConfig(b)
	if err != nil {
		return nil, err
	}
	return m.validate()
}

func (m *MachineConfig) validate() ([]string, error) {
	warnings, err := runValidation(m.provider)
	hidden := m.hidden()
	for i, w := range warnings {
		warnings[i] = cleanText(w, hidden)
	}
	if err != nil {
		return nil, invalid("config-invalid", "Talos refuses the configuration: "+cleanMessage(err, hidden))
	}
	return warnings, nil
}

func runValidation(p config.Provider) (warnings []string, err error) {
	defer recovered(&err)
	return p.Validate(runningMetal{})
}

// runningMetal is how a node sees itself that Talos was installed on: it does not ask for an installation disk again.
type runningMetal struct{}

func (runningMetal) String() string        { return "metal" }
func (runningMetal) RequiresInstall() bool { return false }
func (runningMetal) InContainer() bool     { return false }
