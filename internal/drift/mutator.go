package drift

import (
	"slices"
	"strings"

	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/tree"
)

// Mutator is a writer that owns certain fields by design, so that a difference there is none of anybody's doing.
type Mutator struct {
	Manager string // as managedFields names it; a trailing * stands for any ending
	Kind    string // "" for every kind
	Field   string // the path that it owns with everything below, as it is printed, e.g. "spec.replicas"
}

func (m Mutator) owns(id Identity, path tree.Path, o owner.Owner) bool {
	if m.Kind != "" && m.Kind != id.Kind {
		return false
	}
	prefix, open := strings.CutSuffix(m.Manager, "*")
	if m.Manager != o.Manager && (!open || !strings.HasPrefix(o.Manager, prefix)) {
		return false
	}
	want, err := tree.ParsePath(m.Field)
	return err == nil && path.HasPrefix(want)
}

// mutatorOf names the writers that legitimately own a difference; "" where one of them does not, or where nobody but
// Flux wrote there.
func mutatorOf(s Subject, f finding, known []Mutator) string {
	var names []string
	for _, o := range f.owners {
		if isFlux(o) {
			continue
		}
		if !legitimate(s.Identity, f, o) &&
			!slices.ContainsFunc(known, func(m Mutator) bool { return m.owns(s.Identity, f.path, o) }) {
			return ""
		}
		if name := o.Tool().Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// legitimate says whether a writer may own the field without anybody having asked Git. A hand never may. An autoscaler
// owns sizes, an injector certificate bundles, a controller what it adds beside what git says.
func legitimate(id Identity, f finding, o owner.Owner) bool {
	tool := o.Tool()
	last := ""
	if len(f.path) > 0 {
		last, _ = f.path[len(f.path)-1].Field()
	}
	switch tool.Sort {
	case owner.Hand, owner.Helm:
		return false
	case owner.Autoscaler:
		return last == "replicas" || under(f.path, "resources") || f.change == Added
	case owner.Operator:
		aggregated := id.Kind == "ClusterRole" && o.Manager == "clusterrole-aggregation-controller" && under(f.path, "rules")
		return f.change == Added || last == "caBundle" && injected(id) || aggregated
	case owner.Flux:
		return f.change == Added
	case owner.Other:
		return last == "caBundle" && injected(id) || o.Subresource == "status" || f.change == Added && keptByOwners(f.path)
	}
	return false
}

// injected are the kinds that certificate bundles are put into.
func injected(id Identity) bool {
	switch id.Kind {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition", "APIService":
		return true
	}
	return false
}

// keptByOwners are finalizers and owner references, which a controller of any name adds.
func keptByOwners(path tree.Path) bool {
	return path.HasPrefix(tree.Fields("metadata", "finalizers")) || path.HasPrefix(tree.Fields("metadata", "ownerReferences"))
}

// under says whether a field of that name is on the way.
func under(path tree.Path, name string) bool { return slices.Contains(path, tree.FieldStep(name)) }
