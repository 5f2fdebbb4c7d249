package drill

import (
	"context"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/talos"
)

// ForeignChange changes a machine behind the ledger's back, as a talosctl of somebody's would: one node label.
func (s *Stage) ForeignChange(m *Machine) {
	patch := fmt.Appendf(nil, "machine:\n  nodeLabels:\n    foreign: \"%d\"\n", s.run.plans.Add(1))
	changed, err := talos.ApplyPatches(secret.Of(m.config), [][]byte{patch})
	s.must(err, "making a foreign change")
	s.ForeignApply(m, changed.Reveal())
}

// ForeignApply writes a whole configuration behind the ledger's back.
func (s *Stage) ForeignApply(m *Machine, config []byte) {
	s.labOnly("nothing is changed behind the ledger's back")
	done := s.inject(m.Name(), "foreign-apply", "")
	s.must(s.foreignApply(m, config), "changing %s behind the ledger's back", m.Name())
	done("")
}

func (s *Stage) foreignApply(m *Machine, config []byte) error {
	ctx, cancel := context.WithTimeout(s.ctx, readLimit)
	defer cancel()
	c, err := client.New(ctx, client.WithConfigFromFile(s.lab.Talosconfig()), client.WithContextName(lab.ClusterName),
		client.WithEndpoints(m.Address()))
	if err != nil {
		return err
	}
	defer c.Close() // the answer is what counts
	_, err = c.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: config, Mode: machine.ApplyConfigurationRequest_NO_REBOOT})
	return err
}
