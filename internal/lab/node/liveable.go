package node

import (
	"reflect"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configdiff"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// needsReboot says whether the change from old to new touches anything that only a boot takes up, and shows the
// difference when it does. Documents other than v1alpha1 are never compared.
func needsReboot(old, new config.Provider) (bool, string, error) {
	a, b := old.RawV1Alpha1(), new.RawV1Alpha1()
	if a == nil || b == nil {
		return a != b, "", nil
	}

	a, b = bootOnly(a), bootOnly(b)
	if reflect.DeepEqual(a, b) {
		return false, "", nil
	}

	diff, err := configdiff.DiffConfigs(container.NewV1Alpha1(a), container.NewV1Alpha1(b))

	return true, diff, err
}

// bootOnly returns a copy of c without the fields that a running node takes up by itself.
func bootOnly(c *v1alpha1.Config) *v1alpha1.Config {
	c = c.DeepCopy()
	c.ClusterConfig = nil
	c.ConfigDebug = nil

	m := c.MachineConfig
	if m == nil {
		return c
	}

	m.MachineCA, m.MachineAcceptedCAs, m.MachineCertSANs = nil, nil, nil
	m.MachineTime, m.MachineInstall, m.MachineNetwork = nil, nil, nil
	m.MachineSysfs, m.MachineSysctls, m.MachineKernel = nil, nil, nil
	m.MachineLogging, m.MachineControlPlane, m.MachineKubelet = nil, nil, nil
	m.MachineRegistries = v1alpha1.RegistriesConfig{} // older configurations still carry it
	m.MachinePods, m.MachineSeccompProfiles = nil, nil
	m.MachineNodeAnnotations, m.MachineNodeLabels, m.MachineNodeTaints = nil, nil, nil

	if f := m.MachineFeatures; f != nil {
		f.KubernetesTalosAPIAccessConfig, f.KubePrismSupport = nil, nil
		f.HostDNSSupport, f.ImageCacheSupport = nil, nil
		f.FeatureNodeAddressSortAlgorithm = ""
	}

	return c
}
