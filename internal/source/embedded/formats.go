package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v4"

	"github.com/clewops/clew/internal/drift/tree"
)

// parseJSON reads one JSON value. Keys that come twice make it no document: which one counts depends on the reader.
func parseJSON(text string) (any, bool) {
	if !shallow(text) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := jsonValue(d)
	if err != nil {
		return nil, false
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, false
	}
	return bounded(v)
}

func jsonValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		m := map[string]any{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ := k.(string)
			if _, twice := m[name]; twice {
				return nil, fmt.Errorf("%q comes twice", name)
			}
			if m[name], err = jsonValue(d); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return m, err
	case json.Delim('['):
		l := []any{}
		for d.More() {
			v, err := jsonValue(d)
			if err != nil {
				return nil, err
			}
			l = append(l, v)
		}
		_, err := d.Token()
		return l, err
	}
	return t, nil
}

// parseYAML reads one document, or the list of several.
func parseYAML(text string) (any, bool) {
	if !shallow(text) {
		return nil, false
	}
	d := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	r := yamlReader{}
	docs := []any{}
	for {
		var n yaml.Node
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false
		}
		v, err := r.value(&n, 0)
		if err != nil {
			return nil, false
		}
		docs = append(docs, v)
	}
	if len(docs) == 1 {
		return bounded(docs[0])
	}
	return bounded(docs)
}

// yamlReader makes trees of nodes. It counts what aliases repeat, so that a small text cannot become a large tree.
type yamlReader struct{ nodes int }

func (r *yamlReader) value(n *yaml.Node, depth int) (any, error) {
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		return nil, errors.New("too large")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) != 1 {
			return nil, nil
		}
		return r.value(n.Content[0], depth)
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return r.mapping(n, depth)
	case yaml.SequenceNode:
		l := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := r.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			l = append(l, v)
		}
		return l, nil
	case yaml.ScalarNode:
		return scalar(n)
	case yaml.StreamNode:
	}
	return nil, fmt.Errorf("line %d: not understood", n.Line)
}

func (r *yamlReader) mapping(n *yaml.Node, depth int) (any, error) {
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: a key that is not a plain value", k.Line)
		}
		if _, twice := m[k.Value]; twice {
			return nil, fmt.Errorf("line %d: %q comes twice", k.Line, k.Value)
		}
		v, err := r.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		m[k.Value] = v
	}
	return m, nil
}

// scalar is the value of a scalar; one with a tag of its own is its text with the tag.
func scalar(n *yaml.Node) (any, error) {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		return n.Value, nil
	case "!!null", "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, err
		}
		if plain, err := tree.Normalize(v); err == nil {
			return plain, nil
		}
		return n.Value, nil // a number that is no int64 or float64
	default:
		return tag + " " + n.Value, nil
	}
}

func parseTOML(text string) (any, bool) {
	if !shallow(text) {
		return nil, false
	}
	var m map[string]any
	if _, err := toml.Decode(text, &m); err != nil {
		return nil, false
	}
	return bounded(plainTOML(m))
}

// plainTOML writes times as text and lists of tables as lists.
func plainTOML(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = plainTOML(item)
		}
		return out
	case []map[string]any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plainTOML(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plainTOML(item)
		}
		return out
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return v
}
