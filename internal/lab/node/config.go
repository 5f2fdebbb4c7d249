package node

import (
	"context"
	"sync"
	"time"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"google.golang.org/grpc/status"
)

// activeConfig returns the configuration in force.
func (b *boot) activeConfig() config.Provider { return b.active.Load().Provider }

// held lets an interface be kept in an atomic pointer.
type held struct{ config.Provider }

func (b *boot) setActive(cfg config.Provider) error {
	b.writes.Lock()
	defer b.writes.Unlock()

	if err := b.putConfig(cfg, configres.ActiveID); err != nil {
		return err
	}

	b.active.Store(&held{cfg})

	return nil
}

func (b *boot) setPersistent(cfg config.Provider) error {
	b.writes.Lock()
	defer b.writes.Unlock()

	return b.putConfig(cfg, configres.PersistentID)
}

// persist has the accepted persistent configuration written to STATE, some time after this returns.
func (b *boot) persist() {
	version, _ := b.configVersion(b.ctx, configres.PersistentID)
	b.persistence.want(version)
}

// putConfig creates or updates one MachineConfig resource; either way its version moves, whatever the bytes. It uses
// the boot's own context: a caller's must not reach this far.
func (b *boot) putConfig(cfg config.Provider, id resource.ID) error {
	r := configres.NewMachineConfigWithID(cfg, id)

	old, err := b.state.Get(b.ctx, r.Metadata())
	if state.IsNotFoundError(err) {
		return b.state.Create(b.ctx, r)
	}

	if err != nil {
		return err
	}

	r.Metadata().SetVersion(old.Metadata().Version())

	return b.state.Update(b.ctx, r)
}

// configVersion returns the version and bytes of one MachineConfig, 0 when there is none.
func (b *boot) configVersion(ctx context.Context, id resource.ID) (uint64, []byte) {
	r, err := safe.StateGet[*configres.MachineConfig](ctx, b.state, configres.NewMachineConfigWithID(nil, id).Metadata())
	if err != nil {
		return 0, nil
	}

	bytes, err := r.Provider().Bytes()
	if err != nil {
		return 0, nil
	}

	return r.Metadata().Version().Value(), bytes
}

// rollback is the pending undo of a try.
type rollback struct {
	boot *boot

	mu    sync.Mutex
	timer *time.Timer
}

// arm replaces whatever was pending: what a second try goes back to is the first one's configuration.
func (r *rollback) arm(after time.Duration, old config.Provider) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.timer != nil {
		r.timer.Stop()
	}

	var timer *time.Timer

	timer = time.AfterFunc(after, func() {
		r.mu.Lock()
		defer r.mu.Unlock()

		if r.timer != timer {
			return // cancelled or replaced while this was starting
		}

		r.timer = nil
		r.boot.undoTry(old)
	})
	r.timer = timer
}

func (r *rollback) cancel() {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

func (b *boot) undoTry(old config.Provider) {
	if err := b.setActive(old); err != nil {
		b.log.Error("undoing a try failed", "error", err)

		return
	}

	a := Apply{Entry: EntryRolledBack}
	a.Active, _ = b.configVersion(b.ctx, configres.ActiveID)
	a.Persistent, _ = b.configVersion(b.ctx, configres.PersistentID)
	b.journal.add(a)
}

// call is one ApplyConfiguration in the journal.
type call struct {
	boot *boot
	line Apply
}

func (b *boot) newCall(req *machine.ApplyConfigurationRequest) *call {
	c := &call{boot: b, line: Apply{
		Entry:  EntryEntered,
		Call:   int(b.calls.Add(1)),
		Mode:   req.GetMode().String(),
		DryRun: req.GetDryRun(),
		SHA256: digest(req.GetData()),
	}}
	b.journal.add(c.line)

	return c
}

func (c *call) landed() {
	line := c.line
	line.Entry = EntryLanded
	line.Active, _ = c.boot.configVersion(c.boot.ctx, configres.ActiveID)
	line.Persistent, _ = c.boot.configVersion(c.boot.ctx, configres.PersistentID)
	c.boot.journal.add(line)
}

func (c *call) answered(err error) {
	line := c.line
	line.Entry = EntryAnswered
	line.Code = status.Code(err).String()
	c.boot.journal.add(line)
}
