package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
)

var desk = dispatch.Host{Name: "desk", ID: "host-1", BootID: "boot-1", NetNS: "net-1"}

func lockFile(t *testing.T) (f *os.File, device, ino uint64) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "x.lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return f, uint64(st.Dev), st.Ino // Dev is signed on darwin
}

func TestWhatShowsThatAnInstanceHasStopped(t *testing.T) {
	laptop := dispatch.Host{Name: "laptop", ID: "host-2", BootID: "boot-9"}
	rebooted, cloned, container := desk, desk, desk
	rebooted.BootID = "boot-2"
	cloned.BootID, cloned.Name = "boot-2", "desk2"
	container.ID = "image-7"
	free := func(string, uint64, uint64) bool { return true }
	held := func(string, uint64, uint64) bool { return false }
	running := Instance{ID: "i-1", Host: desk, LockPath: "/x.lock"}
	for name, c := range map[string]struct {
		change func(*Instance)
		here   dispatch.Host
		free   func(string, uint64, uint64) bool
		want   bool
	}{
		"runs":                          {here: desk, free: held},
		"recorded its end":              {change: func(i *Instance) { i.EndedRevision = 2 }, here: laptop, free: held, want: true},
		"attested":                      {change: func(i *Instance) { i.AttestedBy = "ann" }, here: laptop, free: held, want: true},
		"lock free on its host":         {here: desk, free: free, want: true},
		"lock free on another host":     {here: laptop, free: free},
		"lock free, other image":        {here: container, free: free},
		"no lock file was recorded":     {change: func(i *Instance) { i.LockPath = "" }, here: desk, free: free},
		"its host booted":               {here: rebooted, free: held, want: true},
		"a clone of its host":           {here: cloned, free: free},
		"it is not known where we are":  {here: dispatch.Host{}, free: free},
		"it is not known where it runs": {change: func(i *Instance) { i.Host = dispatch.Host{} }, here: desk, free: free},
	} {
		i := running
		if c.change != nil {
			c.change(&i)
		}
		if got := Stopped(i, c.here, c.free); (got != "") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestLockFree(t *testing.T) {
	f, device, ino := lockFile(t)
	if !LockFree(f.Name(), device, ino) {
		t.Error("a free file is not free")
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if LockFree(f.Name(), device, ino) {
		t.Error("a held file is free")
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if LockFree(f.Name(), device, ino+1) || LockFree(f.Name(), device+1, ino) {
		t.Error("another file is it")
	}
	link := f.Name() + ".link"
	if err := os.Symlink(f.Name(), link); err != nil {
		t.Fatal(err)
	}
	if LockFree(link, device, ino) {
		t.Error("a link is it")
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if LockFree(f.Name(), device, ino) {
		t.Error("an absent file proves something")
	}
}

func TestInstances(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		admit(t, s)
		f, device, ino := lockFile(t)
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		id, err := s.StartInstance(ctx, desk, 17, f.Name(), device, ino)
		if err != nil || len(id) != len(InstancePrefix)+32 {
			t.Fatalf("%q, %v", id, err)
		}
		got, err := s.Instance(ctx, id)
		if err != nil || got.Host != desk || got.PID != 17 || got.LockDevice != device || got.LockInode != ino || got.StartedAt.IsZero() {
			t.Fatalf("%+v, %v", got, err)
		}
		why := func() string {
			t.Helper()
			why, err := s.InstanceStopped(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			return why
		}
		if why() != "" {
			t.Fatal("a running process has stopped")
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
			t.Fatal(err)
		}
		if why() == "" {
			t.Fatal("its free lock file shows nothing")
		}
		if err := s.EndInstance(ctx, id); err != nil {
			t.Fatal(err)
		}
		if why() != "it recorded its end" {
			t.Fatal(why())
		}
		if err := s.EndInstance(ctx, id); err != nil { // once more changes nothing
			t.Fatal(err)
		}
		if got := checkChain(t, s, instanceScope(id)); len(got) != 2 {
			t.Fatalf("%d entries", len(got))
		}
		if why, err := s.InstanceStopped(ctx, "i-unknown"); why != "" || err != nil {
			t.Fatalf("a process that nobody knows has stopped: %q, %v", why, err)
		}
		if err := s.EndInstance(ctx, "i-unknown"); !errors.Is(err, ErrNotFound) {
			t.Fatalf("got %v", err)
		}
		all, err := s.Instances(ctx)
		if err != nil || len(all) != 1 || all[0].EndedRevision != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
	})
}
