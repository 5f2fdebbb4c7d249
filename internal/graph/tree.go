package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tree is a plain value of a graph file with the line that it stands on. Exactly one of Map, List and Text is used;
// which one, Shape says.
type Tree struct {
	Shape Shape
	Line  int
	Map   []Field
	List  []Tree
	Text  string
}

// Shape says what a Tree is.
type Shape int

// Shapes.
const (
	Scalar Shape = iota
	Mapping
	Sequence
)

// String is the shape in words.
func (s Shape) String() string {
	switch s {
	case Mapping:
		return "a mapping of keys to values"
	case Sequence:
		return "a list"
	default:
		return "a single value"
	}
}

// Field is a key and its value.
type Field struct {
	Key   string
	Line  int
	Value Tree
}

// Decode reads the tree of a graph file. file is its name as the user knows it. Short names (etcd, node/cp-2,
// deploy/shop/web) are completed with the file's cluster.
func Decode(file string, t Tree) (Specs, []Problem) {
	d := &decoder{file: file}
	fields := d.fields(t, "the file", "cluster", "nodes", "edges", "without")
	if c, ok := fields["cluster"]; ok {
		d.cluster = d.text(c.Value, "cluster")
	}
	for _, n := range d.list(fields, "nodes") {
		d.node(n)
	}
	for _, e := range d.list(fields, "edges") {
		d.edge(e)
	}
	for _, w := range d.list(fields, "without") {
		d.without(w)
	}
	return d.specs, sortProblems(d.problems)
}

type decoder struct {
	file     string
	cluster  string
	specs    Specs
	problems []Problem
}

func (d *decoder) problem(line int, format string, args ...any) {
	d.problems = append(d.problems, Problem{Origin{File: d.file, Line: line}, fmt.Sprintf(format, args...)})
}

// fields takes a mapping apart; a key that is not known is named with what would have been right.
func (d *decoder) fields(t Tree, what string, known ...string) map[string]Field {
	m := map[string]Field{}
	if t.Shape != Mapping {
		d.problem(t.Line, "%s is %s and must be %s with: %s", what, t.Shape, Mapping, strings.Join(known, ", "))
		return m
	}
	for _, f := range t.Map {
		if !slices.Contains(known, f.Key) {
			d.problem(f.Line, "unknown key %q in %s; known here: %s", f.Key, what, strings.Join(known, ", "))
		} else if _, ok := m[f.Key]; ok {
			d.problem(f.Line, "%q is there twice in %s", f.Key, what)
		}
		m[f.Key] = f
	}
	return m
}

func (d *decoder) list(fields map[string]Field, key string) []Tree {
	f, ok := fields[key]
	if !ok {
		return nil
	}
	if f.Value.Shape != Sequence {
		d.problem(f.Value.Line, "%q is %s and must be %s", key, f.Value.Shape, Sequence)
	}
	return f.Value.List
}

func (d *decoder) text(t Tree, what string) string {
	if t.Shape != Scalar {
		d.problem(t.Line, "%q is %s and must be %s", what, t.Shape, Scalar)
	}
	return t.Text
}

// need reads a field that has to be there.
func (d *decoder) need(fields map[string]Field, line int, key, what string) (string, int) {
	f, ok := fields[key]
	if !ok {
		d.problem(line, "%s has no %q", what, key)
		return "", line
	}
	text := d.text(f.Value, key)
	if f.Value.Shape == Scalar && text == "" {
		d.problem(f.Value.Line, "%q of %s is empty", key, what)
	}
	return text, f.Value.Line
}

// name completes a name with the file's cluster.
func (d *decoder) name(s string, line int) Name {
	if s == "" {
		return "" // was named as a problem already
	}
	parts := strings.Split(s, "/")
	k, ok := lookKind(parts[0])
	if ok && len(parts) == 1+int(k.extent) {
		if d.cluster == "" {
			d.problem(line, "%.120q names no cluster: write kind/cluster/name, or set \"cluster\" in the file", s)
			return ""
		}
		parts = slices.Insert(parts, 1, d.cluster)
	}
	n, err := ParseName(strings.Join(parts, "/"))
	if err != nil {
		d.problem(line, "%v", err)
	}
	return n
}

func (d *decoder) node(t Tree) {
	f := d.fields(t, "a node", "name", "tolerates")
	text, line := d.need(f, t.Line, "name", "the node")
	n := NodeSpec{Name: d.name(text, line), Origin: Origin{File: d.file, Line: t.Line}}
	if tol, ok := f["tolerates"]; ok {
		if tol.Value.Shape != Mapping {
			d.problem(tol.Value.Line, "\"tolerates\" is %s and must be %s: kinds and numbers, as in node: 1", tol.Value.Shape, Mapping)
		}
		for _, k := range tol.Value.Map {
			count, err := strconv.Atoi(d.text(k.Value, k.Key))
			if _, ok := KindOf(k.Key); !ok {
				d.problem(k.Line, "%.60q is no known kind; known: %s", k.Key, kindList())
			} else if err != nil || count < 0 {
				d.problem(k.Value.Line, "%.60q is no number of %ss that may be away", k.Value.Text, k.Key)
			}
			n.Tolerates = append(n.Tolerates, Tolerance{Kind(k.Key), count})
		}
	}
	if n.Name != "" {
		d.specs.Nodes = append(d.specs.Nodes, n)
	}
}

func (d *decoder) edge(t Tree) {
	f := d.fields(t, "an edge", "from", "to", "carries")
	from, fromLine := d.need(f, t.Line, "from", "the edge")
	to, toLine := d.need(f, t.Line, "to", "the edge")
	e := EdgeSpec{From: d.name(from, fromLine), To: d.name(to, toLine), Origin: Origin{File: d.file, Line: t.Line}}
	for _, r := range d.list(f, "carries") {
		e.Rules = append(e.Rules, d.rule(r))
	}
	if e.From != "" && e.To != "" {
		d.specs.Edges = append(d.specs.Edges, e)
	}
}

func (d *decoder) rule(t Tree) Rule {
	f := d.fields(t, "what an edge carries", "effect", "redundant", "absorbed", "shows")
	effect, line := d.need(f, t.Line, "effect", "what the edge carries")
	r := Rule{In: Effect(effect)}
	if x, ok := f["redundant"]; ok {
		switch text := d.text(x.Value, "redundant"); text {
		case "true", "false":
			r.Redundant = text == "true"
		default:
			d.problem(x.Value.Line, "\"redundant\" must be true or false")
		}
	}
	if x, ok := f["absorbed"]; ok {
		r.Absorbed, r.Redundant = d.outcome(x.Value, "absorbed"), true
	}
	if x, ok := f["shows"]; ok {
		r.Outcome = d.outcome(x.Value, "shows")
	}
	if err := r.check(); err != nil {
		d.problem(line, "%v; effects: %s; symptoms: %s", err, effectList(), symptomList())
	}
	return r
}

func (d *decoder) outcome(t Tree, what string) *Outcome {
	f := d.fields(t, fmt.Sprintf("%q", what), "symptom", "effect", "delay", "longest", "tail")
	var o Outcome
	for key, into := range map[string]*string{"symptom": (*string)(&o.Symptom), "effect": (*string)(&o.Effect)} {
		if x, ok := f[key]; ok {
			*into = d.text(x.Value, key)
		}
	}
	for key, into := range map[string]*time.Duration{"delay": &o.Delay, "longest": &o.Longest, "tail": &o.Tail} {
		x, ok := f[key]
		if !ok {
			continue
		}
		dur, err := time.ParseDuration(d.text(x.Value, key))
		if err != nil || dur < 0 {
			d.problem(x.Value.Line, "%.60q is no duration: write 30s, 5m or 1h30m", x.Value.Text)
		}
		*into = dur
	}
	return &o
}

func (d *decoder) without(t Tree) {
	f := d.fields(t, "what is left out", "node", "from", "to")
	drop := Dropped{Origin: Origin{File: d.file, Line: t.Line}}
	if n, ok := f["node"]; ok {
		if len(f) > 1 {
			d.problem(t.Line, "leave out a node, or an edge with \"from\" and \"to\", not both at once")
			return
		}
		if drop.From = d.name(d.text(n.Value, "node"), n.Value.Line); drop.From != "" {
			d.specs.DropNodes = append(d.specs.DropNodes, drop)
		}
		return
	}
	from, fromLine := d.need(f, t.Line, "from", "what is left out")
	to, toLine := d.need(f, t.Line, "to", "what is left out")
	drop.From, drop.To = d.name(from, fromLine), d.name(to, toLine)
	if drop.From != "" && drop.To != "" {
		d.specs.DropEdges = append(d.specs.DropEdges, drop)
	}
}

func effectList() string {
	var words []string
	for _, e := range Effects {
		if e.Effect != Opaque {
			words = append(words, string(e.Effect))
		}
	}
	return strings.Join(words, ", ")
}

func symptomList() string {
	var words []string
	for _, s := range Symptoms {
		words = append(words, string(s.Symptom))
	}
	return strings.Join(words, ", ")
}
