package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// platformFile is what a node without a STATE boots from.
const platformFile = "platform.yaml"

const identityFile = "node-identity.yaml"

// boot is everything that a reboot loses, and what was read from disk when it began.
type boot struct {
	ctx      context.Context // the life of the boot: writes must not hang on a caller's context
	settings Settings
	log      *slog.Logger

	id      string // boot id
	since   time.Time
	version string
	nodeID  string

	state       state.State
	active      atomic.Pointer[held]
	writes      sync.Mutex
	applying    sync.Mutex
	rebootLatch atomic.Bool
	calls       atomic.Int64
	pulled      sync.Map // image references that were pulled

	rollback    *rollback
	persistence *persistence
	sequences   *sequencer
	services    *services
	events      *eventBus
	journal     *journal
	knobs       *knobs
	api         *api
	timing      atomic.Pointer[Timing]

	stageMu  sync.Mutex
	stage    runtime.MachineStage
	statusMu sync.Mutex

	moveMu    sync.Mutex
	addressMu sync.Mutex
	current   string

	ended chan sequence // receives the sequence that ends the boot
}

// newBoot reads what survived and builds the state of a boot.
func newBoot(ctx context.Context, s Settings, log *slog.Logger, k *knobs) (*boot, error) {
	b := &boot{
		ctx: ctx, settings: s, log: log, knobs: k,
		id: newUUID(), since: time.Now(),
		events: newEventBus(), ended: make(chan sequence, 1), stage: runtime.MachineStageBooting,
	}
	b.timing.Store(&s.Timing)
	b.journal = &journal{path: s.path(journalFile), boot: b.id}
	b.rollback = &rollback{boot: b}
	b.persistence = newPersistence(b)
	b.sequences = &sequencer{boot: b}
	b.services = newServices(b)

	var err error
	if b.version, err = bootEntry(s); err != nil {
		return nil, err
	}

	if b.current, err = CurrentAddress(s.dir); err != nil {
		return nil, err
	}

	if b.state, err = newState(ctx); err != nil {
		return nil, err
	}

	if err = b.loadIdentity(); err != nil {
		return nil, err
	}

	if err = b.acquireConfig(); err != nil {
		return nil, err
	}

	return b, b.publishFacts()
}

// bootEntry returns the version to run, making an installed one current.
func bootEntry(s Settings) (string, error) {
	m, err := s.loadMeta()
	if err != nil {
		return "", err
	}

	if m.Next != "" {
		m = bootEntries{Current: m.Next, Previous: m.Current}
		if err := s.saveMeta(m); err != nil {
			return "", err
		}
	}

	return m.Current, nil
}

// loadIdentity reads the node id from STATE or makes one, as a node without a STATE does.
func (b *boot) loadIdentity() error {
	saved := struct {
		NodeID string `json:"nodeId"`
	}{}

	// JSON is the subset of YAML in which the one field of this file is written.
	err := readJSON(filepath.Join(b.settings.stateDir(), identityFile), &saved)
	if os.IsNotExist(err) {
		saved.NodeID = newNodeID()

		raw, err := json.Marshal(saved)
		if err != nil {
			return err
		}

		if err := writeState(b.settings, identityFile, raw); err != nil {
			return err
		}
	} else if err != nil {
		return fmt.Errorf("reading the node's identity: %w", err)
	}

	b.nodeID = saved.NodeID

	identity := cluster.NewIdentity(cluster.NamespaceName, cluster.LocalIdentity)
	identity.TypedSpec().NodeID = b.nodeID

	return b.state.Create(b.ctx, identity)
}

// acquireConfig loads the configuration. From STATE only the active resource appears; from the platform, both do.
func (b *boot) acquireConfig() error {
	raw, err := os.ReadFile(filepath.Join(b.settings.stateDir(), configFile))

	fromPlatform := os.IsNotExist(err)
	if fromPlatform {
		raw, err = os.ReadFile(b.settings.path(platformFile))
	}

	if err != nil {
		return err
	}

	cfg, err := configloader.NewFromBytes(raw)
	if err != nil {
		return fmt.Errorf("loading the configuration: %w", err)
	}

	if !cfg.CompleteForBoot() {
		return errors.New("the configuration is not complete enough to boot from")
	}

	if fromPlatform {
		if err := b.setPersistent(cfg); err != nil {
			return err
		}

		b.persist()
	}

	return b.setActive(cfg)
}

// publishFacts fills the resources that clients look at besides the configuration.
func (b *boot) publishFacts() error {
	machineType := configres.NewMachineType()
	machineType.SetMachineType(b.activeConfig().Machine().Type())

	if err := b.state.Create(b.ctx, machineType); err != nil {
		return err
	}

	hostname := network.NewHostnameStatus(network.NamespaceName, network.HostnameID)
	hostname.TypedSpec().Hostname = b.settings.Name

	if err := b.state.Create(b.ctx, hostname); err != nil {
		return err
	}

	if err := b.publishAddress(); err != nil {
		return err
	}

	b.refreshStatus()

	return nil
}

// finish ends the boot with the sequence that asked first.
func (b *boot) finish(s sequence) {
	select {
	case b.ended <- s:
	default:
	}
}
