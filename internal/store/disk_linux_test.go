package store

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/ledger"
)

// smallDisk mounts a file system of its own, which is unmounted at the end.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a file system needs root")
	}
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("clew-test", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

func fill(s *Store, size int) error {
	return s.update(context.Background(), locks{}, "a large entry", func(tx *Tx) error {
		_, err := tx.append(testScope, "test.written", ledger.Actor{}, nil, strings.Repeat("x", size))
		return err
	})
}

func TestAFullDiskLosesNothingAcknowledged(t *testing.T) {
	dir := smallDisk(t, "size=2m,mode=0700")
	p := sqlitePlace(t, dir)
	s := openAt(t, p)
	acknowledged := 0
	var err error
	for acknowledged < 1000 {
		if err = fill(s, 30<<10); err != nil {
			break
		}
		acknowledged++
	}
	if err == nil || !strings.Contains(err.Error(), "full") && !strings.Contains(err.Error(), "fails") {
		t.Fatalf("after %d entries: %v", acknowledged, err)
	}
	t.Logf("%d entries, then: %v", acknowledged, err)
	if err := unix.Mount("clew-test", dir, "tmpfs", unix.MS_REMOUNT, "size=20m"); err != nil {
		t.Fatal(err)
	}
	if err := fill(s, 10); err != nil {
		t.Fatalf("with space again: %v", err)
	}
	got := len(checkChain(t, s, testScope))
	if got < acknowledged+1 || got > acknowledged+2 { // the one that failed may have been unknown
		t.Fatalf("%d entries, %d were acknowledged", got, acknowledged+1)
	}
}

func TestAReadOnlyFileSystemIsSaidSo(t *testing.T) {
	dir := smallDisk(t, "size=8m,mode=0700")
	p := sqlitePlace(t, dir)
	closeNow(t, open(t, p))
	if err := unix.Mount("clew-test", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, "size=8m"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(context.Background(), Config{Location: p.Location})
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Fatalf("got %v", err)
	}
}
