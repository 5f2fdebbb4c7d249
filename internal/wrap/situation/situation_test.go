package situation

import (
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
	"github.com/clewops/clew/internal/notice"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := t.TempDir()
	now := time.Now().UTC().Round(time.Second)
	want := Head{Ledger: now, Sessions: []notice.Session{{ID: "s"}}, Notices: []notice.Notice{{Act: "i-1", Session: "s", Who: "alice"}}}
	said := []notice.Entry{{Kind: notice.Opened, Notice: &want.Notices[0]}}
	if err := Write(dir, want, Facts{Reports: []notice.Report{{ID: "s-1", From: now}}, Said: said}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	facts, err := s.Facts()
	if err != nil || !s.Ledger.Equal(now) || len(s.Mine([]string{"s"})) != 1 || len(facts.Reports) != 1 || len(facts.Said) != 1 {
		t.Errorf("%+v, %+v, %v", s.Head, facts, err)
	}
}

func TestNoticesUnderAnyOfASessionsIDs(t *testing.T) {
	h := Head{
		Sessions: []notice.Session{{ID: "a", Aliases: []string{"b"}}},
		Notices:  []notice.Notice{{Act: "i-1", Session: "a"}, {Act: "i-2", Session: "a", Ended: true}, {Act: "i-3", Session: "c"}},
	}
	for ids, want := range map[string]int{"a": 1, "b": 1, "c": 1, "d": 0} {
		if got := h.Mine([]string{ids}); len(got) != want {
			t.Errorf("%s: %v", ids, got)
		}
	}
}

func TestNodesOfTargets(t *testing.T) {
	h := Head{Clusters: []Cluster{
		{Name: "prod", Known: act.KnownCluster{Servers: []string{"https://10.0.0.1:6443"}}, Machines: map[string]graph.Name{"10.0.0.2": "node/prod/cp-2"}},
		{Name: "lab", Known: act.KnownCluster{Servers: []string{"https://10.1.0.1:6443"}}},
	}}
	c := h.Cluster(act.Place{Server: "https://10.0.0.1:6443"})
	if c == nil || c.Name != "prod" {
		t.Fatalf("got %v", c)
	}
	got := c.Nodes([]act.Target{
		{Kind: "deploy", Name: "web", Namespace: "shop"}, {Kind: "machine", Name: "10.0.0.2"}, {Kind: "flux"}, {Kind: "widget", Name: "x"},
	})
	want := []graph.Name{"deploy/prod/shop/web", "node/prod/cp-2", "flux/prod"}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v", got)
		}
	}
	if c := h.Cluster(act.Place{Server: "https://10.9.0.1:6443"}); c != nil {
		t.Errorf("an unknown server is %v", c)
	}
}
