package schema_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

func value(t *testing.T, text string) any {
	t.Helper()
	var raw any
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		t.Fatal(err)
	}
	v, err := tree.Normalize(raw)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func builtin(t *testing.T, group, version, kind string) schema.Object {
	t.Helper()
	d, err := schema.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	o, ok := d.Object(group, version, kind)
	if !ok {
		t.Fatalf("%s is not built in", kind)
	}
	return o
}

func at(t *testing.T, o schema.Object, path string) *schema.Node {
	t.Helper()
	p, err := tree.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	n := o.Root.At(p)
	if n == nil {
		t.Fatalf("%s is not described", path)
	}
	return n
}

func TestBuiltinKinds(t *testing.T) {
	d, err := schema.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range [][3]string{
		{"", "v1", "ConfigMap"},
		{"", "v1", "Secret"},
		{"", "v1", "Service"},
		{"", "v1", "Namespace"},
		{"", "v1", "Pod"},
		{"apps", "v1", "Deployment"},
		{"apps", "v1", "StatefulSet"},
		{"apps", "v1", "DaemonSet"},
		{"batch", "v1", "Job"},
		{"batch", "v1", "CronJob"},
		{"networking.k8s.io", "v1", "Ingress"},
		{"networking.k8s.io", "v1", "NetworkPolicy"},
		{"rbac.authorization.k8s.io", "v1", "ClusterRole"},
		{"autoscaling", "v2", "HorizontalPodAutoscaler"},
		{"policy", "v1", "PodDisruptionBudget"},
		{"storage.k8s.io", "v1", "StorageClass"},
		{"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"},
		{"apiextensions.k8s.io", "v1", "CustomResourceDefinition"},
		{"apiregistration.k8s.io", "v1", "APIService"},
		{"scheduling.k8s.io", "v1", "PriorityClass"},
		{"coordination.k8s.io", "v1", "Lease"},
	} {
		if o, ok := d.Object(k[0], k[1], k[2]); !ok || o.Root == nil || o.Custom {
			t.Errorf("%v: %v, %v", k, o, ok)
		}
	}
	if _, ok := d.Object("example.com", "v1", "Widget"); ok {
		t.Error("a kind that nobody described was found")
	}
}

func TestWhatTheSchemaSays(t *testing.T) {
	deploy := builtin(t, "apps", "v1", "Deployment")
	containers := at(t, deploy, "spec.template.spec.containers")
	if containers.Lists != schema.ByKey || len(containers.Keys) != 1 || containers.Keys[0] != "name" {
		t.Errorf("containers are kept by name: %+v", containers)
	}
	ports := at(t, deploy, "spec.template.spec.containers[name=c].ports")
	step, ok := ports.ItemStep(value(t, `{"containerPort":80}`))
	if !ok || step != `k:{"containerPort":80,"protocol":"TCP"}` {
		t.Errorf("a port without protocol is a TCP port: %s, %v", step, ok)
	}
	if n := at(t, deploy, "spec.template.spec.containers[name=c].args"); !n.Indivisible([]any{"a"}) {
		t.Error("arguments are one list")
	}
	if n := at(t, deploy, "spec.selector"); !n.Whole {
		t.Error("a selector is one value")
	}
	if n := at(t, deploy, "spec.template.spec.containers[name=c].resources.limits.cpu"); n.Kind != schema.Quantity {
		t.Errorf("a limit is a quantity: %+v", n)
	}
	if n := at(t, deploy, "spec.strategy.rollingUpdate.maxSurge"); n.Kind != schema.IntOrString {
		t.Errorf("maxSurge is a number or a string: %+v", n)
	}
	if n := at(t, deploy, "metadata.finalizers"); n.Lists != schema.Set {
		t.Errorf("finalizers are a set: %+v", n)
	}
	if n := at(t, deploy, "metadata.labels"); n.Kind != schema.Map {
		t.Errorf("labels are a map: %+v", n)
	}
	if _, known := at(t, deploy, "spec").Field("nonsense"); known {
		t.Error("the server has no place for the field")
	}
	crd := builtin(t, "apiextensions.k8s.io", "v1", "CustomResourceDefinition")
	deep := "spec.versions[name=v1].schema.openAPIV3Schema.properties.a.properties.b.items"
	if n := at(t, crd, deep); n == nil {
		t.Error("a schema that holds itself is described at any depth")
	}
}

func TestEqual(t *testing.T) {
	deploy := builtin(t, "apps", "v1", "Deployment")
	pod := "spec.template.spec"
	for name, c := range map[string]struct {
		path, a, b string
		want       bool
	}{
		"quantities":            {pod + ".containers", `[{"name":"a","resources":{"limits":{"cpu":"1000m","memory":"1Gi"}}}]`, `[{"name":"a","resources":{"limits":{"cpu":"1","memory":"1024Mi"}}}]`, true},
		"other quantity":        {pod + ".containers", `[{"name":"a","resources":{"limits":{"cpu":"1"}}}]`, `[{"name":"a","resources":{"limits":{"cpu":"2"}}}]`, false},
		"order of containers":   {pod + ".containers", `[{"name":"a"},{"name":"b"}]`, `[{"name":"b"},{"name":"a"}]`, true},
		"order of arguments":    {pod + ".containers[name=a].args", `["a","b"]`, `["b","a"]`, false},
		"filled in":             {"spec", `{"template":{}}`, `{"template":{},"progressDeadlineSeconds":600,"strategy":{"type":"RollingUpdate","rollingUpdate":null}}`, true},
		"not what is filled in": {"spec", `{"template":{}}`, `{"template":{},"progressDeadlineSeconds":601}`, false},
		"null":                  {"spec", `{"paused":null}`, `{}`, true},
		"a dropped zero":        {"spec", `{"paused":false}`, `{}`, true},
		"a zero that counts":    {"spec", `{"replicas":0}`, `{}`, false},
		"an empty list":         {pod, `{"containers":[]}`, `{}`, true},
		"an empty map":          {"metadata", `{"labels":{}}`, `{}`, true},
		"an empty label":        {"metadata.labels", `{"a":""}`, `{}`, false},
		"an empty source":       {pod + ".volumes", `[{"name":"v","emptyDir":{}}]`, `[{"name":"v"}]`, false},
		"number and string":     {pod + ".containers[name=a].livenessProbe.httpGet", `{"port":80}`, `{"port":"80"}`, false},
		"another kind of value": {"spec", `{"paused":true}`, `{"paused":{}}`, false},
	} {
		n := at(t, deploy, c.path)
		if got := schema.Equal(n, value(t, c.a), value(t, c.b), false); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := schema.Equal(n, value(t, c.b), value(t, c.a), false); got != c.want {
			t.Errorf("%s, the other way: %v", name, got)
		}
	}
}

func TestCustomResources(t *testing.T) {
	b, err := os.ReadFile("../testdata/widget.json")
	if err != nil {
		t.Fatal(err)
	}
	d, err := schema.FromOpenAPI(value(t, string(b)))
	if err != nil {
		t.Fatal(err)
	}
	o, ok := d.Object("example.com", "v1", "Widget")
	if !ok || !o.Custom {
		t.Fatalf("the kind is custom: %v, %v", o, ok)
	}
	spec := at(t, o, "spec")
	for name, c := range map[string]struct {
		a, b string
		want bool
	}{
		"default":          {`{}`, `{"size":3}`, true},
		"not the default":  {`{}`, `{"size":4}`, false},
		"quantity":         {`{"limit":"1000m"}`, `{"limit":1}`, true},
		"int or string":    {`{"port":80}`, `{"port":"80"}`, false},
		"set":              {`{"tags":["a","b"]}`, `{"tags":["b","a"]}`, true},
		"by key":           {`{"parts":[{"id":"a"},{"id":"b"}]}`, `{"parts":[{"id":"b"},{"id":"a"}]}`, true},
		"plain list":       {`{"plain":["a","b"]}`, `{"plain":["b","a"]}`, false},
		"a stored zero":    {`{"parts":[{"id":"a","on":false}]}`, `{"parts":[{"id":"a"}]}`, false},
		"a stored empty":   {`{"whole":{}}`, `{}`, false},
		"null":             {`{"whole":null}`, `{}`, true},
		"free and ordered": {`{"free":{"x":[1,2]}}`, `{"free":{"x":[2,1]}}`, false},
	} {
		if got := schema.Equal(spec, value(t, c.a), value(t, c.b), true); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, known := spec.Field("nonsense"); known {
		t.Error("what the schema does not have is pruned")
	}
	free := at(t, o, "spec.free")
	if _, known := free.Field("nonsense"); !known {
		t.Error("what is preserved is not pruned")
	}
}

func TestFromOpenAPIRefuses(t *testing.T) {
	for _, bad := range []string{`{}`, `{"components":{}}`, `[]`} {
		if d, err := schema.FromOpenAPI(value(t, bad)); err == nil {
			t.Errorf("%s: %v", bad, d)
		}
	}
}

func TestItemsWithoutKeys(t *testing.T) {
	deploy := builtin(t, "apps", "v1", "Deployment")
	ports := at(t, deploy, "spec.template.spec.containers[name=c].ports")
	for name, items := range map[string]string{
		"the same twice": `[{"containerPort":80},{"containerPort":80,"protocol":"TCP"}]`,
		"no map":         `["x"]`,
	} {
		if steps, ok := ports.Steps(value(t, items).([]any)); ok {
			t.Errorf("%s: told apart by %v", name, steps)
		}
	}
}
