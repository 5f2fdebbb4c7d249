package edit

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/clewops/clew/internal/drift/tree"
)

// splice is a change of the text's bytes.
type splice struct {
	from, to int
	with     string
}

// editor finds where in a text a change goes.
type editor struct {
	text   string
	starts []int // where each line begins
}

func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// offset is where a node begins. Columns count characters.
func (e editor) offset(n *yaml.Node) int {
	at := e.starts[n.Line-1]
	for range n.Column - 1 {
		if at >= len(e.text) {
			break
		}
		at += len(string([]rune(e.text[at:min(len(e.text), at+4)])[0]))
	}
	return at
}

// locate walks along the path as far as the document goes, and says what to splice.
func (e editor) locate(n *yaml.Node, c Change) (splice, error) {
	var flow *yaml.Node // the outermost collection in braces on the way
	flowAt := 0
	for i, step := range c.Path {
		if flow == nil && n.Style&yaml.FlowStyle != 0 {
			flow, flowAt = n, i
		}
		last := i == len(c.Path)-1
		at, ok, err := child(n, step)
		if err != nil {
			return splice{}, err
		}
		switch {
		case flow != nil && (last || !ok):
			return e.reflow(flow, c.Path[flowAt:], c)
		case !ok && c.Delete:
			return splice{}, cannot("there is nothing to take away")
		case !ok:
			return e.insert(n, c.Path[i:], c.Value.Tree())
		case last && c.Delete:
			return e.remove(n, at)
		case last:
			return e.replace(n, at, c.Value.Tree())
		}
		n = n.Content[at]
	}
	return splice{}, cannot("the path is empty")
}

// child is the place of a step's value in the content of a collection.
func child(n *yaml.Node, step tree.Step) (int, bool, error) {
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		return 0, false, cannot("line %d: what is shared by an anchor is not edited", n.Line)
	}
	if name, ok := step.Field(); ok {
		if n.Kind != yaml.MappingNode {
			return 0, false, cannot("line %d: %q is looked for in what is no map", n.Line, name)
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return i + 1, true, nil
			}
		}
		return 0, false, nil
	}
	if n.Kind != yaml.SequenceNode {
		return 0, false, cannot("line %d: an item is looked for in what is no list", n.Line)
	}
	if i, ok := step.Index(); ok {
		return i, i < len(n.Content), nil
	}
	i := slices.IndexFunc(n.Content, func(item *yaml.Node) bool {
		v, err := value(item)
		return err == nil && matches(v, step)
	})
	return max(i, 0), i >= 0, nil
}

// matches says whether the item is the one that a step leads to. A key that the item does not say is one that the server
// fills in.
func matches(item any, step tree.Step) bool {
	if v, ok := step.Value(); ok {
		return tree.Same(item, v)
	}
	keys, ok := step.Keys()
	m, isMap := item.(map[string]any)
	if !ok || !isMap {
		return false
	}
	some := false
	for k, v := range keys {
		own, has := m[k]
		if has && !tree.Same(own, v) {
			return false
		}
		some = some || has
	}
	return some
}

// changed is the tree with the change made.
func changed(v any, path tree.Path, c Change) (any, error) {
	if len(path) == 0 {
		return c.Value.Tree(), nil
	}
	if name, ok := path[0].Field(); ok {
		m, isMap := v.(map[string]any)
		if v != nil && !isMap {
			return nil, cannot("%q is looked for in what is no map", name)
		}
		out := map[string]any{}
		for k, item := range m {
			out[k] = item
		}
		if c.Delete && len(path) == 1 {
			delete(out, name)
			return out, nil
		}
		next, err := changed(out[name], path[1:], c)
		out[name] = next
		return out, err
	}
	items, isList := v.([]any)
	if v != nil && !isList {
		return nil, cannot("an item is looked for in what is no list")
	}
	out := slices.Clone(items)
	i := slices.IndexFunc(items, func(item any) bool { return matches(item, path[0]) })
	if at, ok := path[0].Index(); ok && at < len(items) {
		i = at
	}
	switch {
	case i < 0 && len(path) > 1:
		return nil, cannot("the item is not there")
	case i < 0:
		return append(out, c.Value.Tree()), nil
	case c.Delete && len(path) == 1:
		return slices.Delete(out, i, i+1), nil
	}
	next, err := changed(items[i], path[1:], c)
	out[i] = next
	return out, err
}

// end is where a node's text ends: behind its last character, before the end of the line.
func (e editor) end(n *yaml.Node, indent int) int {
	at := e.offset(n)
	switch {
	case n.Style&yaml.FlowStyle != 0:
		return e.endOfFlow(at)
	case n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode:
		if len(n.Content) == 0 {
			return at
		}
		return e.end(n.Content[len(n.Content)-1], n.Column-1)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return e.endOfBlock(n.Line, indent)
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return e.endOfQuoted(at)
	}
	if n.Value == "" {
		return at
	}
	return at + len(n.Value) // of a plain scalar over several lines this is wrong, which verify and plain see
}

// plain says whether the text of a plain scalar stands where it is thought to.
func (e editor) plain(n *yaml.Node) bool {
	return n.Kind != yaml.ScalarNode || n.Style&^yaml.TaggedStyle != 0 || strings.HasPrefix(e.text[e.offset(n):], n.Value)
}

// endOfBlock is the end of the last line that belongs to the block scalar whose header is in line, counted from 1, under
// a parent of that indent.
func (e editor) endOfBlock(line, indent int) int {
	last := line
	for i := line; i < len(e.starts); i++ {
		text := e.line(i)
		trimmed := strings.TrimLeft(text, " ")
		if trimmed == "" {
			continue
		}
		if len(text)-len(trimmed) <= indent {
			break
		}
		last = i + 1
	}
	return e.lineEnd(last - 1)
}

// line is a line without its end, counted from 0.
func (e editor) line(i int) string { return e.text[e.starts[i]:e.lineEnd(i)] }

func (e editor) lineEnd(i int) int {
	if i+1 < len(e.starts) {
		return e.starts[i+1] - 1
	}
	return len(e.text)
}

func (e editor) endOfQuoted(at int) int {
	quote := e.text[at]
	for i := at + 1; i < len(e.text); i++ {
		switch {
		case quote == '"' && e.text[i] == '\\':
			i++
		case e.text[i] == quote && quote == '\'' && i+1 < len(e.text) && e.text[i+1] == quote:
			i++
		case e.text[i] == quote:
			return i + 1
		}
	}
	return len(e.text)
}

func (e editor) endOfFlow(at int) int {
	depth := 0
	for i := at; i < len(e.text); i++ {
		switch c := e.text[i]; {
		case c == '"' || c == '\'' && strings.ContainsRune(" [{,:\n", rune(e.text[i-1])):
			i = e.endOfQuoted(i) - 1
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(e.text)
}
