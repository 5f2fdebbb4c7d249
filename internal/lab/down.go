package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir keeps two commands from making or removing a lab in one directory at once.
func lockDir(dir string) (func(), error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}

	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}

	return func() { _ = f.Close() }, nil // only read, and the lock goes with it
}

func (l *Lab) down(ctx context.Context) error {
	unlock, err := lockDir(l.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}

	if err != nil {
		return err
	}
	defer unlock()

	return l.remove(ctx)
}

// remove undoes everything that the record names, in the order that leaves it removable when something fails: the
// record itself goes last. Each step may find its work done.
func (l *Lab) remove(ctx context.Context) error {
	// The keeper goes first: it would do the same as this. It may be this very process.
	dirs := []string{l.keeperDir(), l.linkDir()}
	for _, n := range l.rec.Nodes {
		dirs = append(dirs, l.nodeDir(n.Name))
	}

	var errs []error

	for _, dir := range dirs {
		if p := readProcess(dir); p.PID != os.Getpid() {
			errs = append(errs, p.kill(ctx))
		}
	}

	if l.rec.Links == LinksNetns {
		errs = append(errs, l.removeNetns(ctx))
	}

	if err := errors.Join(errs...); err != nil {
		return err
	}

	untie(l.dir)

	if l.rec.RunDir != "" {
		errs = append(errs, os.RemoveAll(l.rec.RunDir))
	}

	for _, dir := range []string{"nodes", "link", "keeper", "talosconfig"} {
		errs = append(errs, os.RemoveAll(filepath.Join(l.dir, dir)))
	}

	if err := errors.Join(errs...); err != nil {
		return err
	}

	if err := os.Remove(filepath.Join(l.dir, recordFile)); err != nil && !os.IsNotExist(err) {
		return err
	}

	// Whatever else the directory holds is not the lab's.
	if err := os.Remove(l.dir); err != nil && !os.IsNotExist(err) && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}

	return nil
}
