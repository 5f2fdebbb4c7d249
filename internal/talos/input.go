package talos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Limits of a configuration or a patch. Real ones are a hundred times smaller; beyond these the cost of reading them
// would be the attacker's to choose.
const (
	MaxConfig = 4 << 20 // bytes

	maxMarks    = 500_000  // line ends, commas and colons: what YAML structure is made of
	maxDepth    = 100      // of nesting
	maxNodes    = 200_000  // with every alias expanded
	maxExpanded = 16 << 20 // bytes of scalars, with every alias expanded
)

// readDocuments checks that b is text that the YAML library may be given, and returns the roots of its documents, null
// ones left out. What it returns can be walked through aliases: there is no cycle, and the walk stays inside the limits.
// A clear error is a *refusal.Refusal.
func readDocuments(b []byte) ([]*yaml.Node, error) {
	switch {
	case len(b) > MaxConfig:
		return nil, invalid("config-too-large", fmt.Sprintf("%d bytes are too many for a machine configuration, at most %d are taken", len(b), MaxConfig))
	case !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0:
		return nil, invalid("config-not-text", "a machine configuration is UTF-8 text, this is not")
	case bytes.Count(b, []byte("\n"))+bytes.Count(b, []byte(","))+bytes.Count(b, []byte(":")) > maxMarks:
		return nil, invalid("config-too-complex", "the configuration has more entries than any machine configuration needs")
	}
	docs, err := decodeDocuments(b)
	if err != nil {
		return nil, invalid("config-invalid", "not valid YAML: "+cleanMessage(err, nil))
	}
	m := measure{sizes: map[*yaml.Node]size{}}
	for _, d := range docs {
		if err := m.add(d); err != nil {
			return nil, invalid("config-too-complex", err.Error())
		}
	}
	return docs, nil
}

func decodeDocuments(b []byte) (docs []*yaml.Node, err error) {
	defer recovered(&err)
	dec := yaml.NewDecoder(bytes.NewReader(b))
	for {
		var doc yaml.Node
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return nil, err
		}
		for _, root := range doc.Content {
			if root.Kind != yaml.ScalarNode || root.ShortTag() != "!!null" {
				docs = append(docs, root)
			}
		}
	}
}

// size is what a node amounts to when every alias in it is expanded.
type size struct{ nodes, bytes, depth int }

// measure adds up sizes. An anchored node is measured once, so that the measuring costs no more than the text.
type measure struct {
	total size
	sizes map[*yaml.Node]size
	open  []*yaml.Node // anchored nodes that are being measured
}

func (m *measure) add(root *yaml.Node) error {
	s, err := m.of(root, 1)
	if err != nil {
		return err
	}
	m.total.nodes += s.nodes
	m.total.bytes += s.bytes
	return m.total.within()
}

func (s size) within() error {
	if s.nodes > maxNodes || s.bytes > maxExpanded {
		return errors.New("the configuration grows beyond all bounds when its YAML aliases are expanded")
	}
	if s.depth > maxDepth {
		return fmt.Errorf("the configuration is nested deeper than %d levels", maxDepth)
	}
	return nil
}

func (m *measure) of(n *yaml.Node, depth int) (size, error) {
	if depth > maxDepth {
		return size{}, size{depth: depth}.within()
	}
	if n.Kind == yaml.AliasNode {
		return m.ofAnchor(n.Alias, depth)
	}
	if n.Anchor != "" {
		return m.ofAnchor(n, depth)
	}
	return m.ofContent(n, depth)
}

func (m *measure) ofAnchor(n *yaml.Node, depth int) (size, error) {
	if s, known := m.sizes[n]; known {
		return s, size{nodes: s.nodes, bytes: s.bytes, depth: s.depth + depth - 1}.within()
	}
	for _, o := range m.open {
		if o == n {
			return size{}, errors.New("a YAML anchor contains itself")
		}
	}
	m.open = append(m.open, n)
	s, err := m.ofContent(n, depth)
	m.open = m.open[:len(m.open)-1]
	m.sizes[n] = s
	return s, err
}

func (m *measure) ofContent(n *yaml.Node, depth int) (size, error) {
	s := size{nodes: 1, bytes: len(n.Value), depth: 1}
	for _, c := range n.Content {
		in, err := m.of(c, depth+1)
		if err != nil {
			return size{}, err
		}
		s.nodes += in.nodes
		s.bytes += in.bytes
		s.depth = max(s.depth, in.depth+1)
		if err := s.within(); err != nil {
			return size{}, err
		}
	}
	return s, nil
}
