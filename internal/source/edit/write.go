package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/clewops/clew/internal/drift/tree"
)

// replace writes v over the value at place i of a collection.
func (e editor) replace(n *yaml.Node, i int, v any) (splice, error) {
	old := n.Content[i]
	if old.Anchor != "" || old.Kind == yaml.AliasNode || old.Style&yaml.TaggedStyle != 0 {
		return splice{}, cannot("line %d: what has an anchor, an alias or a tag is not edited", old.Line)
	}
	if !e.plain(old) {
		return splice{}, cannot("line %d: a plain text over several lines is not edited", old.Line)
	}
	indent := n.Column - 1
	from, to := e.offset(old), e.end(old, indent)
	if old.Kind == yaml.ScalarNode && old.Value == "" && old.Style == 0 && from > 0 && e.text[from-1] == ':' {
		return splice{from, to, " " + e.inline(v, old, indent)}, nil // "key:" with nothing behind it
	}
	_, isMap := v.(map[string]any)
	_, isList := v.([]any)
	if (isMap || isList) && old.Kind != yaml.ScalarNode && old.Style&yaml.FlowStyle == 0 && !tree.Empty(v) {
		text, err := block(v, old.Column-1)
		return splice{from, to, strings.TrimLeft(text, " ")}, err
	}
	text := e.inline(v, old, indent)
	if header, body, more := strings.Cut(text, "\n"); more {
		// A comment behind the value goes behind the block's header: in its last line it would be part of the text.
		eol := e.endOfLine(to)
		if behind := strings.TrimRight(e.text[to:eol], " "); behind != "" {
			return splice{from, eol, header + behind + "\n" + body}, nil
		}
	}
	return splice{from, to, text}, nil
}

// inline is v as it can stand behind "key: ".
func (e editor) inline(v any, old *yaml.Node, indent int) string {
	s, isText := v.(string)
	if !isText {
		return flow(v)
	}
	if strings.Contains(s, "\n") && old.Style&yaml.FlowStyle == 0 {
		if text, ok := literal(s, e.contentIndent(old, indent)); ok {
			return text
		}
	}
	return scalarText(s, old.Style)
}

// contentIndent is how far the lines of a block scalar are indented: as they are, or two further than their parent.
func (e editor) contentIndent(old *yaml.Node, indent int) int {
	if old.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		for i := old.Line; i < len(e.starts); i++ {
			text := e.line(i)
			if trimmed := strings.TrimLeft(text, " "); trimmed != "" {
				return max(len(text)-len(trimmed), indent+1)
			}
		}
	}
	return indent + 2
}

// literal writes text as a literal block; false where a block cannot hold it.
func literal(s string, indent int) (string, bool) {
	for _, r := range s {
		if r != '\n' && r != '\t' && (r < ' ' || r == 0x7f || r == 0x85 || r == 0xfeff || r >= 0x2028 && r <= 0x2029) {
			return "", false
		}
	}
	body := strings.TrimRight(s, "\n")
	if body == "" || body[0] == ' ' || body[0] == '\n' || body[0] == '\t' {
		return "", false
	}
	header := "|"
	switch ends := len(s) - len(body); {
	case ends == 0:
		header = "|-"
	case ends > 1:
		header = "|+"
	}
	var b strings.Builder
	b.WriteString(header)
	pad := strings.Repeat(" ", indent)
	for line := range strings.SplitSeq(body, "\n") {
		b.WriteByte('\n')
		if line != "" {
			b.WriteString(pad + line)
		}
	}
	if ends := len(s) - len(body); ends > 1 {
		b.WriteString(strings.Repeat("\n", ends-1))
	}
	return b.String(), true
}

// scalarText writes text without line breaks: in the quotes that it had, plain if that reads as the same text.
func scalarText(s string, style yaml.Style) string {
	switch {
	case style&yaml.SingleQuotedStyle != 0 && printableText(s):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	case style&yaml.DoubleQuotedStyle == 0 && plainText(s):
		return s
	}
	return jsonText(s)
}

func printableText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == 0xfeff || r == 0x85 || r == 0x2028 || r == 0x2029
	})
}

// plainText says whether s, unquoted, is read as the text s, in braces as well.
func plainText(s string) bool {
	if s == "" || s != strings.TrimSpace(s) || !printableText(s) || strings.ContainsAny(s, ",[]{}#&*!|>%@`\"'") ||
		strings.Contains(s, ": ") || strings.HasSuffix(s, ":") || strings.ContainsAny(s[:1], "=<~") ||
		strings.ContainsAny(s[:1], "-?:") && (len(s) == 1 || s[1] == ' ') {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false // some readers take them for truth values
	}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(s), &n); err != nil || len(n.Content) != 1 {
		return false
	}
	return n.Content[0].Kind == yaml.ScalarNode && n.Content[0].ShortTag() == "!!str" && n.Content[0].Value == s
}

func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "null"
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		if r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff { // of these YAML has another idea than JSON
			fmt.Fprintf(&out, "\\u%04x", r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// flow is v in braces, as it can stand in one line.
func flow(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range sorted(v) {
			parts = append(parts, scalarText(k, 0)+": "+flow(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = flow(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return scalarText(v, 0)
	}
	return tree.JSON(v)
}

// block is v over several lines, each indented.
func block(v any, indent int) (string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(v); err != nil {
		return "", cannot("the value cannot be written (%v)", err)
	}
	if err := enc.Close(); err != nil {
		return "", cannot("the value cannot be written (%v)", err)
	}
	pad := strings.Repeat(" ", indent)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = pad + line
		}
	}
	return strings.Join(lines, "\n"), nil
}

// reflow writes a whole collection in braces anew, with the change in it.
func (e editor) reflow(n *yaml.Node, path tree.Path, c Change) (splice, error) {
	from := e.offset(n)
	to := e.endOfFlow(from)
	if strings.ContainsAny(e.text[from:to], "#&*") {
		return splice{}, cannot("line %d: a collection in braces with comments or anchors is not edited", n.Line)
	}
	v, err := value(n)
	if err != nil {
		return splice{}, err
	}
	next, err := changed(v, path, c)
	if err != nil {
		return splice{}, err
	}
	return splice{from, to, e.spaced(n, from, to, reordered(n, next))}, nil
}
