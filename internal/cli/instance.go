package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

// startInstance records this process as an executor's instance. Its lock file is locked until the process ends, however
// it ends: whoever finds it free, under the recorded device and inode, knows that the process is gone.
func (a *app) startInstance(ctx context.Context, st *store.Store) (string, dispatch.Host, error) {
	host, err := talos.LocalHost()
	if err != nil {
		return "", host, fmt.Errorf("finding out which host this is: %w", err)
	}
	c, err := a.settings()
	if err != nil {
		return "", host, err
	}
	lock, err := newLock(filepath.Join(c.Dirs.State, "instances"))
	if err != nil {
		return "", host, fmt.Errorf("making this executor's lock file: %w", err)
	}
	id, err := st.StartInstance(ctx, host, os.Getpid(), lock.file.Name(), lock.device, lock.inode)
	if err != nil {
		lock.discard()
		return "", host, err
	}
	a.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if err := st.EndInstance(ctx, id); err != nil {
			_ = lock.file.Close() // the free file is what shows now that this process has ended
			return fmt.Errorf("recording that this executor ends: %w", err)
		}
		lock.discard()
		return nil
	})
	return id, host, nil
}

// lockFile is a locked file, and which file it is.
type lockFile struct {
	file          *os.File
	device, inode uint64
}

// newLock makes and locks a file of its own in dir.
func newLock(dir string) (*lockFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "*.lock")
	if err != nil {
		return nil, err
	}
	l := &lockFile{file: f}
	info, err := f.Stat()
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		l.discard()
		return nil, err
	}
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		l.discard()
		return nil, fmt.Errorf("the file system of %q has no inodes", dir)
	}
	l.device, l.inode = uint64(sys.Dev), sys.Ino // Dev is signed on darwin
	return l, nil
}

// discard removes the file and frees the lock, in this order: a free file must not be found under its name.
func (l *lockFile) discard() {
	_ = os.Remove(l.file.Name())
	_ = l.file.Close()
}
