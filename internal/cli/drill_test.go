package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/drill"
)

func TestDrillUsage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"lab", "drill"},
		{"lab", "drill", "run"},
		{"lab", "drill", "run", "--out", out, "--rows", "999"},
		{"lab", "drill", "run", "--out", out, "--rows", "1-2"},
		{"lab", "drill", "run", "--out", out, "--store", "mysql"},
		{"lab", "drill", "run", "--out", out, "--net", "none"},
		{"lab", "drill", "run", "--out", out, "--settle-floor", "1s"},
		{"lab", "drill", "run", "--out", out, "--parallel", "-1"},
		{"lab", "drill", "run", "--out", out, "more"},
		{"lab", "drill", "run", "--out", out, "--yes-change-node"},
		{"lab", "drill", "run", "--out", out, "--node", "10.0.0.7"},
		{"lab", "drill", "run", "--out", out, "--talos", "talosconfig", "--yes-change-node"},
		{"lab", "drill", "run", "--out", out, "--talos", "talosconfig", "--node", "10.0.0.7"},
		{"lab", "drill", "run", "--out", out, "--talos", "talosconfig", "--node", "10.0.0.7", "--yes-change-node", "--route", "via:"},
		{"lab", "drill", "run", "--out", out, "--talos", "talosconfig", "--node", "10.0.0.7", "--yes-change-node", "--net", "userland"},
		{"lab", "drill", "run", "--out", out, "--talos", "talosconfig", "--node", "10.0.0.7:50000", "--yes-change-node"},
		{"lab", "drill", "report"},
		{"lab", "drill", "verify"},
		{"lab", "drill", "executor"},
		{"lab", "drill", "executor", "x", "y", "z"},
	} {
		if r := runCLI(t, args...); r.code != exitUsage {
			t.Errorf("%q: exit %d: %s", args, r.code, r.stderr)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a command line that is wrong has left something behind")
	}
}

func TestDrillWithoutEvidence(t *testing.T) {
	for _, word := range []string{"report", "verify"} {
		if r := runCLI(t, "lab", "drill", word, t.TempDir()); r.code != exitFailure || !strings.Contains(r.stderr, "no evidence of a drill") {
			t.Errorf("%s: exit %d: %s", word, r.code, r.stderr)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if r := runCLI(t, "lab", "drill", "run", "--rows", "001", "--out", filepath.Join(here, "evidence")); r.code != exitFailure || !strings.Contains(r.stderr, "work tree") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	// An executor without a drill's orders, or with orders for a store that no drill made, does nothing.
	if r := runCLI(t, "lab", "drill", "executor", filepath.Join(t.TempDir(), "orders.json"), "--", "version"); r.code != exitFailure {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

func TestDrillList(t *testing.T) {
	r := runCLI(t, "lab", "drill", "list", "-o", "json")
	var rows []struct{ Row, Case, Expects string }
	if err := json.Unmarshal([]byte(r.stdout), &rows); err != nil || r.code != exitDone {
		t.Fatalf("exit %d, %v: %s", r.code, err, r.stderr)
	}
	if len(rows) != len(drill.Rows()) {
		t.Errorf("%d of %d rows", len(rows), len(drill.Rows()))
	}
	for _, row := range rows {
		if row.Row == "" || row.Case == "" || row.Expects == "" {
			t.Errorf("a row says too little: %+v", row)
		}
	}
}
