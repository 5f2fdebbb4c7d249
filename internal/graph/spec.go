package graph

import (
	"cmp"
	"fmt"
	"slices"
)

// Origin says where a node or an edge came from.
type Origin struct {
	File string // path of a file, as the user names it; empty for what was discovered
	Line int    // in the file, from 1
	By   string // who discovered it: "talos members", "flux inventory"
}

// Discovered says whether nobody wrote it down.
func (o Origin) Discovered() bool { return o.File == "" }

// String is file:line, or who discovered it.
func (o Origin) String() string {
	if o.Discovered() {
		return "discovered by " + cmp.Or(o.By, "nobody known")
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Tolerance is how many disturbed causes of one kind a node bears.
type Tolerance struct {
	Of    Kind
	Count int
}

// Quorum is the tolerance of a group that needs a majority.
func Quorum(members int) int { return max(0, (members-1)/2) }

// NodeSpec describes a node.
type NodeSpec struct {
	Name      Name
	Tolerates []Tolerance // a kind that is not listed: none
	Origin    Origin
}

// EdgeSpec describes an edge. There is one at most between two nodes in each direction.
type EdgeSpec struct {
	From, To Name
	Rules    []Rule // nil: the shipped rules for the two kinds
	Origin   Origin
}

// Pair names an edge.
type Pair struct{ From, To Name }

// Specs are nodes and edges, and what is to be left out of what was said before.
type Specs struct {
	Nodes     []NodeSpec
	Edges     []EdgeSpec
	DropNodes []Dropped
	DropEdges []Dropped
}

// Dropped is a node (To is empty) or an edge that is to be left out.
type Dropped struct {
	From, To Name
	Origin   Origin
}

// Problem is what is wrong with a specification. Nothing was changed.
type Problem struct {
	Origin  Origin
	Message string
}

// Error says where and what.
func (p Problem) Error() string { return p.Origin.String() + ": " + p.Message }

// sortProblems orders problems by file, line and text, so that the same input always reads the same.
func sortProblems(list []Problem) []Problem {
	slices.SortFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Origin.File, b.Origin.File), cmp.Compare(a.Origin.Line, b.Origin.Line), cmp.Compare(a.Message, b.Message))
	})
	return list
}

// Compose lays specifications over each other: later ones correct and extend earlier ones, files what was discovered.
// Something dropped that was not there is a problem: a correction that corrects nothing any more is a mistake.
func Compose(layers ...Specs) (Specs, []Problem) {
	nodes := map[Name]NodeSpec{}
	edges := map[Pair]EdgeSpec{}
	var problems []Problem
	for _, l := range layers {
		for _, d := range l.DropEdges {
			pair := Pair{d.From, d.To}
			if _, ok := edges[pair]; !ok {
				problems = append(problems, Problem{d.Origin, fmt.Sprintf("there is no edge from %s to %s to leave out", d.From, d.To)})
			}
			delete(edges, pair)
		}
		for _, d := range l.DropNodes {
			if _, ok := nodes[d.From]; !ok {
				problems = append(problems, Problem{d.Origin, fmt.Sprintf("there is no node %s to leave out", d.From)})
			}
			delete(nodes, d.From)
			for pair := range edges {
				if pair.From == d.From || pair.To == d.From {
					delete(edges, pair)
				}
			}
		}
		problems = append(problems, twice(l)...)
		for _, n := range l.Nodes {
			nodes[n.Name] = n
		}
		for _, e := range l.Edges {
			edges[Pair{e.From, e.To}] = e
		}
	}
	var out Specs
	for _, n := range nodes {
		out.Nodes = append(out.Nodes, n)
	}
	for _, e := range edges {
		out.Edges = append(out.Edges, e)
	}
	out.sort()
	return out, sortProblems(problems)
}

// twice finds what one layer says twice, in files: discovery meets things again and again.
func twice(l Specs) []Problem {
	var problems []Problem
	nodes := map[Name]Origin{}
	edges := map[Pair]Origin{}
	for _, n := range l.Nodes {
		if first, ok := nodes[n.Name]; ok && !n.Origin.Discovered() {
			problems = append(problems, Problem{n.Origin, fmt.Sprintf("%s is described twice, first at %s", n.Name, first)})
		}
		nodes[n.Name] = n.Origin
	}
	for _, e := range l.Edges {
		pair := Pair{e.From, e.To}
		if first, ok := edges[pair]; ok && !e.Origin.Discovered() {
			problems = append(problems, Problem{e.Origin, fmt.Sprintf("the edge from %s to %s is described twice, first at %s", e.From, e.To, first)})
		}
		edges[pair] = e.Origin
	}
	return problems
}

// sort puts nodes and edges in order of their names.
func (s *Specs) sort() {
	slices.SortStableFunc(s.Nodes, func(a, b NodeSpec) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(s.Edges, func(a, b EdgeSpec) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
}
