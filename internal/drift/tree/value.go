// Package tree holds plain values, the decoded form of an API object or of a document inside one, and the paths that lead
// into them. A value is nil, a bool, a string, an int64, a float64, a map[string]any or a []any, and nothing else. The
// package knows nothing of schemas, owners or Kubernetes.
package tree

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// Normalize gives v as a value of this package, however a decoder wrote it: whole numbers become int64, other numbers
// float64, and maps and lists are copied. It fails on what no JSON or YAML decoder gives, and on a number that neither
// kind can hold without losing digits.
func Normalize(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, int64:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint64:
		if v > math.MaxInt64 {
			return nil, fmt.Errorf("the number %d is too large", v)
		}
		return int64(v), nil
	case float64:
		return whole(v), nil
	case json.Number:
		return number(string(v))
	case map[string]any:
		return normalizeMap(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			n, err := Normalize(item)
			if err != nil {
				return nil, err
			}
			out[i] = n
		}
		return out, nil
	}
	return nil, fmt.Errorf("a value of type %T is none of an API object", v)
}

func normalizeMap(v map[string]any) (any, error) {
	out := make(map[string]any, len(v))
	for k, item := range v {
		n, err := Normalize(item)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = n
	}
	return out, nil
}

// whole is f as an int64 where it is one: JSON has one kind of number, and decoders differ in what they make of it.
func whole(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

func number(s string) (any, error) {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a number", s)
	}
	return whole(f), nil
}

// Same says whether two values are equal, member by member and item by item.
func Same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			other, ok := b[k]
			if !ok || !Same(v, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !Same(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return sameScalar(a, b)
}

func sameScalar(a, b any) bool {
	if a == b {
		return true
	}
	x, okX := rational(a)
	y, okY := rational(b)
	return okX && okY && x.Cmp(y) == 0
}

func rational(v any) (*big.Rat, bool) {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v), true
	case float64:
		r := new(big.Rat)
		return r, r.SetFloat64(v) != nil
	}
	return nil, false
}

// Copy is v without any map or list shared with it.
func Copy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = Copy(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = Copy(item)
		}
		return out
	}
	return v
}

// Empty says whether v says nothing: nil, an empty map or an empty list.
func Empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// Zero says whether v is empty or its type's zero: "", 0, false.
func Zero(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	}
	return Empty(v)
}

// Map returns the map at the named fields below v; nil where there is none.
func Map(v any, fields ...string) map[string]any {
	m, _ := Field(v, fields...).(map[string]any)
	return m
}

// List returns the list at the named fields below v; nil where there is none.
func List(v any, fields ...string) []any {
	l, _ := Field(v, fields...).([]any)
	return l
}

// Text returns the string at the named fields below v; "" where there is none.
func Text(v any, fields ...string) string {
	s, _ := Field(v, fields...).(string)
	return s
}

// Field returns what stands at the named fields below v; nil where there is nothing.
func Field(v any, fields ...string) any {
	for _, f := range fields {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[f]
	}
	return v
}
