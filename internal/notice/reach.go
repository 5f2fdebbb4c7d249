package notice

import (
	"slices"
	"time"

	"github.com/clewops/clew/internal/graph"
)

// loadKey names what loads are counted together.
type loadKey struct {
	node graph.Name
	of   graph.Kind
}

// refresh propagates acts again, with those whose sums they change, and says what follows: notices and verdicts.
func (b *Book) refresh(list []*tracked, now time.Time) []Entry {
	touched := map[*tracked]bool{}
	nodes := map[*spot]bool{}
	queue := slices.Clone(list)
	for len(queue) > 0 {
		t := queue[0]
		queue = queue[1:]
		touched[t] = true
		b.spotsOf(t, nodes)
		for _, partner := range b.propagate(t) {
			if !slices.Contains(queue, partner) {
				queue = append(queue, partner)
			}
		}
		b.spotsOf(t, nodes)
	}
	var entries []Entry
	for _, t := range inOrder(touched) {
		entries = append(entries, b.tellAll(t, now)...)
		// A partner can lengthen what follows an act that seemed to be over.
		t.done = t.done && !t.active(now)
		if !t.act.End.IsZero() && !t.done {
			b.push(t.act.End.Add(t.maxTail+1), due{act: t})
		}
		b.abortSpots(t, nodes)
	}
	return append(entries, b.judgeAll(nodes, now)...)
}

// spotsOf collects where an act's reach meets symptoms.
func (b *Book) spotsOf(t *tracked, into map[*spot]bool) {
	if len(b.spots) < 64 {
		for _, s := range b.spots {
			if len(t.reach.At(s.node)) > 0 {
				into[s] = true
			}
		}
		return
	}
	t.reach.Nodes(func(n graph.Name) bool {
		for _, s := range b.atNode[n] {
			into[s] = true
		}
		return true
	})
}

// abortSpots collects where an act's abort conditions may hold outside its reach.
func (b *Book) abortSpots(t *tracked, into map[*spot]bool) {
	for _, c := range t.act.AbortIf {
		if s := b.spots[spotKey{c.At, c.Symptom}]; s != nil {
			into[s] = true
		}
	}
}

// propagate computes an act's reach and puts it in the indexes. It lists the acts whose redundancy sums it changes.
func (b *Book) propagate(t *tracked) []*tracked {
	old := t.reach.Loads
	b.unindex(t)
	if t.onlyReads() {
		t.reach = &graph.Reach{}
		return b.partners(t, old)
	}
	t.reach = b.graph.Propagate(b.disturbance(t), func(n graph.Name, of graph.Kind) []graph.Load {
		var list []graph.Load
		for other, loads := range b.loads[loadKey{n, of}] {
			if other != t {
				list = append(list, loads...)
			}
		}
		return list
	})
	t.graph = b.graph.Digest()
	b.index(t)
	if sameLoads(old, t.reach.Loads) {
		return nil
	}
	return b.partners(t, append(slices.Clone(old), t.reach.Loads...))
}

func sameLoads(a, b []graph.Load) bool {
	return slices.EqualFunc(a, b, func(x, y graph.Load) bool {
		return x.Node == y.Node && x.Of == y.Of && x.Source == y.Source && x.During.From.Equal(y.During.From) && x.During.To.Equal(y.During.To)
	})
}

// partners are the acts that load the same dependants.
func (b *Book) partners(t *tracked, loads []graph.Load) []*tracked {
	set := map[*tracked]bool{}
	seen := map[loadKey]bool{}
	for _, l := range loads {
		k := loadKey{l.Node, l.Of}
		if seen[k] {
			continue
		}
		seen[k] = true
		for other := range b.loads[k] {
			if other != t && meets(t, other) {
				set[other] = true
			}
		}
	}
	return inOrder(set)
}

// meets says whether two acts, with what may follow them, are on at one time. An act whose end came nearer has to be
// looked at with the end it had, so the margin is generous.
func meets(a, b *tracked) bool {
	before := func(x, y *tracked) bool {
		return !x.act.End.IsZero() && x.act.End.Add(x.maxTail+time.Hour).Before(y.act.Start)
	}
	return !before(a, b) && !before(b, a)
}

func (b *Book) index(t *tracked) {
	t.reach.Nodes(func(n graph.Name) bool {
		list := b.reached[n]
		i, _ := slices.BinarySearchFunc(list, t, byStart)
		b.reached[n] = slices.Insert(list, i, t)
		return true
	})
	for _, l := range t.reach.Loads {
		k := loadKey{l.Node, l.Of}
		if b.loads[k] == nil {
			b.loads[k] = map[*tracked][]graph.Load{}
		}
		b.loads[k][t] = append(b.loads[k][t], l)
	}
	t.maxTail = t.act.Tail
	for _, h := range t.reach.Hits {
		t.maxTail = max(t.maxTail, t.act.Tail+h.Delay+h.Tail)
	}
}

func (b *Book) unindex(t *tracked) {
	t.reach.Nodes(func(n graph.Name) bool {
		list := slices.DeleteFunc(b.reached[n], func(o *tracked) bool { return o == t })
		if len(list) == 0 {
			delete(b.reached, n)
		} else {
			b.reached[n] = list
		}
		return true
	})
	for _, l := range t.reach.Loads {
		k := loadKey{l.Node, l.Of}
		delete(b.loads[k], t)
		if len(b.loads[k]) == 0 {
			delete(b.loads, k)
		}
	}
	t.reach = &graph.Reach{}
}

// disturbance is an act as the graph sees it.
func (b *Book) disturbance(t *tracked) graph.Disturbance {
	d := graph.Disturbance{During: graph.Span{From: t.act.Start}}
	if !t.act.End.IsZero() {
		d.During.To = t.act.End.Add(t.act.Tail)
	}
	for _, target := range t.act.Targets {
		for _, e := range slices.Concat(t.act.Claimed, t.act.Default) {
			if e.At == "" || e.At == target.Node {
				target.Shows = append(slices.Clone(target.Shows), e.Symptom)
			}
		}
		d.Targets = append(d.Targets, target)
	}
	d.Limit = func(s graph.Symptom, at graph.Name, derived graph.Allowance) graph.Allowance {
		return b.allowed(t.act, s, at, derived)
	}
	return d
}
