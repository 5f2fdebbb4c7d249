package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestARecordHasSeveralWriters: a process and the one that starts it both write down who it is.
func TestARecordHasSeveralWriters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, processFile)

	var group sync.WaitGroup

	for i := range 8 {
		group.Go(func() {
			for range 50 {
				if err := writeJSON(path, process{PID: i}); err != nil {
					t.Error(err)

					return
				}
			}
		})
	}

	group.Wait()

	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if err := json.Unmarshal(b, &process{}); err != nil {
		t.Errorf("%q: %v", b, err)
	}

	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	if len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}

	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}

	if info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v", info.Mode())
	}
}
