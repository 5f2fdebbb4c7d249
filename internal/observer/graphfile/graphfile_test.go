package graphfile

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/graph"
)

var update = flag.Bool("update", false, "write docs/graph.schema.json and docs/graph.md")

const example = `# What discovery cannot know.
cluster: prod
nodes:
  - name: etcd
    tolerates: {node: 1}
  - name: node/cp-1
  - name: db/shop/main
  - name: deploy/shop/web
edges:
  - from: node/cp-1
    to: etcd
  - from: db/shop/main
    to: deployment/shop/web
    carries:
      - effect: blip
        absorbed: {symptom: failover, longest: 10s}
        shows:
          symptom: unavailable
          effect: down
          delay: 1s
          longest: 1m
          tail: 5s
`

func TestRead(t *testing.T) {
	specs, problems := Read("g.yaml", []byte(example))
	if problems != nil {
		t.Fatal(problems)
	}
	v, left, problems := graph.Build(specs)
	if problems != nil || left != nil {
		t.Fatal(problems, left)
	}
	if nodes, edges := v.Len(); nodes != 4 || edges != 2 {
		t.Errorf("%d nodes, %d edges", nodes, edges)
	}
	e, ok := v.Edge("db/prod/shop/main", "deploy/prod/shop/web")
	if !ok || e.Origin.String() != "g.yaml:12" || len(e.Rules) != 1 || e.Rules[0].Outcome.Symptom != graph.Unavailable {
		t.Errorf("%+v", e)
	}
	for _, empty := range []string{"", "\n", "# nothing\n", "---\n", "{}\n"} {
		if s, problems := Read("g.yaml", []byte(empty)); problems != nil || len(s.Nodes)+len(s.Edges) > 0 {
			t.Errorf("%q: %v", empty, problems)
		}
	}
}

// What is written reads back as the same graph.
func TestWriteReadsBack(t *testing.T) {
	specs, _ := Read("g.yaml", []byte(example))
	specs.Nodes = append(specs.Nodes, graph.NodeSpec{Name: "endpoint/prod/10.0.0.1:6443", Origin: graph.Origin{By: "a\ntest"}})
	v, _, problems := graph.Build(specs)
	if problems != nil {
		t.Fatal(problems)
	}
	all := v.Specs()
	again, problems := Read("h.yaml", Write(all))
	if problems != nil {
		t.Fatalf("%v\n%s", problems, Write(all))
	}
	w, _, problems := graph.Build(again)
	if problems != nil {
		t.Fatal(problems)
	}
	for _, d := range graph.Diff(v, w) { // origins differ, nothing else may
		if d.OldNode != nil && d.NewNode != nil {
			d.NewNode.Origin = d.OldNode.Origin
			if len(d.OldNode.Tolerates) == len(d.NewNode.Tolerates) && d.OldNode.Name == d.NewNode.Name {
				continue
			}
		}
		if d.OldEdge != nil && d.NewEdge != nil {
			a, _ := json.Marshal(d.OldEdge.Rules)
			b, _ := json.Marshal(d.NewEdge.Rules)
			if string(a) == string(b) {
				continue
			}
		}
		t.Errorf("%+v", d)
	}
	drops := graph.Specs{DropNodes: []graph.Dropped{{From: "ns/prod/a"}}, DropEdges: []graph.Dropped{{From: "etcd/prod", To: "apiserver/prod"}}}
	back, problems := Read("h.yaml", Write(drops))
	if problems != nil || len(back.DropNodes) != 1 || len(back.DropEdges) != 1 {
		t.Errorf("%+v %v", back, problems)
	}
}

func TestProblemsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"nodes:\n  - name: etcd/prod\n    tolerate: 1\n": `g.yaml:3: unknown key "tolerate" in a node; known here: name, tolerates`,
		"nodes:\n  - name: gizmo/prod/x\n":               `g.yaml:2: "gizmo" is no known kind`,
		"nodes:\n  - name:\n":                            `g.yaml:2: "name" of the node is empty`,
		"cluster: p\nedges:\n  - from: node/a\n":         `g.yaml:3: the edge has no "to"`,
		"nodes: [\n":                                     "g.yaml:1: this is no YAML",
		"a: b: c\n":                                      "g.yaml:1: this is no YAML",
		"nodes: []\n---\nnodes: []\n":                    "g.yaml:2: only one document",
		"nodes: &x []\nedges: *x\n":                      "g.yaml:1: anchors and aliases",
		"edges: *x\n":                                    "g.yaml:1: this is no YAML",
		"? [a]\n: b\n":                                   "g.yaml:1: a key must be a plain word",
		"- a\n":                                          "g.yaml:1: the file is a list",
		"nodes: 7\n":                                     `g.yaml:1: "nodes" is a single value and must be a list`,
	} {
		_, problems := Read("g.yaml", []byte(text))
		if len(problems) == 0 || !strings.HasPrefix(problems[0].Error(), want) {
			t.Errorf("%q: %v, want %s", text, problems, want)
		}
	}
	_, problems := Read("g.yaml", make([]byte, MaxSize+1))
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "larger than") {
		t.Errorf("too large: %v", problems)
	}
}

// Problems that only show when the whole is put together name their lines, too.
func TestWhatHangsTogetherNamesTheLine(t *testing.T) {
	read := func(text string) graph.Specs {
		s, problems := Read("g.yaml", []byte(text))
		if problems != nil {
			t.Fatal(problems)
		}
		return s
	}
	for text, want := range map[string]string{
		"nodes:\n- name: etcd/p\nedges:\n- from: etcd/p\n  to: apiserver/p\n":                                                            "g.yaml:4: the edge from etcd/p to apiserver/p hangs in the air",
		"nodes:\n- name: svc/p/a/b\nedges:\n- from: svc/p/a/b\n  to: service/p/a/b\n":                                                    "g.yaml:4: svc/p/a/b depends on itself",
		"nodes:\n- name: svc/p/a/b\n- name: svc/p/a/c\nedges:\n- {from: svc/p/a/b, to: svc/p/a/c}\n- {from: svc/p/a/c, to: svc/p/a/b}\n": "g.yaml:6: these depend on each other in a circle",
		"nodes:\n- name: svc/p/a/b\n- name: service/p/a/b\n":                                                                             "g.yaml:3: svc/p/a/b is described twice, first at g.yaml:2",
	} {
		_, _, problems := graph.Build(read(text))
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), want) {
			t.Errorf("%q: %v, want %s", text, problems, want)
		}
	}
}

func TestDocumentsArePublished(t *testing.T) {
	for name, want := range map[string][]byte{"graph.schema.json": Schema(), "graph.md": Document()} {
		file := filepath.Join("../../../docs", name)
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != string(want) {
			t.Errorf("docs/%s is not what the code says: go test ./internal/observer/graphfile -update", name)
		}
	}
}

// Every key of the schema is one that Read knows, and the other way round: Read lists what it knows in its errors.
func TestSchemaAndReaderAgree(t *testing.T) {
	var s struct {
		Properties map[string]struct {
			Items struct {
				Properties map[string]struct {
					Items struct{ Properties map[string]any }
				}
			}
		}
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	node, edge := s.Properties["nodes"].Items.Properties, s.Properties["edges"].Items.Properties
	for text, keys := range map[string]int{
		"x: y\n":                                       len(s.Properties),
		"nodes: [{x: y}]\n":                            len(node),
		"edges: [{x: y}]\n":                            len(edge),
		"without: [{x: y}]\n":                          3,
		"edges: [{carries: [{x: y}]}]\n":               len(edge["carries"].Items.Properties),
		"edges: [{carries: [{shows: {x: y}}]}]\n":      len(s.Defs["outcome"].Properties),
		"edges: [{carries: [{absorbed: {x: y}}]}]\n\n": len(s.Defs["outcome"].Properties),
	} {
		_, problems := Read("g.yaml", []byte(text))
		known := ""
		for _, p := range problems {
			if _, list, ok := strings.Cut(p.Message, "known here: "); ok {
				known = list
			}
		}
		if n := strings.Count(known, ",") + 1; known == "" || n != keys {
			t.Errorf("%q: the reader knows %q, the schema %d keys", text, known, keys)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("nodes: [{name: etcd/p}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		specs, problems := Read("g.yaml", text)
		for _, p := range problems {
			if p.Origin.File != "g.yaml" || p.Origin.Line < 1 {
				t.Errorf("a problem without a line: %v", p)
			}
		}
		if problems == nil {
			graph.Build(specs)
		}
	})
}
