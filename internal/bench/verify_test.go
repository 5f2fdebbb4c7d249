package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/clewops/clew/internal/cli"
	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest"
)

// envCommand makes this test's program the command line, and names the file for the memory that it needed.
const envCommand = "CLEW_BENCH_COMMAND"

func TestMain(m *testing.M) {
	if file := os.Getenv(envCommand); file != "" {
		code := cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
		if err := os.WriteFile(file, strconv.AppendInt(nil, peakMemory(), 10), 0o600); err != nil {
			code = max(code, 1)
		}
		os.Exit(code)
	}
	storetest.Durable()
	storetest.Main(m)
}

// verification is what "clew verify" took, in a process of its own.
type verification struct {
	entries    int64
	took, user time.Duration
	peak       int64 // resident memory in bytes
}

// verified runs "clew verify" on the desk's store, which must hold.
func (d *desk) verified() verification {
	d.t.Helper()
	home := d.t.TempDir()
	location := d.w.Place.Location.Path
	if d.w.Place.Location.Engine == config.Postgres {
		location = d.w.Place.Location.URL.Reveal()
	}
	c := exec.CommandContext(ctx, program(d.t), "verify", "-o", "json")
	peak := filepath.Join(home, "peak")
	c.Env = []string{envCommand + "=" + peak, "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), config.EnvStore + "=" + location}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	began := time.Now()
	out, err := c.Output()
	took := time.Since(began)
	if err != nil {
		d.t.Fatalf("clew verify: %v: %.2000s %s", err, out, stderr.String())
	}
	var r store.Report
	no(d.t, json.Unmarshal(out, &r))
	v := verification{entries: r.Entries, took: took, user: c.ProcessState.UserTime()}
	b, err := os.ReadFile(peak)
	no(d.t, err)
	v.peak, err = strconv.ParseInt(string(b), 10, 64)
	no(d.t, err)
	return v
}

func program(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	no(t, err)
	return path
}
