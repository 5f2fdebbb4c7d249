package graph

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

// Apply derives a version in which the changes are made: what is dropped goes first, then nodes and edges are added or,
// where they exist, replaced. With any problem there is no new version. The same content gives the same digest,
// whatever the way to it.
func (v *Version) Apply(s Specs) (*Version, []Problem) {
	e := newEditor(v)
	e.drop(s)
	for _, n := range s.Nodes {
		e.node(n)
	}
	e.addEdges(s.Edges)
	if len(e.problems) > 0 {
		return nil, sortProblems(e.problems)
	}
	e.finish()
	if problems := e.v.cyclesThrough(e.added); len(problems) > 0 {
		return nil, sortProblems(problems)
	}
	return e.v, nil
}

// editor derives one version from another. It copies what it changes, once.
type editor struct {
	v        *Version
	old      *Version
	pages    map[uint32]bool
	own      map[uint32]*vertex
	names    *indexEditor
	bases    *indexEditor
	sets     map[string]*RuleSet
	origins  map[Origin]*Origin
	added    [][2]uint32 // edges that were not there
	problems []Problem
}

func newEditor(old *Version) *editor {
	c := *old
	c.pages = slices.Clone(old.pages)
	e := &editor{
		v: &c, old: old, pages: map[uint32]bool{}, own: map[uint32]*vertex{}, names: editIndex(old.names),
		bases: editIndex(old.bases), sets: map[string]*RuleSet{}, origins: map[Origin]*Origin{},
	}
	c.names, c.bases = e.names.to, e.bases.to
	return e
}

func (e *editor) problem(o Origin, format string, args ...any) {
	e.problems = append(e.problems, Problem{o, fmt.Sprintf(format, args...)})
}

// set puts a vertex in its place, nil to free it.
func (e *editor) set(id uint32, x *vertex) {
	n := id / pageSize
	for uint32(len(e.v.pages)) <= n {
		e.pages[uint32(len(e.v.pages))] = true
		e.v.pages = append(e.v.pages, &page{})
	}
	if !e.pages[n] {
		c := *e.v.pages[n]
		e.v.pages[n], e.pages[n] = &c, true
	}
	e.v.pages[n][id%pageSize] = x
}

// vertex is a node's vertex, owned by the editor.
func (e *editor) vertex(id uint32) *vertex {
	if x, ok := e.own[id]; ok {
		return x
	}
	c := *e.v.at(id)
	c.out, c.in = slices.Clone(c.out), slices.Clone(c.in)
	e.own[id] = &c
	e.set(id, &c)
	return &c
}

func (e *editor) drop(s Specs) {
	for _, d := range s.DropEdges {
		from, ok := e.v.id(d.From)
		to, ok2 := e.v.id(d.To)
		if !ok || !ok2 || !e.cut(from, to) {
			e.problem(d.Origin, "there is no edge from %s to %s to leave out", d.From, d.To)
		}
	}
	for _, d := range s.DropNodes {
		id, ok := e.v.id(d.From)
		if !ok {
			e.problem(d.Origin, "there is no node %s to leave out", d.From)
			continue
		}
		x := e.vertex(id)
		for _, out := range slices.Clone(x.out) {
			e.cut(id, out.to)
		}
		for _, from := range slices.Clone(x.in) {
			e.cut(from, id)
		}
		e.names.remove(hashOf(string(x.name)), id)
		e.bases.remove(hashOf(x.name.Base()), id)
		delete(e.own, id)
		e.set(id, nil)
		e.v.nodes--
	}
}

// cut removes an edge.
func (e *editor) cut(from, to uint32) bool {
	x, y := e.vertex(from), e.vertex(to)
	i, ok := e.v.searchOut(x, y.name)
	if !ok {
		return false
	}
	x.out = slices.Delete(x.out, i, i+1)
	y.in = slices.DeleteFunc(y.in, func(id uint32) bool { return id == from })
	e.v.edges--
	return true
}

func (e *editor) node(n NodeSpec) {
	name, err := ParseName(string(n.Name))
	if err != nil {
		e.problem(n.Origin, "%v", err)
		return
	}
	tolerates, err := tolerances(n.Tolerates)
	if err != nil {
		e.problem(n.Origin, "%s: %v", name, err)
		return
	}
	id, ok := e.v.id(name)
	if !ok {
		id = e.v.next
		e.v.next++
		e.own[id] = &vertex{name: name}
		e.set(id, e.own[id])
		e.names.add(hashOf(string(name)), id)
		e.bases.add(hashOf(name.Base()), id)
		e.v.nodes++
	}
	x := e.vertex(id)
	x.tolerates, x.origin = tolerates, n.Origin
}

// tolerances checks a list and puts it in order. A tolerance of none says nothing.
func tolerances(list []Tolerance) ([]Tolerance, error) {
	var out []Tolerance
	for _, t := range list {
		k, ok := KindOf(string(t.Of))
		if !ok {
			return nil, fmt.Errorf("it tolerates %.60q, which is no known kind; known: %s", t.Of, kindList())
		}
		if t.Count < 0 {
			return nil, fmt.Errorf("it tolerates %d of %s, which is below zero", t.Count, k)
		}
		if slices.ContainsFunc(out, func(o Tolerance) bool { return o.Of == k }) {
			return nil, fmt.Errorf("what it tolerates of %s is said twice", k)
		}
		if t.Count > 0 {
			out = append(out, Tolerance{k, t.Count})
		}
	}
	slices.SortFunc(out, func(a, b Tolerance) int { return compareNames(Name(a.Of), Name(b.Of)) })
	return out, nil
}

// newEdge is an edge that is about to be laid.
type newEdge struct {
	from   uint32
	toName Name
	edge
}

func (e *editor) addEdges(specs []EdgeSpec) {
	list := make([]newEdge, 0, len(specs))
	for _, s := range specs {
		if n, ok := e.check(s); ok {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b newEdge) int {
		if a.from != b.from {
			return int(int64(a.from) - int64(b.from))
		}
		return compareNames(a.toName, b.toName)
	})
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && list[j].from == list[i].from {
			j++
		}
		e.lay(list[i:j])
		i = j
	}
}

// check turns a specification into an edge, or says what is wrong with it.
func (e *editor) check(s EdgeSpec) (newEdge, bool) {
	before := len(e.problems)
	ends := [2]uint32{}
	for i, n := range []Name{s.From, s.To} {
		name, err := ParseName(string(n))
		if err != nil {
			e.problem(s.Origin, "%v", err)
			continue
		}
		id, ok := e.v.id(name)
		if !ok {
			e.problem(s.Origin, "the edge from %s to %s hangs in the air: there is no node %s", s.From, s.To, name)
			continue
		}
		ends[i] = id
	}
	if len(e.problems) > before {
		return newEdge{}, false
	}
	if ends[0] == ends[1] {
		e.problem(s.Origin, "%s depends on itself", s.From)
		return newEdge{}, false
	}
	from, to := e.v.at(ends[0]).name, e.v.at(ends[1]).name
	set, err := e.ruleSet(from.Kind(), to.Kind(), s.Rules)
	if err != nil {
		e.problem(s.Origin, "the edge from %s to %s: %v", from, to, err)
		return newEdge{}, false
	}
	return newEdge{ends[0], to, edge{ends[1], set, e.origin(s.Origin)}}, true
}

// ruleSet shares equal sets.
func (e *editor) ruleSet(from, to Kind, rules []Rule) (*RuleSet, error) {
	if rules == nil {
		set, ok := defaultRules(from, to)
		if !ok {
			return nil, fmt.Errorf("nothing is shipped for what a %s does to a %s: say what it carries", from, to)
		}
		return set, nil
	}
	code := string(encodeRules(rules))
	if set, ok := e.sets[code]; ok {
		return set, nil
	}
	for _, r := range rules {
		if err := r.check(); err != nil {
			return nil, err
		}
	}
	set := newRuleSet(slices.Clone(rules))
	if d, ok := defaultRules(from, to); ok && d.sum == set.sum {
		set = d
	}
	e.sets[code] = set
	return set, nil
}

func (e *editor) origin(o Origin) *Origin {
	p, ok := e.origins[o]
	if !ok {
		p = &o
		e.origins[o] = p
	}
	return p
}

// lay merges new edges of one vertex, in order of their ends, with those that it has.
func (e *editor) lay(list []newEdge) {
	from := list[0].from
	x := e.vertex(from)
	merged := make([]edge, 0, len(x.out)+len(list))
	old := x.out
	for _, n := range list {
		for len(old) > 0 && e.v.at(old[0].to).name < n.toName {
			merged = append(merged, old[0])
			old = old[1:]
		}
		switch {
		case len(old) > 0 && old[0].to == n.to:
			old = old[1:]
			merged = append(merged, n.edge)
		case len(merged) > 0 && merged[len(merged)-1].to == n.to:
			merged[len(merged)-1] = n.edge // said again: the later one counts
		default:
			merged = append(merged, n.edge)
			y := e.vertex(n.to)
			i, _ := slices.BinarySearch(y.in, from)
			y.in = slices.Insert(y.in, i, from)
			e.v.edges++
			e.added = append(e.added, [2]uint32{from, n.to})
		}
	}
	x.out = append(merged, old...)
}

// finish computes the sums of all that was touched.
func (e *editor) finish() {
	for _, x := range e.own {
		x.sum = e.v.vertexSum(x)
		e.names.bucket(hashOf(string(x.name))) // its sum changes with its vertices
	}
	for g := range e.names.groups {
		gr := e.v.names.groups[g]
		h := sha256.New()
		for i, b := range gr.buckets {
			if b != nil && len(b.entries) == 0 {
				gr.buckets[i], b = nil, nil // an emptied bucket is as if it had never been
			}
			if b == nil {
				h.Write(make([]byte, sha256.Size))
				continue
			}
			if e.names.owned[b] {
				b.sum = e.v.bucketSum(b)
			}
			h.Write(b.sum[:])
		}
		h.Sum(gr.sum[:0])
		if gr.buckets == [fan]*bucket{} {
			e.v.names.groups[g] = nil
		}
	}
	e.v.digest = e.v.names.digest()
}

// bucketSum covers the bucket's vertices by name, since numbers tell only how a version came about.
func (v *Version) bucketSum(b *bucket) [sha256.Size]byte {
	list := make([]*vertex, len(b.entries))
	for i, entry := range b.entries {
		list[i] = v.at(entry.id)
	}
	slices.SortFunc(list, func(a, b *vertex) int { return compareNames(a.name, b.name) })
	h := sha256.New()
	for _, x := range list {
		h.Write(x.sum[:])
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return sum
}

func (v *Version) vertexSum(x *vertex) [sha256.Size]byte {
	var e encoder
	e.text(string(x.name))
	e.num(int64(len(x.tolerates)))
	for _, t := range x.tolerates {
		e.text(string(t.Of))
		e.num(int64(t.Count))
	}
	e.origin(x.origin)
	e.num(int64(len(x.out)))
	for _, o := range x.out {
		e.text(string(v.at(o.to).name))
		e.text(string(o.rules.sum[:]))
		e.origin(*o.origin)
	}
	return sha256.Sum256(e.b)
}

func (e *encoder) origin(o Origin) {
	e.text(o.File)
	e.num(int64(o.Line))
	e.text(o.By)
}
