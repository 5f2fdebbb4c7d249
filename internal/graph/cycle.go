package graph

import (
	"fmt"
	"slices"
	"strings"
)

// manyEdges is from how many new edges on the whole graph is searched for cycles instead of what is around each.
const manyEdges = 64

// cyclesThrough names every cycle that new edges close, or one for each of them at least.
func (v *Version) cyclesThrough(added [][2]uint32) []Problem {
	if len(added) > manyEdges {
		return v.problemsOf(v.allCycles())
	}
	var found [][]uint32
	for _, e := range added {
		if way := v.way(e[1], e[0]); way != nil {
			found = append(found, way)
		}
	}
	return v.problemsOf(found)
}

// way finds a shortest way from one node to another. It searches from both ends at once, always on the smaller side:
// much may depend on a node and little be above it, or the other way round.
func (v *Version) way(from, to uint32) []uint32 {
	if from == to {
		return []uint32{from}
	}
	ahead, back := map[uint32]uint32{from: from}, map[uint32]uint32{to: to}
	front, rear := []uint32{from}, []uint32{to}
	for len(front) > 0 && len(rear) > 0 {
		if len(front) <= len(rear) {
			next := front[:0:0]
			for _, id := range front {
				for _, e := range v.at(id).out {
					if _, ok := ahead[e.to]; ok {
						continue
					}
					ahead[e.to] = id
					if _, ok := back[e.to]; ok {
						return joined(ahead, back, e.to)
					}
					next = append(next, e.to)
				}
			}
			front = next
			continue
		}
		next := rear[:0:0]
		for _, id := range rear {
			for _, in := range v.at(id).in {
				if _, ok := back[in]; ok {
					continue
				}
				back[in] = id
				if _, ok := ahead[in]; ok {
					return joined(ahead, back, in)
				}
				next = append(next, in)
			}
		}
		rear = next
	}
	return nil
}

// joined is the way through the node where both searches met.
func joined(ahead, back map[uint32]uint32, at uint32) []uint32 {
	way := []uint32{at}
	for id := at; ahead[id] != id; {
		id = ahead[id]
		way = append(way, id)
	}
	slices.Reverse(way)
	for id := at; back[id] != id; {
		id = back[id]
		way = append(way, id)
	}
	return way
}

// allCycles finds one cycle for every edge that closes one in a depth-first search of the whole graph.
func (v *Version) allCycles() [][]uint32 {
	const onPath, done = 1, 2
	state := make([]byte, v.next)
	var found [][]uint32
	type frame struct {
		id   uint32
		next int
	}
	var path []frame
	for start := range v.next {
		if state[start] != 0 || v.at(start) == nil {
			continue
		}
		state[start] = onPath
		path = append(path, frame{id: start})
		for len(path) > 0 {
			top := &path[len(path)-1]
			out := v.at(top.id).out
			if top.next == len(out) {
				state[top.id] = done
				path = path[:len(path)-1]
				continue
			}
			to := out[top.next].to
			top.next++
			switch state[to] {
			case onPath:
				i := slices.IndexFunc(path, func(f frame) bool { return f.id == to })
				var cycle []uint32
				for _, f := range path[i:] {
					cycle = append(cycle, f.id)
				}
				found = append(found, cycle)
			case 0:
				state[to] = onPath
				path = append(path, frame{id: to})
			}
		}
	}
	return found
}

// problemsOf names cycles, each once, at an edge that somebody wrote down if there is one.
func (v *Version) problemsOf(cycles [][]uint32) []Problem {
	var problems []Problem
	seen := map[string]bool{}
	for _, cycle := range cycles {
		names := v.cycleNames(cycle)
		text := "these depend on each other in a circle: " + strings.Join(names, " > ")
		if seen[text] {
			continue
		}
		seen[text] = true
		problems = append(problems, Problem{v.cycleOrigin(cycle), fmt.Sprintf("%s; leave one of the edges out", text)})
	}
	return problems
}

// cycleNames begins with the smallest name and ends with it again.
func (v *Version) cycleNames(cycle []uint32) []string {
	least := 0
	for i, id := range cycle {
		if v.at(id).name < v.at(cycle[least]).name {
			least = i
		}
	}
	var names []string
	for i := range len(cycle) + 1 {
		names = append(names, string(v.at(cycle[(least+i)%len(cycle)]).name))
	}
	return names
}

// cycleOrigin is the origin of the last edge of a cycle that was written in a file, or else of its last edge.
func (v *Version) cycleOrigin(cycle []uint32) Origin {
	var origin Origin
	for i, id := range cycle {
		e := v.edgeBetween(id, cycle[(i+1)%len(cycle)])
		if i == 0 || !e.origin.Discovered() && (origin.Discovered() || later(*e.origin, origin)) {
			origin = *e.origin
		}
	}
	return origin
}

func later(a, b Origin) bool {
	return a.File > b.File || a.File == b.File && a.Line > b.Line
}

func (v *Version) edgeBetween(from, to uint32) edge {
	x := v.at(from)
	i, _ := v.searchOut(x, v.at(to).name)
	return x.out[i]
}

// Build makes a version of layered specifications (see Compose). Discovered edges that close a cycle are left out and
// listed; a cycle of edges that were all written down is a problem.
func Build(layers ...Specs) (v *Version, left []Problem, problems []Problem) {
	specs, problems := Compose(layers...)
	e := newEditor(Empty)
	for _, n := range specs.Nodes {
		e.node(n)
	}
	e.addEdges(specs.Edges)
	if problems = append(problems, e.problems...); len(problems) > 0 {
		return nil, nil, sortProblems(problems)
	}
	for {
		cycles := e.v.allCycles()
		if len(cycles) == 0 {
			break
		}
		cut := false
		for _, cycle := range cycles {
			from, to, ok := e.v.weakest(cycle)
			if !ok {
				continue
			}
			cut = true
			o := *e.v.edgeBetween(from, to).origin
			left = append(left, Problem{o, fmt.Sprintf("the edge from %s to %s is left out: it closes a circle",
				e.v.at(from).name, e.v.at(to).name)})
			e.cut(from, to)
			break // what other cycles there are depends on this
		}
		if !cut {
			return nil, nil, sortProblems(e.v.problemsOf(cycles))
		}
	}
	e.finish()
	return e.v, sortProblems(left), nil
}

// weakest is the discovered edge of a cycle whose dependant is nearest to the machines: what holds up everything else
// does not depend on what it holds up. Among equals it is the last by name.
func (v *Version) weakest(cycle []uint32) (from, to uint32, ok bool) {
	best := len(kinds)
	for i, id := range cycle {
		next := cycle[(i+1)%len(cycle)]
		if !v.edgeBetween(id, next).origin.Discovered() {
			continue
		}
		rank := slices.IndexFunc(kinds, func(k kindInfo) bool { return k.kind == v.at(next).name.Kind() })
		if rank < best || rank == best && v.at(id).name > v.at(from).name {
			best, from, to, ok = rank, id, next, true
		}
	}
	return from, to, ok
}
