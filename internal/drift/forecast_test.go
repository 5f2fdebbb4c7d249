package drift_test

import (
	"testing"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/tree"
)

const configMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: demo}
data: {color: blue, level: "3"}
`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: demo}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "nginx:1.27", resources: {limits: {memory: 64Mi}}}
`

// withoutReplicas is the Deployment that leaves its size to others.
const withoutReplicas = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: demo}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.27"}]}
`

// container is an item of a list by key.
func container(name, image string) map[string]any {
	return map[string]any{"name": name, "image": image}
}

// One write by one manager, and what the next reconcile does to it. The outcomes are what a real kustomize-controller did.
func TestForecastByWriter(t *testing.T) {
	for name, c := range map[string]struct {
		head, manager, subresource, field string
		value                             any
		want                              drift.Outcome
		rolls                             bool
	}{
		"edit of a field in git":            {configMap, "kubectl-edit", "", "data.color", "red", drift.Reverted, false},
		"patch of a field in git":           {configMap, "kubectl-patch", "", "data.color", "red", drift.Reverted, false},
		"replace of a field in git":         {configMap, "kubectl-replace", "", "data.color", "red", drift.Reverted, false},
		"client-side apply":                 {configMap, "kubectl-client-side-apply", "", "data.color", "red", drift.Reverted, false},
		"a console's edit of a git field":   {configMap, "console", "", "data.color", "red", drift.Reverted, false},
		"a key taken away":                  {configMap, "kubectl-edit", "", "data.level", nil, drift.Reverted, false},
		"an extra key by kubectl":           {configMap, "kubectl-edit", "", "data.extra", "x", drift.Reverted, false},
		"an extra key by a console":         {configMap, "console", "", "data.extra", "x", drift.Survives, false},
		"an extra key by another client":    {configMap, "myui", "", "data.extra", "x", drift.Survives, false},
		"an extra label by kubectl label":   {configMap, "kubectl-label", "", "metadata.labels.x", "y", drift.Reverted, false},
		"an extra annotation by kubectl":    {configMap, "kubectl-annotate", "", "metadata.annotations.x", "y", drift.Reverted, false},
		"an extra annotation by a console":  {configMap, "console", "", "metadata.annotations.x", "y", drift.Survives, false},
		"scale of a size in git":            {deployment, "kubectl", "scale", "spec.replicas", int64(7), drift.Reverted, false},
		"scale of a size that git leaves":   {withoutReplicas, "kubectl", "scale", "spec.replicas", int64(7), drift.Survives, false},
		"edit of a size that git leaves":    {withoutReplicas, "kubectl-edit", "", "spec.replicas", int64(7), drift.Reverted, false},
		"set image":                         {deployment, "kubectl-set", "", "spec.template.spec.containers[name=web].image", "nginx:2", drift.Reverted, true},
		"set env":                           {deployment, "kubectl-set", "", "spec.template.spec.containers[name=web].env[name=A]", map[string]any{"name": "A", "value": "1"}, drift.Reverted, true},
		"a console's env":                   {deployment, "console", "", "spec.template.spec.containers[name=web].env[name=A]", map[string]any{"name": "A", "value": "1"}, drift.Survives, false},
		"rollout restart":                   {deployment, "kubectl-rollout", "", `spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`, "2026", drift.Reverted, true},
		"a console's restart":               {deployment, "console", "", `spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`, "2026", drift.Survives, false},
		"paused":                            {deployment, "kubectl-patch", "", "spec.paused", true, drift.Reverted, false},
		"a sidecar by kubectl":              {deployment, "kubectl-edit", "", "spec.template.spec.containers[name=extra]", container("extra", "x:1"), drift.Reverted, true},
		"a sidecar by a console":            {deployment, "console", "", "spec.template.spec.containers[name=extra]", container("extra", "x:1"), drift.Survives, false},
		"another limit":                     {deployment, "kubectl-edit", "", "spec.template.spec.containers[name=web].resources.limits.memory", "128Mi", drift.Reverted, true},
		"a history limit git leaves":        {deployment, "kubectl-edit", "", "spec.revisionHistoryLimit", int64(3), drift.Reverted, false},
		"the same by before-first-apply":    {deployment, "before-first-apply", "", "spec.revisionHistoryLimit", int64(3), drift.Reverted, false},
		"the same by a controller":          {deployment, "some-controller", "", "spec.revisionHistoryLimit", int64(3), drift.Survives, false},
		"the same by helm":                  {deployment, "helm", "", "spec.revisionHistoryLimit", int64(3), drift.Survives, false},
		"Flux' own label":                   {configMap, "kubectl-label", "", `metadata.labels["kustomize.toolkit.fluxcd.io/name"]`, "else", drift.Reverted, false},
		"a finalizer, which Flux overlooks": {configMap, "console", "", `metadata.finalizers[="a/b"]`, "a/b", drift.Survives, false},
	} {
		w := applied(t, c.head)
		w.writes(c.manager, c.subresource, c.field, c.value)
		o := judge(w.subject())
		if len(o.Differences) != 1 {
			t.Errorf("%s: %s", name, shown(o))
			continue
		}
		d := o.Differences[0]
		if d.Field != c.field {
			t.Errorf("%s is found at %s", name, d.Field)
		}
		if e := d.Forecast.Next; e.Outcome != c.want || e.RollsPods != c.rolls {
			t.Errorf("%s: %+v, want %s, rolls %v", name, e, c.want, c.rolls)
		}
	}
}

// What is said on the object or of the Kustomization changes what the next reconcile does.
func TestForecastByMarks(t *testing.T) {
	mark := func(name, value string) map[string]any {
		return map[string]any{"kustomize.toolkit.fluxcd.io/" + name: value}
	}
	for name, c := range map[string]struct {
		git, live map[string]any // annotations
		manager   string
		field     string
		flow      func(*drift.Flow)
		want      drift.Outcome
		resumed   drift.Outcome
	}{
		"reconcile disabled in the cluster":   {live: mark("reconcile", "disabled"), want: drift.Survives},
		"reconcile disabled in git":           {git: mark("reconcile", "Disabled"), want: drift.Survives},
		"reconcile enabled":                   {git: mark("reconcile", "enabled"), want: drift.Reverted},
		"ssa: Ignore":                         {git: mark("ssa", "Ignore"), want: drift.Survives},
		"ssa: IfNotPresent in git":            {git: mark("ssa", "IfNotPresent"), want: drift.Survives},
		"ssa: IfNotPresent in the cluster":    {live: mark("ssa", "IfNotPresent"), want: drift.Reverted},
		"ssa: Merge, of a field in git":       {git: mark("ssa", "Merge"), want: drift.Reverted},
		"ssa: Merge, of an extra field":       {git: mark("ssa", "Merge"), field: "data.extra", want: drift.Survives},
		"no merge, of an extra field":         {field: "data.extra", want: drift.Reverted},
		"suspended":                           {flow: func(f *drift.Flow) { f.Suspended = true }, want: drift.Survives, resumed: drift.Reverted},
		"the build fails":                     {flow: func(f *drift.Flow) { f.Blocked = "the build fails" }, want: drift.Survives},
		"the build failed at another commit":  {flow: func(f *drift.Flow) { f.Blocked, f.BlockedAt = "the build fails", "main@sha1:old" }, want: drift.Reverted},
		"a later stage is refused":            {flow: func(f *drift.Flow) { f.Blocked, f.BlockedStage = "refused", drift.Rest+1 }, want: drift.Reverted},
		"the source fails":                    {flow: func(f *drift.Flow) { f.SourceFailure = "no such host" }, want: drift.Reverted},
		"an override of a console":            {flow: func(f *drift.Flow) { f.Override = []string{"console"} }, manager: "console", field: "data.extra", want: drift.Reverted},
		"ignored":                             {flow: ignore("/data/color", nil), want: drift.Survives},
		"ignored for another kind":            {flow: ignore("/data/color", &drift.IgnoreTarget{Kind: "Secret"}), want: drift.Reverted},
		"ignored for this kind and name":      {flow: ignore("/data/color", &drift.IgnoreTarget{Kind: "Config.*", Name: "set.*"}), want: drift.Survives},
		"ignored for a name within":           {flow: ignore("/data/color", &drift.IgnoreTarget{Name: "set"}), want: drift.Reverted},
		"suspended and disabled in git":       {git: mark("reconcile", "disabled"), flow: func(f *drift.Flow) { f.Suspended = true }, want: drift.Survives, resumed: drift.Survives},
		"the source is stuck at another head": {flow: func(f *drift.Flow) { f.SourceFailure, f.ArtifactRevision = "401", "main@sha1:other" }, want: drift.Unsure},
	} {
		head := parse(t, configMap)
		if c.git != nil {
			tree.Map(head, "metadata")["annotations"] = c.git
		}
		w := appliedObject(t, head)
		if c.live != nil {
			for k, v := range c.live {
				w.writesPath("kubectl-annotate", "", tree.Fields("metadata", "annotations", k), v)
			}
		}
		manager, field := "kubectl-edit", "data.color"
		if c.manager != "" {
			manager = c.manager
		}
		if c.field != "" {
			field = c.field
		}
		w.writes(manager, "", field, "red")
		o := judge(w.subject(), func(in *drift.Input) {
			if c.flow != nil {
				c.flow(&in.Flow)
			}
		})
		d := at(o, field)
		if d == nil {
			t.Errorf("%s: %s", name, shown(o))
			continue
		}
		if got := d.Forecast.Next.Outcome; got != c.want {
			t.Errorf("%s: %+v, want %s", name, d.Forecast.Next, c.want)
		}
		if c.resumed == "" != (d.Forecast.Resumed == nil) {
			t.Errorf("%s: at a resume %+v, want %s", name, d.Forecast.Resumed, c.resumed)
		} else if c.resumed != "" && d.Forecast.Resumed.Outcome != c.resumed {
			t.Errorf("%s: at a resume %+v, want %s", name, *d.Forecast.Resumed, c.resumed)
		}
	}
}

func ignore(pointer string, target *drift.IgnoreTarget) func(*drift.Flow) {
	return func(f *drift.Flow) { f.Ignore = []drift.IgnoreRule{{Paths: []string{pointer}, Target: target}} }
}

func at(o drift.Object, field string) *drift.Difference {
	for i := range o.Differences {
		if o.Differences[i].Field == field {
			return &o.Differences[i]
		}
	}
	return nil
}

func TestConfigHashIsNotReproduced(t *testing.T) {
	w := applied(t, deployment)
	w.writes("kubectl-patch", "", `spec.template.metadata.annotations["example.com/config-hash"]`, "abc")
	o := judge(w.subject())
	e := o.Differences[0].Forecast.Next
	if e.Outcome != drift.Reverted || !e.RollsPods || !e.NotReproduced || e.Why == "" {
		t.Errorf("%+v", e)
	}
	kept := applied(t, deployment)
	kept.writes("rollout-script", "", `spec.template.metadata.annotations["example.com/config-hash"]`, "abc")
	if e := judge(kept.subject()).Differences[0].Forecast.Next; e.Outcome != drift.Survives || e.NotReproduced {
		t.Errorf("what Flux leaves is not lost: %+v", e)
	}
}

func TestPodsThatDoNotRoll(t *testing.T) {
	for name, field := range map[string]string{"paused": "spec.paused"} {
		w := applied(t, deployment)
		w.writes("console", "", field, true)
		w.writes("kubectl-set", "", "spec.template.spec.containers[name=web].image", "nginx:2")
		d := at(judge(w.subject()), "spec.template.spec.containers[name=web].image")
		if d == nil || d.Forecast.Next.Outcome != drift.Reverted || d.Forecast.Next.RollsPods {
			t.Errorf("%s: %+v", name, d)
		}
	}
	head := parse(t, deployment)
	head["kind"] = "DaemonSet"
	delete(tree.Map(head, "spec"), "replicas")
	tree.Map(head, "spec")["updateStrategy"] = map[string]any{"type": "OnDelete"}
	w := appliedObject(t, head)
	w.writes("kubectl-set", "", "spec.template.spec.containers[name=web].image", "nginx:2")
	if e := judge(w.subject()).Differences[0].Forecast.Next; e.Outcome != drift.Reverted || e.RollsPods {
		t.Errorf("OnDelete: %+v", e)
	}
}

// A field that the server does not let change stops everything of its stage, or has the object made anew.
func TestImmutableFields(t *testing.T) {
	newer := parse(t, deployment)
	tree.Map(newer, "spec", "selector")["matchLabels"] = map[string]any{"app": "other"}
	w := applied(t, deployment)
	s := w.subject()
	s.Head = side(t, newer)
	bystander := applied(t, configMap)
	bystander.writes("kubectl-edit", "", "data.color", "red")
	namespace := applied(t, "{apiVersion: v1, kind: Namespace, metadata: {name: demo, labels: {a: b}}}")
	namespace.writes("kubectl-edit", "", "metadata.labels.a", "c")
	for name, c := range map[string]struct {
		force                        bool
		deployment, other, namespace drift.Outcome
		rolls                        bool
	}{
		"refused":  {false, drift.Survives, drift.Survives, drift.Reverted, false},
		"recreate": {true, drift.Reverted, drift.Reverted, drift.Reverted, true},
	} {
		in := drift.Input{Now: day, Flow: ref, Subjects: []drift.Subject{s, bystander.subject(), namespace.subject()}}
		in.Flow.HeadRevision, in.Flow.ArtifactRevision, in.Flow.Force = "main@sha1:bbb", "main@sha1:bbb", c.force
		for _, o := range drift.Judge(in) {
			if len(o.Differences) != 1 {
				t.Fatalf("%s: %s", name, shown(o))
			}
			want := map[string]drift.Outcome{"Deployment": c.deployment, "ConfigMap": c.other, "Namespace": c.namespace}[o.Identity.Kind]
			e := o.Differences[0].Forecast.Next
			if e.Outcome != want || o.Identity.Kind == "Deployment" && e.RollsPods != c.rolls {
				t.Errorf("%s: %s: %+v, want %s", name, o.Identity, e, want)
			}
		}
	}
}

// An object that git has and the cluster has not, or the other way round.
func TestForecastOfObjects(t *testing.T) {
	w := applied(t, configMap)
	disabled := parse(t, configMap)
	tree.Map(disabled, "metadata")["annotations"] = map[string]any{"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}
	protected := applied(t, configMap)
	protected.writes("kubectl-annotate", "", `metadata.annotations["kustomize.toolkit.fluxcd.io/prune"]`, "disabled")
	foreign := applied(t, configMap)
	foreign.writes("kubectl-label", "", `metadata.labels["kustomize.toolkit.fluxcd.io/name"]`, "else")
	missing := drift.Side{State: drift.Missing}
	for name, c := range map[string]struct {
		change func(*drift.Subject)
		flow   func(*drift.Flow)
		want   drift.Outcome
	}{
		"deleted":                     {func(s *drift.Subject) { s.Live = missing }, nil, drift.Reverted},
		"deleted and suspended":       {func(s *drift.Subject) { s.Live = missing }, func(f *drift.Flow) { f.Suspended = true }, drift.Survives},
		"deleted and disabled":        {func(s *drift.Subject) { s.Live, s.Head = missing, side(t, disabled) }, nil, drift.Survives},
		"out of git":                  {func(s *drift.Subject) { s.Head = missing }, nil, drift.Pruned},
		"out of git, no pruning":      {func(s *drift.Subject) { s.Head = missing }, func(f *drift.Flow) { f.Prune = false }, drift.Survives},
		"out of git, protected":       {func(s *drift.Subject) { s.Head, s.Live = missing, side(t, protected.object()) }, nil, drift.Survives},
		"out of git, labelled else":   {func(s *drift.Subject) { s.Head, s.Live = missing, side(t, foreign.object()) }, nil, drift.Survives},
		"out of git and inventory":    {func(s *drift.Subject) { s.Head, s.Listed = missing, false }, nil, drift.Survives},
		"out of git, build failing":   {func(s *drift.Subject) { s.Head = missing }, func(f *drift.Flow) { f.Blocked = "the build fails" }, drift.Survives},
		"deleted, dependency missing": {func(s *drift.Subject) { s.Live = missing }, func(f *drift.Flow) { f.Blocked = "a dependency is not ready" }, drift.Survives},
	} {
		s := w.subject()
		c.change(&s)
		o := judge(s, func(in *drift.Input) {
			if c.flow != nil {
				c.flow(&in.Flow)
			}
		})
		if len(o.Differences) != 1 || o.Differences[0].Forecast.Next.Outcome != c.want {
			t.Errorf("%s: want %s: %s", name, c.want, shown(o))
		}
	}
}
