package node

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
)

const configFile = "config.yaml"

// persistence writes the persistent configuration to STATE after it was accepted, on its own time. An answer to a
// caller never waits for it.
type persistence struct {
	boot *boot
	poke chan struct{}

	mu     sync.Mutex
	wanted uint64        // version that was last accepted
	done   uint64        // version that is on disk
	idle   chan struct{} // closed when done has caught up with wanted
	closed bool          // STATE is unmounted: new versions are ignored
}

func newPersistence(b *boot) *persistence {
	p := &persistence{boot: b, poke: make(chan struct{}, 1), idle: make(chan struct{})}
	close(p.idle)

	return p
}

// want asks for a version to be written. It does not wait.
func (p *persistence) want(version uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.closed {
		return
	}

	if p.wanted == p.done {
		p.idle = make(chan struct{})
	}

	p.wanted = version

	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// run writes what is wanted until ctx ends.
func (p *persistence) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.poke:
		}

		select {
		case <-ctx.Done():
			return
		case <-p.boot.knobs.thawed():
			p.write(ctx)
		}
	}
}

// write stores the newest version. After finish it stores nothing.
func (p *persistence) write(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.closed {
		return
	}

	version, bytes := p.boot.configVersion(ctx, configres.PersistentID)
	if version == 0 {
		return // the boot is ending: nothing may be written in place of what cannot be read
	}

	if err := writeState(p.boot.settings, configFile, bytes); err != nil {
		p.boot.log.Error("machine configuration not persisted", "error", err)

		return
	}

	p.boot.log.Info("machine configuration persisted to STATE")
	p.boot.journal.add(Apply{Entry: EntryPersisted, SHA256: digest(bytes), Persistent: version})

	// A version that was accepted while this one was read has poked again.
	if p.done = version; p.done >= p.wanted {
		p.wanted = p.done
		closeOnce(p.idle)
	}
}

// finish waits, as the teardown of a node's volumes does, until what is pending is on disk or ctx ends. Whatever is
// accepted afterwards is lost.
func (p *persistence) finish(ctx context.Context) {
	p.mu.Lock()
	idle := p.idle
	p.mu.Unlock()

	select {
	case <-idle:
	case <-ctx.Done():
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	p.closed = true
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// writeState replaces one file of STATE as a whole.
func writeState(s Settings, name string, b []byte) error {
	if err := os.MkdirAll(s.stateDir(), 0o700); err != nil {
		return err
	}

	return replaceFile(filepath.Join(s.stateDir(), name), b)
}
