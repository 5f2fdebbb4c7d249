package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
)

// Digest is the address of a version's content.
type Digest [sha256.Size]byte

// String is lower-case hex.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Short is the first 12 hex digits, for people.
func (d Digest) Short() string { return d.String()[:12] }

// MarshalText is lower-case hex.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (d *Digest) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(d) {
		return fmt.Errorf("%.80q is no digest: it has %d hex digits", text, hex.EncodedLen(len(d)))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Version is an immutable graph. It is safe for concurrent use. The zero Version is not valid; start from Empty.
type Version struct {
	pages  []*page
	names  *index
	bases  *index
	next   uint32 // the number that a new vertex gets
	nodes  int
	edges  int
	digest Digest
}

// Empty is the graph without nodes.
var Empty = finishedEmpty()

func finishedEmpty() *Version {
	v := &Version{names: &index{}, bases: &index{}}
	v.digest = v.names.digest()
	return v
}

const pageSize = 512

type page [pageSize]*vertex

// vertex is a node with its edges.
type vertex struct {
	name      Name
	tolerates []Tolerance // by kind
	origin    Origin
	out       []edge   // by the dependant's name
	in        []uint32 // causes, by number; not part of the content, since it follows from it
	sum       [sha256.Size]byte
}

type edge struct {
	to     uint32
	rules  *RuleSet
	origin *Origin
}

// Digest is the address of the content.
func (v *Version) Digest() Digest { return v.digest }

// Len counts nodes and edges.
func (v *Version) Len() (nodes, edges int) { return v.nodes, v.edges }

func (v *Version) at(id uint32) *vertex { return v.pages[id/pageSize][id%pageSize] }

// id finds the number of a node.
func (v *Version) id(n Name) (uint32, bool) {
	for _, id := range v.names.get(hashOf(string(n))) {
		if v.at(id).name == n {
			return id, true
		}
	}
	return 0, false
}

// Has says whether there is such a node.
func (v *Version) Has(n Name) bool {
	_, ok := v.id(n)
	return ok
}

// Node describes a node.
func (v *Version) Node(n Name) (NodeSpec, bool) {
	id, ok := v.id(n)
	if !ok {
		return NodeSpec{}, false
	}
	return v.at(id).spec(), true
}

func (x *vertex) spec() NodeSpec {
	return NodeSpec{Name: x.name, Tolerates: slices.Clone(x.tolerates), Origin: x.origin}
}

// tolerance is how many disturbed causes of a kind the node bears.
func (x *vertex) tolerance(of Kind) int {
	for _, t := range x.tolerates {
		if t.Of == of {
			return t.Count
		}
	}
	return 0
}

// Edge describes an edge.
func (v *Version) Edge(from, to Name) (EdgeSpec, bool) {
	f, ok := v.id(from)
	if !ok {
		return EdgeSpec{}, false
	}
	x := v.at(f)
	i, ok := v.searchOut(x, to)
	if !ok {
		return EdgeSpec{}, false
	}
	return v.edgeSpec(x, x.out[i]), true
}

func (v *Version) edgeSpec(from *vertex, e edge) EdgeSpec {
	return EdgeSpec{From: from.name, To: v.at(e.to).name, Rules: e.rules.rules, Origin: *e.origin}
}

func (v *Version) searchOut(x *vertex, to Name) (int, bool) {
	return slices.BinarySearchFunc(x.out, to, func(e edge, to Name) int {
		return compareNames(v.at(e.to).name, to)
	})
}

func compareNames(a, b Name) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Dependants lists the edges that begin at a node, by the dependant's name.
func (v *Version) Dependants(n Name) []EdgeSpec {
	id, ok := v.id(n)
	if !ok {
		return nil
	}
	x := v.at(id)
	list := make([]EdgeSpec, len(x.out))
	for i, e := range x.out {
		list[i] = v.edgeSpec(x, e)
	}
	return list
}

// Causes lists the edges that end at a node, by the cause's name.
func (v *Version) Causes(n Name) []EdgeSpec {
	id, ok := v.id(n)
	if !ok {
		return nil
	}
	x := v.at(id)
	list := make([]EdgeSpec, 0, len(x.in))
	for _, from := range x.in {
		f := v.at(from)
		if i, ok := v.searchOut(f, n); ok {
			list = append(list, v.edgeSpec(f, f.out[i]))
		}
	}
	slices.SortFunc(list, func(a, b EdgeSpec) int { return compareNames(a.From, b.From) })
	return list
}

// Nodes goes through all nodes, in no order that means anything.
func (v *Version) Nodes() iter.Seq[NodeSpec] {
	return func(yield func(NodeSpec) bool) {
		for _, p := range v.pages {
			for _, x := range p {
				if x != nil && !yield(x.spec()) {
					return
				}
			}
		}
	}
}

// Specs describes the whole version, in order of names. Building from it gives the same digest.
func (v *Version) Specs() Specs {
	var s Specs
	for _, p := range v.pages {
		for _, x := range p {
			if x == nil {
				continue
			}
			s.Nodes = append(s.Nodes, x.spec())
			for _, e := range x.out {
				s.Edges = append(s.Edges, v.edgeSpec(x, e))
			}
		}
	}
	s.sort()
	return s
}

// digest is the sum of the groups' sums.
func (x *index) digest() Digest {
	h := sha256.New()
	h.Write([]byte("clew graph 1"))
	var none [sha256.Size]byte
	for _, g := range x.groups {
		if g == nil {
			h.Write(none[:])
		} else {
			h.Write(g.sum[:])
		}
	}
	var d Digest
	h.Sum(d[:0])
	return d
}
