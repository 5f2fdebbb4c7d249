package drift

import (
	"slices"
	"strings"

	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

// templates are where the kinds that replace their pods keep the pods' template.
var templates = map[string]tree.Path{
	"apps/Deployment":  tree.Fields("spec", "template"),
	"apps/StatefulSet": tree.Fields("spec", "template"),
	"apps/DaemonSet":   tree.Fields("spec", "template"),
}

// runsPods says whether pods belong to an object, so that deleting it ends them.
func runsPods(id Identity) bool {
	switch id.Group + "/" + id.Kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet", "batch/Job", "/Pod", "/ReplicationController":
		return true
	}
	return false
}

// rolls says whether a change of the field replaces pods: it is in the template of a kind that replaces its pods when the
// template changes, and the object does not say to wait.
func (p prediction) rolls(path tree.Path) bool {
	template, ok := templates[p.subject.Identity.Group+"/"+p.subject.Identity.Kind]
	if !ok || !path.HasPrefix(template) {
		return false
	}
	if paused, _ := tree.Field(p.after, "spec", "paused").(bool); paused {
		return false
	}
	return tree.Text(p.after, "spec", "updateStrategy", "type") != "OnDelete"
}

// configHash says whether the path is an annotation on pods that carries a hash of their configuration.
func configHash(path tree.Path) bool {
	if len(path) != 5 || !path.HasPrefix(tree.Fields("spec", "template", "metadata", "annotations")) {
		return false
	}
	name, _ := path[4].Field()
	name = strings.ToLower(name)
	for _, word := range []string{"hash", "checksum", "sha256", "digest"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// immutable are fields that the server does not let change, by group and kind. The exceptions may.
var immutable = map[string]struct {
	fields []string
	except []string
}{
	"apps/Deployment":                 {fields: []string{"spec.selector"}},
	"apps/DaemonSet":                  {fields: []string{"spec.selector"}},
	"apps/ReplicaSet":                 {fields: []string{"spec.selector"}},
	"apps/StatefulSet":                {fields: []string{"spec"}, except: statefulSetMutable},
	"batch/Job":                       {fields: []string{"spec.template", "spec.selector", "spec.completionMode"}},
	"/Service":                        {fields: []string{"spec.clusterIP"}},
	"/PersistentVolumeClaim":          {fields: []string{"spec"}, except: []string{"spec.resources", "spec.volumeAttributesClassName"}},
	"/Secret":                         {fields: []string{"type"}},
	rbacGroup + "/RoleBinding":        {fields: []string{"roleRef"}},
	rbacGroup + "/ClusterRoleBinding": {fields: []string{"roleRef"}},
	"storage.k8s.io/StorageClass":     {fields: []string{"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"}},
	"scheduling.k8s.io/PriorityClass": {fields: []string{"value", "preemptionPolicy"}},
	"apiextensions.k8s.io/CustomResourceDefinition": {fields: []string{"spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"}},
	"networking.k8s.io/IngressClass":                {fields: []string{"spec.controller"}},
	"discovery.k8s.io/EndpointSlice":                {fields: []string{"addressType"}},
	"node.k8s.io/RuntimeClass":                      {fields: []string{"handler"}},
}

var statefulSetMutable = []string{
	"spec.replicas", "spec.template", "spec.updateStrategy", "spec.minReadySeconds", "spec.ordinals",
	"spec.persistentVolumeClaimRetentionPolicy", "spec.revisionHistoryLimit",
}

// immutableChange names a field that the apply would change and the server does not let change; "" if there is none.
func immutableChange(id Identity, root *schema.Node, live, after map[string]any) string {
	if sealed, _ := live["immutable"].(bool); sealed && id.Group == "" && (id.Kind == "ConfigMap" || id.Kind == "Secret") {
		for _, field := range []string{"data", "binaryData", "immutable"} {
			if differs(root, live, after, field) {
				return field
			}
		}
	}
	rule := immutable[id.Group+"/"+id.Kind]
	for _, field := range rule.fields {
		if len(rule.except) == 0 {
			if differs(root, live, after, field) {
				return field
			}
			continue
		}
		for name := range tree.Map(after, field) {
			full := field + "." + name
			if !slices.Contains(rule.except, full) && differs(root, live, after, full) {
				return full
			}
		}
	}
	return ""
}

// differs says whether the field would be set to something else. What would be taken away is not counted: inside a whole
// it is what the server filled in, and elsewhere the server gives the field its old value back.
func differs(root *schema.Node, live, after map[string]any, field string) bool {
	names := strings.Split(field, ".")
	a, b := tree.Field(live, names...), tree.Field(after, names...)
	above, last := tree.Fields(names[:len(names)-1]...), names[len(names)-1]
	if b == nil || a == nil && root.At(above).SilentField(last, b, false) {
		return false
	}
	return !schema.Says(root.At(tree.Fields(names...)), b, a, false)
}
