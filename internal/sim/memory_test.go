package sim

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// memory is where Linux has a file system in memory.
const memory = "/dev/shm"

// inMemory makes a directory in memory, or among the test's own where the system has none. It goes with the test, and if
// that is killed, with the next one: its lock is then free.
func inMemory(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat(memory); err != nil {
		return t.TempDir()
	}
	left, err := filepath.Glob(filepath.Join(memory, "clew-sim-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range left {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue // it may be about to be locked
		}
		if f, err := lockDir(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = f.Close()
		}
	}
	//lint:ignore usetesting the test's own directories are on a disk
	dir, err := os.MkdirTemp(memory, "clew-sim-")
	if err != nil {
		t.Fatal(err)
	}
	f, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.RemoveAll(dir)
		_ = f.Close()
	})
	return dir
}

// lockDir takes the lock of a directory that nobody uses.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
