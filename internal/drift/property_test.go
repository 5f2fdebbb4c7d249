package drift_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/apply"
	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

func TestThereAreThirtyKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range kinds(t) {
		seen[tree.Text(k, "kind")] = true
	}
	if len(seen) < 30 {
		t.Errorf("%d kinds", len(seen))
	}
}

func TestWhatFluxAppliedIsInSync(t *testing.T) {
	for _, head := range kinds(t) {
		w := appliedObject(t, head)
		if o := judge(w.subject()); o.Class != drift.InSync || len(o.Differences) > 0 {
			t.Errorf("%s: %s", o.Identity, shown(o))
		}
	}
}

// shown is an object's report for a failed test.
func shown(o drift.Object) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%s)", o.Identity, o.Class, o.Reason)
	for _, d := range o.Differences {
		fmt.Fprintf(&b, "\n  %s %s %s: git %s, live %s, owners %v, %s, %+v", d.Class, d.Change, d.Field, d.Head, d.Live, d.Owners, d.Reason, d.Forecast)
	}
	return b.String()
}

// place is a place of an object that can be written.
type place struct {
	path tree.Path
	node *schema.Node
	v    any
}

// places lists the scalars of an object that are not part of what tells it, or an item of a list, apart.
func places(n *schema.Node, at tree.Path, v any) []place {
	var out []place
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			if len(at) == 0 && (name == "apiVersion" || name == "kind" || name == "status") ||
				len(at) == 1 && at[0] == "f:metadata" && name != "labels" && name != "annotations" {
				continue
			}
			f, _ := n.Field(name)
			out = append(out, places(f, at.With(tree.FieldStep(name)), item)...)
		}
	case []any:
		steps, keyed := n.Steps(v)
		for i, item := range v {
			step := tree.IndexStep(i)
			if keyed {
				step = steps[i]
			}
			if n != nil && n.Lists == schema.Set {
				continue
			}
			for _, p := range places(n.Item(), at.With(step), item) {
				last, _ := p.path[len(p.path)-1].Field()
				if keyed && len(p.path) == len(at)+2 && slices.Contains(n.Keys, last) {
					continue
				}
				out = append(out, p)
			}
		}
	case nil:
	default:
		out = append(out, place{at, n, v})
	}
	slices.SortFunc(out, func(a, b place) int { return strings.Compare(a.path.String(), b.path.String()) })
	return out
}

// other is a value of the same type that means something else.
func other(n *schema.Node, v any) any {
	switch v := v.(type) {
	case string:
		if n != nil && n.Kind == schema.Quantity {
			return "77" + v
		}
		return v + "x"
	case bool:
		return !v
	case int64:
		return v + 1
	}
	return "x"
}

var managers = []struct{ manager, subresource string }{
	{"kubectl-edit", ""},
	{"kubectl-patch", ""},
	{"kubectl-replace", ""},
	{"kubectl-client-side-apply", ""},
	{"kubectl-set", ""},
	{"kubectl", "scale"},
	{"console", ""},
	{"myui", ""},
	{"helm", ""},
	{"kubectl-label", ""},
}

// One edit, by anybody, is found, in its place, with its owner, and claimed by nobody.
func TestEveryEditIsFound(t *testing.T) {
	all := kinds(t)
	rapid.Check(t, func(rt *rapid.T) {
		head := rapid.SampledFrom(all).Draw(rt, "kind")
		w := appliedObject(t, head)
		by := rapid.SampledFrom(managers).Draw(rt, "manager")
		candidates := places(w.sc.Root, nil, w.live)
		p := rapid.SampledFrom(candidates).Draw(rt, "place")
		w.writesPath(by.manager, by.subresource, p.path, other(p.node, p.v))
		o := judge(w.subject())
		found := visible(o)
		if len(found) != 1 {
			rt.Fatalf("edit of %s by %s: %s", p.path, by.manager, shown(o))
		}
		d := found[0]
		if !p.path.HasPrefix(d.Path) && !d.Path.HasPrefix(p.path) {
			rt.Fatalf("edit of %s is found at %s", p.path, d.Path)
		}
		if len(d.Owners) != 1 || d.Owners[0].Manager != by.manager || d.Owners[0].Subresource != by.subresource {
			rt.Fatalf("edit of %s by %s belongs to %v", p.path, by.manager, d.Owners)
		}
		if d.Class != drift.Unclaimed || o.Class != drift.Unclaimed {
			rt.Fatalf("edit of %s: %s", p.path, shown(o))
		}
	})
}

func visible(o drift.Object) []drift.Difference {
	return slices.DeleteFunc(slices.Clone(o.Differences), func(d drift.Difference) bool { return !d.Visible() })
}

// Something added or taken away is found as well.
func TestEveryAdditionAndRemovalIsFound(t *testing.T) {
	all := kinds(t)
	rapid.Check(t, func(rt *rapid.T) {
		head := rapid.SampledFrom(all).Draw(rt, "kind")
		w := appliedObject(t, head)
		by := rapid.SampledFrom(managers).Draw(rt, "manager")
		var at tree.Path
		if rapid.Bool().Draw(rt, "add") {
			where := rapid.SampledFrom([]string{"labels", "annotations"}).Draw(rt, "where")
			at = tree.Fields("metadata", where, rapid.SampledFrom([]string{"example.com/x", "y", "deep.one/z"}).Draw(rt, "name"))
			w.writesPath(by.manager, by.subresource, at, rapid.SampledFrom([]string{"", "v"}).Draw(rt, "value"))
		} else {
			var owned []tree.Path
			for _, p := range apply.ConfigSet(normalizedByFlux(head), w.sc.Root).Paths() {
				if removable(w, p) {
					owned = append(owned, p)
				}
			}
			if len(owned) == 0 {
				return
			}
			at = rapid.SampledFrom(owned).Draw(rt, "place")
			w.writesPath(by.manager, by.subresource, at, nil)
		}
		o := judge(w.subject())
		found := visible(o)
		if len(found) == 0 || o.Class != drift.Unclaimed {
			rt.Fatalf("%s: %s", at, shown(o))
		}
		for _, d := range found {
			if !at.HasPrefix(d.Path) && !d.Path.HasPrefix(at) {
				rt.Fatalf("a change of %s is found at %s", at, d.Path)
			}
		}
	})
}

// removable says whether taking the place away changes what the object says.
func removable(w *world, p tree.Path) bool {
	if len(p) == 1 && (p[0] == "f:apiVersion" || p[0] == "f:kind") || p.HasPrefix(tree.Fields("metadata", "name")) ||
		p.HasPrefix(tree.Fields("metadata", "namespace")) {
		return false
	}
	v, ok := w.sc.Root.Get(w.live, p)
	if !ok {
		return false
	}
	above := w.sc.Root.At(p[:len(p)-1])
	if name, isField := p[len(p)-1].Field(); isField {
		// A key that tells an item apart does not go alone.
		if len(p) > 1 {
			if keys, keyed := p[len(p)-2].Keys(); keyed {
				if _, isKey := keys[name]; isKey {
					return false
				}
			}
		}
		return !above.SilentField(name, v, w.sc.Custom)
	}
	return true
}

// The order of lists by key and of sets, and how a value is written, mean nothing.
func TestOrderAndSpellingMeanNothing(t *testing.T) {
	all := kinds(t)
	rapid.Check(t, func(rt *rapid.T) {
		head := rapid.SampledFrom(all).Draw(rt, "kind")
		w := appliedObject(t, head)
		w.live, _ = shuffled(rt, w.sc.Root, w.live).(map[string]any)
		text, err := json.Marshal(respelled(w.sc.Root, w.live))
		if err != nil {
			rt.Fatal(err)
		}
		w.live = parse(t, string(text))
		if o := judge(w.subject()); o.Class != drift.InSync || len(o.Differences) > 0 {
			rt.Fatal(shown(o))
		}
	})
}

func shuffled(rt *rapid.T, n *schema.Node, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range sortedKeys(v) {
			f, _ := n.Field(name)
			out[name] = shuffled(rt, f, v[name])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = shuffled(rt, n.Item(), item)
		}
		if _, ok := n.Steps(v); ok {
			return rapid.Permutation(out).Draw(rt, "order")
		}
		return out
	}
	return v
}

func sortedKeys(m map[string]any) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// respelled writes quantities another way, and says null where nothing is said.
func respelled(n *schema.Node, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, item := range v {
			f, _ := n.Field(name)
			out[name] = respelled(f, item)
		}
		if n != nil && n.Kind == schema.Struct {
			for name, f := range n.Fields {
				if _, has := out[name]; !has && f != nil && f.Default == nil {
					out[name] = nil
				}
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = respelled(n.Item(), item)
		}
		return out
	case string:
		if n != nil && n.Kind == schema.Quantity {
			return map[string]string{"1": "1000m", "500m": "0.5", "10Gi": "10240Mi", "64Mi": "65536Ki", "1Gi": "1024Mi"}[v] + orSame(v)
		}
	}
	return v
}

func orSame(v string) string {
	switch v {
	case "1", "500m", "10Gi", "64Mi", "1Gi":
		return ""
	}
	return v
}

// Where something could not be read, the answer is that, whatever else is so.
func TestUnknownIsNeverInSync(t *testing.T) {
	all := kinds(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := appliedObject(t, rapid.SampledFrom(all).Draw(rt, "kind"))
		s := w.subject()
		unread := drift.Side{Err: rapid.SampledFrom([]string{"", "403", "timeout"}).Draw(rt, "why")}
		change := func(*drift.Input) {}
		switch rapid.IntRange(0, 4).Draw(rt, "what") {
		case 0:
			s.Live = unread
		case 1:
			s.Head = unread
		case 2:
			change = func(in *drift.Input) { in.Flow.Unreadable = "404" }
		case 3:
			object := w.object()
			tree.Map(object, "metadata")["managedFields"] = []any{map[string]any{"manager": "x"}}
			s.Live = side(t, object)
		case 4:
			change = func(in *drift.Input) { in.Flow.Ignore = []drift.IgnoreRule{{Paths: []string{"nonsense"}}} }
		}
		o := judge(s, change)
		if o.Class != drift.Unknown || o.Reason == "" {
			rt.Fatal(shown(o))
		}
		if code := drift.ExitCode(o.Classes()); code != 1 {
			rt.Fatalf("exit code %d", code)
		}
	})
}

// A class that is neither in-sync nor unknown has a difference to show, under any combination of what can be so.
func TestAClassHasAVisibleDifference(t *testing.T) {
	all := kinds(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := appliedObject(t, rapid.SampledFrom(all).Draw(rt, "kind"))
		for range rapid.IntRange(0, 3).Draw(rt, "edits") {
			by := rapid.SampledFrom(managers).Draw(rt, "manager")
			p := rapid.SampledFrom(places(w.sc.Root, nil, w.live)).Draw(rt, "place")
			w.writesPath(by.manager, by.subresource, p.path, other(p.node, p.v))
		}
		s := w.subject()
		s.Listed = rapid.Bool().Draw(rt, "listed")
		for _, side := range []*drift.Side{&s.Head, &s.Applied, &s.Live} {
			switch rapid.IntRange(0, 5).Draw(rt, "side") {
			case 0:
				*side = drift.Side{}
			case 1:
				*side = drift.Side{State: drift.Missing}
			}
		}
		o := judge(s, func(in *drift.Input) {
			in.Flow.Suspended = rapid.Bool().Draw(rt, "suspended")
			in.Flow.Prune = rapid.Bool().Draw(rt, "prune")
			if rapid.Bool().Draw(rt, "moved") {
				moved(in)
			}
			if rapid.Bool().Draw(rt, "blocked") {
				in.Flow.Blocked = "the build fails"
			}
		})
		if o.Class != drift.InSync && o.Class != drift.Unknown && len(visible(o)) == 0 {
			rt.Fatal(shown(o))
		}
		if o.Class == drift.InSync && (s.Live.State == drift.Unread || s.Head.State == drift.Unread) {
			rt.Fatal(shown(o))
		}
		for _, d := range o.Differences {
			if d.Reason == "" || d.Forecast.Next.Outcome == "" {
				rt.Fatal(shown(o))
			}
		}
	})
}
