// Package schema says how the API merges and compares what stands at each place of an object: which lists are kept by
// key, which are sets, what is one indivisible value, what the server fills in. A Node comes from a server's OpenAPI v3
// document, decoded by an adapter, or from the built-in one; a nil Node stands for what nobody described, which the
// server treats as maps merged by key and lists replaced as a whole.
package schema

import (
	"slices"

	"github.com/clewops/clew/internal/drift/tree"
)

// Kind is what stands at a place.
type Kind int

// Kinds of places.
const (
	Anything    Kind = iota // not described further
	Scalar                  // compared as it is
	Quantity                // compared by amount
	IntOrString             // a whole number or a string, which are different
	Struct                  // named fields
	Map                     // any keys, one kind of value
	List
)

// Lists are how the items of a list are told apart.
type Lists int

// Ways to tell items apart.
const (
	Atomic Lists = iota // not at all: the list is one value
	Set                 // by value, each once
	ByKey               // by some of their fields
)

// Node describes one place of an object.
type Node struct {
	Kind    Kind
	Name    string           // the schema's name, e.g. "io.k8s.api.core.v1.Container"; may be empty
	Fields  map[string]*Node // of a Struct
	Elem    *Node            // of a Map or List
	Lists   Lists            // of a List
	Keys    []string         // of a List by key
	Whole   bool             // a map or struct that is one value
	Open    bool             // keeps fields that are not described
	Default any              // what the server fills in; nil if nothing
	ByValue bool             // a struct that is always there: empty and absent are the same
}

// Object is the schema of one kind.
type Object struct {
	Root *Node
	// Custom says that the kind is a custom resource, which is stored as it was written, zeros and empty maps included.
	Custom bool
}

// Field is the description of a field; known says whether the server keeps a field of that name.
func (n *Node) Field(name string) (field *Node, known bool) {
	if n == nil {
		return nil, true
	}
	switch n.Kind {
	case Struct:
		if f, ok := n.Fields[name]; ok {
			return f, true
		}
		return n.Elem, n.Open || n.Elem != nil
	case Map:
		return n.Elem, true
	case Anything, Scalar, Quantity, IntOrString, List:
	}
	return nil, true
}

// Named says whether name is a declared field of a struct, and not a key of a map.
func (n *Node) Named(name string) bool {
	if n == nil || n.Kind != Struct {
		return false
	}
	_, ok := n.Fields[name]
	return ok
}

// Item is the description of a list's items.
func (n *Node) Item() *Node {
	if n == nil || n.Kind != List {
		return nil
	}
	return n.Elem
}

// Indivisible says whether what stands here is replaced as a whole: it has one owner, and nothing below it has another.
func (n *Node) Indivisible(v any) bool {
	switch v.(type) {
	case map[string]any:
		return n != nil && n.Whole
	case []any:
		return n == nil || n.Kind != List || n.Lists == Atomic
	}
	return true
}

// ItemStep is the step to an item of a list by key or of a set; false where the item has not what tells it apart.
func (n *Node) ItemStep(item any) (tree.Step, bool) {
	if n == nil || n.Kind != List {
		return "", false
	}
	switch n.Lists {
	case Set:
		switch item.(type) {
		case map[string]any, []any:
			return "", false
		}
		return tree.ValueStep(item), true
	case ByKey:
		return n.keyedStep(item)
	case Atomic:
	}
	return "", false
}

func (n *Node) keyedStep(item any) (tree.Step, bool) {
	m, ok := item.(map[string]any)
	if !ok {
		return "", false
	}
	keys := make(map[string]any, len(n.Keys))
	for _, k := range n.Keys {
		v := m[k]
		if v == nil {
			v = n.keyDefault(k)
		}
		if v != nil {
			keys[k] = v
		}
	}
	return tree.KeyStep(keys), len(keys) > 0
}

func (n *Node) keyDefault(key string) any {
	f, _ := n.Elem.Field(key)
	if f == nil {
		return nil
	}
	if _, depends := f.Default.(Filled); depends {
		return nil
	}
	return f.Default
}

// Steps are the steps to the items of a list by key or a set, in their order; false where the list has to be taken as a
// whole, because it is indivisible, an item has not what tells it apart, or two items are told apart by nothing.
func (n *Node) Steps(items []any) ([]tree.Step, bool) {
	if n.Indivisible(items) {
		return nil, false
	}
	steps := make([]tree.Step, len(items))
	seen := make(map[tree.Step]bool, len(items))
	for i, item := range items {
		s, ok := n.ItemStep(item)
		if !ok || seen[s] {
			return nil, false
		}
		steps[i], seen[s] = s, true
	}
	return steps, true
}

// At is the description of the place that path leads to.
func (n *Node) At(path tree.Path) *Node {
	for _, s := range path {
		if n == nil {
			return nil
		}
		if name, ok := s.Field(); ok {
			n, _ = n.Field(name)
		} else {
			n = n.Item()
		}
	}
	return n
}

// Get is what stands in v at the end of path; false where there is nothing. Items by key are found by their keys even
// where the list is not described.
func (n *Node) Get(v any, path tree.Path) (any, bool) {
	for _, s := range path {
		if name, ok := s.Field(); ok {
			m, _ := v.(map[string]any)
			if v, ok = m[name]; !ok {
				return nil, false
			}
			n, _ = n.Field(name)
			continue
		}
		items, _ := v.([]any)
		i := n.find(items, s)
		if i < 0 {
			return nil, false
		}
		v, n = items[i], n.Item()
	}
	return v, true
}

// find is the place of the item that a step leads to; -1 where there is none.
func (n *Node) find(items []any, s tree.Step) int {
	if i, ok := s.Index(); ok {
		if i < len(items) {
			return i
		}
		return -1
	}
	keys, byKey := s.Keys()
	value, byValue := s.Value()
	return slices.IndexFunc(items, func(item any) bool {
		if own, ok := n.ItemStep(item); ok {
			return own == s
		}
		if byValue {
			return tree.Same(item, value)
		}
		m, ok := item.(map[string]any)
		for k, v := range keys {
			ok = ok && tree.Same(m[k], v)
		}
		return ok && byKey
	})
}
