package drill_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var built struct {
	once sync.Once
	dir  string
	err  error
}

// envProgram names a program that was built before, for quick repeats. Without it tests build their own.
const envProgram = "CLEW_TEST_PROGRAM"

// TestMain removes the program that tests built.
func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // a leftover is in the temporary directory
	}
	os.Exit(code)
}

// program is the program itself, as it is shipped: many of its processes run at once, and a test binary with the race
// detector would take most of the time to start.
func program(t *testing.T) string {
	t.Helper()
	if path := os.Getenv(envProgram); path != "" {
		return path
	}
	built.once.Do(func() {
		//lint:ignore usetesting it outlives the test that came first
		if built.dir, built.err = os.MkdirTemp("", "clew-drill-test-"); built.err != nil {
			return
		}
		c := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(built.dir, "clew"), "./cmd/clew")
		c.Dir, c.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "clew")
}
