package drill

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAFileThatIsReplacedIsNeverHalf: who reads it meanwhile sees what was there or what is there now.
func TestAFileThatIsReplacedIsNeverHalf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	if err := replaceFile(path, "secret\n"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for range 500 {
			if err := replaceFile(path, "secret\n"); err != nil {
				done <- err
				return
			}
		}
		close(done)
	}()
	for {
		b, err := os.ReadFile(path)
		if err != nil || string(b) != "secret\n" {
			t.Fatalf("read %q, %v", b, err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}
