// Package apply says what a server-side apply would make of an object, from the object as it is read: its value, its
// managedFields and the schema. It follows the merge rules of the API server and what Flux' kustomize-controller does
// around an apply, and asks nobody.
package apply

import (
	"slices"
	"strings"

	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

// Input is what an apply is predicted from.
type Input struct {
	Live   map[string]any
	Config map[string]any // what is applied
	Schema schema.Object
	Fields owner.Fields
	// Override are managers, besides kubectl's, whose fields the controller takes over (its --override-manager).
	Override []string
}

// Result is what the apply makes.
type Result struct {
	After   map[string]any // the object afterwards, before the server fills in what was removed
	Applied bool           // false: the controller finds nothing to do and writes nothing
}

// Group is the prefix of the labels and annotations that Flux reads on objects.
const Group = "kustomize.toolkit.fluxcd.io"

// cleaned are the annotations and labels that the controller takes off whatever Git says.
var cleaned = map[string][]string{
	"annotations": {"kubectl.kubernetes.io/last-applied-configuration", Group + "/checksum", "fluxcd.io/sync-checksum"},
	"labels":      {"fluxcd.io/sync-gc-mark"},
}

// Mark says whether an object carries the label or annotation GROUP/name with that value, as Flux compares it.
func Mark(object any, name, value string) bool {
	for _, where := range []string{"labels", "annotations"} {
		if strings.EqualFold(tree.Text(object, "metadata", where, Group+"/"+name), value) {
			return true
		}
	}
	return false
}

// Predict is the outcome of the controller's next apply of Config, where nothing holds it back.
func Predict(in Input) Result {
	own, others := split(in, false)
	first := merged(in, own, others)
	merges := Mark(in.Config, "ssa", "Merge") || Mark(in.Live, "ssa", "Merge")
	live := in.Live
	takesOver := false
	if !merges {
		takesOver = slices.ContainsFunc(in.Fields.Entries, func(e owner.Entry) bool { return handedOver(e, in.Override) })
		var took bool
		live, took = clean(in.Live)
		takesOver = takesOver || took
	}
	if !takesOver && !changes(in, first) {
		return Result{After: in.Live}
	}
	if !takesOver {
		return Result{After: first, Applied: true}
	}
	in.Live = live
	own, others = split(in, true)
	return Result{After: merged(in, own, others), Applied: true}
}

// handedOver says whether the controller takes the entry's fields for its own before it applies, so that what of them is
// not in Git goes away.
func handedOver(e owner.Entry, override []string) bool {
	if e.Subresource != "" {
		return false
	}
	if strings.HasPrefix(e.Manager, "kubectl") {
		return true
	}
	if e.Operation == owner.Update &&
		(strings.HasPrefix(e.Manager, "before-first-apply") || strings.HasPrefix(e.Manager, owner.KustomizeController)) {
		return true
	}
	return slices.ContainsFunc(override, func(prefix string) bool { return strings.HasPrefix(e.Manager, prefix) })
}

// split is what the controller owns, with what it takes over if takeOver, and what the others own.
func split(in Input, takeOver bool) (own, others *owner.Set) {
	own, others = &owner.Set{}, &owner.Set{}
	for _, e := range in.Fields.Entries {
		flux := e.Manager == owner.KustomizeController && e.Operation == owner.Apply
		if flux || takeOver && handedOver(e, in.Override) {
			own = own.Union(e.Fields)
		} else {
			others = others.Union(e.Fields)
		}
	}
	return own, others
}

// clean is the object without the annotations and labels that the controller takes off.
func clean(live map[string]any) (map[string]any, bool) {
	took := false
	for where, names := range cleaned {
		for _, name := range names {
			if _, ok := tree.Map(live, "metadata", where)[name]; !ok {
				continue
			}
			if !took {
				live, _ = tree.Copy(live).(map[string]any)
				took = true
			}
			delete(tree.Map(live, "metadata", where), name)
		}
	}
	return live, took
}

// changes says whether the controller sees a difference between what is there and what the apply would make: it looks at
// labels, annotations and everything but metadata and status.
func changes(in Input, after map[string]any) bool {
	equal := func(path ...string) bool {
		above, name := path[:len(path)-1], path[len(path)-1]
		n := in.Schema.Root.At(tree.Fields(above...))
		f, _ := n.Field(name)
		a, b := tree.Field(in.Live, path...), tree.Field(after, path...)
		switch {
		case a == nil:
			return n.SilentField(name, b, in.Schema.Custom) || tree.Empty(b)
		case b == nil:
			return n.SilentField(name, a, in.Schema.Custom) || tree.Empty(a)
		}
		return schema.Equal(f, a, b, in.Schema.Custom)
	}
	if !equal("metadata", "labels") || !equal("metadata", "annotations") {
		return true
	}
	for _, m := range []map[string]any{in.Live, after} {
		for name := range m {
			if name != "metadata" && name != "status" && !equal(name) {
				return true
			}
		}
	}
	return false
}
