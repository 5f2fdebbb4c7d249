package drift

import (
	"maps"
	"slices"
	"strings"

	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

// Change is how a field differs.
type Change string

// Changes.
const (
	Changed Change = "changed" // both sides have it, with different values
	Removed Change = "removed" // git has it, the cluster has not
	Added   Change = "added"   // the cluster has it, git has not
)

// finding is a place in which head and live differ, with the values as they are.
type finding struct {
	path       tree.Path
	node       *schema.Node
	change     Change
	head, live any
	owners     []owner.Owner
	unknown    string // why it cannot be said whether this is a difference
	opaque     bool   // head's value is encrypted
}

// walker compares two prepared objects.
type walker struct {
	schema  schema.Object
	fields  owner.Fields
	closed  map[string]bool // first fields of an object in which nothing is ever filled in
	applied map[string]any  // what was applied; nil where that is not known
	opaque  bool
	found   []finding
}

// compare lists the places in which head and live differ, in the order of their paths.
func (w *walker) compare(head, live map[string]any) []finding {
	w.maps(nil, w.schema.Root, head, live)
	slices.SortStableFunc(w.found, func(a, b finding) int { return strings.Compare(a.path.String(), b.path.String()) })
	return w.found
}

func (w *walker) add(f finding) {
	f.owners = w.fields.Within(f.path)
	if f.change != Added || len(f.owners) == 0 {
		f.owners = w.fields.Of(f.path)
	}
	if f.change == Removed {
		f.owners = nil
	}
	w.found = append(w.found, f)
}

// both compares what stands in one place on both sides.
func (w *walker) both(at tree.Path, n *schema.Node, head, live any) {
	if w.opaque && encrypted(head) {
		w.add(finding{path: at, node: n, change: Changed, head: head, live: live, opaque: true})
		return
	}
	switch h := head.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			w.maps(at, n, h, l)
			return
		}
	case []any:
		if l, ok := live.([]any); ok {
			w.lists(at, n, h, l)
			return
		}
	}
	if !n.SameScalar(head, live) {
		w.add(finding{path: at, node: n, change: Changed, head: head, live: live})
	}
}

func (w *walker) maps(at tree.Path, n *schema.Node, head, live map[string]any) {
	names := slices.Sorted(maps.Keys(head))
	for name := range live {
		if _, ok := head[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		here := at.With(tree.FieldStep(name))
		f, known := n.Field(name)
		h, l := head[name], live[name]
		switch {
		case h == nil && l == nil:
		case h == nil:
			w.extra(here, n, name, l)
		case l == nil:
			if known { // what the server has no place for it drops
				w.lost(here, n, name, h)
			}
		default:
			w.both(here, f, h, l)
		}
	}
}

func (w *walker) lists(at tree.Path, n *schema.Node, head, live []any) {
	n = w.guess(at, n)
	headSteps, ok := n.Steps(head)
	liveSteps, ok2 := n.Steps(live)
	if !ok || !ok2 {
		w.inOrder(at, n, head, live)
		return
	}
	places := make(map[tree.Step]int, len(live))
	for i, s := range liveSteps {
		places[s] = i
	}
	for i, s := range headSteps {
		here := at.With(s)
		j, ok := places[s]
		if !ok {
			w.add(finding{path: here, node: n.Item(), change: Removed, head: head[i]})
			continue
		}
		delete(places, s)
		w.both(here, n.Item(), head[i], live[j])
	}
	for i, s := range liveSteps {
		if _, left := places[s]; left {
			w.extraItem(at.With(s), n.Item(), live[i])
		}
	}
}

// inOrder compares lists in which order counts. Lists of one length are compared item by item, so that the field that
// differs is named; the same items in another order, or another number of items, are one difference.
func (w *walker) inOrder(at tree.Path, n *schema.Node, head, live []any) {
	if schema.Equal(n, head, live, w.schema.Custom) {
		return
	}
	if len(head) != len(live) || sameItems(head, live) {
		w.add(finding{path: at, node: n, change: Changed, head: head, live: live})
		return
	}
	for i := range head {
		w.both(at.With(tree.IndexStep(i)), n.Item(), head[i], live[i])
	}
}

func sameItems(a, b []any) bool {
	texts := func(items []any) []string {
		out := make([]string, len(items))
		for i, item := range items {
			out[i] = tree.JSON(item)
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(texts(a), texts(b))
}

// guess describes a list that the schema does not, by what managedFields show: a list by key or a set has owners of items.
func (w *walker) guess(at tree.Path, n *schema.Node) *schema.Node {
	if n != nil && n.Kind != schema.Anything {
		return n
	}
	for _, e := range w.fields.Entries {
		for _, p := range e.Fields.At(at).Paths() {
			if len(p) == 0 {
				continue
			}
			if keys, ok := p[0].Keys(); ok {
				return &schema.Node{Kind: schema.List, Lists: schema.ByKey, Keys: slices.Sorted(maps.Keys(keys))}
			}
			if _, ok := p[0].Value(); ok {
				return &schema.Node{Kind: schema.List, Lists: schema.Set}
			}
		}
	}
	return n
}
