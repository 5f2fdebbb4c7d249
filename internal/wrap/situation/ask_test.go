package situation

import (
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
	"github.com/clewops/clew/internal/notice"
)

// TestAsk judges by a file that was written and read.
func TestAsk(t *testing.T) {
	const (
		cp2  = graph.Name("node/prod/cp-2")
		etcd = graph.Name("etcd/prod")
		api  = graph.Name("apiserver/prod")
		web  = graph.Name("deploy/prod/shop/web")
	)
	now := time.Now()
	by := graph.Origin{By: "a test"}
	facts := Facts{
		Graph: graph.Specs{
			Nodes: []graph.NodeSpec{{Name: cp2, Origin: by}, {Name: etcd, Origin: by}, {Name: api, Origin: by}, {Name: web, Origin: by}},
			Edges: []graph.EdgeSpec{{From: cp2, To: etcd, Origin: by}, {From: etcd, To: api, Origin: by}},
		},
		Acts: []notice.Act{{
			ID: "i-7k2", Session: "s-alice", Who: "alice", Doing: "upgrades cp-2", Kind: "talosctl upgrade", Class: act.Mutate,
			Targets: []graph.Target{{Node: cp2, Effect: graph.Down}}, Start: now.Add(-time.Minute),
			Default: []notice.Expectation{{Symptom: graph.APIGap, For: time.Minute}},
		}},
	}
	for _, c := range []struct {
		ids   []string
		found notice.Answered
		want  notice.VerdictKind
		say   bool
	}{
		{[]string{"s-bob"}, notice.Disturbed, notice.Explained, true},
		{[]string{"s-bob"}, notice.Fine, notice.Own, true},
		{[]string{"s-bob"}, notice.NoAnswer, notice.Unknown, true},
		{[]string{"s-alice"}, notice.Disturbed, notice.Own, true},
		{[]string{"alias", "s-alice"}, notice.Disturbed, notice.Own, true},
	} {
		dir := t.TempDir()
		if err := Write(dir, Head{Ledger: now, Sessions: []notice.Session{{ID: "s-alice"}}}, facts); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.Ask(Asked{IDs: c.ids, Nodes: []graph.Name{web}, Now: now, Saw: notice.Sighting{
			Node: api, Symptom: graph.APIGap, Found: c.found, At: now, Detail: "refused", Own: web,
		}})
		s.Close()
		if err != nil || a.Kind != c.want || a.Say != c.say {
			t.Errorf("%v, %s: %v %t, %v", c.ids, c.found, a.Kind, a.Say, err)
		}
	}
}

func TestUnaskedIsUnknown(t *testing.T) {
	now := time.Now()
	saw := notice.Sighting{Node: "apiserver/prod", Symptom: graph.APIGap, Found: notice.Disturbed, At: now}
	if a := Unasked(saw, now); a.Kind != notice.Unknown || !a.Say {
		t.Errorf("got %v", a.Kind)
	}
	saw.Found = notice.Fine
	if a := Unasked(saw, now); a.Say {
		t.Errorf("said %v of what is well", a.Kind)
	}
}
