package owner_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/tree"
)

// sample reads managedFields that a real API server wrote: a whole object, or the list alone.
func sample(t *testing.T, name string) owner.Fields {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var raw any
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	v, err := tree.Normalize(raw)
	if err != nil {
		t.Fatal(err)
	}
	if list, ok := v.([]any); ok {
		v = map[string]any{"metadata": map[string]any{"managedFields": list}}
	}
	f, err := owner.Read(v)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func path(t *testing.T, s string) tree.Path {
	t.Helper()
	p, err := tree.ParsePath(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The fields, and the tools that the samples were made with.
func TestWhichToolWroteAField(t *testing.T) {
	for _, c := range []struct {
		file, field, tool string
		sort              owner.Sort
		subresource       string
	}{
		{"flux-cm-initial.json", "data.color", "kustomize-controller", owner.Flux, ""},
		{"flux-cm-then-edit.json", "data.extra", "kubectl edit", owner.Hand, ""},
		{"flux-cm-then-patch.json", "data.color", "kubectl patch", owner.Hand, ""},
		{"flux-cm-then-patch.json", "data.extra", "console", owner.Other, ""},
		{"flux-cm-then-patch.json", "data.level", "kustomize-controller", owner.Flux, ""},
		{"flux-deploy-then-scale.json", "spec.replicas", "kubectl scale", owner.Hand, "scale"},
		{"flux-deploy-then-scale.json", "spec.template.spec.containers[name=web].image", "kustomize-controller", owner.Flux, ""},
		{"flux-deploy-then-scale.json", `metadata.annotations["deployment.kubernetes.io/revision"]`, "kube-controller-manager", owner.Operator, "status"},
		{"flux-deploy-then-scale.json", "spec.selector.matchLabels.app", "kustomize-controller", owner.Flux, ""},
		{"kubectl-apply.json", "spec.replicas", "kubectl apply", owner.Hand, ""},
		{"kubectl-apply-server-side.json", "spec.replicas", "kubectl apply --server-side", owner.Hand, ""},
		{"kubectl-create.json", "spec.replicas", "kubectl create", owner.Hand, ""},
		{"then-set-image.json", "spec.template.spec.containers[name=c].image", "kubectl set", owner.Hand, ""},
		{"then-set-env.json", "spec.template.spec.containers[name=c].env[name=A].value", "kubectl set", owner.Hand, ""},
		{"then-rollout-restart.json", `spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`, "kubectl rollout", owner.Hand, ""},
		{"then-scale.json", "spec.replicas", "kubectl scale", owner.Hand, "scale"},
		{"then-edit.json", "spec.revisionHistoryLimit", "kubectl edit", owner.Hand, ""},
		{"then-patch.json", "spec.paused", "kubectl patch", owner.Hand, ""},
		{"then-label.json", "metadata.labels.x", "kubectl label", owner.Hand, ""},
		{"then-annotate.json", "metadata.annotations.x", "kubectl annotate", owner.Hand, ""},
		{"then-replace.json", "spec.replicas", "kubectl replace", owner.Hand, ""},
		{"kustomization-suspended.json", "spec.suspend", "kubectl patch", owner.Hand, ""},
		{"kustomization-suspended.json", `metadata.finalizers[="finalizers.fluxcd.io"]`, "gotk-kustomize-controller", owner.Flux, ""},
	} {
		owners := sample(t, c.file).Of(path(t, c.field))
		if len(owners) != 1 {
			t.Errorf("%s: %s has the owners %v", c.file, c.field, owners)
			continue
		}
		if tool := owners[0].Tool(); tool.Name != c.tool || tool.Sort != c.sort || owners[0].Subresource != c.subresource {
			t.Errorf("%s: %s was written by %+v (%v), want %s", c.file, c.field, tool, owners[0], c.tool)
		}
	}
}

func TestTimeOfAnEntry(t *testing.T) {
	scale := sample(t, "then-scale.json").Of(path(t, "spec.replicas"))
	if len(scale) != 1 || !scale[0].Time.IsZero() {
		t.Errorf("kubectl scale leaves no time: %v", scale)
	}
	edit := sample(t, "flux-cm-then-edit.json").Of(path(t, "data.extra"))
	if want := time.Date(2026, 11, 30, 12, 17, 25, 0, time.UTC); len(edit) != 1 || !edit[0].Time.Equal(want) {
		t.Errorf("kubectl edit was at %v, want %v", edit, want)
	}
}

func TestOwnersOfMoreThanOne(t *testing.T) {
	f := sample(t, "flux-deploy-then-scale.json")
	var names []string
	for _, o := range f.Within(path(t, "spec")) {
		names = append(names, o.Manager)
	}
	if want := []string{"kustomize-controller", "kubectl"}; !slices.Equal(names, want) {
		t.Errorf("spec is owned by %v, want %v", names, want)
	}
	if owners := f.Of(path(t, "spec.template.spec.dnsPolicy")); len(owners) != 0 {
		t.Errorf("nobody owns what the server filled in, found %v", owners)
	}
	if owners := f.Of(path(t, "spec.template.spec.containers[name=web].resources")); len(owners) != 1 {
		t.Errorf("who owns something below is the owner of a place that nobody owns: %v", owners)
	}
}

func TestReadRefusesWhatItCannotRead(t *testing.T) {
	entry := func(change func(map[string]any)) any {
		e := map[string]any{
			"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "time": "2026-11-30T12:12:07Z",
			"fieldsV1": map[string]any{"f:a": map[string]any{}},
		}
		change(e)
		return map[string]any{"metadata": map[string]any{"managedFields": []any{e}}}
	}
	if f, err := owner.Read(entry(func(map[string]any) {})); err != nil || f.Absent || len(f.Entries) != 1 {
		t.Fatalf("the entry itself is fine: %v, %v", f, err)
	}
	for name, change := range map[string]func(map[string]any){
		"type":      func(e map[string]any) { e["fieldsType"] = "FieldsV2" },
		"operation": func(e map[string]any) { e["operation"] = "Guess" },
		"time":      func(e map[string]any) { e["time"] = "yesterday" },
		"step":      func(e map[string]any) { e["fieldsV1"] = map[string]any{"z:a": map[string]any{}} },
		"value":     func(e map[string]any) { e["fieldsV1"] = map[string]any{"f:a": "x"} },
	} {
		if f, err := owner.Read(entry(change)); err == nil {
			t.Errorf("%s: read as %v", name, f)
		}
	}
	if f, err := owner.Read(map[string]any{}); err != nil || !f.Absent {
		t.Errorf("without managedFields nothing is known of owners: %v, %v", f, err)
	}
}

func TestToolsByName(t *testing.T) {
	for _, c := range []struct {
		owner owner.Owner
		want  owner.Sort
	}{
		{owner.Owner{Manager: "kube-controller-manager", Subresource: "scale"}, owner.Autoscaler},
		{owner.Owner{Manager: "kube-controller-manager"}, owner.Operator},
		{owner.Owner{Manager: "helm"}, owner.Helm},
		{owner.Owner{Manager: "helm-controller"}, owner.Helm},
		{owner.Owner{Manager: "my-operator"}, owner.Operator},
		{owner.Owner{Manager: "kubectl-whatever"}, owner.Hand},
		{owner.Owner{Manager: "console"}, owner.Other},
		{owner.Owner{Manager: "flux"}, owner.Hand},
		{owner.Owner{Manager: "vpa-updater"}, owner.Autoscaler},
	} {
		if got := c.owner.Tool().Sort; got != c.want {
			t.Errorf("%v is of sort %d, want %d", c.owner, got, c.want)
		}
	}
}
