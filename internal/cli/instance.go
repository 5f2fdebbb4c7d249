package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	clearLocks(ctx, st, lock.file.Name(), host)
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

// clearLocks removes the lock files that nothing is shown by any more. A file that is gone proves nothing, so only those of
// instances are removed that the store itself shows to have stopped, and that nobody holds; what cannot be found out stays.
func clearLocks(ctx context.Context, st *store.Store, own string, host dispatch.Host) {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(own), "*.lock"))
	if err != nil || len(files) < 2 { // one is this process's
		return
	}
	known, err := st.Instances(ctx)
	if err != nil {
		return
	}
	held := func(string, uint64, uint64) bool { return false } // the lock itself is no record
	for _, i := range known {
		if i.LockPath != own && slices.Contains(files, i.LockPath) && store.Stopped(i, host, held) != "" &&
			store.LockFree(i.LockPath, i.LockDevice, i.LockInode) {
			_ = os.Remove(i.LockPath) // the next one tries again
		}
	}
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
