package drift_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/apply"
	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

var (
	day = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	ref = drift.Flow{
		Namespace: "flux-system", Name: "apps", Prune: true, Interval: 10 * time.Minute,
		AppliedRevision: "main@sha1:aaa", HeadRevision: "main@sha1:aaa", ArtifactRevision: "main@sha1:aaa",
		ArtifactUpdated: day.Add(-time.Hour),
	}
)

// world is one object in a cluster, written the way the API server writes it: whoever changes a field owns it from then on.
type world struct {
	t       testing.TB
	sc      *schema.Object
	head    map[string]any
	live    map[string]any
	writers []*writer
}

// writer is an entry of managedFields.
type writer struct {
	manager, operation, subresource string
	at                              time.Time
	owned                           map[string]tree.Path
}

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	j, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var raw any
	if err := d.Decode(&raw); err != nil {
		t.Fatal(err)
	}
	v, err := tree.Normalize(raw)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("no object: %s", text)
	}
	return m
}

// kinds are the objects of testdata/kinds.yaml.
func kinds(t testing.TB) []map[string]any {
	t.Helper()
	f, err := os.Open("testdata/kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err := cmpErr(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, doc := range strings.Split(string(b), "\n---\n") {
		out = append(out, parse(t, doc))
	}
	return out
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var documents []*schema.Document

// described finds the schema of an object: a usual kind's or the Widget's.
func described(t testing.TB, object map[string]any) *schema.Object {
	t.Helper()
	if documents == nil {
		builtin, err := schema.Builtin()
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile("testdata/widget.json")
		if err != nil {
			t.Fatal(err)
		}
		custom, err := schema.FromOpenAPI(parse(t, string(b)))
		if err != nil {
			t.Fatal(err)
		}
		documents = []*schema.Document{builtin, custom}
	}
	group, version, ok := strings.Cut(tree.Text(object, "apiVersion"), "/")
	if !ok {
		group, version = "", group
	}
	for _, d := range documents {
		if o, ok := d.Object(group, version, tree.Text(object, "kind")); ok {
			return &o
		}
	}
	t.Fatalf("no schema of %s", tree.Text(object, "kind"))
	return nil
}

// applied is a world in which Flux has applied what git says.
func applied(t testing.TB, text string) *world { return appliedObject(t, parse(t, text)) }

func appliedObject(t testing.TB, head map[string]any) *world {
	w := &world{t: t, sc: described(t, head), head: head}
	config := normalizedByFlux(head)
	w.live, _ = tree.Copy(config).(map[string]any)
	fill(w.sc.Root, w.live)
	meta := tree.Map(w.live, "metadata")
	labels := tree.Map(meta, "labels")
	if labels == nil {
		labels = map[string]any{}
		meta["labels"] = labels
	}
	labels[apply.Group+"/name"], labels[apply.Group+"/namespace"] = ref.Name, ref.Namespace
	meta["uid"], meta["resourceVersion"], meta["creationTimestamp"] = "u-1", "7", "2026-11-30T10:00:00Z"
	w.live["status"] = map[string]any{"observedGeneration": int64(1)}
	flux := &writer{manager: owner.KustomizeController, operation: "Apply", at: day.Add(-2 * time.Hour), owned: map[string]tree.Path{}}
	for _, p := range apply.ConfigSet(config, w.sc.Root).Paths() {
		if p.String() != "apiVersion" && p.String() != "kind" && p.String() != "metadata.name" && p.String() != "metadata.namespace" {
			flux.owned[p.String()] = p
		}
	}
	w.writers = []*writer{flux}
	return w
}

// normalizedByFlux is the object with a Secret's stringData as data, as Flux sends it.
func normalizedByFlux(head map[string]any) map[string]any {
	out, _ := tree.Copy(head).(map[string]any)
	if text := tree.Map(out, "stringData"); text != nil {
		data := tree.Map(out, "data")
		if data == nil {
			data = map[string]any{}
			out["data"] = data
		}
		for k, v := range text {
			data[k] = encode(v.(string))
		}
		delete(out, "stringData")
	}
	return out
}

// fill puts in what the server fills in, which nobody owns.
func fill(n *schema.Node, v any) {
	switch v := v.(type) {
	case map[string]any:
		if n != nil && n.Kind == schema.Struct {
			for name, f := range n.Fields {
				if _, has := v[name]; has || f == nil || f.Default == nil {
					continue
				}
				if _, depends := f.Default.(schema.Filled); depends {
					continue
				}
				v[name] = tree.Copy(f.Default)
			}
		}
		for name, item := range v {
			f, _ := n.Field(name)
			fill(f, item)
		}
	case []any:
		for _, item := range v {
			fill(n.Item(), item)
		}
	}
}

// writes lets a manager set a field, or take it away where v is nil, and moves the ownership.
func (w *world) writes(manager, subresource, field string, v any) *world {
	w.t.Helper()
	p, err := tree.ParsePath(field)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.writesPath(manager, subresource, p, v)
}

func (w *world) writesPath(manager, subresource string, p tree.Path, v any) *world {
	w.t.Helper()
	if v == nil {
		w.live, _ = without(w.sc.Root, w.live, p).(map[string]any)
		for _, other := range w.writers {
			maps.DeleteFunc(other.owned, func(_ string, owned tree.Path) bool { return owned.HasPrefix(p) })
		}
		return w
	}
	w.live, _ = with(w.t, w.sc.Root, w.live, p, v).(map[string]any)
	moved := w.moved(p, v)
	for _, other := range w.writers {
		for _, m := range moved {
			delete(other.owned, m.String())
		}
	}
	entry := w.entry(manager, subresource)
	for _, m := range moved {
		entry.owned[m.String()] = m
	}
	return w
}

// moved are the members that change hands when a field is written: the field, or the whole that it is part of.
func (w *world) moved(p tree.Path, v any) []tree.Path {
	n := w.sc.Root
	at := any(w.live)
	for i := range p {
		if i > 0 && n.Indivisible(at) {
			return []tree.Path{p[:i]}
		}
		at, _ = n.Get(at, p[i:i+1])
		n = n.At(p[i : i+1])
	}
	var out []tree.Path
	if _, byName := p[len(p)-1].Field(); !byName {
		out = append(out, p)
	}
	for _, below := range apply.ConfigSet(v, n).Paths() {
		out = append(out, append(slices.Clone(p), below...))
	}
	return out
}

func (w *world) entry(manager, subresource string) *writer {
	for _, e := range w.writers {
		if e.manager == manager && e.subresource == subresource && e.operation == "Update" {
			return e
		}
	}
	e := &writer{manager: manager, operation: "Update", subresource: subresource, at: day.Add(-time.Minute), owned: map[string]tree.Path{}}
	if subresource == "scale" {
		e.at = time.Time{} // the API gives none
	}
	w.writers = append(w.writers, e)
	return e
}

func with(t testing.TB, n *schema.Node, v any, p tree.Path, to any) any {
	if len(p) == 0 {
		return to
	}
	t.Helper()
	if name, ok := p[0].Field(); ok {
		m := maps.Clone(v.(map[string]any))
		f, _ := n.Field(name)
		var next any = map[string]any{}
		if old, ok := m[name]; ok {
			next = old
		} else if _, ok := p[min(1, len(p)-1)].Field(); !ok {
			next = []any{}
		}
		m[name] = with(t, f, next, p[1:], to)
		return m
	}
	items := slices.Clone(v.([]any))
	for i, item := range items {
		if step, ok := n.ItemStep(item); ok && step == p[0] {
			items[i] = with(t, n.Item(), item, p[1:], to)
			return items
		}
	}
	if i, ok := p[0].Index(); ok && i < len(items) {
		items[i] = with(t, n.Item(), items[i], p[1:], to)
		return items
	}
	return append(items, with(t, n.Item(), map[string]any{}, p[1:], to))
}

func without(n *schema.Node, v any, p tree.Path) any {
	if name, ok := p[0].Field(); ok {
		m := maps.Clone(v.(map[string]any))
		if len(p) == 1 {
			delete(m, name)
			return m
		}
		f, _ := n.Field(name)
		m[name] = without(f, m[name], p[1:])
		return m
	}
	items := slices.Clone(v.([]any))
	for i, item := range items {
		step, keyed := n.ItemStep(item)
		place, _ := p[0].Index()
		if keyed && step == p[0] || !keyed && place == i {
			if len(p) == 1 {
				return slices.Delete(items, i, i+1)
			}
			items[i] = without(n.Item(), item, p[1:])
		}
	}
	return items
}

// object is the live object with its managedFields.
func (w *world) object() map[string]any {
	out, _ := tree.Copy(w.live).(map[string]any)
	var list []any
	for _, e := range w.writers {
		if len(e.owned) == 0 {
			continue
		}
		entry := map[string]any{
			"apiVersion": out["apiVersion"], "fieldsType": "FieldsV1", "manager": e.manager, "operation": e.operation,
			"fieldsV1": fieldsV1(slices.Collect(maps.Values(e.owned))),
		}
		if !e.at.IsZero() {
			entry["time"] = e.at.Format(time.RFC3339)
		}
		if e.subresource != "" {
			entry["subresource"] = e.subresource
		}
		list = append(list, entry)
	}
	tree.Map(out, "metadata")["managedFields"] = list
	return out
}

func fieldsV1(paths []tree.Path) map[string]any {
	root := map[string]any{}
	for _, p := range paths {
		at := root
		for _, step := range p {
			next, ok := at[string(step)].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[string(step)] = next
			}
			at = next
		}
		at["."] = map[string]any{}
	}
	return root
}

// side is a side that has the object.
func side(t testing.TB, object map[string]any) drift.Side {
	t.Helper()
	if object == nil {
		return drift.Side{State: drift.Missing}
	}
	c, err := drift.NewContent(object)
	if err != nil {
		t.Fatal(err)
	}
	return drift.Side{State: drift.There, Content: c}
}

// subject is the object with head as applied.
func (w *world) subject() drift.Subject {
	return drift.Subject{
		Identity: drift.IdentityOf(w.head), Head: side(w.t, w.head), Applied: side(w.t, w.head), Live: side(w.t, w.object()),
		Schema: w.sc, Listed: true,
	}
}

// judge judges one subject under the usual conditions, changed by the functions.
func judge(s drift.Subject, change ...func(*drift.Input)) drift.Object {
	in := drift.Input{Now: day, Flow: ref, Subjects: []drift.Subject{s}}
	for _, c := range change {
		c(&in)
	}
	return drift.Judge(in)[0]
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
