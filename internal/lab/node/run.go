package node

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Run is one boot of the node whose directory is dir. It returns when the node is shut down or ctx ends; a reboot
// does not return, it executes the process image anew.
func Run(ctx context.Context, dir string, stderr io.Writer) error {
	s, err := LoadSettings(dir)
	if err != nil {
		return err
	}

	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)

	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	log := slog.New(slog.NewTextHandler(stderr, nil)).With("node", s.Name)
	c := &controlServer{settings: s, log: log, knobs: newKnobs()}

	if err := c.listen(); err != nil {
		return err
	}
	defer c.close()

	if err := stayAway(ctx, s); err != nil {
		return err
	}

	end, err := runBoot(ctx, s, log, c)
	if err != nil || end != endReboot {
		return err
	}

	c.close()

	return execute()
}

// stayAway spends the time that the node is gone between two boots.
func stayAway(ctx context.Context, s Settings) error {
	path := s.path(bootOrderFile)

	var order bootOrder
	if err := readJSON(path, &order); err != nil {
		if os.IsNotExist(err) {
			return nil
		}

		return err
	}

	if err := os.Remove(path); err != nil {
		return err
	}

	if !pause(ctx, order.Gap) {
		return ctx.Err()
	}

	return nil
}

// runBoot serves until something ends the boot, and takes the API away.
func runBoot(ctx context.Context, s Settings, log *slog.Logger, c *controlServer) (ending, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	b, err := newBoot(ctx, s, log, c.knobs)
	if err != nil {
		return endNone, fmt.Errorf("booting: %w", err)
	}

	b.journal.add(Apply{Entry: EntryBooted})
	log.Info("booting", "bootId", b.id, "version", b.version)

	go b.persistence.run(ctx)

	api, err := startAPI(b)
	if err != nil {
		return endNone, fmt.Errorf("starting the API: %w", err)
	}

	c.boot.Store(b)
	b.services.startAPI()

	go b.bringUp()

	var last sequence
	select {
	case <-ctx.Done():
	case last = <-b.ended:
	}

	api.stop()
	c.boot.Store(nil)
	cancel()

	if last.end == endReboot {
		if err := writeJSON(filepath.Join(s.dir, bootOrderFile), bootOrder{Gap: cmp.Or(last.gap, b.timing.Load().Gap)}); err != nil {
			return endNone, err
		}
	}

	if last.act != nil {
		if err := last.act(); err != nil {
			return endNone, fmt.Errorf("sequence %s: %w", last.name, err)
		}
	}

	return last.end, nil
}

// execute replaces the process image by itself, with the same arguments: nothing in memory survives, the process id
// does. The kernel's link to the image also works when the file has been replaced meanwhile.
func execute() error {
	self := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		var err error
		if self, err = os.Executable(); err != nil {
			return err
		}
	}

	return syscall.Exec(self, os.Args, os.Environ())
}

// die ends the process as a power cut would.
func die() {
	syscall.Kill(os.Getpid(), syscall.SIGKILL) //lint:ignore errcheck there is nobody left to tell
	time.Sleep(time.Hour)
}
