package talos

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/clewops/clew/internal/secret"
)

const secretMark = "[secret]"

// Diff says in what two configurations of a machine differ, over the whole of both: documents are matched by kind and
// name, maps without order, lists in order, and what Talos reads as the same is the same, however it is written. It is
// empty when nothing differs. One line per field:
//
//	  machine.nodeLabels.rack: "a" -> "b"
//	+ machine.sysctls.net.core.somaxconn: "4096"
//	- machine.nodeLabels.old: "1"
//	  machine.token: [secret changed]
//
// Lines of other documents than v1alpha1 follow a heading. Whether a secret changed shows, its value does not. Errors
// are as ParseConfig's, for either side.
func Diff(older, newer secret.Bytes) (secret.Redacted, error) {
	before, err := ParseConfig(older.Reveal())
	if err != nil {
		return secret.Redacted{}, err
	}
	after, err := ParseConfig(newer.Reveal())
	if err != nil {
		return secret.Redacted{}, err
	}
	lines, err := before.diff(after, secretLeaf)
	if err != nil {
		return secret.Redacted{}, err
	}
	return secret.Redact(strings.Join(lines, "")), nil
}

func (m *MachineConfig) diff(newer *MachineConfig, hide func([]string, leaf) bool) ([]string, error) {
	before, err := m.documentsOf()
	if err != nil {
		return nil, invalid("config-invalid", "Talos' library cannot work with the configuration: "+cleanMessage(err, m.hidden()))
	}
	after, err := newer.documentsOf()
	if err != nil {
		return nil, invalid("config-invalid", "Talos' library cannot work with the configuration: "+cleanMessage(err, newer.hidden()))
	}
	c := comparison{hide: hide}
	c.documents(before, after)
	return c.lines, nil
}

// comparison gathers the lines of a diff.
type comparison struct {
	lines []string
	hide  func(path []string, l leaf) bool
}

func (c *comparison) documents(before, after []document) {
	older, newer := byID(before), byID(after)
	for _, id := range unionOfKeys(older, newer) {
		o, had := older[id]
		n, has := newer[id]
		at, heading := len(c.lines), ""
		switch {
		case !had:
			heading = "new document " + n.heading
			c.one("+ ", "added", nil, n.contents())
		case !has:
			heading = "removed document " + o.heading
			c.one("- ", "removed", nil, o.contents())
		default:
			c.two(nil, o.tree, n.tree)
			if len(c.lines) > at {
				heading = "document " + n.heading
			}
		}
		if id != "" && heading != "" {
			c.lines = slices.Insert(c.lines, at, heading+":\n")
		}
	}
}

func byID(docs []document) map[string]document {
	m := make(map[string]document, len(docs))
	for _, d := range docs {
		m[d.id] = d
	}
	return m
}

func unionOfKeys[V any](a, b map[string]V) []string {
	keys := slices.Collect(maps.Keys(a))
	keys = slices.AppendSeq(keys, maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// contents is a document without what its heading says.
func (d document) contents() any {
	m, ok := d.tree.(map[string]any)
	if !ok {
		return d.tree
	}
	m = maps.Clone(m)
	delete(m, "apiVersion")
	delete(m, "kind")
	if d.named {
		delete(m, "name")
	}
	return m
}

// two compares what stands at path on both sides.
func (c *comparison) two(path []string, older, newer any) {
	switch o := older.(type) {
	case map[string]any:
		if n, ok := newer.(map[string]any); ok {
			c.maps(path, o, n)
			return
		}
	case []any:
		if n, ok := newer.([]any); ok {
			c.lists(path, o, n)
			return
		}
	case leaf:
		if n, ok := newer.(leaf); ok {
			c.leaves(path, o, n)
			return
		}
	}
	c.one("- ", "removed", path, older)
	c.one("+ ", "added", path, newer)
}

func (c *comparison) maps(path []string, older, newer map[string]any) {
	for _, k := range unionOfKeys(older, newer) {
		at := step(path, k)
		o, had := older[k]
		n, has := newer[k]
		switch {
		case !had:
			c.one("+ ", "added", at, n)
		case !has:
			c.one("- ", "removed", at, o)
		default:
			c.two(at, o, n)
		}
	}
}

// lists compares in order. What is the same at the beginning and at the end is set aside first, so that an entry put
// into the middle is one line and not a change of every entry behind it.
func (c *comparison) lists(path []string, older, newer []any) {
	front := 0
	for front < min(len(older), len(newer)) && same(older[front], newer[front]) {
		front++
	}
	back := 0
	for back < min(len(older), len(newer))-front && same(older[len(older)-1-back], newer[len(newer)-1-back]) {
		back++
	}
	older, newer = older[front:len(older)-back], newer[front:len(newer)-back]
	for i := range max(len(older), len(newer)) {
		at := step(path, place(front+i))
		switch {
		case i >= len(older):
			c.one("+ ", "added", at, newer[i])
		case i >= len(newer):
			c.one("- ", "removed", at, older[i])
		default:
			c.two(at, older[i], newer[i])
		}
	}
}

// same says whether two trees are equal, whatever is marked in them.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case leaf:
		b, ok := b.(leaf)
		return ok && a.text == b.text && a.quoted == b.quoted
	}
	return reflect.DeepEqual(a, b)
}

func (c *comparison) leaves(path []string, older, newer leaf) {
	if same(older, newer) {
		return
	}
	if c.hide(path, older) || c.hide(path, newer) {
		c.add("  ", path, "[secret changed]")
		return
	}
	before, after := shown(older, newer)
	c.add("  ", path, before+" -> "+after)
}

// one lists everything that stands at path on one side only.
func (c *comparison) one(sign, what string, path []string, tree any) {
	switch t := tree.(type) {
	case map[string]any:
		if len(t) == 0 && len(path) > 0 {
			c.add(sign, path, "{}")
		}
		for _, k := range slices.Sorted(maps.Keys(t)) {
			c.one(sign, what, step(path, k), t[k])
		}
	case []any:
		if len(t) == 0 {
			c.add(sign, path, "[]")
		}
		for i, v := range t {
			c.one(sign, what, step(path, place(i)), v)
		}
	case leaf:
		if c.hide(path, t) {
			c.add(sign, path, "[secret "+what+"]")
			return
		}
		_, text := shown(leaf{}, t)
		c.add(sign, path, text)
	}
}

func (c *comparison) add(sign string, path []string, text string) {
	var b strings.Builder
	b.WriteString(sign)
	for i, s := range path {
		if i > 0 && !isPlace(s) {
			b.WriteByte('.')
		}
		b.WriteString(shownStep(s))
	}
	b.WriteString(": ")
	b.WriteString(text)
	b.WriteByte('\n')
	c.lines = append(c.lines, b.String())
}

// shownStep is a key as it is shown: quoted when it could be taken for something else, hidden when it looks secret.
func shownStep(s string) string {
	if looksSecret(s, false) {
		return secretMark
	}
	if q := strconv.QuoteToGraphic(s); q[1:len(q)-1] != s {
		return q
	}
	return s
}
