package drift_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/tree"
)

// recorded is an object that a real API server holds, with its managedFields.
func recorded(t *testing.T, name string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("owner", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]any
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	v, err := tree.Normalize(raw)
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// Objects as a real cluster had them after a real Flux had applied them and somebody had written.
func TestRecordedObjects(t *testing.T) {
	const settings = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: demo}, data: {color: blue, level: info}}"
	const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: demo, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.27", resources: {limits: {memory: 64Mi}}}]}
`
	type want struct {
		class   drift.Class
		outcome drift.Outcome
		by      string
	}
	for _, c := range []struct {
		file string
		head string
		want map[string]want
	}{
		{"flux-cm-initial.json", settings, nil},
		{"flux-cm-after-revert.json", "{apiVersion: v1, kind: ConfigMap, metadata: {name: alt, namespace: default}, data: {a: '1'}}", nil},
		{"flux-cm-then-patch.json", settings, map[string]want{
			"data.color": {drift.Unclaimed, drift.Reverted, "kubectl-patch"},
			"data.extra": {drift.Unclaimed, drift.Survives, "console"},
		}},
		{"flux-cm-then-edit.json", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: demo}, data: {a: '1'}}", map[string]want{
			"data.extra": {drift.Unclaimed, drift.Reverted, "kubectl-edit"},
		}},
		{"flux-deploy-initial.json", web, nil},
		{"flux-deploy-ready.json", web, nil},
		{"flux-deploy-then-scale.json", web, map[string]want{"spec.replicas": {drift.Unclaimed, drift.Reverted, "kubectl"}}},
	} {
		live := recorded(t, c.file)
		head := parse(t, c.head)
		// The samples were taken at several revisions of one repository: git says what Flux still owns, as it is.
		for _, name := range []string{"color", "level", "a"} {
			if owned(live, name) {
				tree.Map(head, "data")[name] = tree.Field(live, "data", name)
			}
		}
		if spec := tree.Map(live, "spec"); spec != nil && len(c.want) == 0 {
			tree.Map(head, "spec")["replicas"] = spec["replicas"]
		}
		tree.Map(head, "metadata")["name"] = tree.Text(live, "metadata", "name")
		tree.Map(head, "metadata")["namespace"] = tree.Text(live, "metadata", "namespace")
		s := drift.Subject{
			Identity: drift.IdentityOf(live), Head: side(t, head), Applied: side(t, head), Live: side(t, live),
			Schema: described(t, live), Listed: true,
		}
		o := judge(s, func(in *drift.Input) {
			in.Flow.Name = tree.Text(live, "metadata", "labels", "kustomize.toolkit.fluxcd.io/name")
			in.Flow.Namespace = tree.Text(live, "metadata", "labels", "kustomize.toolkit.fluxcd.io/namespace")
		})
		if got := len(visible(o)); got != len(c.want) {
			t.Errorf("%s: %d differences, want %d: %s", c.file, got, len(c.want), shown(o))
		}
		for field, w := range c.want {
			d := at(o, field)
			if d == nil || d.Class != w.class || d.Forecast.Next.Outcome != w.outcome || len(d.Owners) != 1 || d.Owners[0].Manager != w.by {
				t.Errorf("%s: %s: %+v, want %+v: %s", c.file, field, d, w, shown(o))
			}
		}
	}
}

// owned says whether Flux owns the key of a ConfigMap.
func owned(live map[string]any, name string) bool {
	for _, raw := range tree.List(live, "metadata", "managedFields") {
		if tree.Text(raw, "manager") == "kustomize-controller" && tree.Field(raw, "fieldsV1", "f:data", "f:"+name) != nil {
			return true
		}
	}
	return false
}

// Writers that own a field by design make no noise, and only there.
func TestKnownMutators(t *testing.T) {
	const webhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks:
- name: guard.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: guard, namespace: demo}}
`
	for name, c := range map[string]struct {
		head, manager, subresource, field string
		value                             any
		want                              drift.Class
	}{
		"an autoscaler's size":              {deployment, "kube-controller-manager", "scale", "spec.replicas", int64(7), drift.InSync},
		"an autoscaler's size, left by git": {withoutReplicas, "kube-controller-manager", "scale", "spec.replicas", int64(7), drift.InSync},
		"a hand's size":                     {deployment, "kubectl", "scale", "spec.replicas", int64(7), drift.Unclaimed},
		"an autoscaler's image":             {deployment, "keda-operator", "", "spec.template.spec.containers[name=web].image", "x", drift.Unclaimed},
		"a vertical autoscaler's limit":     {deployment, "vpa-updater", "", "spec.template.spec.containers[name=web].resources.limits.memory", "1Gi", drift.InSync},
		"a controller's annotation":         {deployment, "kube-controller-manager", "status", `metadata.annotations["deployment.kubernetes.io/revision"]`, "3", drift.InSync},
		"a hand's annotation":               {deployment, "kubectl-annotate", "", `metadata.annotations["deployment.kubernetes.io/revision"]`, "3", drift.Unclaimed},
		"an operator beside git":            {configMap, "some-operator", "", "metadata.annotations.seen", "yes", drift.InSync},
		"an operator against git":           {configMap, "some-operator", "", "data.color", "red", drift.Unclaimed},
		"an injected bundle":                {webhook, "cainjector", "", `webhooks[name="guard.example.com"].clientConfig.caBundle`, "YWJj", drift.InSync},
		"an injected bundle, by whom ever":  {webhook, "our-injection", "", `webhooks[name="guard.example.com"].clientConfig.caBundle`, "YWJj", drift.InSync},
		"a bundle by hand":                  {webhook, "kubectl-edit", "", `webhooks[name="guard.example.com"].clientConfig.caBundle`, "YWJj", drift.Unclaimed},
		"helm beside git":                   {configMap, "helm", "", "metadata.annotations.release", "yes", drift.Unclaimed},
		"a finalizer of a controller":       {configMap, "whoever", "", `metadata.finalizers[="a/b"]`, "a/b", drift.InSync},
		"a finalizer by hand":               {configMap, "kubectl-edit", "", `metadata.finalizers[="a/b"]`, "a/b", drift.Unclaimed},
	} {
		w := applied(t, c.head)
		w.writes(c.manager, c.subresource, c.field, c.value)
		o := judge(w.subject())
		if o.Class != c.want || len(o.Differences) != 1 {
			t.Errorf("%s: want %s: %s", name, c.want, shown(o))
		}
	}
}

// Two writers of one field: one of them being known by design excuses nothing.
func TestAMutatorExcusesNobodyElse(t *testing.T) {
	w := applied(t, withoutReplicas)
	w.writes("kube-controller-manager", "scale", "spec.replicas", int64(7))
	p, err := tree.ParsePath("spec.replicas")
	if err != nil {
		t.Fatal(err)
	}
	w.entry("kubectl-edit", "").owned["spec.replicas"] = p
	if o := judge(w.subject()); o.Class != drift.Unclaimed || len(o.Differences[0].Owners) != 2 {
		t.Error(shown(o))
	}
}

// What a first "kubectl apply" or "kubectl create" owns of what the server filled in is nobody's wish; what somebody else
// set there is.
func TestFilledInAndOwned(t *testing.T) {
	service := "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: demo}, spec: {ports: [{port: 80}]}}"
	for name, c := range map[string]struct {
		manager, field string
		value          any
		want           drift.Class
	}{
		"an address of the first apply": {"kubectl-client-side-apply", "spec.clusterIP", "10.0.0.1", drift.InSync},
		"an address of a create":        {"kubectl-create", "spec.clusterIP", "10.0.0.1", drift.InSync},
		"an address of an edit":         {"kubectl-edit", "spec.clusterIP", "10.0.0.1", drift.Unclaimed},
		"a port of the first apply":     {"kubectl-client-side-apply", "spec.ports[port=80,protocol=TCP].nodePort", int64(30000), drift.InSync},
		"a port of an edit":             {"kubectl-edit", "spec.ports[port=80,protocol=TCP].nodePort", int64(30000), drift.Unclaimed},
		"another type":                  {"kubectl-client-side-apply", "spec.type", "NodePort", drift.Unclaimed},
		"the type that it has anyway":   {"kubectl-edit", "spec.type", "ClusterIP", drift.InSync},
	} {
		w := applied(t, service)
		w.writes(c.manager, "", c.field, c.value)
		if o := judge(w.subject()); o.Class != c.want {
			t.Errorf("%s: want %s: %s", name, c.want, shown(o))
		}
	}
}

// Custom resources: what the server prunes, preserves, stores as written.
func TestCustomResources(t *testing.T) {
	const widget = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: demo}
spec:
  free: {anything: [1, 2]}
  parts: [{id: a, "on": false}]
  nonsense: pruned
`
	w := applied(t, widget)
	delete(tree.Map(w.live, "spec"), "nonsense")
	if o := judge(w.subject()); o.Class != drift.InSync || len(o.Differences) > 0 {
		t.Errorf("what the server has no place for is pruned: %s", shown(o))
	}
	w.writes("kubectl-edit", "", "spec.free.more", "x")
	if d := at(judge(w.subject()), "spec.free.more"); d == nil || d.Class != drift.Unclaimed || d.Forecast.Next.Outcome != drift.Reverted {
		t.Errorf("what is preserved is compared: %+v", d)
	}
	w.writes("console", "", "spec.free.anything", []any{int64(2), int64(1)})
	if d := at(judge(w.subject()), "spec.free.anything"); d == nil {
		t.Error("the order of a list that nobody described counts")
	}
	w.writes("kubectl-edit", "", "spec.parts[id=a].on", nil)
	if d := at(judge(w.subject()), "spec.parts[id=a].on"); d == nil || d.Change != drift.Removed {
		t.Errorf("a stored zero that was taken away is missing: %+v", d)
	}
}

// Without a schema, managedFields still say which lists are kept by key; where nothing says, order counts.
func TestWithoutASchema(t *testing.T) {
	w := applied(t, `
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: demo}
spec: {parts: [{id: a, "on": true}, {id: b, "on": true}], tags: [a, b]}
`)
	spec := tree.Map(w.live, "spec")
	spec["parts"] = []any{tree.List(spec, "parts")[1], tree.List(spec, "parts")[0]}
	spec["tags"] = []any{"b", "a"}
	delete(spec, "size") // nobody knows what the server filled in
	s := w.subject()
	s.Schema = nil
	if o := judge(s); o.Class != drift.InSync {
		t.Error(shown(o))
	}
	w.writes("kubectl-edit", "", "spec.parts[id=a].on", false)
	s = w.subject()
	s.Schema = nil
	if d := at(judge(s), "spec.parts[id=a].on"); d == nil || d.Class != drift.Unclaimed {
		t.Errorf("%+v", d)
	}
}

// A dump without managedFields: what git says is still compared, what only the cluster has is unknown, but where the
// server never fills anything in.
func TestWithoutManagedFields(t *testing.T) {
	bare := func(w *world) drift.Subject {
		s := w.subject()
		object := w.object()
		delete(tree.Map(object, "metadata"), "managedFields")
		s.Live = side(t, object)
		return s
	}
	for name, c := range map[string]struct {
		head, field string
		value       any
		want        drift.Class
		outcome     drift.Outcome
	}{
		"untouched":                {deployment, "", nil, drift.InSync, ""},
		"a changed field":          {deployment, "spec.replicas", int64(5), drift.Unclaimed, drift.Reverted},
		"a key more":               {configMap, "data.extra", "x", drift.Unclaimed, drift.Unsure},
		"a label more":             {configMap, "metadata.labels.x", "y", drift.Unclaimed, drift.Unsure},
		"a field more":             {deployment, "spec.template.spec.nodeName", "n1", drift.Unknown, drift.Unsure},
		"a controller's note":      {deployment, `metadata.annotations["deployment.kubernetes.io/revision"]`, "1", drift.InSync, ""},
		"something it is not told": {deployment, "spec.template.spec.containers[name=x]", container("x", "y"), drift.Unknown, drift.Unsure},
	} {
		w := applied(t, c.head)
		if c.field != "" {
			w.writes("kubectl-edit", "", c.field, c.value)
		}
		o := judge(bare(w))
		if o.Class != c.want {
			t.Errorf("%s: want %s: %s", name, c.want, shown(o))
		}
		if c.outcome != "" && at(o, c.field).Forecast.Next.Outcome != c.outcome {
			t.Errorf("%s: want %s: %s", name, c.outcome, shown(o))
		}
	}
}

func TestAnotherVersionIsUnknown(t *testing.T) {
	s := applied(t, deployment).subject()
	old := parse(t, deployment)
	old["apiVersion"] = "apps/v1beta1"
	s.Head = side(t, old)
	if o := judge(s); o.Class != drift.Unknown || !strings.Contains(o.Reason, "apps/v1beta1") {
		t.Error(shown(o))
	}
}

// Two Kustomizations render one object: each sets its own, and the report names the other.
func TestTwoOwners(t *testing.T) {
	head := parse(t, configMap)
	tree.Map(head, "data")["color"] = "green"
	w := applied(t, configMap) // as the other one applied it
	labels := tree.Map(w.live, "metadata", "labels")
	labels["kustomize.toolkit.fluxcd.io/name"] = "other"
	s := w.subject()
	s.Head, s.Others = side(t, head), []string{"flux-system/other"}
	o := judge(s)
	d := at(o, "data.color")
	if o.Class != drift.Unclaimed || d == nil || d.Forecast.Next.Outcome != drift.Reverted || !strings.Contains(d.Forecast.Next.Why, "flux-system/other") {
		t.Error(shown(o))
	}
}

// An object that a hand created and no Flux has applied yet: what adopting it would change.
func TestNotYetFlux(t *testing.T) {
	w := applied(t, deployment)
	w.writers[0].manager, w.writers[0].operation = "kubectl-client-side-apply", "Update"
	delete(tree.Map(w.live, "metadata"), "labels")
	w.writes("kubectl-client-side-apply", "", "spec.revisionHistoryLimit", int64(10))
	if o := judge(w.subject(), func(in *drift.Input) { in.Flow.AppliedRevision = "" }); o.Class != drift.InSync {
		t.Errorf("an identical object is in sync: %s", shown(o))
	}
	w.writes("kubectl-client-side-apply", "", "spec.revisionHistoryLimit", int64(3))
	w.writes("kubectl-client-side-apply", "", "spec.replicas", int64(9))
	s := w.subject()
	s.Applied = drift.Side{}
	o := judge(s, func(in *drift.Input) { in.Flow.AppliedRevision = "" })
	for _, field := range []string{"spec.revisionHistoryLimit", "spec.replicas"} {
		if d := at(o, field); d == nil || d.Class != drift.Unclaimed || d.Forecast.Next.Outcome != drift.Reverted {
			t.Errorf("%s: %s", field, shown(o))
		}
	}
}

// The rules of an aggregated role are the aggregation controller's.
func TestAggregatedRoles(t *testing.T) {
	const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {all: "true"}}]}
rules: []
`
	rules := []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}}}
	for manager, want := range map[string]drift.Class{"clusterrole-aggregation-controller": drift.InSync, "other-controller": drift.Unclaimed} {
		w := applied(t, role)
		w.writes(manager, "", "rules", rules)
		if o := judge(w.subject()); o.Class != want {
			t.Errorf("%s: want %s: %s", manager, want, shown(o))
		}
	}
}

// A StatefulSet's claims have fields that the server fills in; they are neither a difference nor a refused change.
func TestClaimsOfAStatefulSet(t *testing.T) {
	const db = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: demo}
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "postgres:17"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
	filled := func(w *world) {
		claim, _ := tree.List(w.live, "spec", "volumeClaimTemplates")[0].(map[string]any)
		claim["apiVersion"], claim["kind"], claim["status"] = "v1", "PersistentVolumeClaim", map[string]any{"phase": "Pending"}
	}
	for name, c := range map[string]struct {
		manager, operation string
		managedFields      bool
	}{
		"applied by Flux":        {"kustomize-controller", "Apply", true},
		"created by kubectl":     {"kubectl-client-side-apply", "Update", true},
		"without managed fields": {"kustomize-controller", "Apply", false},
	} {
		w := applied(t, db)
		filled(w)
		w.writers[0].manager, w.writers[0].operation = c.manager, c.operation
		w.writes("kubectl-set", "", "spec.template.spec.containers[name=db].image", "postgres:18")
		s := w.subject()
		if !c.managedFields {
			object := w.object()
			delete(tree.Map(object, "metadata"), "managedFields")
			s.Live = side(t, object)
		}
		o := judge(s)
		if len(visible(o)) != 1 || visible(o)[0].Forecast.Next.Outcome != drift.Reverted || !visible(o)[0].Forecast.Next.RollsPods {
			t.Errorf("%s: %s", name, shown(o))
		}
	}
	w := applied(t, db)
	filled(w)
	larger := parse(t, strings.Replace(db, "storage: 1Gi", "storage: 2Gi", 1))
	s := w.subject()
	s.Head = side(t, larger)
	o := judge(s, moved)
	if d := visible(o); len(d) != 1 || d[0].Forecast.Next.Outcome != drift.Survives || !strings.Contains(d[0].Forecast.Next.Why, "volumeClaimTemplates") {
		t.Error(shown(o))
	}
}

// What admission adds while Flux applies is owned by nobody, and no difference; the same with an owner is one.
func TestWhatAdmissionAdds(t *testing.T) {
	const pod = "spec.template.spec"
	for field, v := range map[string]any{
		pod + ".containers[name=proxy]":       container("proxy", "envoy:1"),
		pod + ".nodeSelector":                 map[string]any{"pool": "a"},
		pod + ".runtimeClassName":             "gvisor",
		"metadata.annotations.injected":       "yes",
		"metadata.labels.injected":            "yes",
		pod + ".containers[name=web].tty":     true,
		pod + ".containers[name=web].command": []any{"a"},
	} {
		w := applied(t, deployment)
		w.writes("kubectl-edit", "", field, v)
		if o := judge(w.subject()); o.Class != drift.Unclaimed {
			t.Errorf("%s by hand: %s", field, shown(o))
		}
		w.writers = w.writers[:1] // nobody owns it
		if o := judge(w.subject()); o.Class != drift.InSync || len(o.Differences) > 0 {
			t.Errorf("%s at admission: %s", field, shown(o))
		}
	}
}

// Inside a whole that Flux alone owns, what git does not say was filled in, unless what was applied said it; once somebody
// else owns the whole, it is an edit.
func TestInsideAWhole(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: demo}, spec: {containers: [{name: c}], tolerations: [{key: a}]}}"
	const at = "spec.tolerations[0].tolerationSeconds"
	fill := func(w *world) {
		toleration, _ := tree.List(w.live, "spec", "tolerations")[0].(map[string]any)
		toleration["tolerationSeconds"] = int64(30)
	}
	w := applied(t, pod)
	fill(w)
	if o := judge(w.subject()); o.Class != drift.InSync || len(o.Differences) > 0 {
		t.Errorf("filled in: %s", shown(o))
	}
	s := w.subject()
	s.Applied = side(t, parse(t, strings.Replace(pod, "{key: a}", "{key: a, tolerationSeconds: 30}", 1)))
	if o := judge(s, moved); o.Class != drift.Pending || o.Differences[0].Field != at {
		t.Errorf("git no longer says it: %s", shown(o))
	}
	w.writes("kubectl-edit", "", at, int64(30))
	if o := judge(w.subject()); o.Class != drift.Unclaimed || o.Differences[0].Field != at {
		t.Errorf("edited: %s", shown(o))
	}
}
