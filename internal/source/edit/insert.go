package edit

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/clewops/clew/internal/drift/tree"
)

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// nested is the value with the maps around it that the rest of a path asks for.
func nested(path tree.Path, v any) (any, error) {
	for _, step := range slices.Backward(path) {
		name, ok := step.Field()
		if !ok {
			return nil, cannot("a list that is not there is not made for one item of it")
		}
		v = map[string]any{name: v}
	}
	return v, nil
}

// insert writes an entry behind the last one of a block collection.
func (e editor) insert(n *yaml.Node, path tree.Path, v any) (splice, error) {
	if len(n.Content) == 0 {
		return splice{}, cannot("line %d: an empty collection has no place for an entry", n.Line)
	}
	inner, err := nested(path[1:], v)
	if err != nil {
		return splice{}, err
	}
	last := n.Content[len(n.Content)-1]
	indent := n.Column - 1
	end := e.end(last, indent)
	if !e.plain(last) {
		return splice{}, cannot("line %d: an entry is not written behind a plain text over several lines", last.Line)
	}
	end = e.endOfLine(end)
	var text string
	if name, ok := path[0].Field(); ok {
		text, err = e.entry(name, inner, indent)
	} else if len(path) > 1 {
		return splice{}, cannot("the item is not there")
	} else {
		text, err = block([]any{inner}, indent)
	}
	if err != nil {
		return splice{}, err
	}
	return splice{end, end, "\n" + text}, nil
}

// entry is "key: value" at an indent; text of several lines becomes a literal block.
func (e editor) entry(name string, v any, indent int) (string, error) {
	pad := strings.Repeat(" ", indent)
	key := scalarText(name, 0)
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "\n") {
			if text, ok := literal(v, indent+2); ok {
				return pad + key + ": " + text, nil
			}
		}
		return pad + key + ": " + scalarText(v, 0), nil
	case map[string]any, []any:
		if tree.Empty(v) {
			return pad + key + ": " + flow(v), nil
		}
		text, err := block(v, indent+2)
		return pad + key + ":\n" + text, err
	}
	return pad + key + ": " + flow(v), nil
}

// endOfLine takes along a comment behind an entry.
func (e editor) endOfLine(at int) int {
	if i := strings.IndexByte(e.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(e.text)
}

// remove takes away the entry whose value is at place i. Where it is the only one, an empty collection stays.
func (e editor) remove(n *yaml.Node, i int) (splice, error) {
	width := 1
	if n.Kind == yaml.MappingNode {
		width = 2
	}
	first := i - width + 1
	if !e.plain(n.Content[i]) {
		return splice{}, cannot("line %d: a plain text over several lines is not taken away", n.Content[i].Line)
	}
	if len(n.Content) == width {
		empty := "{}"
		if width == 1 {
			empty = "[]"
		}
		from := e.offset(n)
		if line := e.lineOf(from); strings.TrimSpace(e.text[e.starts[line]:from]) == "" && line > 0 {
			from = e.lineEnd(line - 1) // behind the key on the line above
			if !strings.HasSuffix(e.text[:from], ":") {
				return splice{}, cannot("line %d: the only entry is not taken away here", n.Line)
			}
			return splice{from, e.end(n.Content[i], n.Column-1), " " + empty}, nil
		}
		return splice{from, e.end(n.Content[i], n.Column-1), empty}, nil
	}
	begin := e.offset(n.Content[first])
	if width == 1 {
		begin = e.dash(begin)
	}
	line := e.lineOf(begin)
	if strings.TrimSpace(e.text[e.starts[line]:begin]) != "" { // behind a dash: the next entry takes its place
		if i+1 >= len(n.Content) {
			return splice{}, cannot("line %d: the entry is not taken away here", n.Content[i].Line)
		}
		next := e.offset(n.Content[i+1])
		if strings.Contains(e.text[begin:next], "#") {
			return splice{}, cannot("line %d: a comment stands behind the entry", n.Content[i].Line)
		}
		return splice{begin, next, ""}, nil
	}
	end := e.endOfLine(e.end(n.Content[i], n.Column-1))
	if end < len(e.text) {
		return splice{e.starts[line], end + 1, ""}, nil
	}
	return splice{max(0, e.starts[line]-1), end, ""}, nil
}

// dash is where the dash before an item stands.
func (e editor) dash(at int) int {
	for i := at - 1; i >= 0 && e.text[i] != '\n'; i-- {
		if e.text[i] == '-' {
			return i
		}
	}
	return at
}

// lineOf is the line, counted from 0, in which a byte stands.
func (e editor) lineOf(at int) int {
	i, found := slices.BinarySearch(e.starts, at)
	if found {
		return i
	}
	return i - 1
}

// reordered writes a value in braces with its keys in the order that they had, new ones behind.
func reordered(n *yaml.Node, v any) string {
	switch v := v.(type) {
	case map[string]any:
		if n == nil || n.Kind != yaml.MappingNode {
			return flow(v)
		}
		var parts []string
		left := maps.Clone(v)
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i].Value
			if item, ok := left[k]; ok {
				parts = append(parts, scalarText(k, n.Content[i].Style)+": "+reordered(n.Content[i+1], item))
				delete(left, k)
			}
		}
		for _, k := range sorted(left) {
			parts = append(parts, scalarText(k, 0)+": "+flow(left[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		if n == nil || n.Kind != yaml.SequenceNode {
			return flow(v)
		}
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = reordered(sameNode(n, i, item), item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		if n != nil && n.Kind == yaml.ScalarNode {
			return scalarText(v, n.Style)
		}
		return scalarText(v, 0)
	}
	if n != nil && n.Kind == yaml.ScalarNode {
		if old, err := value(n); err == nil && tree.Same(old, v) && n.Style == 0 {
			return n.Value // 0x10 stays 0x10
		}
	}
	return flow(v)
}

// sameNode is the node of an item that was there before, whatever went away in front of it.
func sameNode(n *yaml.Node, i int, item any) *yaml.Node {
	for _, c := range n.Content {
		if v, err := value(c); err == nil && tree.Same(v, item) {
			return c
		}
	}
	if i < len(n.Content) {
		return n.Content[i]
	}
	return nil
}

// spaced keeps the blanks that the text has inside its braces.
func (e editor) spaced(n *yaml.Node, from, to int, text string) string {
	old := e.text[from:to]
	if len(n.Content) > 0 && len(old) > 2 && old[1] == ' ' && len(text) > 2 {
		return text[:1] + " " + text[1:len(text)-1] + " " + text[len(text)-1:]
	}
	return text
}
