package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/lab"
)

// TestLabCommands makes a lab, breaks it, looks at it and takes it down, all by commands.
func TestLabCommands(t *testing.T) {
	h := newHome(t)
	dir := filepath.Join(h.dir, ".local/state/clew/lab")
	t.Cleanup(func() { h.want(0, "lab", "down") })

	h.want(1, "lab", "status")
	up := h.want(0, "lab", "up", "--links", "userland", "--workers", "1", "--boot-time", "10ms")
	for _, word := range []string{"cp-1", "worker-1", filepath.Join(dir, "talosconfig"), "next: clew machine import --talosconfig " + filepath.Join(dir, "talosconfig")} {
		if !strings.Contains(up.stdout, word) {
			t.Errorf("up does not say %q:\n%s", word, up.stdout)
		}
	}
	if again := h.want(0, "lab", "up"); !strings.Contains(again.stderr, "already") {
		t.Errorf("a second up says %q", again.stderr)
	}
	h.want(1, "lab", "up", "--links", "none")

	h.want(0, "lab", "fault", "worker-1", "delay-before", "3s", "--times", "2")
	h.want(0, "lab", "fault", "worker-1", "refuse", "Unavailable")
	h.want(0, "lab", "fault", "cp-1:worker-1", "hold", "to-node")
	o := labOverview(t, h)
	if f := o.Nodes[1].Faults; f.DelayBefore.String() != "3s" || f.Refuse != "Unavailable" {
		t.Errorf("faults %+v", f)
	}
	if len(o.FaultyLinks) != 1 || o.FaultyLinks[0].ToNode != "hold" || o.FaultyLinks[0].FromNode != "pass" {
		t.Errorf("faulty links %+v", o.FaultyLinks)
	}
	if s := h.want(0, "lab", "status"); !strings.Contains(s.stdout, "delay-before 3s, refuse Unavailable") || !strings.Contains(s.stdout, "faulty: cp-1:worker-1") {
		t.Errorf("status:\n%s", s.stdout)
	}

	h.want(0, "lab", "fault", "cp-1:worker-1", "heal")
	h.want(0, "lab", "fault", "worker-1", "heal")
	h.want(0, "lab", "fault", "worker-1", "kill")
	if o := labOverview(t, h); o.Nodes[1].Process != "dead" || len(o.FaultyLinks) != 0 || len(o.Nodes[1].Faults.Names()) != 0 {
		t.Errorf("overview %+v", o)
	}
	h.want(0, "lab", "fault", "worker-1", "restart")
	if told := h.want(0, "lab", "fault", "worker-1", "move"); !strings.Contains(told.stderr, "its address is now 127.") {
		t.Errorf("move says %q", told.stderr)
	}

	h.want(0, "lab", "down")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("after down: %v", err)
	}
}

func labOverview(t *testing.T, h *home) lab.Overview {
	t.Helper()
	var o lab.Overview
	if err := json.Unmarshal([]byte(h.want(0, "lab", "status", "-o", "json").stdout), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestLabRefusesNonsense: a wrong order is a usage error, and says what would be right.
func TestLabRefusesNonsense(t *testing.T) {
	h := newHome(t)
	theLab(t)
	dir := filepath.Join(sharedLab.dir, "lab")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"nobody", "kill"}, "there are: cp-1, worker-1"},
		{[]string{"worker-1", "cut"}, "is no fault of a node"},
		{[]string{"cp-1:worker-1", "kill"}, "is no fault of a link"},
		{[]string{"nobody:worker-1", "cut"}, "no node"},
		{[]string{"worker-1", "delay-after"}, "needs its DURATION"},
		{[]string{"worker-1", "delay-after", "soon"}, "no duration"},
		{[]string{"worker-1", "refuse", "OK"}, "cannot have code OK"},
		{[]string{"worker-1", "refuse", "Maybe"}, "no gRPC code"},
		{[]string{"worker-1", "upgrade", "latest"}, "no version"},
		{[]string{"worker-1", "pause", "now"}, "takes no argument"},
		{[]string{"cp-1:worker-1", "drop", "sideways"}, "no direction"},
		{[]string{"worker-1"}, "arg"},
	} {
		r := h.want(exitUsage, append([]string{"lab", "--dir", dir, "fault"}, c.args...)...)
		if !strings.Contains(r.stderr, c.says) {
			t.Errorf("%v: %s", c.args, r.stderr)
		}
	}
	h.want(exitUsage, "lab", "node")
	for _, flag := range [][2]string{{"--links", "string"}, {"--workers", "-1"}, {"--workers", "99"}, {"--rate", "1mbit"}, {"--talos-version", "new"}, {"--gap", "-3s"}} {
		h.want(exitUsage, "lab", "up", "--dir", filepath.Join(h.dir, "x"), flag[0], flag[1])
	}
	h.want(0, "lab", "down", "--dir", filepath.Join(h.dir, "nothing"))
}

// TestLabCompletion offers nodes and links, and then what can be done to the one that was typed.
func TestLabCompletion(t *testing.T) {
	h := newHome(t)
	theLab(t)
	dir := filepath.Join(sharedLab.dir, "lab")
	for _, c := range []struct{ word, want, not string }{
		{"", "client:worker-1", "cut"},
		{"worker-1", "drop-response", "hold\t"},
		{"cp-1:worker-1", "hold", "drop-response"},
	} {
		args := []string{"__complete", "lab", "--dir", dir, "fault"}
		if c.word != "" {
			args = append(args, c.word)
		}
		if r := h.want(0, append(args, "")...); !strings.Contains(r.stdout, c.want) || strings.Contains(r.stdout, c.not) {
			t.Errorf("after %q: %s", c.word, r.stdout)
		}
	}
}
