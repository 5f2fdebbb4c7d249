package graph

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// MaxDepth bounds how far an effect is followed when the edges themselves set no end.
const MaxDepth = 24

// Span is a span of time; a zero To has no end (yet).
type Span struct{ From, To time.Time }

// Contains says whether t lies in the span, its ends included.
func (s Span) Contains(t time.Time) bool {
	return !t.Before(s.From) && (s.To.IsZero() || !t.After(s.To))
}

// Overlap is what two spans have in common.
func (s Span) Overlap(o Span) (Span, bool) {
	if o.From.After(s.From) {
		s.From = o.From
	}
	if s.To.IsZero() || !o.To.IsZero() && o.To.Before(s.To) {
		s.To = o.To
	}
	return s, s.To.IsZero() || s.From.Before(s.To)
}

// Disturbance is what one act does: effects at its targets, in a span of time. Limit, if it is set, says how long a
// symptom may show at a node altogether; derived is what the edges give, for when it knows no better.
type Disturbance struct {
	Targets []Target
	During  Span
	Limit   func(s Symptom, at Name, derived Allowance) Allowance
}

// Target is an effect done to a node directly. Shows adds symptoms that are known to show there besides those that the
// effect is known for; those that no node of the kind can show are ignored.
type Target struct {
	Node   Name
	Effect Effect
	Shows  []Symptom
}

// Allowance is how long a symptom may show, and on whose word.
type Allowance struct {
	For    time.Duration
	Source string
}

// Load is one disturbed cause that counts against the tolerance of a node.
type Load struct {
	Node   Name // that bears it
	Of     Kind // the kind that is counted
	Source Name // the cause
	During Span
}

// Loads finds what others load a node with. It may list what the disturbance at hand brings itself.
type Loads func(node Name, of Kind) []Load

// Hit is one way in which a disturbance shows at a node.
type Hit struct {
	Node      Name
	Symptom   Symptom // empty: it shows as nothing, but goes on from here
	Effect    Effect  // as what it goes on; empty: it ends here
	Cause     int     // index of the hit that it comes from; -1 at a target
	Depth     int
	Delay     time.Duration // it begins at the latest so long after the disturbance
	Tail      time.Duration // it may go on so long after the disturbance's end
	Allowed   Allowance     // altogether
	Redundant bool          // redundancy was judged on the way to this hit
	Beyond    bool          // it shows because redundancy does not suffice
	Strength  int           // how many redundant causes are disturbed; 0: not counted
	During    []Span        // when it can be; nil: all along
}

// Reach is everything that a disturbance reaches.
type Reach struct {
	Hits      []Hit
	Loads     []Load
	Absorbed  []Name // nodes whose redundancy lets nothing through
	Truncated bool   // MaxDepth ended it
	at        map[Name][]int32
}

// At lists the hits at a node.
func (r *Reach) At(n Name) []int32 { return r.at[n] }

// Nodes goes through the reached nodes, in no order that means anything.
func (r *Reach) Nodes(yield func(Name) bool) {
	for n := range r.at {
		if !yield(n) {
			return
		}
	}
}

// Path is the way to a hit, from the target.
func (r *Reach) Path(hit int) []Name {
	var path []Name
	for i := hit; i >= 0; i = r.Hits[i].Cause {
		path = append(path, r.Hits[i].Node)
	}
	slices.Reverse(path)
	return path
}

// Accessed is the hit by which the cluster's API server is away for whoever works on something in the cluster, the one
// that lasts longest, or -1.
func (r *Reach) Accessed(n Name) int {
	api, ok := n.APIOf()
	if !ok {
		return -1
	}
	best := -1
	for _, i := range r.at[api] {
		if h := r.Hits[i]; h.Symptom == APIGap && (best < 0 || h.Allowed.For > r.Hits[best].Allowed.For) {
			best = int(i)
		}
	}
	return best
}

// walk is one propagation.
type walk struct {
	v       *Version
	d       Disturbance
	loads   Loads
	reach   Reach
	local   map[uint32]*site
	ready   []uint32
	arrived []arrival // shared scratch
}

// site is a node that may be reached.
type site struct {
	effects uint16 // bits of the effects that may be here, redundancy not judged
	pending int    // causes that are not done
	depth   int
	target  []Target
	from    []inbound // what may bring something
	hits    []int32
}

// inbound is an edge that may bring something.
type inbound struct {
	from  uint32
	rules *RuleSet
}

// Propagate follows a disturbance along the edges.
func (v *Version) Propagate(d Disturbance, loads Loads) *Reach {
	w := &walk{v: v, d: d, loads: loads, local: map[uint32]*site{}}
	w.survey()
	for len(w.ready) > 0 {
		id := w.ready[len(w.ready)-1]
		w.ready = w.ready[:len(w.ready)-1]
		w.settle(id)
		for _, e := range v.at(id).out {
			if s := w.local[e.to]; s != nil && w.may(id, e) {
				if s.pending--; s.pending == 0 {
					w.ready = append(w.ready, e.to)
				}
			}
		}
	}
	w.reach.at = make(map[Name][]int32, len(w.local))
	for id, s := range w.local {
		if len(s.hits) > 0 {
			w.reach.at[v.at(id).name] = s.hits
		}
	}
	return &w.reach
}

// survey finds what could be reached if no redundancy absorbed anything, and counts the causes of each place, so that
// a place is judged only when all its causes are.
func (w *walk) survey() {
	type step struct {
		id     uint32
		effect Effect
		depth  int
	}
	var queue []step
	visit := func(id uint32, e Effect, depth int) *site {
		s := w.local[id]
		if s == nil {
			s = &site{depth: depth}
			w.local[id] = s
		}
		if bit := bitOf(e); bit != 0 && s.effects&bit == 0 {
			s.effects |= bit
			queue = append(queue, step{id, e, depth})
		}
		return s
	}
	for _, t := range w.d.Targets {
		id, ok := w.v.id(t.Node)
		if !ok {
			continue
		}
		s := visit(id, t.Effect, 0)
		s.target = append(s.target, t)
	}
	for i := 0; i < len(queue); i++ {
		q := queue[i]
		for _, e := range w.v.at(q.id).out {
			for j := range e.rules.rules {
				r := &e.rules.rules[j]
				if r.In != q.effect {
					continue
				}
				if q.depth == MaxDepth {
					w.reach.Truncated = true
					continue
				}
				for _, o := range [2]*Outcome{r.Absorbed, r.Outcome} {
					if o != nil {
						visit(e.to, o.Effect, q.depth+1)
					}
				}
			}
		}
	}
	for id := range w.local {
		for _, e := range w.v.at(id).out {
			if s := w.local[e.to]; s != nil && w.may(id, e) {
				s.pending++
				s.from = append(s.from, inbound{id, e.rules})
			}
		}
	}
	for id, s := range w.local {
		if s.pending == 0 {
			w.ready = append(w.ready, id)
		}
	}
}

// may says whether an edge could carry any effect that may be at its cause.
func (w *walk) may(from uint32, e edge) bool {
	s := w.local[from]
	for i := range e.rules.rules {
		if bitOf(e.rules.rules[i].In)&s.effects != 0 {
			return true
		}
	}
	return false
}

func bitOf(e Effect) uint16 {
	switch e {
	case Down:
		return 1
	case Blip:
		return 2
	case Drain:
		return 4
	case Restart:
		return 8
	case Stall:
		return 16
	case Change:
		return 32
	default:
		return 0
	}
}

// arrival is an effect that comes to a place over an edge.
type arrival struct {
	hit  int32
	rule *Rule
	from *vertex
}

// settle decides what shows at a place whose causes are all decided.
func (w *walk) settle(id uint32) {
	s, x := w.local[id], w.v.at(id)
	w.atTarget(s, x)
	w.arrived = w.arrived[:0]
	for _, in := range s.from {
		f := w.v.at(in.from)
		for _, h := range w.local[in.from].hits {
			for i := range in.rules.rules {
				if r := &in.rules.rules[i]; r.In == w.reach.Hits[h].Effect {
					w.arrived = append(w.arrived, arrival{h, r, f})
				}
			}
		}
	}
	// The order decides which of equal ways is shown, and must not depend on how the version came about.
	slices.SortStableFunc(w.arrived, func(a, b arrival) int {
		return cmp.Or(cmp.Compare(w.reach.Hits[a.hit].Depth, w.reach.Hits[b.hit].Depth), compareNames(a.from.name, b.from.name))
	})
	shown := false
	for _, a := range w.arrived {
		if !a.rule.Redundant {
			w.show(s, x, a, a.rule.Outcome, 0, nil)
			shown = true
		}
	}
	for i, a := range w.arrived {
		if a.rule.Redundant && !slices.ContainsFunc(w.arrived[:i], func(b arrival) bool {
			return b.rule.Redundant && b.from.name.Kind() == a.from.name.Kind()
		}) {
			w.redundant(s, x, a.from.name.Kind())
		}
	}
	if len(w.arrived) > 0 && !shown && len(s.hits) == 0 {
		w.reach.Absorbed = append(w.reach.Absorbed, x.name)
	}
}

// atTarget shows the effects that are done to the place itself.
func (w *walk) atTarget(s *site, x *vertex) {
	for _, t := range s.target {
		list := shownAt(x.name.Kind(), t.Effect)
		for _, extra := range t.Shows {
			if t.Effect != Opaque && len(EffectsBehind(x.name.Kind(), extra)) > 0 &&
				!slices.ContainsFunc(list, func(sh shown) bool { return sh.symptom == extra }) {
				list = append(list, shown{symptom: extra, longest: unsaid})
			}
		}
		if len(list) == 0 {
			list = []shown{{longest: unsaid}}
		}
		for _, sh := range list {
			h := Hit{Node: x.name, Symptom: sh.symptom, Effect: t.Effect, Cause: -1, Allowed: Allowance{sh.longest, "shipped for " + string(t.Effect)}}
			w.limit(&h)
			w.add(s, h)
		}
	}
}

// unsaid is how long something may last of which nobody says how long.
const unsaid = 10 * time.Minute

// limit lets whoever knows better say how long.
func (w *walk) limit(h *Hit) {
	if w.d.Limit != nil && h.Symptom != "" {
		h.Allowed = w.d.Limit(h.Symptom, h.Node, h.Allowed)
	}
}

// show adds the hit that an outcome makes of an arrival.
func (w *walk) show(s *site, x *vertex, a arrival, o *Outcome, strength int, during []Span) {
	if o == nil {
		return
	}
	from := &w.reach.Hits[a.hit]
	h := Hit{
		Node: x.name, Symptom: o.Symptom, Effect: o.Effect, Cause: int(a.hit), Depth: from.Depth + 1,
		Delay: from.Delay + o.Delay, Tail: from.Tail + o.Tail, Redundant: a.rule.Redundant,
		Beyond: a.rule.Redundant && o == a.rule.Outcome, Strength: strength, During: during,
	}
	if during == nil {
		h.During = from.During
	} else if from.During != nil {
		h.During = common(from.During, during)
		if len(h.During) == 0 {
			return
		}
	}
	if h.Allowed = from.Allowed; o.Longest > 0 {
		h.Allowed = Allowance{o.Longest, "the graph"}
	}
	if o.Tail > 0 {
		h.Allowed.For += o.Tail
		if !strings.HasSuffix(h.Allowed.Source, tailed) && o.Longest == 0 {
			h.Allowed.Source += tailed
		}
	}
	w.limit(&h)
	w.add(s, h)
}

// tailed marks an allowance that is somebody's, and the edges' tail on top.
const tailed = ", with the graph's tail"

// add keeps a hit, or widens one that shows the same.
func (w *walk) add(s *site, h Hit) {
	for _, i := range s.hits {
		o := &w.reach.Hits[i]
		if o.Symptom != h.Symptom || o.Effect != h.Effect || o.Beyond != h.Beyond || !sameSpans(o.During, h.During) {
			continue
		}
		// One entry for both: the way that was met first is shown, the wider limits count.
		o.Delay, o.Tail = max(o.Delay, h.Delay), max(o.Tail, h.Tail)
		if h.Allowed.For > o.Allowed.For {
			o.Allowed = h.Allowed
		}
		o.Strength = max(o.Strength, h.Strength)
		return
	}
	s.hits = append(s.hits, int32(len(w.reach.Hits)))
	w.reach.Hits = append(w.reach.Hits, h)
}
