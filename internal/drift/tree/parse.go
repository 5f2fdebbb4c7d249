package tree

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// ParsePath reads what Path.String writes.
func ParsePath(s string) (Path, error) {
	var p Path
	for rest := s; rest != ""; {
		var step Step
		var err error
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			step, rest, err = bracketStep(inner)
		} else {
			if len(p) > 0 {
				var dotted bool
				if rest, dotted = strings.CutPrefix(rest, "."); !dotted {
					return nil, fmt.Errorf("in the path %q a dot or a bracket is missing before %q", s, rest)
				}
			}
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, fmt.Errorf("the path %q has an empty step", s)
			}
			if !plainName(rest[:end]) {
				return nil, fmt.Errorf("in the path %q the field %q has to be quoted, as [%q]", s, rest[:end], rest[:end])
			}
			step, rest = FieldStep(rest[:end]), rest[end:]
		}
		if err != nil {
			return nil, fmt.Errorf("in the path %q: %w", s, err)
		}
		p = append(p, step)
	}
	return p, nil
}

// bracketStep reads a step of which the opening bracket is taken, and gives what follows the closing one.
func bracketStep(s string) (Step, string, error) {
	if s != "" && s[0] == '"' {
		name, rest, err := quoted(s)
		if err != nil {
			return "", "", err
		}
		rest, err = closed(rest)
		return FieldStep(name), rest, err
	}
	if inner, ok := strings.CutPrefix(s, "="); ok {
		v, rest, err := keyValue(inner)
		if err != nil {
			return "", "", err
		}
		rest, err = closed(rest)
		return ValueStep(v), rest, err
	}
	if end := strings.IndexByte(s, ']'); end > 0 {
		if i, err := strconv.Atoi(s[:end]); err == nil && i >= 0 {
			return IndexStep(i), s[end+1:], nil
		}
	}
	return keysStep(s)
}

func keysStep(s string) (Step, string, error) {
	keys := map[string]any{}
	for rest := s; ; {
		name, value, ok := strings.Cut(rest, "=")
		if !ok || !plainName(name) {
			return "", "", fmt.Errorf("%q is neither a quoted field, a place nor name=value", s)
		}
		v, after, err := keyValue(value)
		if err != nil {
			return "", "", err
		}
		keys[name] = v
		if more, ok := strings.CutPrefix(after, ","); ok {
			rest = more
			continue
		}
		after, err = closed(after)
		return KeyStep(keys), after, err
	}
}

func closed(s string) (string, error) {
	rest, ok := strings.CutPrefix(s, "]")
	if !ok {
		return "", fmt.Errorf("a closing bracket is missing before %q", s)
	}
	return rest, nil
}

// quoted reads a JSON string and gives what follows it.
func quoted(s string) (string, string, error) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			var name string
			err := json.Unmarshal([]byte(s[:i+1]), &name)
			return name, s[i+1:], err
		}
	}
	return "", "", fmt.Errorf("a quote is not closed in %q", s)
}

// keyValue reads a key's value: a quoted string, or a number, a truth value or a plain string up to a comma or a bracket.
func keyValue(s string) (any, string, error) {
	if s != "" && s[0] == '"' {
		return quoted2(s)
	}
	end := strings.IndexAny(s, ",]")
	if end < 0 {
		return nil, "", fmt.Errorf("a closing bracket is missing behind %q", s)
	}
	word, rest := s[:end], s[end:]
	switch word {
	case "true", "false":
		return word == "true", rest, nil
	case "null":
		return nil, rest, nil
	}
	if n, err := number(word); err == nil {
		return n, rest, nil
	}
	return word, rest, nil
}

func quoted2(s string) (any, string, error) {
	name, rest, err := quoted(s)
	return name, rest, err
}
