package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configdiff"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Texts of mode_details.
const (
	detailsNoReboot = "Applied configuration without a reboot"
	detailsReboot   = "Applied configuration with a reboot"
	detailsStaged   = "Staged configuration to be applied after the next reboot"
)

// ApplyConfiguration counts the call, does what the knobs ask for around it, and leaves the decision to applyLocked.
func (m *machined) ApplyConfiguration(ctx context.Context, req *machine.ApplyConfigurationRequest) (
	resp *machine.ApplyConfigurationResponse, err error,
) {
	call := m.boot.newCall(req)
	defer func() { call.answered(err) }()

	f := m.boot.knobs.take()
	if f.Refuse != "" {
		code, err := ParseCode(f.Refuse)
		if err != nil {
			return nil, err
		}

		return nil, status.Error(code, "refused on request of the lab")
	}

	resp, err = m.applyLocked(ctx, req, f, call)
	if err != nil {
		return nil, err
	}

	return m.answer(ctx, f, resp)
}

// around runs inside the lock, before and after the change: a slow node turns a second call away.
func (b *boot) around(delay time.Duration, fatal bool) {
	b.knobs.wait(delay)

	if fatal {
		die()
	}
}

// answer is what becomes of an accepted call's answer.
func (m *machined) answer(ctx context.Context, f Faults, resp *machine.ApplyConfigurationResponse) (
	*machine.ApplyConfigurationResponse, error,
) {
	switch {
	case f.MoveAfter:
		if _, err := m.boot.move(ctx); err != nil {
			return nil, err
		}
	case f.ErrorAfter:
		return nil, errors.New("failed after the change, on request of the lab")
	case f.DropResponse:
		<-ctx.Done()

		return nil, ctx.Err()
	}

	return resp, nil
}

// applyLocked is the order of checks and effects of a node. Everything up to the last switch changes no
// configuration; the one side effect before it is that a pending try rollback is cancelled.
func (m *machined) applyLocked(ctx context.Context, req *machine.ApplyConfigurationRequest, f Faults, call *call) (
	*machine.ApplyConfigurationResponse, error,
) {
	b := m.boot

	if f.ApplyInProgress || !b.applying.TryLock() {
		return nil, status.Error(codes.FailedPrecondition, "another apply configuration is already in progress")
	}
	defer b.applying.Unlock()

	b.around(f.DelayBefore, f.DieBefore)

	if b.rebootLatch.Load() {
		return nil, status.Error(codes.FailedPrecondition,
			"configuration was already applied and node is rebooting, "+
				"cannot apply more configuration changes until next reboot")
	}

	if b.activeConfig().CompleteForBoot() && !rolesOf(ctx).Includes(role.Admin) {
		return nil, errNotAuthorized
	}

	mode := req.GetMode()
	if mode != machine.ApplyConfigurationRequest_TRY {
		b.rollback.cancel()
	}

	cfg, warnings, err := b.validate(ctx, req.GetData())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}

	mode, details, err := resolveMode(mode, b.activeConfig(), cfg)
	if err != nil {
		return nil, err
	}

	if req.GetDryRun() {
		return dryRun(mode, details, b.activeConfig(), cfg)
	}

	m.log.Info("apply config request", "mode", mode.String())

	tryFor := constants.ConfigTryTimeout
	if d := req.GetTryModeTimeout(); d != nil {
		tryFor = d.AsDuration()
	}

	if mode == machine.ApplyConfigurationRequest_TRY {
		details += "\nThe config is applied in 'try' mode and will be automatically reverted back in " + tryFor.String()
	}

	if err := b.change(mode, cfg, tryFor, call); err != nil {
		return nil, err
	}

	b.around(f.DelayAfter, f.DieAfter)

	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{{
		Mode: mode, ModeDetails: details, Warnings: warnings,
	}}}, nil
}

// validate parses strictly and validates, first by itself and then against the node's state.
func (b *boot) validate(ctx context.Context, data []byte) (config.Provider, []string, error) {
	cfg, err := configloader.NewFromBytes(data)
	if err != nil {
		return nil, nil, err
	}

	if cfg.RawV1Alpha1() == nil {
		return nil, nil, errors.New("the applied machine configuration doesn't contain v1alpha1 config, " +
			"did you mean to patch the machine config instead?")
	}

	warnings, err := cfg.Validate(installedMetal{})
	if err != nil {
		return nil, nil, err
	}

	more, err := cfg.RuntimeValidate(ctx, b.state, installedMetal{})
	if err != nil {
		return nil, nil, err
	}

	return cfg, append(warnings, more...), nil
}

// resolveMode decides what will be done and how it is described. AUTO becomes NO_REBOOT or REBOOT. A number that is no
// mode passes here: it is refused only when something would be written.
func resolveMode(mode machine.ApplyConfigurationRequest_Mode, old, new config.Provider) (
	machine.ApplyConfigurationRequest_Mode, string, error,
) {
	switch mode {
	case machine.ApplyConfigurationRequest_AUTO, machine.ApplyConfigurationRequest_NO_REBOOT,
		machine.ApplyConfigurationRequest_TRY:
	case machine.ApplyConfigurationRequest_STAGED:
		return mode, detailsStaged, nil
	default:
		return mode, detailsReboot, nil
	}

	reboot, diff, err := needsReboot(old, new)
	if err != nil {
		return mode, "", err
	}

	if reboot {
		reason := "this config change can't be applied in immediate mode\ndiff:\n" + diff
		if mode != machine.ApplyConfigurationRequest_AUTO {
			return mode, "", status.Error(codes.InvalidArgument, reason)
		}

		return machine.ApplyConfigurationRequest_REBOOT, detailsReboot + ": " + reason, nil
	}

	if mode == machine.ApplyConfigurationRequest_AUTO {
		mode = machine.ApplyConfigurationRequest_NO_REBOOT
	}

	return mode, detailsNoReboot, nil
}

// dryRun answers what would be done. It carries no warnings.
func dryRun(mode machine.ApplyConfigurationRequest_Mode, details string, old, new config.Provider) (
	*machine.ApplyConfigurationResponse, error,
) {
	diff, err := configdiff.DiffConfigs(old, new)
	if err != nil {
		return nil, fmt.Errorf("computing the difference: %w", err)
	}

	if strings.TrimSpace(diff) == "" {
		diff = "No changes."
	}

	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{{
		Mode: mode,
		ModeDetails: fmt.Sprintf("Dry run summary:\n%s (skipped in dry-run).\nConfig diff:\n\n%s",
			details, diff),
	}}}, nil
}

// change writes the configuration. It takes no context: from here on a caller that gives up changes nothing.
func (b *boot) change(mode machine.ApplyConfigurationRequest_Mode, cfg config.Provider, tryFor time.Duration, call *call) error {
	switch mode {
	case machine.ApplyConfigurationRequest_NO_REBOOT, machine.ApplyConfigurationRequest_STAGED,
		machine.ApplyConfigurationRequest_REBOOT:
		if err := b.setPersistent(cfg); err != nil {
			return err
		}
	case machine.ApplyConfigurationRequest_TRY:
		// The timer is armed before the write, so that a try that fails half-way is undone as well.
		b.rollback.arm(tryFor, b.activeConfig())
	default:
		return fmt.Errorf("incorrect mode '%s' specified for the apply config call", mode)
	}

	// From here on something may have changed, whatever else fails. The landing is in the journal before anything acts
	// on it, so that the journal's order is the order of effects.
	landed := func() {
		call.landed()

		if mode != machine.ApplyConfigurationRequest_TRY {
			b.persist()
		}
	}

	switch mode {
	case machine.ApplyConfigurationRequest_STAGED:
		landed()

		return nil
	case machine.ApplyConfigurationRequest_REBOOT:
		b.rebootLatch.Store(true)
		landed()

		s := b.rebootSequence()
		s.forced = true
		b.sequences.start(s, "")

		return nil
	default:
		defer landed()

		return b.setActive(cfg)
	}
}

// installedMetal is the runtime mode of every lab node: metal, with Talos installed.
type installedMetal struct{}

func (installedMetal) String() string        { return "metal" }
func (installedMetal) RequiresInstall() bool { return false }
func (installedMetal) InContainer() bool     { return false }
