// Package recogniserfile reads recognisers from files, for users' own ones and for the table of shipped ones. It only
// parses; what the keys mean is decided in package act.
package recogniserfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/config"
)

// Limits of a file. The largest shipped one has a tenth of them.
const (
	MaxSize  = 512 << 10
	maxDepth = 16
)

// Read reads one recogniser.
func Read(file string) (act.Recogniser, error) {
	b, err := readLimited(file)
	if err != nil {
		return act.Recogniser{}, err
	}
	return Parse(file, b)
}

// Parse reads one recogniser from a file's bytes. Mistakes are an *act.FileError with their lines.
func Parse(file string, b []byte) (act.Recogniser, error) {
	t, err := Tree(file, b)
	if err != nil {
		return act.Recogniser{}, err
	}
	return act.DecodeRecogniser(file, t)
}

// ParsePrograms reads the list of known agents and pipelines.
func ParsePrograms(file string, b []byte) ([]act.Program, error) {
	t, err := Tree(file, b)
	if err != nil {
		return nil, err
	}
	return act.DecodePrograms(file, t)
}

// readLimited reads a regular file that is not too large.
func readLimited(file string) ([]byte, error) {
	f, err := config.OpenRegular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxSize {
		return nil, fmt.Errorf("%s is larger than %d KiB, which no recogniser needs", file, MaxSize>>10)
	}
	return b, nil
}

// Tree parses one YAML document into plain nodes. Anchors and aliases are refused: a small file could become a large
// tree by them.
func Tree(file string, b []byte) (act.Tree, error) {
	if len(b) > MaxSize {
		return act.Tree{}, fmt.Errorf("%s is larger than %d KiB, which no recogniser needs", file, MaxSize>>10)
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return act.Tree{}, fmt.Errorf("%s is empty", file)
		}
		return act.Tree{}, fmt.Errorf("%s: %w", file, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return act.Tree{}, fmt.Errorf("%s: only one document is allowed", file)
	}
	return plain(file, doc.Content[0], 0)
}

// plain turns a YAML node into a plain one.
func plain(file string, n *yaml.Node, depth int) (act.Tree, error) {
	t := act.Tree{Line: n.Line, Text: n.Value}
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return t, fmt.Errorf("%s:%d: anchors and aliases are not allowed", file, n.Line)
	}
	if depth > maxDepth {
		return t, fmt.Errorf("%s:%d: nested too deeply", file, n.Line)
	}
	switch n.Kind {
	case yaml.MappingNode:
		t.Kind = act.TreeMap
	case yaml.SequenceNode:
		t.Kind = act.TreeList
	}
	for i, child := range n.Content {
		c, err := plain(file, child, depth+1)
		if err != nil {
			return t, err
		}
		if t.Kind == act.TreeMap && i%2 == 0 {
			if c.Kind != act.TreeScalar {
				return t, fmt.Errorf("%s:%d: a key must be text", file, child.Line)
			}
			t.Keys = append(t.Keys, c)
			continue
		}
		t.Vals = append(t.Vals, c)
	}
	return t, nil
}
