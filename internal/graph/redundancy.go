package graph

import (
	"cmp"
	"slices"
	"time"
)

// redundant judges one kind of redundant causes at a place: how many are disturbed at once, by this disturbance and by
// others, against what the place tolerates. Beyond it both outcomes show, since what exceeds begins like what does not.
func (w *walk) redundant(s *site, x *vertex, of Kind) {
	mine := map[Name]bool{}
	var group []arrival
	for _, a := range w.arrived {
		if !a.rule.Redundant || a.from.name.Kind() != of {
			continue
		}
		group = append(group, a)
		if !mine[a.from.name] {
			mine[a.from.name] = true
			for _, span := range w.spans(int(a.hit)) {
				w.reach.Loads = append(w.reach.Loads, Load{x.name, of, a.from.name, span})
			}
		}
	}
	var others []Load
	if w.loads != nil {
		others = w.loads(x.name, of)
	}
	tolerated := x.tolerance(of)
	beyond, most := w.beyond(mine, others, tolerated)
	for _, a := range group {
		strength := max(len(mine), min(most, max(tolerated, len(mine))))
		w.show(s, x, a, a.rule.Absorbed, strength, nil)
		if len(mine) > tolerated {
			w.show(s, x, a, a.rule.Outcome, max(most, len(mine)), nil)
		} else if len(beyond) > 0 {
			w.show(s, x, a, a.rule.Outcome, most, beyond)
		}
	}
}

// spans are the times at which a hit can be, within the disturbance and its tail.
func (w *walk) spans(hit int) []Span {
	h := w.reach.Hits[hit]
	whole := w.d.During
	if !whole.To.IsZero() {
		whole.To = whole.To.Add(h.Tail)
	}
	if h.During == nil {
		return []Span{whole}
	}
	return common([]Span{whole}, h.During)
}

// beyond finds when more than the tolerated number of causes are disturbed at once, and how many at most.
func (w *walk) beyond(mine map[Name]bool, others []Load, tolerated int) ([]Span, int) {
	bySource := map[Name][]Span{}
	for _, o := range others {
		if mine[o.Source] {
			continue
		}
		if s, ok := w.d.During.Overlap(o.During); ok {
			bySource[o.Source] = append(bySource[o.Source], s)
		}
	}
	type edgeOf struct {
		at    time.Time
		delta int
	}
	var marks []edgeOf
	for _, spans := range bySource {
		for _, s := range union(spans) {
			marks = append(marks, edgeOf{s.From, 1})
			if !s.To.IsZero() {
				marks = append(marks, edgeOf{s.To, -1})
			}
		}
	}
	slices.SortFunc(marks, func(a, b edgeOf) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(b.delta, a.delta)) })
	var out []Span
	count, most := len(mine), len(mine)
	for _, m := range marks {
		was := count > tolerated
		count += m.delta
		most = max(most, count)
		switch is := count > tolerated; {
		case is && !was:
			out = append(out, Span{From: m.at})
		case was && !is && len(out) > 0:
			out[len(out)-1].To = m.at
		}
	}
	return out, most
}

// union joins spans that touch, in order.
func union(list []Span) []Span {
	slices.SortFunc(list, func(a, b Span) int { return a.From.Compare(b.From) })
	var out []Span
	for _, s := range list {
		if len(out) == 0 || !out[len(out)-1].To.IsZero() && s.From.After(out[len(out)-1].To) {
			out = append(out, s)
			continue
		}
		last := &out[len(out)-1]
		if !last.To.IsZero() && (s.To.IsZero() || s.To.After(last.To)) {
			last.To = s.To
		}
	}
	return out
}

// common is what two lists of spans have in common.
func common(a, b []Span) []Span {
	var out []Span
	for _, x := range a {
		for _, y := range b {
			if s, ok := x.Overlap(y); ok {
				out = append(out, s)
			}
		}
	}
	return union(out)
}

func sameSpans(a, b []Span) bool {
	return slices.EqualFunc(a, b, func(x, y Span) bool { return x.From.Equal(y.From) && x.To.Equal(y.To) }) && (a == nil) == (b == nil)
}
