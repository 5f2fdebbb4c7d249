package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// text lists hits, one a line: node symptom <=allowed tail, with what matters.
func text(r *Reach, symptom Symptom) string {
	var lines []string
	for i, h := range r.Hits {
		if h.Symptom != symptom {
			continue
		}
		line := fmt.Sprintf("%s <=%s +%s %s", h.Node, h.Allowed.For, h.Tail, Text(r.Path(i)))
		if h.Beyond {
			line += " beyond"
		}
		if h.Strength > 0 {
			line += fmt.Sprintf(" x%d", h.Strength)
		}
		for _, s := range h.During {
			line += fmt.Sprintf(" %s-%s", s.From.Format("15:04:05"), s.To.Format("15:04:05"))
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func down(nodes ...Name) Disturbance {
	d := Disturbance{During: span(0, 0)}
	for _, n := range nodes {
		d.Targets = append(d.Targets, Target{Node: n, Effect: Down})
	}
	return d
}

func expect(t *testing.T, r *Reach, symptom Symptom, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := text(r, symptom); got != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", symptom, got, strings.Join(want, "\n"))
	}
}

func TestOneControlPlaneIsALeaderChange(t *testing.T) {
	v := build(t, shop("prod"))
	r := v.Propagate(down("node/prod/cp-2"), nil)
	expect(t, r, NodeNotReady, "node/prod/cp-2 <=10m0s +0s cp-2")
	expect(t, r, LeaderChange, "etcd/prod <=30s +0s cp-2>etcd x1")
	expect(t, r, QuorumLoss)
	expect(t, r, APIGap, "apiserver/prod <=1m10s +10s cp-2>etcd>API x1")
	if h := r.Hits[r.At("deploy/prod/shop/web")[0]]; h.Symptom != ReconcileDelay || h.Tail < 5*time.Minute {
		t.Errorf("the Deployment's hit is %+v", h)
	}
	if i := r.Accessed("deploy/prod/shop/web"); i < 0 || Text(r.Path(i)) != "cp-2>etcd>API" {
		t.Error("work on the Deployment is not reached through the API server")
	}
	if r.Accessed("deploy/lab/shop/web") >= 0 {
		t.Error("another cluster is reached")
	}
}

func TestTwoControlPlanesAreAnOutage(t *testing.T) {
	v := build(t, shop("prod"))
	r := v.Propagate(down("node/prod/cp-2", "node/prod/cp-3"), nil)
	expect(t, r, LeaderChange, "etcd/prod <=30s +0s cp-2>etcd x2")
	expect(t, r, QuorumLoss, "etcd/prod <=10m10s +10s cp-2>etcd beyond x2")
}

// What others do counts only while both last.
func TestEffectsOfSeveralAddUp(t *testing.T) {
	v := build(t, shop("prod"))
	d := down("node/prod/cp-2")
	d.During = span(0, 600)
	others := func(n Name, of Kind) []Load {
		if n != "etcd/prod" || of != Machine {
			return nil
		}
		return []Load{
			{n, of, "node/prod/cp-2", span(0, 600)}, // the same machine is not two
			{n, of, "node/prod/cp-3", span(100, 160)},
			{n, of, "node/prod/cp-3", span(150, 200)},
			{n, of, "node/prod/cp-1", span(500, 0)},
			{n, of, "node/prod/cp-1", span(1000, 2000)},
		}
	}
	r := v.Propagate(d, others)
	expect(t, r, QuorumLoss, "etcd/prod <=10m10s +10s cp-2>etcd beyond x2 12:01:40-12:03:20 12:08:20-12:10:00")
	late := false
	for _, i := range r.At("apiserver/prod") {
		late = late || r.Hits[i].During != nil
	}
	if !late {
		t.Error("what follows from the outage is not bound to its time")
	}
	if len(r.Loads) == 0 || r.Loads[0].Source != "node/prod/cp-2" {
		t.Errorf("its own loads: %+v", r.Loads)
	}
}

func TestRedundancyOfWorkloads(t *testing.T) {
	v := build(t, shop("prod"))
	one := v.Propagate(Disturbance{Targets: []Target{{Node: "node/prod/w-2", Effect: Drain}}, During: span(0, 0)}, nil)
	expect(t, one, PodRestart, "deploy/prod/shop/web <=10m0s +0s w-2>shop/web x1")
	expect(t, one, Unavailable)
	expect(t, one, NodeNotReady) // a drained node stays ready
	both := v.Propagate(Disturbance{Targets: []Target{{Node: "node/prod/w-1", Effect: Drain}, {Node: "node/prod/w-2", Effect: Down}}, During: span(0, 0)}, nil)
	expect(t, both, Unavailable,
		"deploy/prod/shop/batch <=15m0s +5m0s w-1>shop/batch beyond x1",
		"deploy/prod/shop/web <=15m0s +5m0s w-1>shop/web beyond x2",
		"svc/prod/shop/web <=15m0s +5m0s w-1>shop/web>shop/web beyond x1")
}

func TestAbsorbedEntirely(t *testing.T) {
	s := shop("prod")
	for i, n := range s.Nodes {
		if n.Name == "svc/prod/shop/web" {
			s.Nodes[i].Tolerates = []Tolerance{{Deployment, 1}}
		}
	}
	v := build(t, s)
	r := v.Propagate(down("deploy/prod/shop/web"), nil)
	if len(r.At("svc/prod/shop/web")) > 0 || fmt.Sprint(r.Absorbed) != "[svc/prod/shop/web]" {
		t.Errorf("hits %v, absorbed %v", r.At("svc/prod/shop/web"), r.Absorbed)
	}
}

// The act's own envelope counts where it says something, the edges' bounds elsewhere, and both go on from there.
func TestLimitsGoDownTheEdges(t *testing.T) {
	v := build(t, shop("prod"))
	d := down("node/prod/cp-1", "node/prod/cp-2")
	d.Limit = func(s Symptom, at Name, derived Allowance) Allowance {
		if s == APIGap && at == "apiserver/prod" {
			return Allowance{time.Minute, "claimed"}
		}
		return derived
	}
	r := v.Propagate(d, nil)
	for _, i := range r.At("apiserver/prod") {
		if r.Hits[i].Allowed != (Allowance{time.Minute, "claimed"}) {
			t.Errorf("the API's gap is allowed %+v", r.Hits[i].Allowed)
		}
	}
	for _, i := range r.At("flux/prod") {
		if r.Hits[i].Allowed.For != 6*time.Minute {
			t.Errorf("Flux' delay is allowed %s, want the gap and the tail of five minutes", r.Hits[i].Allowed.For)
		}
	}
}

func TestWhatIsNotUnderstoodReachesItsTargetOnly(t *testing.T) {
	v := build(t, shop("prod"))
	r := v.Propagate(Disturbance{Targets: []Target{{Node: "node/prod/cp-2", Effect: Opaque, Shows: []Symptom{NodeNotReady}}, {Node: "node/prod/gone", Effect: Down}}, During: span(0, 0)}, nil)
	if len(r.Hits) != 1 || r.Hits[0].Node != "node/prod/cp-2" || r.Hits[0].Symptom != "" {
		t.Errorf("%+v", r.Hits)
	}
}

func TestDepthIsTheLastBound(t *testing.T) {
	s := Specs{}
	rule := []Rule{{In: Down, Outcome: &Outcome{Symptom: Unavailable, Effect: Down}}}
	for i := range MaxDepth + 5 {
		s.Nodes = append(s.Nodes, NodeSpec{Name: Name(fmt.Sprintf("svc/prod/x/s%02d", i)), Origin: found})
		if i > 0 {
			s.Edges = append(s.Edges, EdgeSpec{From: s.Nodes[i-1].Name, To: s.Nodes[i].Name, Rules: rule, Origin: found})
		}
	}
	r := build(t, s).Propagate(down("svc/prod/x/s00"), nil)
	if !r.Truncated || len(r.Hits) != MaxDepth+1 {
		t.Errorf("%d hits, truncated %v", len(r.Hits), r.Truncated)
	}
	if r := build(t, shop("prod")).Propagate(down("node/prod/cp-1"), nil); r.Truncated {
		t.Error("a shop is too deep")
	}
}

// The result is that of the graph's content: how the version came about does not show.
func TestPropagationDoesNotDependOnTheVersionsPast(t *testing.T) {
	a := build(t, shop("prod"), shop("lab"))
	b := stepwise(t, shop("lab"), shop("prod"))
	for _, target := range []Name{"node/prod/cp-1", "node/prod/w-1", "etcd/prod", "gitrepo/prod/flux-system/fleet"} {
		x, y := a.Propagate(down(target), nil), b.Propagate(down(target), nil)
		for _, s := range Symptoms {
			if text(x, s.Symptom) != text(y, s.Symptom) {
				t.Errorf("%s at %s:\n%s\n%s", s.Symptom, target, text(x, s.Symptom), text(y, s.Symptom))
			}
		}
	}
}

// Controls: a path that is taken away, a redundancy that is taken away, a rule that is made to reach everything.
func TestPropagationControls(t *testing.T) {
	v := build(t, shop("prod"))
	apply := func(s Specs) *Version {
		next, problems := v.Apply(s)
		if problems != nil {
			t.Fatal(problems)
		}
		return next
	}
	cut := apply(Specs{DropEdges: []Dropped{{From: "apiserver/prod", To: "flux/prod"}}})
	if r := cut.Propagate(down("node/prod/cp-1"), nil); len(r.At("ks/prod/flux-system/apps")) > 0 {
		t.Error("a Kustomization is reached over an edge that is not there")
	}
	bare := apply(Specs{Nodes: []NodeSpec{{Name: "etcd/prod", Origin: found}}})
	if r := bare.Propagate(down("node/prod/cp-1"), nil); text(r, QuorumLoss) == "" {
		t.Error("etcd without redundancy survives")
	}
	wide := apply(Specs{Edges: []EdgeSpec{{From: "etcd/prod", To: "deploy/prod/shop/batch", Rules: []Rule{{In: Blip, Outcome: &Outcome{Symptom: Unavailable}}}, Origin: found}}})
	if r := wide.Propagate(down("node/prod/cp-1"), nil); len(r.At("deploy/prod/shop/batch")) == 0 {
		t.Error("the new edge carries nothing")
	}
	if r := v.Propagate(down("node/prod/cp-1"), nil); len(r.At("deploy/prod/shop/batch")) > 0 {
		t.Error("the old version changed")
	}
}
