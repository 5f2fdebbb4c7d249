package graph

import (
	"strings"
	"testing"
	"time"
)

// tree writes a Tree down shortly: strings are scalars, pairs are mappings. Lines are counted by calls.
type tree struct{ line int }

func (t *tree) s(text string) Tree { return Tree{Shape: Scalar, Line: t.line, Text: text} }

func (t *tree) l(items ...Tree) Tree {
	return Tree{Shape: Sequence, Line: t.line, List: items}
}

func (t *tree) m(pairs ...any) Tree {
	t.line++
	m := Tree{Shape: Mapping, Line: t.line}
	for i := 0; i < len(pairs); i += 2 {
		v, ok := pairs[i+1].(Tree)
		if !ok {
			v = t.s(pairs[i+1].(string))
		}
		m.Map = append(m.Map, Field{Key: pairs[i].(string), Line: t.line, Value: v})
	}
	return m
}

func TestDecode(t *testing.T) {
	b := &tree{}
	specs, problems := Decode("g.yaml", b.m(
		"cluster", "prod",
		"nodes", b.l(b.m("name", "etcd", "tolerates", b.m("node", "1")), b.m("name", "db/prod/shop/main")),
		"edges", b.l(
			b.m("from", "node/cp-1", "to", "etcd"),
			b.m("from", "db/shop/main", "to", "deployment/shop/web", "carries", b.l(b.m(
				"effect", "blip", "absorbed", b.m("symptom", "failover", "longest", "10s"),
				"shows", b.m("symptom", "unavailable", "effect", "down", "delay", "1s", "longest", "1m", "tail", "5s"))))),
		"without", b.l(b.m("from", "node/w-1", "to", "deploy/shop/web"), b.m("node", "ns/old"))))
	if problems != nil {
		t.Fatal(problems)
	}
	if len(specs.Nodes) != 2 || specs.Nodes[0].Name != "etcd/prod" || specs.Nodes[0].Tolerates[0] != (Tolerance{Machine, 1}) {
		t.Errorf("nodes: %+v", specs.Nodes)
	}
	e := specs.Edges[1]
	if e.From != "db/prod/shop/main" || e.To != "deploy/prod/shop/web" || len(e.Rules) != 1 || e.Origin.File != "g.yaml" || e.Origin.Line == 0 {
		t.Fatalf("edge: %+v", e)
	}
	r := e.Rules[0]
	if r.In != Blip || !r.Redundant || *r.Absorbed != (Outcome{Symptom: Failover, Longest: 10 * time.Second}) ||
		*r.Outcome != (Outcome{Unavailable, Down, time.Second, time.Minute, 5 * time.Second}) {
		t.Errorf("rule: %+v %+v %+v", r, r.Absorbed, r.Outcome)
	}
	if specs.Edges[0].Rules != nil {
		t.Error("an edge that says nothing has rules of its own")
	}
	if len(specs.DropEdges) != 1 || len(specs.DropNodes) != 1 || specs.DropNodes[0].From != "ns/prod/old" {
		t.Errorf("left out: %+v %+v", specs.DropEdges, specs.DropNodes)
	}
}

func TestDecodeProblems(t *testing.T) {
	b := &tree{line: 1}
	one := func(t Tree) Tree { return Tree{Shape: Mapping, Line: 1, Map: []Field{{"edges", 1, b.l(t)}}} }
	carrying := func(pairs ...any) Tree {
		return one(b.m("from", "node/p/a", "to", "etcd/p", "carries", b.l(b.m(pairs...))))
	}
	for _, c := range []struct {
		t    Tree
		want string
	}{
		{b.s("text"), "the file is a single value"},
		{b.m("edgse", b.l()), `unknown key "edgse" in the file; known here: cluster, nodes, edges, without`},
		{b.m("edges", "x"), `"edges" is a single value and must be a list`},
		{one(b.m("to", "etcd/p")), `the edge has no "from"`},
		{one(b.m("from", "node/a", "to", "etcd/p")), "names no cluster"},
		{one(b.m("from", "gizmo/p/a", "to", "etcd/p")), "no known kind"},
		{one(b.m("from", b.l(), "to", "etcd/p")), `"from" is a list`},
		{one(b.m("from", "node/p/a", "to", "etcd/p", "from", "node/p/b")), `"from" is there twice`},
		{carrying("effect", "boom"), "effects: down, blip"},
		{carrying("effect", "down", "shows", b.m("symptom", "pain")), "no known symptom"},
		{carrying("effect", "down", "shows", b.m("symptom", "api-gap", "tail", "soon")), "is no duration"},
		{carrying("effect", "down", "shows", b.m("symptom", "api-gap", "tail", "-1s")), "is no duration"},
		{carrying("effect", "down", "redundant", "maybe"), "must be true or false"},
		{b.m("nodes", b.l(b.m("name", "etcd/p", "tolerates", b.m("node", "few")))), "is no number of nodes"},
		{b.m("nodes", b.l(b.m("name", "etcd/p", "tolerates", "1"))), "kinds and numbers"},
		{b.m("without", b.l(b.m("node", "etcd/p", "to", "etcd/p"))), "not both at once"},
	} {
		_, problems := Decode("g.yaml", c.t)
		if len(problems) == 0 {
			t.Errorf("no problem, want %q", c.want)
			continue
		}
		text := ""
		for _, p := range problems {
			text += p.Error() + "\n"
			if p.Origin.File != "g.yaml" || p.Origin.Line == 0 {
				t.Errorf("no line: %v", p)
			}
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s, want %q", text, c.want)
		}
	}
}
