package apply_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/drift/apply"
	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

// referenceCase is an apply that sigs.k8s.io/structured-merge-diff v6, the library of the API server, made: the object
// and its owners after some random updates, what was applied, and what came out.
type referenceCase struct {
	Kind          string         `json:"kind"`
	Config        map[string]any `json:"config"`
	Live          map[string]any `json:"live"`
	ManagedFields []any          `json:"managedFields"`
	After         map[string]any `json:"after"`
}

func reference(t *testing.T) []referenceCase {
	t.Helper()
	f, err := os.Open("testdata/reference.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []referenceCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c referenceCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		c.Config, c.Live, c.After = normal(t, c.Config), normal(t, c.Live), normal(t, c.After)
		tree.Map(c.Live, "metadata")["managedFields"] = c.ManagedFields
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

func normal(t *testing.T, v map[string]any) map[string]any {
	t.Helper()
	n, err := tree.Normalize(v)
	if err != nil {
		t.Fatal(err)
	}
	return n.(map[string]any)
}

// compact leaves out empty maps and lists, about which the reference has no opinion.
func compact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			if c := compact(item); !tree.Empty(c) {
				out[k] = c
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, compact(item))
		}
		return out
	}
	return v
}

func builtin(t *testing.T) *schema.Document {
	t.Helper()
	d, err := schema.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func input(t *testing.T, d *schema.Document, c referenceCase) apply.Input {
	t.Helper()
	group, version, ok := strings.Cut(tree.Text(c.Config, "apiVersion"), "/")
	if !ok {
		group, version = "", group
	}
	o, ok := d.Object(group, version, c.Kind)
	if !ok {
		t.Fatalf("no schema of %s", c.Kind)
	}
	fields, err := owner.Read(c.Live)
	if err != nil {
		t.Fatal(err)
	}
	live := tree.Copy(c.Live).(map[string]any)
	delete(tree.Map(live, "metadata"), "managedFields")
	return apply.Input{Live: live, Config: c.Config, Schema: o, Fields: fields}
}

// The prediction is what the API server's own library makes of the same apply.
func TestAgainstTheReference(t *testing.T) {
	cases := reference(t)
	if len(cases) < 80 {
		t.Fatalf("%d cases", len(cases))
	}
	blind := 0
	d := builtin(t)
	same := func(o schema.Object, a, b any) bool { return schema.Equal(o.Root, compact(a), compact(b), true) }
	for i, c := range cases {
		in := input(t, d, c)
		got := apply.Predict(in)
		if !got.Applied || !same(in.Schema, c.After, got.After) {
			t.Errorf("case %d, %s: applied %v\n got %s\nwant %s", i, c.Kind, got.Applied, tree.JSON(got.After), tree.JSON(c.After))
		}
		in.Fields = owner.Fields{}
		if without := apply.Predict(in); !same(in.Schema, c.After, without.After) {
			blind++
		}
	}
	if blind == 0 {
		t.Error("the owners make no difference in any case, so that the cases show nothing of them")
	}
}

// An apply that would change nothing that the controller looks at is not made.
func TestNothingToApply(t *testing.T) {
	c := referenceCase{
		Kind: "ConfigMap",
		Config: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "finalizers": []any{"x/y"}},
			"data": map[string]any{"a": "1"},
		},
		Live: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "uid": "u"},
			"data": map[string]any{"a": "1", "b": "2"},
		},
		ManagedFields: []any{
			entry("kustomize-controller", "Apply", `{"f:data":{"f:a":{}}}`), entry("console", "Update", `{"f:data":{"f:b":{}}}`),
		},
	}
	tree.Map(c.Live, "metadata")["managedFields"] = c.ManagedFields
	if got := apply.Predict(input(t, builtin(t), c)); got.Applied {
		t.Errorf("finalizers are not looked at: %s", tree.JSON(got.After))
	}
	c.Config["nonsense"] = "x"
	if got := apply.Predict(input(t, builtin(t), c)); got.Applied {
		t.Errorf("what the server has no place for is no reason: %s", tree.JSON(got.After))
	}
	c.ManagedFields = append(c.ManagedFields, entry("kubectl-label", "Update", `{"f:metadata":{"f:labels":{"f:gone":{}}}}`))
	tree.Map(c.Live, "metadata")["managedFields"] = c.ManagedFields
	got := apply.Predict(input(t, builtin(t), c))
	if !got.Applied || tree.Text(got.After, "data", "b") != "2" || len(tree.List(got.After, "metadata", "finalizers")) != 1 {
		t.Errorf("taking over is a reason to apply: %v, %s", got.Applied, tree.JSON(got.After))
	}
	tree.Map(c.Config, "metadata")["annotations"] = map[string]any{apply.Group + "/ssa": "merge"}
	tree.Map(c.Live, "metadata")["annotations"] = map[string]any{apply.Group + "/ssa": "merge"}
	if got := apply.Predict(input(t, builtin(t), c)); got.Applied {
		t.Errorf("with ssa: Merge nothing is taken over: %s", tree.JSON(got.After))
	}
}

func entry(manager, operation, fields string) map[string]any {
	var f any
	if err := json.Unmarshal([]byte(fields), &f); err != nil {
		panic(err)
	}
	return map[string]any{"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": f}
}

func TestWhatTheControllerTakesOff(t *testing.T) {
	c := referenceCase{
		Kind:   "ConfigMap",
		Config: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"a": "1"}},
		Live: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "1"},
			"metadata": map[string]any{"name": "a", "annotations": map[string]any{
				"kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "x",
			}},
		},
		ManagedFields: []any{entry("kustomize-controller", "Apply", `{"f:data":{"f:a":{}}}`)},
	}
	tree.Map(c.Live, "metadata")["managedFields"] = c.ManagedFields
	got := apply.Predict(input(t, builtin(t), c))
	annotations := tree.Map(got.After, "metadata", "annotations")
	if !got.Applied || len(annotations) != 1 || annotations["kept"] != "x" {
		t.Errorf("%v, %v", got.Applied, annotations)
	}
}

// A declared struct that git no longer says anything of goes with what the server filled in there; with another's field
// in it, only what git said goes.
func TestAStructGoesWithWhatWasFilledIn(t *testing.T) {
	object := func(probe map[string]any) map[string]any {
		c := map[string]any{"name": "c", "image": "i"}
		if probe != nil {
			c["livenessProbe"] = probe
		}
		return map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"},
			"spec": map[string]any{"containers": []any{c}},
		}
	}
	const flux = `{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:image":{},"f:livenessProbe":{"f:httpGet":{"f:port":{}}}}}}}`
	live := map[string]any{"httpGet": map[string]any{"port": int64(80), "scheme": "HTTP"}, "timeoutSeconds": int64(1)}
	c := referenceCase{Kind: "Pod", Config: object(nil), Live: object(live), ManagedFields: []any{entry("kustomize-controller", "Apply", flux)}}
	probe := func() any {
		tree.Map(c.Live, "metadata")["managedFields"] = c.ManagedFields
		got := apply.Predict(input(t, builtin(t), c))
		container, _ := tree.List(got.After, "spec", "containers")[0].(map[string]any)
		return container["livenessProbe"]
	}
	if got := probe(); got != nil {
		t.Errorf("left: %s", tree.JSON(got))
	}
	const console = `{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:livenessProbe":{"f:timeoutSeconds":{}}}}}}`
	c.ManagedFields = append(c.ManagedFields, entry("console", "Update", console))
	if got := probe(); tree.Field(got, "timeoutSeconds") != int64(1) || tree.Field(got, "httpGet") != nil {
		t.Errorf("left: %s", tree.JSON(got))
	}
}
