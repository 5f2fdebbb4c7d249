package node

import (
	"strings"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// setStage moves the machine to a stage and publishes its status.
func (b *boot) setStage(stage runtime.MachineStage) {
	b.stageMu.Lock()
	b.stage = stage
	b.stageMu.Unlock()

	b.refreshStatus()
}

func (b *boot) currentStage() runtime.MachineStage {
	b.stageMu.Lock()
	defer b.stageMu.Unlock()

	return b.stage
}

// unmet returns what keeps the machine from being ready. Only booting and running have checks: a machine that is going
// down is "ready", which is why nobody may read that field without the stage.
func (b *boot) unmet() []runtime.UnmetCondition {
	switch b.currentStage() {
	case runtime.MachineStageBooting, runtime.MachineStageRunning:
	default:
		return nil
	}

	missing := b.services.missing()
	if len(missing) == 0 {
		return nil
	}

	return []runtime.UnmetCondition{{Name: "services", Reason: strings.Join(missing, " not running, ") + " not running"}}
}

// refreshStatus publishes the machine's stage and readiness as a resource and as an event.
func (b *boot) refreshStatus() {
	b.statusMu.Lock()
	defer b.statusMu.Unlock()

	stage, unmet := b.currentStage(), b.unmet()

	err := safe.StateModify(b.ctx, b.state, runtime.NewMachineStatus(), func(r *runtime.MachineStatus) error {
		r.TypedSpec().Stage = stage
		r.TypedSpec().Status = runtime.MachineStatusStatus{Ready: len(unmet) == 0, UnmetConditions: unmet}

		return nil
	})
	if err != nil {
		if b.ctx.Err() == nil {
			b.log.Error("publishing the machine status", "error", err)
		}

		return
	}

	e := &machine.MachineStatusEvent{
		Stage:  machine.MachineStatusEvent_MachineStage(stage),
		Status: &machine.MachineStatusEvent_MachineStatus{Ready: len(unmet) == 0},
	}
	for _, c := range unmet {
		e.Status.UnmetConditions = append(e.Status.UnmetConditions,
			&machine.MachineStatusEvent_MachineStatus_UnmetCondition{Name: c.Name, Reason: c.Reason})
	}

	b.events.publish("", e)
}
