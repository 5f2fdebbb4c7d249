package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Step is one step of a path, written as the API writes it in managedFields: "f:NAME" is a field of a map, `k:{"name":"x"}`
// an item of a list by its keys, `v:"x"` an item of a set by its value, "i:0" an item by its place.
type Step string

// Path leads from the root of a value to a place in it.
type Path []Step

// FieldStep is the step to the named field.
func FieldStep(name string) Step { return Step("f:" + name) }

// IndexStep is the step to the item at place i.
func IndexStep(i int) Step { return Step("i:" + strconv.Itoa(i)) }

// KeyStep is the step to the item with these keys.
func KeyStep(keys map[string]any) Step { return Step("k:" + canonical(keys)) }

// ValueStep is the step to the item of a set with this value.
func ValueStep(v any) Step { return Step("v:" + canonical(v)) }

// canonical is JSON with sorted keys; values of this package always encode.
func canonical(v any) string {
	var b strings.Builder
	writeCanonical(&b, v)
	return b.String()
}

func writeCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			writeScalar(b, k)
			b.WriteByte(':')
			writeCanonical(b, v[k])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, item)
		}
		b.WriteByte(']')
	default:
		writeScalar(b, v)
	}
}

// writeScalar writes without the escapes for HTML, as the API server does.
func writeScalar(b *strings.Builder, v any) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		text.Reset()
		fmt.Fprintf(&text, "%q", fmt.Sprint(v)) // a float that JSON has no word for
	}
	b.WriteString(strings.TrimSuffix(text.String(), "\n"))
}

// ParseStep reads a step as managedFields has it and gives it in this package's one spelling.
func ParseStep(s string) (Step, error) {
	kind, rest, ok := strings.Cut(s, ":")
	if !ok {
		return "", fmt.Errorf("%q is not a step of a field path", s)
	}
	switch kind {
	case "f":
		return Step(s), nil
	case "i":
		if _, err := strconv.Atoi(rest); err != nil {
			return "", fmt.Errorf("%q is not a place in a list", s)
		}
		return Step(s), nil
	case "k", "v":
		d := json.NewDecoder(strings.NewReader(rest))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil || d.More() {
			return "", fmt.Errorf("%q does not hold JSON", s)
		}
		n, err := Normalize(v)
		if err != nil {
			return "", err
		}
		if _, isMap := n.(map[string]any); kind == "k" && !isMap {
			return "", fmt.Errorf("%q does not hold an item's keys", s)
		}
		return Step(kind + ":" + canonical(n)), nil
	}
	return "", fmt.Errorf("%q begins with no known kind of step", s)
}

// Field is the name where the step is one to a field.
func (s Step) Field() (string, bool) { return strings.CutPrefix(string(s), "f:") }

// Index is the place where the step is one by place.
func (s Step) Index() (int, bool) {
	digits, ok := strings.CutPrefix(string(s), "i:")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil
}

// decoded is what stands in a key or value step.
func (s Step) decoded() any {
	_, rest, _ := strings.Cut(string(s), ":")
	d := json.NewDecoder(strings.NewReader(rest))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	n, err := Normalize(v)
	if err != nil {
		return nil
	}
	return n
}

// Keys are the keys where the step is one to an item by its keys.
func (s Step) Keys() (map[string]any, bool) {
	if !strings.HasPrefix(string(s), "k:") {
		return nil, false
	}
	m, ok := s.decoded().(map[string]any)
	return m, ok
}

// Value is the value where the step is one to an item of a set.
func (s Step) Value() (any, bool) {
	if !strings.HasPrefix(string(s), "v:") {
		return nil, false
	}
	return s.decoded(), true
}

// With is the path one step further. It shares nothing that a later With would overwrite.
func (p Path) With(s Step) Path { return append(p[:len(p):len(p)], s) }

// Fields is the path through the named fields.
func Fields(names ...string) Path {
	p := make(Path, len(names))
	for i, n := range names {
		p[i] = FieldStep(n)
	}
	return p
}

// HasPrefix says whether p leads to prefix or below it.
func (p Path) HasPrefix(prefix Path) bool {
	return len(p) >= len(prefix) && slices.Equal(p[:len(prefix)], prefix)
}

// String is the path for people: spec.containers[name=web].args[1], data["a.yaml"], metadata.finalizers["x"]. ParsePath
// reads it back.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		if name, ok := s.Field(); ok {
			writeField(&b, name, i == 0)
			continue
		}
		b.WriteByte('[')
		if i, ok := s.Index(); ok {
			b.WriteString(strconv.Itoa(i))
		} else if keys, ok := s.Keys(); ok {
			for j, k := range slices.Sorted(maps.Keys(keys)) {
				if j > 0 {
					b.WriteByte(',')
				}
				b.WriteString(k + "=" + keyText(keys[k]))
			}
		} else if v, ok := s.Value(); ok {
			b.WriteString("=" + canonical(v))
		}
		b.WriteByte(']')
	}
	return b.String()
}

func writeField(b *strings.Builder, name string, first bool) {
	if !plainName(name) {
		b.WriteByte('[')
		writeScalar(b, name)
		b.WriteByte(']')
		return
	}
	if !first {
		b.WriteByte('.')
	}
	b.WriteString(name)
}

// plainName says whether a field can be written without quotes.
func plainName(name string) bool {
	if name == "" {
		return false
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '$' {
			return false
		}
	}
	return true
}

// keyText writes a key's value; a string that reads like one is not quoted.
func keyText(v any) string {
	s, ok := v.(string)
	if !ok {
		return canonical(v)
	}
	if _, err := number(s); err == nil || s == "true" || s == "false" || s == "null" || s == "" || strings.ContainsAny(s, "\",=[]\n") {
		return canonical(s)
	}
	return s
}
