package schema

import (
	"fmt"
	"strings"

	"github.com/clewops/clew/internal/drift/tree"
)

// Document is the part of a decoded OpenAPI v3 document that describes objects. It converts what is asked for once, and
// is not safe for concurrent use while it does.
type Document struct {
	schemas map[string]any
	kinds   map[string]string // "group/version/kind" to the schema's name
	nodes   map[string]*Node
	// supplement are defaults that the server fills in and does not publish.
	supplement map[string]map[string]any
}

// maxDepth ends schemas that refer to each other without describing anything.
const maxDepth = 64

// FromOpenAPI takes a decoded document, as a server gives at /openapi/v3/apis/GROUP/VERSION. It fails on one that holds
// no schemas.
func FromOpenAPI(document any) (*Document, error) {
	schemas := tree.Map(document, "components", "schemas")
	if len(schemas) == 0 {
		return nil, fmt.Errorf("the OpenAPI document has no components.schemas")
	}
	d := &Document{schemas: schemas, kinds: map[string]string{}, nodes: map[string]*Node{}, supplement: filledIn}
	for name, s := range schemas {
		for _, gvk := range tree.List(s, "x-kubernetes-group-version-kind") {
			d.kinds[kindKey(tree.Text(gvk, "group"), tree.Text(gvk, "version"), tree.Text(gvk, "kind"))] = name
		}
	}
	return d, nil
}

func kindKey(group, version, kind string) string { return group + "/" + version + "/" + kind }

// Object is the schema of a kind; false where the document does not describe it.
func (d *Document) Object(group, version, kind string) (Object, bool) {
	name, ok := d.kinds[kindKey(group, version, kind)]
	if !ok {
		return Object{}, false
	}
	return Object{Root: d.named(name, 0), Custom: !strings.HasPrefix(name, "io.k8s.")}, true
}

// named converts the schema of that name. The node is entered before its fields are read: a schema may hold itself.
func (d *Document) named(name string, depth int) *Node {
	if n, ok := d.nodes[name]; ok {
		return n
	}
	switch name {
	case "io.k8s.apimachinery.pkg.api.resource.Quantity":
		return &Node{Kind: Quantity, Name: name}
	case "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
		return &Node{Kind: IntOrString, Name: name}
	case "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "io.k8s.apimachinery.pkg.runtime.RawExtension":
		return &Node{Kind: Anything, Name: name, Open: true}
	}
	raw, ok := d.schemas[name].(map[string]any)
	if !ok || depth > maxDepth {
		return nil
	}
	n := &Node{Name: name}
	d.nodes[name] = n
	d.fill(n, raw, depth)
	for field, v := range d.supplement[name] {
		if f, ok := n.Fields[field]; ok && f != nil && f.Default == nil {
			with := *f
			with.Default = v
			n.Fields[field] = &with
		}
	}
	return n
}

// node converts a schema in its place. Null or a missing schema describes nothing.
func (d *Document) node(raw any, depth int) *Node {
	m, ok := raw.(map[string]any)
	if !ok || depth > maxDepth {
		return nil
	}
	if ref, ok := reference(m); ok {
		n := d.named(ref, depth+1)
		if n == nil {
			return nil
		}
		with := *n
		return d.place(&with, n, m)
	}
	n := &Node{}
	d.fill(n, m, depth)
	return n
}

// place gives the node that a reference names, or a copy of it where the place says more than the schema.
func (d *Document) place(with, n *Node, m map[string]any) *Node {
	changed := false
	if v, ok := m["default"]; ok && !tree.Empty(v) {
		with.Default, changed = v, true
	} else if _, empty := v.(map[string]any); ok && empty {
		with.ByValue, changed = true, true
	}
	if tree.Text(m, "x-kubernetes-map-type") == "atomic" && !n.Whole {
		with.Whole, changed = true, true
	}
	// A schema under conversion has no fields yet, so its copy would stay empty.
	if !changed || n.Kind == Anything && !n.Open {
		return n
	}
	return with
}

// reference is the name of the schema that m is, where it is one by reference alone.
func reference(m map[string]any) (string, bool) {
	const prefix = "#/components/schemas/"
	if ref, ok := m["$ref"].(string); ok {
		return strings.CutPrefix(ref, prefix)
	}
	if all, ok := m["allOf"].([]any); ok && len(all) == 1 {
		if ref := tree.Text(all[0], "$ref"); ref != "" {
			return strings.CutPrefix(ref, prefix)
		}
	}
	return "", false
}

func (d *Document) fill(n *Node, m map[string]any, depth int) {
	n.Open = m["x-kubernetes-preserve-unknown-fields"] == true
	n.Whole = tree.Text(m, "x-kubernetes-map-type") == "atomic"
	if v, ok := m["default"]; ok && !tree.Empty(v) {
		n.Default = v
	}
	switch {
	case m["x-kubernetes-int-or-string"] == true || tree.Text(m, "format") == "int-or-string":
		n.Kind = IntOrString
		if strings.HasPrefix(tree.Text(m, "pattern"), quantityPattern) {
			n.Kind = Quantity
		}
	case tree.Text(m, "type") == "array":
		d.fillList(n, m, depth)
	case tree.Text(m, "type") == "object" || m["properties"] != nil:
		d.fillObject(n, m, depth)
	case tree.Text(m, "type") != "":
		n.Kind = Scalar
	default:
		n.Kind = Anything
	}
}

// quantityPattern is how the pattern begins that code generators write for a quantity in a custom resource.
const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))`

func (d *Document) fillList(n *Node, m map[string]any, depth int) {
	n.Kind = List
	n.Elem = d.node(m["items"], depth+1)
	switch tree.Text(m, "x-kubernetes-list-type") {
	case "set":
		n.Lists = Set
	case "map":
		n.Lists = ByKey
		for _, k := range tree.List(m, "x-kubernetes-list-map-keys") {
			if s, ok := k.(string); ok {
				n.Keys = append(n.Keys, s)
			}
		}
	}
}

func (d *Document) fillObject(n *Node, m map[string]any, depth int) {
	properties := tree.Map(m, "properties")
	more, hasMore := m["additionalProperties"]
	switch {
	case len(properties) > 0:
		n.Kind = Struct
		n.Fields = make(map[string]*Node, len(properties))
		for name, p := range properties {
			n.Fields[name] = d.node(p, depth+1)
		}
		if hasMore && more != false {
			n.Elem = d.node(more, depth+1)
			n.Open = n.Open || n.Elem == nil
		}
	case hasMore && more != false:
		n.Kind = Map
		n.Elem = d.node(more, depth+1)
	default:
		n.Kind = Anything // an object nobody described
	}
}
