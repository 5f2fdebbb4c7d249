package drill

import (
	"context"
	"fmt"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/talos"
)

// The node's words for calls that came in and for a try that was undone.
const (
	journalEntered    = "entered"
	journalRolledBack = "rolled back"
)

// ForeignTry changes one node label behind the ledger's back, for a while: the node undoes it by itself.
func (s *Stage) ForeignTry(m *Machine, d time.Duration) {
	done := s.inject(m.Name(), "foreign-try", d.String())
	s.must(s.foreignCall(s.ctx, m, &machine.ApplyConfigurationRequest{
		Data: s.labelled(m, "foreign"), Mode: machine.ApplyConfigurationRequest_TRY, TryModeTimeout: durationpb.New(d),
	}), "trying a change on %s behind the ledger's back", m.Name())
	done("")
}

// ForeignReboot applies what the machine runs once more, in the mode that reboots it.
func (s *Stage) ForeignReboot(m *Machine) {
	done := s.inject(m.Name(), "foreign-reboot", "")
	s.must(s.foreignCall(s.ctx, m, &machine.ApplyConfigurationRequest{Data: m.config, Mode: machine.ApplyConfigurationRequest_REBOOT}),
		"rebooting %s behind the ledger's back", m.Name())
	done("")
}

// foreignDryRun asks the node what would change. While it is in progress, the node takes no other apply.
func (s *Stage) foreignDryRun(ctx context.Context, m *Machine, config []byte) error {
	return s.foreignCall(ctx, m, &machine.ApplyConfigurationRequest{
		Data: config, Mode: machine.ApplyConfigurationRequest_NO_REBOOT, DryRun: true,
	})
}

// labelled is what the ledger last accepted of a machine, with one label that nothing else sets.
func (s *Stage) labelled(m *Machine, label string) []byte {
	patch := fmt.Appendf(nil, "machine:\n  nodeLabels:\n    %s: \"%d\"\n", label, s.run.plans.Add(1))
	changed, err := talos.ApplyPatches(secret.Of(m.config), [][]byte{patch})
	s.must(err, "making a configuration for %s", m.Name())
	return changed.Reveal()
}

func (s *Stage) foreignCall(ctx context.Context, m *Machine, req *machine.ApplyConfigurationRequest) error {
	s.labOnly("nothing is changed behind the ledger's back")
	c, err := client.New(ctx, client.WithConfigFromFile(s.lab.Talosconfig()), client.WithContextName(lab.ClusterName),
		client.WithEndpoints(m.Address()))
	if err != nil {
		return err
	}
	defer c.Close() // the answer is what counts
	_, err = c.ApplyConfiguration(ctx, req)
	return err
}

// entries counts the lines of one kind that the node wrote down since the row began.
func (s *Stage) entries(m *Machine, kind string, dryRun bool) (n int) {
	for _, a := range s.journal(m) {
		if a.Entry == kind && a.DryRun == dryRun {
			n++
		}
	}
	return n
}
