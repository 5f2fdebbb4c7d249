// Package owner reads managedFields: which manager owns which field, since when, and what kind of tool it is. Ownership
// names tools, never persons.
package owner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/clewops/clew/internal/drift/tree"
)

// Set is a set of paths, as fieldsV1 holds it: a tree of steps of which some are members. The nil Set is empty.
type Set struct {
	member bool
	below  map[tree.Step]*Set
}

// maxDepth is deeper than any object: the API server limits nesting far below it.
const maxDepth = 200

// ParseSet reads a decoded fieldsV1 value.
func ParseSet(fieldsV1 any) (*Set, error) {
	return parseSet(fieldsV1, 0)
}

func parseSet(v any, depth int) (*Set, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("fieldsV1 holds %T where a map belongs", v)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("fieldsV1 is nested deeper than %d", maxDepth)
	}
	s := &Set{}
	for k, child := range m {
		if k == "." {
			s.member = true
			continue
		}
		step, err := tree.ParseStep(k)
		if err != nil {
			return nil, err
		}
		sub, err := parseSet(child, depth+1)
		if err != nil {
			return nil, err
		}
		if len(sub.below) == 0 {
			sub.member = true // {} is the short form of {".": {}}
		}
		s.put(step, sub)
	}
	return s, nil
}

func (s *Set) put(step tree.Step, sub *Set) {
	if s.below == nil {
		s.below = map[tree.Step]*Set{}
	}
	s.below[step] = sub
}

// Add puts the path into the set.
func (s *Set) Add(path tree.Path) {
	for _, step := range path {
		sub := s.below[step]
		if sub == nil {
			sub = &Set{}
			s.put(step, sub)
		}
		s = sub
	}
	s.member = true
}

// Union is a new set of what is in either.
func (s *Set) Union(other *Set) *Set {
	out := &Set{}
	for _, from := range []*Set{s, other} {
		if from == nil {
			continue
		}
		out.member = out.member || from.member
		for step, sub := range from.below {
			out.put(step, out.Step(step).Union(sub))
		}
	}
	return out
}

// Step is the part of the set below a step; nil if there is none.
func (s *Set) Step(step tree.Step) *Set {
	if s == nil {
		return nil
	}
	return s.below[step]
}

// At is the part of the set below a path; nil if there is none.
func (s *Set) At(path tree.Path) *Set {
	for _, step := range path {
		s = s.Step(step)
	}
	return s
}

// Member says whether the place itself is in the set.
func (s *Set) Member() bool { return s != nil && s.member }

// Leaf says whether the place is in the set and nothing below it is: its owner has all of it.
func (s *Set) Leaf() bool { return s.Member() && len(s.below) == 0 }

// Any says whether the place or something below it is in the set.
func (s *Set) Any() bool { return s != nil && (s.member || len(s.below) > 0) }

// Covers says whether path is in the set, or lies below a member that is owned as a whole.
func (s *Set) Covers(path tree.Path) bool {
	for _, step := range path {
		if s.Leaf() {
			return true
		}
		s = s.Step(step)
	}
	return s.Member()
}

// Paths are the members, in a fixed order.
func (s *Set) Paths() []tree.Path {
	var out []tree.Path
	s.walk(nil, &out)
	return out
}

func (s *Set) walk(at tree.Path, out *[]tree.Path) {
	if s == nil {
		return
	}
	if s.member {
		*out = append(*out, at)
	}
	for _, step := range slices.Sorted(maps.Keys(s.below)) {
		s.below[step].walk(at.With(step), out)
	}
}
