package graph

import (
	"fmt"
	"strings"
)

// Name is a node's full name: kind/cluster, kind/cluster/name or kind/cluster/namespace/name, with the kind's
// canonical word. MakeName and ParseName check it; a Name from elsewhere is not one.
type Name string

// MakeName puts a name together and checks it.
func MakeName(kind, cluster string, rest ...string) (Name, error) {
	k, ok := lookKind(kind)
	if !ok {
		return "", fmt.Errorf("%.60q is no known kind; known: %s", kind, kindList())
	}
	want := map[extent]string{whole: "kind/cluster", named: "kind/cluster/name", namespaced: "kind/cluster/namespace/name"}[k.extent]
	if len(rest) != int(k.extent) {
		return "", fmt.Errorf("%.200q is not the name of a %s: that is %s", strings.Join(append([]string{kind, cluster}, rest...), "/"), k.kind, want)
	}
	for _, part := range append([]string{cluster}, rest...) {
		if !fine(part) {
			return "", fmt.Errorf("%.60q in a name of a %s (%s) is empty or has a space, a slash or a control character", part, k.kind, want)
		}
	}
	return Name(strings.Join(append([]string{string(k.kind), cluster}, rest...), "/")), nil
}

// ParseName reads a full name.
func ParseName(s string) (Name, error) {
	parts := strings.Split(s, "/")
	if len(parts) < 2 {
		return "", fmt.Errorf("%.60q is no full name: write kind/cluster/name", s)
	}
	return MakeName(parts[0], parts[1], parts[2:]...)
}

// fine says whether a part of a name can stand in one, and on a terminal. Addresses of endpoints have colons.
func fine(part string) bool {
	for _, r := range part {
		if r <= ' ' || r == '/' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return false
		}
	}
	return part != "" && len(part) <= 253
}

func kindList() string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k.kind)
	}
	return strings.Join(words, ", ")
}

// Kind is the name's kind.
func (n Name) Kind() Kind {
	k, _, _ := strings.Cut(string(n), "/")
	return Kind(k)
}

// Cluster is the name's cluster.
func (n Name) Cluster() string {
	_, rest, _ := strings.Cut(string(n), "/")
	c, _, _ := strings.Cut(rest, "/")
	return c
}

// Namespace is the name's namespace, or empty.
func (n Name) Namespace() string {
	_, rest, _ := strings.Cut(string(n), "/")
	_, rest, _ = strings.Cut(rest, "/")
	ns, _, ok := strings.Cut(rest, "/")
	if !ok {
		return ""
	}
	return ns
}

// Base is the last part of the name; of a node that is alone in its cluster, its kind.
func (n Name) Base() string {
	_, rest, _ := strings.Cut(string(n), "/")
	i := strings.LastIndexByte(rest, '/')
	if i < 0 {
		return string(n.Kind())
	}
	return rest[i+1:]
}

// Label is the name as it stands in a path: cp-2, etcd, API, shop/web.
func (n Name) Label() string {
	k, ok := byAlias[string(n.Kind())]
	if !ok {
		return string(n)
	}
	if k.label != "" {
		return k.label
	}
	if ns := n.Namespace(); ns != "" {
		return ns + "/" + n.Base()
	}
	return n.Base()
}

// Typed is the name as people type it, without its cluster: deploy/web -n shop, node/cp-2, etcd.
func (n Name) Typed() string {
	switch k := n.Kind(); {
	case k == APIServer:
		return "api"
	case k.Singleton():
		return string(k)
	case n.Namespace() != "":
		return string(k) + "/" + n.Base() + " -n " + n.Namespace()
	default:
		return string(k) + "/" + n.Base()
	}
}

// APIOf is the API server that whoever works on the node goes through; false for what is reached without it.
func (n Name) APIOf() (Name, bool) {
	k, ok := byAlias[string(n.Kind())]
	if !ok || k.outside {
		return "", false
	}
	return Name(string(APIServer) + "/" + n.Cluster()), true
}
