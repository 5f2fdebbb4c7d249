package talos

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/clewops/clew/internal/secret"
)

// SecretValues returns every value of a configuration that Diff would not show, if it has at least 8 bytes, in each form
// in which it could surface: as written, with its base64 taken off, the lines of a private key, the value of NAME=VALUE.
// It serves searches for leaks. Of bytes that are no YAML it returns nothing.
func SecretValues(config secret.Bytes) [][]byte {
	b := config.Reveal()
	docs, err := readDocuments(b)
	if err != nil {
		return nil
	}
	hidden := hiddenIn(docs)
	if m, err := ParseConfig(b); err == nil {
		hidden = m.hidden()
	}
	var all [][]byte
	for _, h := range hidden {
		all = append(all, forms(h)...)
	}
	return distinct(slices.DeleteFunc(all, func(v []byte) bool { return len(v) < 8 }))
}

var named = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func forms(value []byte) [][]byte {
	all := [][]byte{value}
	if name := named.Find(value); name != nil {
		all = append(all, value[len(name):])
	}
	text := value
	if decoded := decodedPEM(string(value)); decoded != nil {
		all = append(all, decoded)
		text = decoded
	}
	if strings.Contains(string(text), privateKey) {
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) >= 32 && !bytes.HasPrefix(line, []byte("-----")) {
				all = append(all, line)
			}
		}
	}
	return all
}

// hidden are the values of the configuration that are not to be shown.
func (m *MachineConfig) hidden() [][]byte {
	all := hiddenIn(m.docs)
	docs, err := m.documentsOf()
	if err != nil {
		return append(all, scalars(m.docs)...)
	}
	for _, d := range docs {
		all = append(all, hiddenLeaves(d.tree)...)
	}
	return distinct(all)
}

// hiddenIn are the values in documents as they were written that are not to be shown, as far as names and looks tell.
func hiddenIn(docs []*yaml.Node) [][]byte {
	var all [][]byte
	for _, d := range docs {
		tree, err := treeOf(d)
		if err != nil {
			return scalars(docs)
		}
		all = append(all, hiddenLeaves(tree)...)
	}
	return distinct(all)
}

func hiddenLeaves(tree any) [][]byte {
	var all [][]byte
	eachLeaf(tree, nil, func(path []string, l leaf) {
		if secretLeaf(path, l) {
			all = append(all, []byte(l.text))
		}
	})
	return all
}

// scalars are all values, for when nothing is known about them.
func scalars(nodes []*yaml.Node) [][]byte {
	var all [][]byte
	for _, n := range nodes {
		if n.Kind == yaml.ScalarNode {
			all = append(all, []byte(n.Value))
		}
		all = append(all, scalars(n.Content)...)
	}
	return all
}

func distinct(values [][]byte) [][]byte {
	slices.SortFunc(values, bytes.Compare)
	return slices.CompactFunc(values, bytes.Equal)
}
