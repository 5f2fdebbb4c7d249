package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Query is a name as somebody typed it. Empty fields match everything.
type Query struct {
	Kind      Kind
	Cluster   string
	Namespace string
	Base      string
}

// ParseQuery reads a kubectl-like name: "deploy/web -n shop", "deployment.apps web", "node/cp-2", "api", "shop/web",
// "web", or a full name. cluster and namespace are what the context says; a full name overrides both, and -n the
// namespace.
func ParseQuery(typed, cluster, namespace string) (Query, error) {
	q := Query{Cluster: cluster, Namespace: namespace}
	var words []string
	fields := strings.Fields(typed)
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		switch {
		case f == "-A" || f == "--all-namespaces":
			q.Namespace = ""
		case (f == "-n" || f == "--namespace") && i+1 < len(fields):
			i++
			q.Namespace = fields[i]
		case strings.HasPrefix(f, "--namespace="):
			q.Namespace = strings.TrimPrefix(f, "--namespace=")
		case strings.HasPrefix(f, "-n") && len(f) > 2:
			q.Namespace = strings.TrimPrefix(f[2:], "=")
		case strings.HasPrefix(f, "-"):
			return Query{}, fmt.Errorf("%.60q is not understood in a name: write KIND/NAME -n NAMESPACE", f)
		default:
			words = append(words, f)
		}
	}
	parts := strings.Split(strings.Join(words, "/"), "/")
	if len(words) == 0 || slices.Contains(parts, "") {
		return Query{}, fmt.Errorf("%.120q names nothing: write KIND/NAME, KIND/NAME -n NAMESPACE or a full name", typed)
	}
	return q.withParts(typed, parts)
}

// withParts understands what is left of a typed name without its flags.
func (q Query) withParts(typed string, parts []string) (Query, error) {
	k, known := lookKind(parts[0])
	switch {
	case len(parts) == 1 && known && k.extent == whole:
		q.Kind, q.Base, q.Namespace = k.kind, string(k.kind), ""
		return q, nil
	case len(parts) == 1:
		q.Base = parts[0]
		return q, nil
	case len(parts) == 2 && known && k.extent != whole:
		q.Kind, q.Base = k.kind, parts[1]
		if k.extent == named {
			q.Namespace = ""
		}
		return q, nil
	case known:
		n, err := MakeName(parts[0], parts[1], parts[2:]...)
		return Query{Kind: k.kind, Cluster: parts[1], Namespace: n.Namespace(), Base: n.Base()}, err
	case len(parts) == 2: // the label of a path
		q.Namespace, q.Base = parts[0], parts[1]
		return q, nil
	}
	return Query{}, fmt.Errorf("%.120q: %.60q is no known kind; known: %s", typed, parts[0], kindList())
}

// Matches says whether a name is meant by the query.
func (q Query) Matches(n Name) bool {
	return (q.Base == "" || n.Base() == q.Base) && (q.Kind == "" || n.Kind() == q.Kind) &&
		(q.Cluster == "" || n.Cluster() == q.Cluster) &&
		(q.Namespace == "" || n.Namespace() == q.Namespace || !n.Kind().Namespaced())
}

// Name is the one name that the query spells out in full, whether or not a graph has it.
func (q Query) Name() (Name, error) {
	if q.Kind == "" || q.Cluster == "" {
		return "", fmt.Errorf("%.60q leaves open which kind or cluster is meant: write KIND/NAME, and name the cluster or context", q.Base)
	}
	switch {
	case q.Kind.Singleton():
		return MakeName(string(q.Kind), q.Cluster)
	case q.Kind.Namespaced():
		return MakeName(string(q.Kind), q.Cluster, q.Namespace, q.Base)
	default:
		return MakeName(string(q.Kind), q.Cluster, q.Base)
	}
}

// Find lists the nodes that a query may mean, in order of their names. A namespace that merely came from the context
// and leaves nothing is a reason to ask again without it; that is the caller's choice.
func (v *Version) Find(q Query) []Name {
	var found []Name
	for _, id := range v.bases.get(hashOf(q.Base)) {
		if x := v.at(id); q.Matches(x.name) {
			found = append(found, x.name)
		}
	}
	slices.Sort(found)
	return found
}
