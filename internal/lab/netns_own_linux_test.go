package lab

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// Starting processes in another network namespace must leave every thread of this process in its own, the first thread
// included, which /proc/self speaks for.
func TestStartInReturnsToItsOwnNamespace(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}

	name := fmt.Sprintf("clew-own-%d", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %v: %s", err, out)
	}

	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
			t.Errorf("ip netns del: %v: %s", err, out)
		}
	})

	before := namespaces(t)

	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			cmd := exec.Command("true")
			if err := startIn(name, cmd); err != nil {
				t.Errorf("start: %v", err)

				return
			}

			if err := cmd.Wait(); err != nil {
				t.Errorf("wait: %v", err)
			}
		})
	}
	all.Wait()

	for tid, ns := range namespaces(t) {
		if want := before["self"]; ns != want {
			t.Errorf("thread %s is in %s, not in %s", tid, ns, want)
		}
	}
}

// namespaces are the network namespaces of this process's threads, and as "self" what /proc/self says.
func namespaces(t *testing.T) map[string]string {
	t.Helper()

	self, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]string{"self": self}

	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}

	for _, th := range threads {
		ns, err := os.Readlink("/proc/self/task/" + th.Name() + "/ns/net")
		if err == nil { // a thread may end meanwhile
			out[th.Name()] = ns
		}
	}

	return out
}
