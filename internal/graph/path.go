package graph

import "strings"

// Path is a shortest way along the edges from cause to dependant, both ends included, or nil. The last hop may be the
// one from an API server to whatever lies in its cluster. It says that the nodes are connected, and nothing of what
// an effect would do on the way; that is Propagate's answer.
func (v *Version) Path(from, to Name) []Name {
	f, ok := v.id(from)
	t, ok2 := v.id(to)
	if !ok || !ok2 {
		return nil
	}
	way := v.namesOf(v.way(f, t))
	api, ok := to.APIOf()
	if !ok || from == to {
		return way
	}
	if a, ok := v.id(api); ok {
		over := v.namesOf(v.way(f, a))
		if over != nil && (way == nil || len(over)+1 < len(way)) {
			return append(over, to)
		}
	}
	return way
}

func (v *Version) namesOf(way []uint32) []Name {
	if way == nil {
		return nil
	}
	list := make([]Name, len(way))
	for i, id := range way {
		list[i] = v.at(id).name
	}
	return list
}

// Text is a path as it stands in a line: cp-2>etcd>API>shop/web.
func Text(path []Name) string {
	labels := make([]string, len(path))
	for i, n := range path {
		labels[i] = n.Label()
	}
	return strings.Join(labels, ">")
}

// Upstream goes through the nodes above one, nearest first, itself at distance 0, until yield says no, at most to a
// distance and a number of nodes. What lies in a cluster has its API server above it at distance 1.
func (v *Version) Upstream(n Name, distance, most int, yield func(Name, int) bool) {
	start, ok := v.id(n)
	if !ok {
		return
	}
	seen := map[uint32]bool{start: true}
	level := []uint32{start}
	count := 0
	for d := 0; d <= distance && len(level) > 0; d++ {
		var next []uint32
		add := func(id uint32) {
			if !seen[id] {
				seen[id] = true
				next = append(next, id)
			}
		}
		for _, id := range level {
			if count == most || !yield(v.at(id).name, d) {
				return
			}
			count++
			for _, in := range v.at(id).in {
				add(in)
			}
			if d == 0 {
				if api, ok := n.APIOf(); ok {
					if a, ok := v.id(api); ok {
						add(a)
					}
				}
			}
		}
		level = next
	}
}

// Carriers lists the causes right above a node from which an edge can bring a symptom to it, with the effect that would
// do it. The API server counts for the symptom of its own absence.
func (v *Version) Carriers(n Name, s Symptom) []Carrier {
	id, ok := v.id(n)
	if !ok {
		return nil
	}
	var list []Carrier
	for _, in := range v.at(id).in {
		x := v.at(in)
		for _, r := range v.edgeBetween(in, id).rules.rules {
			if r.Outcome != nil && r.Outcome.Symptom == s || r.Absorbed != nil && r.Absorbed.Symptom == s {
				list = append(list, Carrier{x.name, r.In})
			}
		}
	}
	if api, ok := n.APIOf(); ok && s == APIGap {
		list = append(list, Carrier{api, Down}, Carrier{api, Blip})
	}
	return list
}

// Carrier is a node in which an effect could explain what is seen below it.
type Carrier struct {
	Node   Name
	Effect Effect
}
