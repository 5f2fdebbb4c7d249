package drift

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

// IgnoreRule is an entry of a Kustomization's spec.ignore: JSON pointers, and the objects they are meant for. Of a target
// every given condition has to hold; group, version, kind, name and namespace are regular expressions over the whole
// text.
type IgnoreRule struct {
	Paths  []string
	Target *IgnoreTarget // nil: every object
}

// IgnoreTarget selects objects.
type IgnoreTarget struct {
	Group, Version, Kind, Name, Namespace string
	Labels, Annotations                   string // selectors as kubectl -l takes them
}

// ignoredPaths are the places of the object that the rules leave to others. It fails on a rule that Flux refuses, too.
func ignoredPaths(rules []IgnoreRule, object map[string]any, root *schema.Node) ([]tree.Path, error) {
	var out []tree.Path
	for _, r := range rules {
		ok, err := r.Target.matches(object)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		for _, pointer := range r.Paths {
			p, err := pointerPath(pointer, object, root)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
	}
	return out, nil
}

func (t *IgnoreTarget) matches(object map[string]any) (bool, error) {
	if t == nil {
		return true, nil
	}
	group, version := splitVersion(tree.Text(object, "apiVersion"))
	for _, c := range []struct{ pattern, text string }{
		{t.Group, group},
		{t.Version, version},
		{t.Kind, tree.Text(object, "kind")},
		{t.Name, tree.Text(object, "metadata", "name")},
		{t.Namespace, tree.Text(object, "metadata", "namespace")},
	} {
		if c.pattern == "" {
			continue
		}
		re, err := regexp.Compile("^(?:" + c.pattern + ")$")
		if err != nil {
			return false, fmt.Errorf("spec.ignore: %w", err)
		}
		if !re.MatchString(c.text) {
			return false, nil
		}
	}
	for _, c := range []struct {
		selector string
		values   map[string]any
	}{{t.Labels, tree.Map(object, "metadata", "labels")}, {t.Annotations, tree.Map(object, "metadata", "annotations")}} {
		ok, err := selects(c.selector, c.values)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// pointerPath is the path that a JSON pointer leads along in the object. Places in lists by key become the keys of what
// stands there.
func pointerPath(pointer string, object map[string]any, root *schema.Node) (tree.Path, error) {
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return nil, fmt.Errorf("spec.ignore: %q is not a JSON pointer below the object", pointer)
	}
	var path tree.Path
	var at any = object
	n := root
	for _, raw := range strings.Split(rest, "/") {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(raw)
		items, isList := at.([]any)
		if !isList {
			path = path.With(tree.FieldStep(name))
			at = tree.Field(at, name)
			n, _ = n.Field(name)
			continue
		}
		step, err := tree.ParseStep("i:" + name)
		if err != nil {
			return nil, fmt.Errorf("spec.ignore: %q: %w", pointer, err)
		}
		i, _ := step.Index()
		if i >= 0 && i < len(items) {
			if steps, ok := n.Steps(items); ok {
				step = steps[i]
			}
			at = items[i]
		} else {
			at = nil
		}
		path = path.With(step)
		n = n.Item()
	}
	return path, nil
}

// selects says whether a selector as kubectl -l takes it chooses the values.
func selects(selector string, values map[string]any) (bool, error) {
	for _, part := range requirements(selector) {
		ok, err := requirement(part, values)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// requirements cuts a selector at the commas that are not inside parentheses.
func requirements(selector string) []string {
	var out []string
	depth, from := 0, 0
	for i, r := range selector + "," {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			if part := strings.TrimSpace(selector[from:i]); part != "" {
				out = append(out, part)
			}
			from = i + 1
		}
	}
	return out
}

var setRequirement = regexp.MustCompile(`^(\S+)\s+(in|notin)\s*\(([^)]*)\)$`)

func requirement(part string, values map[string]any) (bool, error) {
	if m := setRequirement.FindStringSubmatch(part); m != nil {
		v, has := values[m[1]].(string)
		among := false
		for _, option := range strings.Split(m[3], ",") {
			among = among || has && strings.TrimSpace(option) == v
		}
		return among == (m[2] == "in"), nil
	}
	for _, operator := range []string{"!=", "==", "="} {
		if name, want, ok := strings.Cut(part, operator); ok {
			v, has := values[strings.TrimSpace(name)].(string)
			same := has && v == strings.TrimSpace(want)
			return same == (operator != "!="), nil
		}
	}
	name, negated := strings.CutPrefix(part, "!")
	if name == "" || strings.ContainsAny(name, " ()!") {
		return false, fmt.Errorf("spec.ignore: %q is not a selector", part)
	}
	_, has := values[strings.TrimSpace(name)]
	return has != negated, nil
}
