// Package edit changes single values of a YAML text and leaves every other byte as it is: comments, order, indentation,
// quotes. It finds values by the positions that the parser gives and writes into the text. Afterwards it parses the result
// and holds it against what the edit should have made; a text that it cannot change so is refused and not touched.
package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/tree"
)

// Change is one edit: set what stands at Path to Value, or take it away.
type Change struct {
	Path   tree.Path
	Value  drift.Plain
	Delete bool
}

// FromDifference is the edit that makes Git say what the cluster has. A secret's value cannot be written: whoever keeps
// the secret has to change it where it is encrypted.
func FromDifference(d drift.Difference) (Change, error) {
	if len(d.Path) == 0 {
		return Change{}, cannot("a whole object is added or taken away by hand")
	}
	switch v := d.Live.(type) {
	case drift.Plain:
		return Change{Path: d.Path, Value: v}, nil
	case drift.Absent:
		return Change{Path: d.Path, Delete: true}, nil
	}
	return Change{}, cannot("%s: the value is a secret", d.Field)
}

// ErrCannot is in the chain of errors that say why a text cannot be changed as asked. The text is then as it was.
var ErrCannot = errors.New("cannot be written into the text")

func cannot(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrCannot)
}

// Apply makes the changes, one after the other, in the document'th document of the text, counted from 0. It gives the new
// text, or an error and nothing.
func Apply(text []byte, document int, changes []Change) ([]byte, error) {
	lines := string(text)
	crlf := strings.Contains(lines, "\r\n")
	if crlf {
		lines = strings.ReplaceAll(lines, "\r\n", "\n")
	}
	if strings.Contains(lines, "\r") {
		return nil, cannot("lines end in more than one way")
	}
	for _, c := range changes {
		next, err := one(lines, document, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Path, err)
		}
		lines = next
	}
	if crlf {
		lines = strings.ReplaceAll(lines, "\n", "\r\n")
	}
	return []byte(lines), nil
}

// one makes one change and checks that it is the only one.
func one(text string, document int, c Change) (string, error) {
	if len(c.Path) == 0 {
		return "", cannot("a whole document is not edited")
	}
	before, err := parse(text)
	if err != nil {
		return "", err
	}
	if document < 0 || document >= len(before) {
		return "", cannot("the text has %d documents", len(before))
	}
	e := editor{text: text, starts: lineStarts(text)}
	splice, err := e.locate(before[document].Content[0], c)
	if err != nil {
		return "", err
	}
	out := text[:splice.from] + splice.with + text[splice.to:]
	return out, verify(before, out, document, c)
}

// parse reads the documents of a text.
func parse(text string) ([]*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	var docs []*yaml.Node
	for {
		n := new(yaml.Node)
		err := d.Decode(n)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, cannot("it is no YAML (%v)", err)
		}
		if n.Kind != yaml.DocumentNode || len(n.Content) != 1 {
			return nil, cannot("a document is empty")
		}
		docs = append(docs, n)
	}
}

// verify holds the new text against the old one with the change made in its tree.
func verify(before []*yaml.Node, text string, document int, c Change) error {
	after, err := parse(text)
	if err != nil || len(after) != len(before) {
		return cannot("the text would not be the same YAML any more")
	}
	for i := range before {
		want, err := value(before[i])
		if err != nil {
			return err
		}
		if i == document {
			if want, err = changed(want, c.Path, c); err != nil {
				return err
			}
		}
		got, err := value(after[i])
		if err != nil {
			return err
		}
		if !tree.Same(prune(got), prune(want)) {
			return cannot("the change would change something else, too")
		}
	}
	if comments(before) != comments(after) {
		return cannot("a comment would get lost")
	}
	return nil
}

// prune leaves out nulls and empty maps and lists: where the last entry went, an empty one stays.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			if p := prune(item); !tree.Empty(p) {
				out[k] = p
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = prune(item)
		}
		return out
	}
	return v
}

// comments are all comments of the documents, as a multiset of their lines.
func comments(docs []*yaml.Node) string {
	counts := map[string]int{}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for _, c := range []string{n.HeadComment, n.LineComment, n.FootComment} {
			for line := range strings.Lines(c) {
				if line = strings.TrimSpace(line); line != "" {
					counts[line]++
				}
			}
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	for _, d := range docs {
		walk(d)
	}
	return fmt.Sprint(counts) // fmt sorts the keys of a map
}

// value is the plain tree of a node.
func value(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return value(n.Content[0])
	case yaml.AliasNode:
		return nil, cannot("line %d: the text has an alias", n.Line)
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := value(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			m[n.Content[i].Value] = v
		}
		return m, nil
	case yaml.SequenceNode:
		l := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := value(c)
			if err != nil {
				return nil, err
			}
			l[i] = v
		}
		return l, nil
	case yaml.ScalarNode, yaml.StreamNode:
	}
	if tag := n.ShortTag(); tag == "!!str" || tag == "!!timestamp" || tag == "!!merge" || !strings.HasPrefix(tag, "!!") {
		return n.Value, nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, cannot("line %d: %v", n.Line, err)
	}
	plain, err := tree.Normalize(v)
	if err != nil {
		return n.Value, nil
	}
	return plain, nil
}
