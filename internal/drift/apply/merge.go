package apply

import (
	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

// merged applies the configuration: its values win, and what own has, others have not and the configuration no longer
// says goes away.
func merged(in Input, own, others *owner.Set) map[string]any {
	m := merger{own: own}
	out := m.merge(nil, in.Schema.Root, in.Live, in.Config)
	keep := others.Union(ConfigSet(in.Config, in.Schema.Root))
	pruned := prune(in.Schema.Root, out, own, keep)
	after, _ := pruned.(map[string]any)
	return after
}

type merger struct{ own *owner.Set }

// merge lays config over live. It shares no map or list with live that it changes.
func (m merger) merge(at tree.Path, n *schema.Node, live, config any) any {
	switch c := config.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok && !n.Indivisible(c) {
			return m.maps(at, n, l, c)
		}
	case []any:
		if l, ok := live.([]any); ok {
			return m.lists(at, n, l, c)
		}
	}
	return config
}

func (m merger) maps(at tree.Path, n *schema.Node, live, config map[string]any) any {
	out := make(map[string]any, len(live)+len(config))
	for k, v := range live {
		out[k] = v
	}
	for k, v := range config {
		f, known := n.Field(k)
		if !known || v == nil {
			continue // the server has no place for it, or nothing is said
		}
		here := at.With(tree.FieldStep(k))
		old, had := live[k]
		if !had && tree.Zero(v) && m.own.Covers(here) {
			continue // applied before, and the server dropped it then as it would now
		}
		out[k] = m.merge(here, f, old, v)
	}
	return out
}

func (m merger) lists(at tree.Path, n *schema.Node, live, config []any) any {
	oldSteps, ok := n.Steps(live)
	newSteps, ok2 := n.Steps(config)
	if !ok || !ok2 {
		return config
	}
	out := append([]any(nil), live...)
	places := make(map[tree.Step]int, len(live))
	for i, s := range oldSteps {
		places[s] = i
	}
	for i, s := range newSteps {
		if j, ok := places[s]; ok {
			out[j] = m.merge(at.With(s), n.Item(), live[j], config[i])
		} else {
			out = append(out, config[i])
		}
	}
	return out
}

// prune takes away what is in own and not in keep. A declared field of a struct counts as had by whoever has something
// below it, which takes along what the server filled in there.
func prune(n *schema.Node, v any, own, keep *owner.Set) any {
	if !own.Any() || n.Indivisible(v) {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			step := tree.FieldStep(k)
			o, kept := own.Step(step), keep.Step(step)
			f, _ := n.Field(k)
			if goes(o, kept, n.Named(k)) {
				continue
			}
			out[k] = prune(f, item, o, kept)
		}
		return out
	case []any:
		steps, ok := n.Steps(v)
		if !ok {
			return v
		}
		out := make([]any, 0, len(v))
		for i, item := range v {
			o, kept := own.Step(steps[i]), keep.Step(steps[i])
			if goes(o, kept, false) {
				continue
			}
			out = append(out, prune(n.Item(), item, o, kept))
		}
		return out
	}
	return v
}

func goes(own, keep *owner.Set, declared bool) bool {
	if declared {
		return own.Any() && !keep.Any()
	}
	return own.Member() && !keep.Member()
}

// ConfigSet is what an apply of config owns: every value without parts, every item of a list by key or a set, every
// indivisible whole, every empty map.
func ConfigSet(config any, n *schema.Node) *owner.Set {
	s := &owner.Set{}
	addConfig(s, nil, n, config)
	return s
}

func addConfig(s *owner.Set, at tree.Path, n *schema.Node, v any) {
	if n.Indivisible(v) || tree.Empty(v) {
		s.Add(at)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if f, known := n.Field(k); known && item != nil {
				addConfig(s, at.With(tree.FieldStep(k)), f, item)
			}
		}
	case []any:
		steps, ok := n.Steps(v)
		if !ok {
			s.Add(at)
			return
		}
		for i, item := range v {
			here := at.With(steps[i])
			s.Add(here)
			addConfig(s, here, n.Item(), item)
		}
	}
}
