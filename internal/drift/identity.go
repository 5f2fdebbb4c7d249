package drift

import (
	"fmt"
	"strings"

	"github.com/clewops/clew/internal/drift/tree"
)

// Identity is what an object is known by, whatever version it is read at.
type Identity struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// IdentityOf reads the identity from an object; the namespace is "" where the object does not say.
func IdentityOf(object any) Identity {
	group, _ := splitVersion(tree.Text(object, "apiVersion"))
	return Identity{
		Group: group, Kind: tree.Text(object, "kind"),
		Namespace: tree.Text(object, "metadata", "namespace"), Name: tree.Text(object, "metadata", "name"),
	}
}

// splitVersion is the group and the version of an apiVersion.
func splitVersion(apiVersion string) (group, version string) {
	if g, v, ok := strings.Cut(apiVersion, "/"); ok {
		return g, v
	}
	return "", apiVersion
}

// String is Kind/namespace/name, or Kind/name for what has no namespace.
func (id Identity) String() string {
	if id.Namespace == "" {
		return id.Kind + "/" + id.Name
	}
	return id.Kind + "/" + id.Namespace + "/" + id.Name
}

// compare orders identities.
func (id Identity) compare(other Identity) int {
	return strings.Compare(id.sortKey(), other.sortKey())
}

func (id Identity) sortKey() string {
	return id.Namespace + "\x00" + id.Kind + "\x00" + id.Name + "\x00" + id.Group
}

// InventoryID is the object's entry in a Kustomization's inventory: NAMESPACE_NAME_GROUP_KIND, where a colon in the name of
// an RBAC object is written as two underscores.
func (id Identity) InventoryID() string {
	name := id.Name
	if id.Group == rbacGroup {
		name = strings.ReplaceAll(name, ":", "__")
	}
	return strings.Join([]string{id.Namespace, name, id.Group, id.Kind}, "_")
}

const rbacGroup = "rbac.authorization.k8s.io"

// ParseInventoryID reads an entry of a Kustomization's inventory.
func ParseInventoryID(s string) (Identity, error) {
	namespace, rest, ok := strings.Cut(s, "_")
	kindAt := strings.LastIndexByte(rest, '_')
	if !ok || kindAt < 0 {
		return Identity{}, fmt.Errorf("%q is not an entry of an inventory", s)
	}
	groupAt := strings.LastIndexByte(rest[:kindAt], '_')
	if groupAt < 0 {
		return Identity{}, fmt.Errorf("%q is not an entry of an inventory", s)
	}
	id := Identity{Namespace: namespace, Name: rest[:groupAt], Group: rest[groupAt+1 : kindAt], Kind: rest[kindAt+1:]}
	if id.Group == rbacGroup {
		id.Name = strings.ReplaceAll(id.Name, "__", ":")
	}
	if id.Name == "" || id.Kind == "" {
		return Identity{}, fmt.Errorf("%q is not an entry of an inventory", s)
	}
	return id, nil
}
