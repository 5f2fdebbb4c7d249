package graph

import (
	"cmp"
	"reflect"
	"slices"
)

// Difference is one difference between two versions. Exactly one of Node and Edge is set in what is there; a nil side says
// that it is not there on that side.
type Difference struct {
	Name             Name // of the node, or of the edge's cause
	To               Name // of the edge's dependant; empty for a node
	OldNode, NewNode *NodeSpec
	OldEdge, NewEdge *EdgeSpec
}

// Diff lists what differs between two versions, in order of names. Shared parts are not looked at, so that it costs
// what differs.
func Diff(old, new *Version) []Difference {
	var list []Difference
	for _, n := range changedNames(old, new) {
		list = append(list, diffNode(old, new, n)...)
	}
	slices.SortFunc(list, func(a, b Difference) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.To, b.To)) })
	return list
}

// changedNames lists the nodes whose own description or edges to dependants differ.
func changedNames(old, new *Version) []Name {
	var names []Name
	for g := range fan {
		a, b := old.names.groups[g], new.names.groups[g]
		if a == b {
			continue
		}
		for i := range fan {
			var x, y *bucket
			if a != nil {
				x = a.buckets[i]
			}
			if b != nil {
				y = b.buckets[i]
			}
			if x == y || x != nil && y != nil && x.sum == y.sum {
				continue
			}
			names = append(names, bucketDiff(old, x, new, y)...)
		}
	}
	return names
}

func bucketDiff(old *Version, x *bucket, new *Version, y *bucket) []Name {
	before := map[Name]*vertex{}
	if x != nil {
		for _, e := range x.entries {
			before[old.at(e.id).name] = old.at(e.id)
		}
	}
	var names []Name
	if y != nil {
		for _, e := range y.entries {
			now := new.at(e.id)
			was, ok := before[now.name]
			delete(before, now.name)
			if !ok || was.sum != now.sum {
				names = append(names, now.name)
			}
		}
	}
	for n := range before {
		names = append(names, n)
	}
	return names
}

func diffNode(old, new *Version, n Name) []Difference {
	var list []Difference
	a, hadNode := old.Node(n)
	b, hasNode := new.Node(n)
	if hadNode != hasNode || !reflect.DeepEqual(a, b) {
		c := Difference{Name: n}
		if hadNode {
			c.OldNode = &a
		}
		if hasNode {
			c.NewNode = &b
		}
		list = append(list, c)
	}
	edges := map[Name]*Difference{}
	at := func(to Name) *Difference {
		if edges[to] == nil {
			edges[to] = &Difference{Name: n, To: to}
		}
		return edges[to]
	}
	for _, e := range old.Dependants(n) {
		at(e.To).OldEdge = &e
	}
	for _, e := range new.Dependants(n) {
		at(e.To).NewEdge = &e
	}
	for _, c := range edges {
		if c.OldEdge == nil || c.NewEdge == nil || !reflect.DeepEqual(*c.OldEdge, *c.NewEdge) {
			list = append(list, *c)
		}
	}
	return list
}

// ChangedNodes lists the nodes at which something differs: their description, or their edges in either direction.
// Whatever was propagated through none of them is the same in both versions.
func ChangedNodes(old, new *Version) []Name {
	set := map[Name]bool{}
	for _, c := range Diff(old, new) {
		set[c.Name] = true
		if c.To != "" {
			set[c.To] = true
		}
	}
	list := make([]Name, 0, len(set))
	for n := range set {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}
