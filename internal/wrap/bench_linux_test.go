package wrap_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkWrapper measures whole processes, by their median: the tool alone and wrapped, as a read and as a change, the
// prompt, and beside them the floor of this machine, an empty program's start and one sync. The tool is the empty program.
func BenchmarkWrapper(b *testing.B) {
	dir := b.TempDir()
	empty := filepath.Join(dir, "kubectl")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", empty, "./testdata/empty")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	shim := filepath.Join(dir, "shims", "kubectl")
	if err := os.Mkdir(filepath.Dir(shim), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(binaries, "clewx"), shim); err != nil {
		b.Fatal(err)
	}
	env := []string{"HOME=" + dir, "PATH=" + filepath.Dir(shim) + ":" + dir}
	run := func(path string, args ...string) func() error {
		return func() error {
			cmd := exec.Command(path)
			cmd.Args, cmd.Env = args, env
			return cmd.Run()
		}
	}
	file, err := os.OpenFile(filepath.Join(dir, "sync"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"floor-empty-program", run(empty, "kubectl")},
		{"floor-sync", func() error {
			if _, err := file.Write(make([]byte, 1000)); err != nil {
				return err
			}
			return file.Sync()
		}},
		{"read", run(shim, "kubectl", "get", "pods")},
		{"mutate", run(shim, "kubectl", "delete", "pod", "x")},
		{"prompt", run(filepath.Join(binaries, "clewx"), "clewx", "prompt")},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				if err := c.do(); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median")
		})
	}
}
