package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/drill/late"
)

func TestDrillLateUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--repeat", "-1"},
		{"--sends", "-1"},
		{"--controls", "-1"},
		{"--nodes", "0"},
		{"--partitions", "1s"},
		{"more"},
	} {
		if r := runCLI(t, append([]string{"lab", "drill", "late"}, args...)...); r.code != exitUsage {
			t.Errorf("%q: exit %d: %s", args, r.code, r.stderr)
		}
	}
}

// A measurement that found a landing after the accounting, or that could not be carried out, is written and fails.
func TestDrillLateFails(t *testing.T) {
	var out, complaints strings.Builder
	a := newApp(strings.NewReader(""), &out, &complaints, nil)
	a.flags.output = "text"
	file := filepath.Join(t.TempDir(), "late.md")
	rep := &late.Report{Options: late.Options{Sends: 1, Splits: []time.Duration{5 * time.Second, 16 * time.Second}}}
	rep.Sound = []late.Result{{Trial: late.Trial{Route: late.Direct}, Accounted: time.Second}}
	if err := a.showLate(rep, file); err != nil {
		t.Errorf("with nothing wrong: %v", err)
	}
	rep.Sound[0].Landings = []time.Duration{2 * time.Second}
	if err := a.showLate(rep, file); err == nil {
		t.Error("a landing after the accounting passed")
	}
	rep.Sound[0] = late.Result{Err: errors.New("no answer")}
	if err := a.showLate(rep, file); err == nil {
		t.Error("a send that was not made passed")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no answer", "--partitions 5s,16s "} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in what was written:\n%s", want, b)
		}
	}
}
