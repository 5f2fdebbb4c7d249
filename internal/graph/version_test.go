package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEqualContentEqualDigest(t *testing.T) {
	whole := build(t, shop("prod"), shop("lab"))
	for _, other := range []*Version{
		build(t, shop("lab"), shop("prod")),
		build(t, whole.Specs()),
		stepwise(t, shop("lab"), shop("prod")),
	} {
		if whole.Digest() != other.Digest() {
			t.Errorf("the same content has the digests %s and %s", whole.Digest().Short(), other.Digest().Short())
		}
		if d := Diff(whole, other); d != nil {
			t.Errorf("differences of equals: %v", d)
		}
	}
	if build(t).Digest() != Empty.Digest() {
		t.Error("a graph without nodes is not the empty one")
	}
}

// stepwise applies every node and edge by itself.
func stepwise(t testing.TB, layers ...Specs) *Version {
	t.Helper()
	v := Empty
	apply := func(s Specs) {
		next, problems := v.Apply(s)
		if problems != nil {
			t.Fatal(problems)
		}
		v = next
	}
	for _, l := range layers {
		for _, n := range l.Nodes {
			apply(Specs{Nodes: []NodeSpec{n}})
		}
		for _, e := range l.Edges {
			apply(Specs{Edges: []EdgeSpec{e}})
		}
	}
	return v
}

// TestEverySingleChangeShows changes one thing at a time; each must give another digest and exactly one difference.
func TestEverySingleChangeShows(t *testing.T) {
	base := build(t, shop("prod"))
	web := NodeSpec{Name: "deploy/prod/shop/web", Tolerates: []Tolerance{{Machine, 1}}, Origin: found}
	e := EdgeSpec{From: "etcd/prod", To: "apiserver/prod", Origin: found}
	other := Origin{File: "graph.yaml", Line: 3}
	for name, s := range map[string]Specs{
		"a new node":         {Nodes: []NodeSpec{{Name: "svc/prod/shop/db", Origin: found}}},
		"tolerance":          {Nodes: []NodeSpec{{Name: web.Name, Tolerates: []Tolerance{{Machine, 2}}, Origin: found}}},
		"no tolerance":       {Nodes: []NodeSpec{{Name: web.Name, Origin: found}}},
		"a node's origin":    {Nodes: []NodeSpec{{Name: web.Name, Tolerates: web.Tolerates, Origin: other}}},
		"an edge's origin":   {Edges: []EdgeSpec{{From: e.From, To: e.To, Origin: other}}},
		"an edge's rules":    {Edges: []EdgeSpec{{From: e.From, To: e.To, Rules: []Rule{{In: Down, Outcome: &Outcome{Symptom: APIGap}}}, Origin: found}}},
		"a new edge":         {Edges: []EdgeSpec{{From: "node/prod/w-2", To: "deploy/prod/shop/batch", Origin: found}}},
		"an edge left out":   {DropEdges: []Dropped{{From: e.From, To: e.To}}},
		"a leaf is left out": {DropNodes: []Dropped{{From: "node/prod/none"}}},
	} {
		if name == "a leaf is left out" {
			v, problems := base.Apply(Specs{Nodes: []NodeSpec{{Name: "node/prod/none", Origin: found}}})
			if problems != nil {
				t.Fatal(problems)
			}
			back, problems := v.Apply(s)
			if problems != nil || back.Digest() != base.Digest() {
				t.Errorf("%s: %v, the digest did not come back", name, problems)
			}
			continue
		}
		v, problems := base.Apply(s)
		if problems != nil {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		if v.Digest() == base.Digest() {
			t.Errorf("%s does not show in the digest", name)
		}
		if d := Diff(base, v); len(d) != 1 {
			t.Errorf("%s: %d differences: %v", name, len(d), d)
		}
		if d := Diff(v, base); len(d) != 1 {
			t.Errorf("%s, backwards: %d differences: %v", name, len(d), d)
		}
	}
}

func TestOldVersionsStay(t *testing.T) {
	old := build(t, shop("prod"))
	before, digest := fmt.Sprint(old.Specs()), old.Digest()
	next, problems := old.Apply(Specs{
		DropNodes: []Dropped{{From: "etcd/prod"}},
		Nodes:     []NodeSpec{{Name: "svc/prod/shop/db", Origin: found}},
		Edges:     []EdgeSpec{{From: "svc/prod/shop/db", To: "deploy/prod/shop/web", Origin: found}},
	})
	if problems != nil {
		t.Fatal(problems)
	}
	if fmt.Sprint(old.Specs()) != before || old.Digest() != digest {
		t.Error("the old version changed")
	}
	if next.Has("etcd/prod") || !old.Has("etcd/prod") || len(next.Causes("apiserver/prod")) != 3 {
		t.Error("what was dropped is still there, or is missing in the old version")
	}
	if rebuilt := build(t, next.Specs()); rebuilt.Digest() != next.Digest() {
		t.Error("built anew it has another digest")
	}
}

func TestProblems(t *testing.T) {
	at := func(line int) Origin { return Origin{File: "g.yaml", Line: line} }
	base := build(t, shop("prod"))
	for want, s := range map[string]Specs{
		"g.yaml:1: \"gizmo\" is no known kind": {Nodes: []NodeSpec{{Name: "gizmo/prod/x", Origin: at(1)}}},
		"g.yaml:2: the edge from node/prod/x to etcd/prod hangs in the air: there is no node node/prod/x": {
			Edges: []EdgeSpec{{From: "node/prod/x", To: "etcd/prod", Origin: at(2)}},
		},
		"g.yaml:3: etcd/prod depends on itself": {Edges: []EdgeSpec{{From: "etcd/prod", To: "etcd/prod", Origin: at(3)}}},
		"g.yaml:4: these depend on each other in a circle: apiserver/prod > etcd/prod > apiserver/prod": {
			Edges: []EdgeSpec{{From: "apiserver/prod", To: "etcd/prod", Rules: []Rule{{In: Down, Outcome: &Outcome{Effect: Down}}}, Origin: at(4)}},
		},
		"g.yaml:5: the edge from ns/prod/a to etcd/prod: nothing is shipped for what a ns does to a etcd": {
			Nodes: []NodeSpec{{Name: "ns/prod/a", Origin: at(5)}},
			Edges: []EdgeSpec{{From: "ns/prod/a", To: "etcd/prod", Origin: at(5)}},
		},
		"g.yaml:6: the edge from node/prod/w-1 to node/prod/w-2: \"boom\" is no effect": {
			Edges: []EdgeSpec{{From: "node/prod/w-1", To: "node/prod/w-2", Rules: []Rule{{In: "boom"}}, Origin: at(6)}},
		},
		"g.yaml:7: there is no edge from etcd/prod to flux/prod": {DropEdges: []Dropped{{From: "etcd/prod", To: "flux/prod", Origin: at(7)}}},
		"g.yaml:8: there is no node etcd/x":                      {DropNodes: []Dropped{{From: "etcd/x", Origin: at(8)}}},
		"g.yaml:9: etcd/prod: it tolerates -1 of node":           {Nodes: []NodeSpec{{Name: "etcd/prod", Tolerates: []Tolerance{{Machine, -1}}, Origin: at(9)}}},
	} {
		v, problems := base.Apply(s)
		if v != nil || len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), want) {
			t.Errorf("want %q, got %v", want, problems)
		}
	}
}

// A cycle is found the same way whether few or many edges are new.
func TestCycles(t *testing.T) {
	rule := []Rule{{In: Down, Outcome: &Outcome{Symptom: Unavailable, Effect: Down}}}
	ring := func(n int) Specs {
		var s Specs
		for i := range n {
			name := Name(fmt.Sprintf("svc/prod/shop/s%03d", i))
			s.Nodes = append(s.Nodes, NodeSpec{Name: name, Origin: found})
			s.Edges = append(s.Edges, EdgeSpec{
				From: name, To: Name(fmt.Sprintf("svc/prod/shop/s%03d", (i+1)%n)), Rules: rule, Origin: Origin{File: "g.yaml", Line: i + 1},
			})
		}
		return s
	}
	for _, n := range []int{2, 3, manyEdges, manyEdges + 1, 200} {
		_, problems := Empty.Apply(ring(n))
		if len(problems) == 0 || !strings.HasPrefix(problems[0].Error(), fmt.Sprintf("g.yaml:%d: these depend on each other in a circle", n)) {
			t.Errorf("a circle of %d: %v", n, problems)
		}
		open := ring(n)
		open.Edges = open.Edges[1:]
		if _, problems := Empty.Apply(open); problems != nil {
			t.Errorf("an open ring of %d: %v", n, problems)
		}
		if _, _, problems := Build(ring(n)); len(problems) != 1 {
			t.Errorf("building a circle of %d from files: %v", n, problems)
		}
	}
}

// Flux runs on what it manages. The edge that closes the circle goes, not the one by which everything hangs on Flux.
func TestDiscoveredCirclesAreCut(t *testing.T) {
	s := shop("prod")
	s.Nodes = append(s.Nodes, NodeSpec{Name: "deploy/prod/flux-system/kustomize-controller", Origin: found})
	s.Edges = append(s.Edges,
		EdgeSpec{From: "ks/prod/flux-system/infra", To: "deploy/prod/flux-system/kustomize-controller", Origin: found},
		EdgeSpec{
			From: "deploy/prod/flux-system/kustomize-controller", To: "flux/prod", Origin: found,
			Rules: []Rule{{In: Down, Outcome: &Outcome{Symptom: ReconcileDelay, Effect: Stall}}},
		})
	v, left, problems := Build(s)
	if problems != nil || len(left) != 1 || !strings.Contains(left[0].Message, "from deploy/prod/flux-system/kustomize-controller to flux/prod is left out") {
		t.Fatalf("left out %v, problems %v", left, problems)
	}
	if _, ok := v.Edge("flux/prod", "gitrepo/prod/flux-system/fleet"); !ok {
		t.Error("the wrong edge was cut")
	}
}

func TestLayers(t *testing.T) {
	file := func(line int) Origin { return Origin{File: "g.yaml", Line: line} }
	v := build(t, shop("prod"), Specs{
		Nodes:     []NodeSpec{{Name: "etcd/prod", Tolerates: []Tolerance{{Machine, 2}}, Origin: file(2)}},
		DropEdges: []Dropped{{From: "node/prod/w-1", To: "deploy/prod/shop/batch", Origin: file(4)}},
	})
	n, _ := v.Node("etcd/prod")
	if n.Tolerates[0].Count != 2 || n.Origin.String() != "g.yaml:2" {
		t.Errorf("the file did not correct what was discovered: %+v", n)
	}
	if _, ok := v.Edge("node/prod/w-1", "deploy/prod/shop/batch"); ok {
		t.Error("an edge that the file leaves out is there")
	}
	_, problems := Compose(shop("prod"), Specs{
		Nodes:     []NodeSpec{{Name: "ns/prod/a", Origin: file(1)}, {Name: "ns/prod/a", Origin: file(2)}},
		DropEdges: []Dropped{{From: "etcd/prod", To: "flux/prod", Origin: file(3)}},
		DropNodes: []Dropped{{From: "ns/prod/z", Origin: file(4)}},
	})
	want := []string{"g.yaml:2: ns/prod/a is described twice", "g.yaml:3: there is no edge", "g.yaml:4: there is no node"}
	if len(problems) != len(want) {
		t.Fatalf("%v", problems)
	}
	for i, p := range problems {
		if !strings.HasPrefix(p.Error(), want[i]) {
			t.Errorf("%s, want %s", p, want[i])
		}
	}
}

// Random changes, forwards and backwards: the digest follows the content, whatever the way.
func TestDigestFollowsContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Empty
		content := map[string]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			var s Specs
			i := rapid.IntRange(0, 30).Draw(t, "i")
			j := rapid.IntRange(i+1, 31).Draw(t, "j") // edges go upwards only: no circles
			name := func(i int) Name { return Name(fmt.Sprintf("svc/c%d/shop/s%d", i%3, i)) }
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				s.Nodes = []NodeSpec{{Name: name(i), Origin: found}}
			case 1:
				s.DropNodes = []Dropped{{From: name(i)}}
			case 2:
				s.Edges = []EdgeSpec{{From: name(i), To: name(j), Origin: found}}
			case 3:
				s.DropEdges = []Dropped{{From: name(i), To: name(j)}}
			}
			next, problems := v.Apply(s)
			if problems != nil {
				continue
			}
			v = next
			key := fmt.Sprint(v.Specs())
			content[key] = true
			rebuilt, _, problems := Build(v.Specs())
			if problems != nil || rebuilt.Digest() != v.Digest() {
				t.Fatalf("built anew the digest is another: %v", problems)
			}
			nodes, edges := v.Len()
			if specs := v.Specs(); nodes != len(specs.Nodes) || edges != len(specs.Edges) {
				t.Fatalf("it counts %d nodes and %d edges, and has %d and %d", nodes, edges, len(specs.Nodes), len(specs.Edges))
			}
			for _, e := range v.Specs().Edges {
				if !slices.ContainsFunc(v.Causes(e.To), func(c EdgeSpec) bool { return c.From == e.From }) {
					t.Fatalf("%s does not know its cause %s", e.To, e.From)
				}
			}
		}
	})
}

func TestPathsAndUpstream(t *testing.T) {
	v := build(t, shop("prod"))
	for _, c := range []struct{ from, to, want string }{
		{"node/prod/cp-2", "apiserver/prod", "cp-2>API"},
		{"node/prod/cp-2", "deploy/prod/shop/batch", "cp-2>API>shop/batch"},
		{"etcd/prod", "deploy/prod/shop/web", "etcd>API>shop/web"},
		{"node/prod/w-1", "svc/prod/shop/web", "w-1>shop/web>shop/web"},
		{"gitrepo/prod/flux-system/fleet", "deploy/prod/shop/web", "flux-system/fleet>flux-system/infra>flux-system/apps>shop/web"},
		{"svc/prod/shop/web", "node/prod/w-1", ""},
		{"etcd/prod", "etcd/prod", "etcd"},
		{"etcd/prod", "etcd/none", ""},
	} {
		if got := Text(v.Path(Name(c.from), Name(c.to))); got != c.want {
			t.Errorf("%s to %s: %q, want %q", c.from, c.to, got, c.want)
		}
	}
	distance := map[Name]int{}
	v.Upstream("svc/prod/shop/web", 3, 100, func(n Name, d int) bool { distance[n] = d; return true })
	for n, want := range map[Name]int{
		"svc/prod/shop/web": 0, "deploy/prod/shop/web": 1, "apiserver/prod": 1, "node/prod/w-1": 2, "etcd/prod": 2,
		"ks/prod/flux-system/apps": 2, "ks/prod/flux-system/infra": 3,
	} {
		if got, ok := distance[n]; !ok || got != want {
			t.Errorf("%s is at %d (%v), want %d", n, got, ok, want)
		}
	}
	if _, ok := distance["flux/prod"]; ok {
		t.Error("the distance did not end the search")
	}
}
