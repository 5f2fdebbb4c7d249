package notice

import (
	"cmp"
	"slices"
	"time"

	"github.com/clewops/clew/internal/graph"
)

const (
	nearTime     = 2 * time.Hour
	nearDistance = 6
	nearNodes    = 256 // looked at
	nearMost     = 5   // listed
	rootNodes    = 64  // looked at
)

// nearby lists what changed near a node in the two hours before a bout began and until now: by distance in the graph
// against the edges, then the latest first.
func (b *Book) nearby(n graph.Name, from, now time.Time) []Near {
	var list []Near
	seen := map[string]bool{}
	b.graph.Upstream(n, nearDistance, nearNodes, func(node graph.Name, distance int) bool {
		if len(list) >= nearMost && list[len(list)-1].Distance < distance {
			return false
		}
		for _, e := range b.events[node] {
			if e.At.After(from.Add(-nearTime)) && !e.At.After(now) {
				list = append(list, Near{e.At, node, distance, e.Text, e.ID})
			}
		}
		for _, t := range b.reached[node] {
			if !t.targets(node) || seen[t.act.ID] || !t.act.Start.After(from.Add(-nearTime)) || t.act.Start.After(now) {
				continue
			}
			seen[t.act.ID] = true
			text := t.act.Doing
			switch {
			case t.act.Unclaimed:
				text += ", nobody claimed it"
			case t.act.Who != "":
				text = t.act.Who + " " + text
			}
			list = append(list, Near{t.act.Start, node, distance, text, t.act.ID})
		}
		return true
	})
	slices.SortStableFunc(list, func(a, b Near) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), b.At.Compare(a.At), cmp.Compare(a.ID, b.ID))
	})
	return list[:min(len(list), nearMost)]
}

func (t *tracked) targets(n graph.Name) bool {
	return slices.ContainsFunc(t.act.Targets, func(x graph.Target) bool { return x.Node == n })
}

// root is the farthest disturbed node above a bout from which edges can bring the symptom, step by step over nodes that
// are disturbed in the fitting way; empty if nothing above is.
func (b *Book) root(s *spot, o *bout) graph.Name {
	at, symptom := s.node, s.symptom
	var found graph.Name
	for range rootNodes {
		next, up := b.disturbedAbove(at, symptom, o)
		if next == nil {
			break
		}
		found, at, symptom = up, next.node, next.symptom
	}
	return found
}

// disturbedAbove finds a symptom right above a node that carries another one to it, and was there when a bout was.
func (b *Book) disturbedAbove(n graph.Name, symptom graph.Symptom, o *bout) (*spot, graph.Name) {
	for _, c := range b.graph.Carriers(n, symptom) {
		for _, above := range b.atNode[c.Node] {
			if !slices.Contains(graph.EffectsBehind(c.Node.Kind(), above.symptom), c.Effect) {
				continue
			}
			if slices.ContainsFunc(above.bouts, func(p *bout) bool {
				return graph.Span{From: p.from.Add(-skew), To: p.to}.Contains(o.from) || p.from.After(o.from) && p.touches(o)
			}) {
				return above, c.Node
			}
		}
	}
	return nil, ""
}
