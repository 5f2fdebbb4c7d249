package talos

import (
	"fmt"
	"strconv"
	"strings"

	documents "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"go.yaml.in/yaml/v4"
)

// A tree is a decoded document: map[string]any, []any and leaf. A path in it is the keys and the places ("[0]") that lead
// to a value.

// leaf is a scalar.
type leaf struct {
	text   string
	quoted bool // a string, not a number or the like
	secret bool // Talos' own schema calls it one
}

// stand-in for Talos' secrets while they are being looked for; nobody's real one.
const standIn = "clew stands in for a secret"

// document is one document of a configuration and its tree.
type document struct {
	id      string // "" for the v1alpha1 document
	heading string
	named   bool
	tree    any
}

// documentsOf are the documents of a configuration as Talos understands them, which makes writings of the same thing the
// same tree, with Talos' secrets marked.
func (m *MachineConfig) documentsOf() (docs []document, err error) {
	defer recovered(&err)
	shown, hidden := m.provider.Documents(), m.provider.RedactSecrets(standIn).Documents()
	for i, d := range shown {
		tree, err := typedTree(d)
		if err != nil {
			return nil, err
		}
		masked, err := typedTree(hidden[i])
		if err != nil {
			return nil, err
		}
		name := documentName(d)
		docs = append(docs, document{
			id: documentID(d), heading: documentTitle(d, shownStep(name)), named: name != "", tree: markSecrets(tree, masked),
		})
	}
	return docs, nil
}

// documentID is what a document is matched by: kind, name and API version. It is "" for the v1alpha1 document.
func documentID(d documents.Document) string { return documentTitle(d, documentName(d)) }

func documentName(d documents.Document) string {
	if named, ok := d.(documents.NamedDocument); ok {
		return named.Name()
	}
	return ""
}

func documentTitle(d documents.Document, name string) string {
	if d.APIVersion() == "" || d.Kind() == "" || d.Kind() == v1alpha1.Version {
		return ""
	}
	if name != "" {
		name = "/" + name
	}
	return d.Kind() + name + " (" + d.APIVersion() + ")"
}

// typedTree goes through the nodes of Talos' own encoder, which keeps an empty list apart from an absent one where Talos
// tells them apart.
func typedTree(d documents.Document) (any, error) {
	n, err := encoder.NewEncoder(d, encoder.WithComments(encoder.CommentsDisabled)).Marshal()
	if err != nil {
		return nil, err
	}
	return treeOf(n)
}

// treeOf is the tree of a node that readDocuments or Talos' encoder gave.
func treeOf(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return treeOf(n.Alias)
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: a key that is not a plain value", n.Content[i].Line)
			}
			v, err := treeOf(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			m[n.Content[i].Value] = v
		}
		return m, nil
	case yaml.SequenceNode:
		l := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := treeOf(c)
			if err != nil {
				return nil, err
			}
			l = append(l, v)
		}
		return l, nil
	case yaml.ScalarNode, yaml.DocumentNode, yaml.StreamNode:
	}
	return leafOf(n), nil
}

func leafOf(n *yaml.Node) leaf {
	return leaf{text: n.Value, quoted: n.ShortTag() == "!!str"}
}

// markSecrets marks each leaf of tree that differs in masked, the same document with Talos' secrets replaced.
func markSecrets(tree, masked any) any {
	switch t := tree.(type) {
	case map[string]any:
		other, _ := masked.(map[string]any)
		for k, v := range t {
			t[k] = markSecrets(v, other[k])
		}
	case []any:
		other, _ := masked.([]any)
		for i, v := range t {
			var o any
			if i < len(other) {
				o = other[i]
			}
			t[i] = markSecrets(v, o)
		}
	case leaf:
		t.secret = !same(tree, masked)
		return t
	}
	return tree
}

// secretLeaf says whether the leaf at path is not to be shown. I7
func secretLeaf(path []string, l leaf) bool {
	switch {
	case l.secret:
		return true
	case l.text == "" || !l.quoted && (l.text == "null" || l.text == "true" || l.text == "false"):
		return false // says nothing
	}
	return secretByName(path) || l.quoted && looksSecret(l.text, openByName(path))
}

func eachLeaf(tree any, path []string, visit func(path []string, l leaf)) {
	switch t := tree.(type) {
	case map[string]any:
		for k, v := range t {
			eachLeaf(v, step(path, k), visit)
		}
	case []any:
		for i, v := range t {
			eachLeaf(v, step(path, place(i)), visit)
		}
	case leaf:
		visit(path, t)
	}
}

func step(path []string, s string) []string { return append(path[:len(path):len(path)], s) }

func place(i int) string { return "[" + strconv.Itoa(i) + "]" }

// isPlace says whether a step of a path is a place in a list.
func isPlace(s string) bool {
	digits := strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	return len(digits) == len(s)-2 && digits != "" && strings.Trim(digits, "0123456789") == ""
}
