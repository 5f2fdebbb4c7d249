package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// drainPhases are those of the sequences that move the pods away first.
var drainPhases = append([]string{"drain"}, downPhases...)

// Reboot answers that a sequence was asked for; whether it gets the lock shows in the events alone.
func (m *machined) Reboot(_ context.Context, req *machine.RebootRequest) (*machine.RebootResponse, error) {
	m.log.Info("reboot via API received", "mode", req.GetMode().String())

	actor := newUUID()
	s := m.boot.rebootSequence()

	if req.GetMode() == machine.RebootRequest_FORCE {
		s.phases = forcedPhases
	}

	m.boot.sequences.start(s, actor)

	return &machine.RebootResponse{Messages: []*machine.Reboot{{ActorId: actor}}}, nil
}

// Shutdown takes the node down for good: its process ends, and only a restart of the process brings it back.
func (m *machined) Shutdown(_ context.Context, req *machine.ShutdownRequest) (*machine.ShutdownResponse, error) {
	m.log.Info("shutdown via API received", "force", req.GetForce())

	actor := newUUID()
	phases := drainPhases

	if req.GetForce() {
		phases = downPhases
	}

	m.boot.sequences.start(sequence{
		name: "shutdown", forced: true, stage: runtime.MachineStageShuttingDown, phases: phases, end: endPowerOff,
	}, actor)

	return &machine.ShutdownResponse{Messages: []*machine.Shutdown{{ActorId: actor}}}, nil
}

// Reset wipes STATE and then reboots or shuts down. A node that comes back boots from its platform: a new identity,
// the configuration it was made with.
func (m *machined) Reset(_ context.Context, req *machine.ResetRequest) (*machine.ResetResponse, error) {
	if len(req.GetUserDisksToWipe()) > 0 && req.GetMode() == machine.ResetRequest_SYSTEM_DISK {
		return nil, errors.New("reset failed: invalid input, wipe mode SYSTEM_DISK doesn't support UserDisksToWipe parameter")
	}

	b, actor := m.boot, newUUID()
	s := sequence{
		name: "reset", takeover: bootOnlyTaken, stage: runtime.MachineStageResetting, phases: downPhases, end: endPowerOff,
		act: func() error { return os.RemoveAll(b.settings.stateDir()) },
	}

	if req.GetGraceful() {
		s.phases = drainPhases
	}

	if req.GetReboot() {
		s.end = endReboot
	}

	b.sequences.start(s, actor)

	return &machine.ResetResponse{Messages: []*machine.Reset{{ActorId: actor}}}, nil
}

// Upgrade is the older way: the image is checked within the call, then the node installs it and reboots by itself.
func (m *machined) Upgrade(_ context.Context, req *machine.UpgradeRequest) (*machine.UpgradeResponse, error) {
	m.log.Info("upgrade request received", "stage", req.GetStage(), "force", req.GetForce())

	version, err := imageVersion(req.GetImage())
	if err != nil {
		return nil, fmt.Errorf("error validating installer image %q: %w", req.GetImage(), err)
	}

	b, actor := m.boot, newUUID()
	s := b.upgradeSequence(version)

	if req.GetStage() {
		// A staged upgrade is noted first and installed by the boot that follows, so the node only reboots.
		if err := b.install(version); err != nil {
			return nil, fmt.Errorf("error writing meta: %w", err)
		}

		s.name, s.takeover, s.phases, s.act = "stageUpgrade", nil, downPhases, nil
	}

	b.sequences.start(s, actor)

	return &machine.UpgradeResponse{Messages: []*machine.Upgrade{{Ack: "Upgrade request received", ActorId: actor}}}, nil
}

func (b *boot) upgradeSequence(version string) sequence {
	return sequence{
		name: "upgrade", takeover: bootOnlyTaken, stage: runtime.MachineStageUpgrading, phases: drainPhases, end: endReboot,
		act: func() error { return b.install(version) },
	}
}

// install makes version what the next boot starts.
func (b *boot) install(version string) error {
	entries, err := b.settings.loadMeta()
	if err != nil {
		return err
	}

	entries.Next = version

	return b.settings.saveMeta(entries)
}

// Rollback makes the boot entry of before the last upgrade the next one, at once, and then reboots.
func (m *machined) Rollback(context.Context, *machine.RollbackRequest) (*machine.RollbackResponse, error) {
	entries, err := m.settings.loadMeta()
	if err != nil {
		return nil, err
	}

	if entries.Previous == "" {
		return nil, status.Error(codes.FailedPrecondition, "cannot rollback: there is no other boot entry")
	}

	if err := m.boot.install(entries.Previous); err != nil {
		return nil, err
	}

	s := m.boot.rebootSequence()
	s.forced = true

	m.boot.sequences.start(s, "")

	return &machine.RollbackResponse{Messages: []*machine.Rollback{{}}}, nil
}

// imageVersion reads the version from an installer's image reference: the tag, which has to look like v1.2.3. A lab
// node installs nothing else from it.
func imageVersion(image string) (string, error) {
	name, tag, ok := cutLast(image, ":")
	if !ok || name == "" || strings.Contains(tag, "/") {
		return "", errors.New("a reference with a tag is needed, such as ghcr.io/siderolabs/installer:v1.13.7")
	}

	tag, _, _ = strings.Cut(tag, "@")
	if !ValidVersion(tag) {
		return "", fmt.Errorf("the tag %q is no version", tag)
	}

	return tag, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}

	return s[:i], s[i+len(sep):], true
}

// ValidVersion says whether v names a Talos release: it accepts v1.2.3 and v1.2.3-suffix.
func ValidVersion(v string) bool {
	core, _, _ := strings.Cut(strings.TrimPrefix(v, "v"), "-")
	parts := strings.Split(core, ".")

	if !strings.HasPrefix(v, "v") || len(parts) != 3 {
		return false
	}

	for _, p := range parts {
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}

	return true
}
