package drift

import (
	"maps"
	"slices"
	"strings"

	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

func isFlux(o owner.Owner) bool {
	return o.Manager == owner.KustomizeController && o.Operation == owner.Apply
}

// lost is a field that git has and the cluster has not. What Flux still owns was applied and dropped by the server or at
// admission; had somebody taken it away, the ownership would have gone with it.
func (w *walker) lost(at tree.Path, n *schema.Node, name string, head any) {
	if n.SilentField(name, head, w.schema.Custom) {
		return
	}
	if slices.ContainsFunc(w.fields.Entries, func(e owner.Entry) bool {
		return isFlux(e.Owner) && (e.Fields.Covers(at) || e.Fields.At(at).Any())
	}) {
		return
	}
	f, _ := n.Field(name)
	if m, ok := head.(map[string]any); ok && len(m) > 0 && f != nil && f.Kind == schema.Map && !f.Whole {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			w.lost(at.With(tree.FieldStep(key)), f, key, m[key])
		}
		return
	}
	w.add(finding{path: at, node: f, change: Removed, head: head})
}

// extra is a field that the cluster has and git has not. It is a difference exactly if somebody owns it who wrote more
// than the server filled in.
func (w *walker) extra(at tree.Path, n *schema.Node, name string, live any) {
	f, _ := n.Field(name)
	if n.SilentField(name, live, w.schema.Custom) || n.Named(name) && f.Filling(live) {
		return
	}
	if w.fields.Absent {
		w.extraUnowned(at, n, f, live)
		return
	}
	owners := w.fields.Within(at)
	if len(owners) == 0 || filledIn(f, owners) || w.partOfApplied(at, owners) {
		return
	}
	m, isMap := live.(map[string]any)
	if isMap && len(m) > 0 && !f.Indivisible(live) && !w.wholeOwned(at, f) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			w.extra(at.With(tree.FieldStep(key)), f, key, m[key])
		}
		return
	}
	if items, isList := live.([]any); isList {
		f = w.guess(at, f)
		if steps, ok := f.Steps(items); ok {
			for i, s := range steps {
				w.extraItem(at.With(s), f.Item(), items[i])
			}
			return
		}
	}
	w.add(finding{path: at, node: f, change: Added, live: live})
}

// wholeOwned says whether somebody wrote the struct itself, so that it is one difference and not one for each field.
func (w *walker) wholeOwned(at tree.Path, f *schema.Node) bool {
	return f != nil && f.Kind == schema.Struct && slices.ContainsFunc(w.fields.Entries, func(e owner.Entry) bool {
		return e.Fields.At(at).Member()
	})
}

// filledIn says whether the value depends on the cluster and its owners are only those that own what the server fills in.
func filledIn(f *schema.Node, owners []owner.Owner) bool {
	if f == nil {
		return false
	}
	if _, depends := f.Default.(schema.Filled); !depends {
		return false
	}
	return !slices.ContainsFunc(owners, func(o owner.Owner) bool { return !o.WritesWhole() })
}

// partOfApplied says whether the place lies inside a whole that Flux alone owns. Then nobody else changed the whole since
// Flux applied it, and what it has more was filled in, unless what was applied had it.
func (w *walker) partOfApplied(at tree.Path, owners []owner.Owner) bool {
	if slices.ContainsFunc(owners, func(o owner.Owner) bool { return !isFlux(o) }) {
		return false
	}
	inside := slices.ContainsFunc(w.fields.Entries, func(e owner.Entry) bool {
		return e.Fields.Covers(at) && !e.Fields.At(at).Any()
	})
	if !inside {
		return false
	}
	_, had := w.schema.Root.Get(w.applied, at)
	return !had
}

// extraItem is an item of a list by key or a set that git has not.
func (w *walker) extraItem(at tree.Path, n *schema.Node, live any) {
	if w.fields.Absent {
		w.found = append(w.found, finding{
			path: at, node: n, change: Added, live: live,
			unknown: "only the cluster has this item, and without managedFields nobody can say who put it there",
		})
		return
	}
	owners := w.fields.Within(at)
	if len(owners) == 0 {
		return
	}
	member := slices.ContainsFunc(w.fields.Entries, func(e owner.Entry) bool { return e.Fields.Covers(at) })
	m, isMap := live.(map[string]any)
	if member || !isMap {
		w.add(finding{path: at, node: n, change: Added, live: live})
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		w.extra(at.With(tree.FieldStep(key)), n, key, m[key])
	}
}

// extraUnowned judges a field of an object that came without managedFields.
func (w *walker) extraUnowned(at tree.Path, n, f *schema.Node, live any) {
	if f != nil && f.Default != nil {
		if _, depends := f.Default.(schema.Filled); depends {
			return
		}
	}
	if m, ok := live.(map[string]any); ok && len(m) > 0 && !f.Indivisible(live) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			w.extra(at.With(tree.FieldStep(key)), f, key, m[key])
		}
		return
	}
	if keptByControllers(at) {
		return
	}
	found := finding{path: at, node: f, change: Added, live: live}
	first, _ := at[0].Field()
	if !w.closed[first] && (len(at) < 2 || at[1] != tree.FieldStep("labels")) {
		found.unknown = "only the cluster has this field, and without managedFields nobody can say whether the server filled it in"
	}
	w.found = append(w.found, found)
}

// closedFields are the first fields of an object in which the server fills nothing in.
func closedFields(id Identity) map[string]bool {
	if id.Group != "" {
		return nil
	}
	switch id.Kind {
	case "ConfigMap":
		return map[string]bool{"data": true, "binaryData": true, "immutable": true}
	case "Secret":
		return map[string]bool{"data": true, "immutable": true}
	}
	return nil
}

// controllerAnnotations are the beginnings of annotations that the cluster's own controllers write.
var controllerAnnotations = []string{
	"deployment.kubernetes.io/", "pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/",
	"batch.kubernetes.io/", "autoscaling.alpha.kubernetes.io/", "endpoints.kubernetes.io/", "control-plane.alpha.kubernetes.io/",
}

// keptByControllers says whether the cluster itself writes the field: finalizers, owners, its controllers' annotations.
func keptByControllers(at tree.Path) bool {
	if len(at) < 2 || at[0] != tree.FieldStep("metadata") {
		return false
	}
	switch field, _ := at[1].Field(); field {
	case "finalizers", "ownerReferences":
		return true
	case "annotations":
		name := ""
		if len(at) > 2 {
			name, _ = at[2].Field()
		}
		return slices.ContainsFunc(controllerAnnotations, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	}
	return false
}
