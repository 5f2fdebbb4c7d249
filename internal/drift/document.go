package drift

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clewops/clew/internal/drift/tree"
)

// Document is a parsed text inside an object.
type Document struct {
	Format string // "yaml", "json", "toml", "properties", "ini"
	Tree   any
}

// ParseDocument parses a text that stands under name in a ConfigMap. It gives false for what is no document, or not one
// within its limits; it does no I/O and keeps nothing. It may be called again with the same text.
type ParseDocument func(name, text string) (Document, bool)

// DocumentDiff is what differs inside a document.
type DocumentDiff struct {
	Format  string   `json:"format"`
	Entries []Entry  `json:"entries"` // empty where only the spelling or comments differ
	Summary []string `json:"summary"` // for people: "live has fetch, moxn; git has none of them"
	Cut     bool     `json:"cut,omitempty"`
}

// Entry is a difference inside a document.
type Entry struct {
	Path   string `json:"path"`
	Change Change `json:"change"`
	Head   Value  `json:"head"`
	Live   Value  `json:"live"`
}

// Reordered is a list in which only the order differs.
const Reordered Change = "reordered"

// maxEntries is how many entries of one document are listed.
const maxEntries = 500

// naturalKeys are fields that tell entries of a list apart, the more telling first.
var naturalKeys = []string{
	"name", "id", "key", "alias", "slug", "title", "host", "hostname", "server", "url", "endpoint", "address", "path",
	"user", "username", "email", "label", "prefix",
}

// compareDocuments compares two texts entry by entry; nil where they are not documents of one format.
func compareDocuments(name, head, live string, parse ParseDocument) *DocumentDiff {
	if parse == nil {
		return nil
	}
	h, ok := parse(name, head)
	l, ok2 := parse(name, live)
	if !ok || !ok2 || h.Format != l.Format {
		return nil
	}
	c := documentComparison{diff: &DocumentDiff{Format: h.Format}}
	c.both(nil, h.Tree, l.Tree)
	if len(c.diff.Entries) == 0 {
		c.diff.Summary = []string{"only the spelling, the order of keys or comments differ"}
	}
	return c.diff
}

type documentComparison struct{ diff *DocumentDiff }

func (c documentComparison) add(at tree.Path, change Change, head, live Value) {
	if len(c.diff.Entries) >= maxEntries {
		c.diff.Cut = true
		return
	}
	c.diff.Entries = append(c.diff.Entries, Entry{Path: at.String(), Change: change, Head: head, Live: live})
}

func (c documentComparison) both(at tree.Path, head, live any) {
	switch h := head.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			c.maps(at, h, l)
			return
		}
	case []any:
		if l, ok := live.([]any); ok {
			c.lists(at, h, l)
			return
		}
	}
	if !tree.Same(head, live) {
		c.add(at, Changed, PlainOf(head), PlainOf(live))
	}
}

func (c documentComparison) maps(at tree.Path, head, live map[string]any) {
	names := slices.Collect(maps.Keys(head))
	names = slices.AppendSeq(names, maps.Keys(live))
	slices.Sort(names)
	var added, removed []string
	for _, name := range slices.Compact(names) {
		here := at.With(tree.FieldStep(name))
		h, had := head[name]
		l, has := live[name]
		switch {
		case !had:
			c.add(here, Added, Absent{}, PlainOf(l))
			added = append(added, name)
		case !has:
			c.add(here, Removed, PlainOf(h), Absent{})
			removed = append(removed, name)
		default:
			c.both(here, h, l)
		}
	}
	c.summarize(at, added, removed)
}

func (c documentComparison) lists(at tree.Path, head, live []any) {
	step, ok := itemSteps(head, live)
	if !ok {
		c.inOrder(at, head, live)
		return
	}
	places := map[tree.Step]int{}
	for i, item := range live {
		places[step(item)] = i
	}
	var added, removed []string
	last, moved := -1, false
	for i, item := range head {
		s := step(item)
		j, ok := places[s]
		if !ok {
			c.add(at.With(s), Removed, PlainOf(item), Absent{})
			removed = append(removed, stepName(s))
			continue
		}
		moved = moved || j < last
		last = max(last, j)
		delete(places, s)
		c.both(at.With(s), head[i], live[j])
	}
	for _, item := range live {
		if s := step(item); has(places, s) {
			c.add(at.With(s), Added, Absent{}, PlainOf(item))
			added = append(added, stepName(s))
		}
	}
	if moved {
		c.add(at, Reordered, PlainOf(head), PlainOf(live))
	}
	c.summarize(at, added, removed)
}

func has(m map[tree.Step]int, s tree.Step) bool {
	_, ok := m[s]
	return ok
}

// inOrder compares lists whose items nothing tells apart.
func (c documentComparison) inOrder(at tree.Path, head, live []any) {
	for i := range max(len(head), len(live)) {
		here := at.With(tree.IndexStep(i))
		switch {
		case i >= len(head):
			c.add(here, Added, Absent{}, PlainOf(live[i]))
		case i >= len(live):
			c.add(here, Removed, PlainOf(head[i]), Absent{})
		default:
			c.both(here, head[i], live[i])
		}
	}
}

// itemSteps finds what tells the items of both lists apart: their values, or a natural key that all of them have once.
func itemSteps(head, live []any) (func(any) tree.Step, bool) {
	unique := func(step func(any) (tree.Step, bool)) bool {
		for _, items := range [][]any{head, live} {
			seen := map[tree.Step]bool{}
			for _, item := range items {
				s, ok := step(item)
				if !ok || seen[s] {
					return false
				}
				seen[s] = true
			}
		}
		return true
	}
	candidates := []func(any) (tree.Step, bool){scalarStep}
	for _, key := range naturalKeys {
		candidates = append(candidates, func(item any) (tree.Step, bool) {
			v := tree.Field(item, key)
			if _, ok := scalarStep(v); !ok || v == nil {
				return "", false
			}
			return tree.KeyStep(map[string]any{key: v}), true
		})
	}
	for _, candidate := range candidates {
		if unique(candidate) {
			return func(item any) tree.Step { s, _ := candidate(item); return s }, true
		}
	}
	return nil, false
}

func scalarStep(v any) (tree.Step, bool) {
	switch v.(type) {
	case map[string]any, []any:
		return "", false
	}
	return tree.ValueStep(v), true
}

// stepName is what an item is called.
func stepName(s tree.Step) string {
	if v, ok := s.Value(); ok {
		return fmt.Sprint(v)
	}
	keys, _ := s.Keys()
	for _, v := range keys {
		return fmt.Sprint(v)
	}
	return string(s)
}

// summarize says in words what one side has and the other has not.
func (c documentComparison) summarize(at tree.Path, added, removed []string) {
	where := ""
	if len(at) > 0 {
		where = at.String() + ": "
	}
	say := func(one, other string, names []string) {
		switch {
		case len(names) == 0:
			return
		case len(names) == 1:
			c.diff.Summary = append(c.diff.Summary, fmt.Sprintf("%s%s has %s; %s has not", where, one, names[0], other))
		default:
			c.diff.Summary = append(c.diff.Summary, fmt.Sprintf("%s%s has %s; %s has none of them", where, one, strings.Join(names, ", "), other))
		}
	}
	say("live", "git", added)
	say("git", "live", removed)
}
