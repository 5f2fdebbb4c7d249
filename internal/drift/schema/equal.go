package schema

import "github.com/clewops/clew/internal/drift/tree"

// significantZeros are fields of Kubernetes' own kinds that distinguish a zero from nothing: the server stores and shows
// the zero. Of every other scalar field it drops a zero, so that the two are the same.
var significantZeros = map[string]bool{
	"automountServiceAccountToken": true, "enableServiceLinks": true, "shareProcessNamespace": true, "hostUsers": true,
	"setHostnameAsFQDN": true, "allowPrivilegeEscalation": true, "privileged": true, "readOnlyRootFilesystem": true,
	"runAsNonRoot": true, "runAsUser": true, "runAsGroup": true, "fsGroup": true, "optional": true, "immutable": true,
	"replicas": true, "suspend": true, "terminationGracePeriodSeconds": true, "activeDeadlineSeconds": true,
	"backoffLimit": true, "backoffLimitPerIndex": true, "maxFailedIndexes": true, "ttlSecondsAfterFinished": true,
	"parallelism": true, "completions": true, "partition": true, "defaultMode": true, "mode": true, "minReplicas": true,
	"controller": true, "blockOwnerDeletion": true, "revisionHistoryLimit": true, "progressDeadlineSeconds": true,
	"successfulJobsHistoryLimit": true, "failedJobsHistoryLimit": true, "startingDeadlineSeconds": true,
	"tolerationSeconds": true, "stabilizationWindowSeconds": true, "storageClassName": true, "ingressClassName": true,
	"fsGroupChangePolicy": true, "priority": true, "maxSurge": true, "maxUnavailable": true,
	"minAvailable": true, "attachRequired": true, "podInfoOnMount": true, "allowVolumeExpansion": true,
	"allocateLoadBalancerNodePorts": true, "expirationSeconds": true,
	"manualSelector": true,
}

// SilentField says whether v as the named field of n says the same as no field of that name. A key of a map always says
// something.
func (n *Node) SilentField(name string, v any, custom bool) bool {
	if v == nil {
		return true
	}
	if !n.Named(name) {
		return false
	}
	return n.Fields[name].silent(name, v, custom)
}

func (n *Node) silent(name string, v any, custom bool) bool {
	if n == nil {
		return false
	}
	if n.Default != nil {
		return n.isDefault(v)
	}
	if custom {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		return n.silentMap(v)
	case []any:
		return len(v) == 0
	}
	return tree.Zero(v) && !significantZeros[name]
}

func (n *Node) isDefault(v any) bool {
	if _, depends := n.Default.(Filled); depends {
		return false
	}
	return Equal(n, n.Default, v, false)
}

func (n *Node) silentMap(v map[string]any) bool {
	if n.Kind == Struct && !n.ByValue {
		return false
	}
	if n.Kind != Struct {
		return len(v) == 0
	}
	for name, item := range v {
		if !n.SilentField(name, item, false) {
			return false
		}
	}
	return true
}

// Filling says whether v is a struct of nothing but what the server fills in when somebody writes the rest of it.
func (n *Node) Filling(v any) bool {
	m, ok := v.(map[string]any)
	if !ok || n == nil || n.Kind != Struct || len(m) == 0 {
		return false
	}
	for name, item := range m {
		if !n.SilentField(name, item, false) && !n.Fields[name].Filling(item) {
			return false
		}
	}
	return true
}

// Equal says whether the API takes two values in this place for the same: by amount, by key and without order where
// order means nothing, with nothing in the place of what the server fills in or drops.
func Equal(n *Node, a, b any, custom bool) bool {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return equalMaps(n, a, b, custom) && equalMaps(n, b, a, custom)
		}
	case []any:
		if b, ok := b.([]any); ok {
			return equalLists(n, a, b, custom)
		}
	}
	return n.SameScalar(a, b)
}

// SameScalar compares what has no parts.
func (n *Node) SameScalar(a, b any) bool {
	if n != nil && n.Kind == Quantity {
		return tree.SameQuantity(a, b)
	}
	return tree.Same(a, b)
}

// equalMaps says whether everything that a says, b says too.
func equalMaps(n *Node, a, b map[string]any, custom bool) bool {
	for name, v := range a {
		f, _ := n.Field(name)
		other, ok := b[name]
		if !ok || other == nil {
			if !n.SilentField(name, v, custom) {
				return false
			}
			continue
		}
		if v == nil {
			continue // seen from the other side
		}
		if !Equal(f, v, other, custom) {
			return false
		}
	}
	return true
}

func equalLists(n *Node, a, b []any, custom bool) bool {
	if len(a) != len(b) {
		return false
	}
	stepsA, okA := n.Steps(a)
	stepsB, okB := n.Steps(b)
	if !okA || !okB {
		for i := range a {
			if !Equal(n.Item(), a[i], b[i], custom) {
				return false
			}
		}
		return true
	}
	places := make(map[tree.Step]int, len(b))
	for i, s := range stepsB {
		places[s] = i
	}
	for i, s := range stepsA {
		j, ok := places[s]
		if !ok || !Equal(n.Item(), a[i], b[j], custom) {
			return false
		}
	}
	return true
}

// Says says whether b says everything that a says; what b says more was filled in.
func Says(n *Node, a, b any, custom bool) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		for name, v := range a {
			f, _ := n.Field(name)
			other := b[name]
			if ok = ok && (other == nil && n.SilentField(name, v, custom) || v == nil || Says(f, v, other, custom)); !ok {
				return false
			}
		}
		return ok
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		places := func(i int) int { return i }
		if steps, keyed := n.Steps(a); keyed {
			places = func(i int) int { return n.find(b, steps[i]) }
		}
		for i := range a {
			if j := places(i); j < 0 || !Says(n.Item(), a[i], b[j], custom) {
				return false
			}
		}
		return true
	}
	return n.SameScalar(a, b)
}
