package notice

import (
	"cmp"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
)

// FromAct takes an act as it was recorded. targets are its targets as nodes; resolve finds the node that a name in an
// envelope means. What cannot be resolved, or is no known symptom, is left out of the envelope and listed: leaving it
// out allows less, never more. who and doing are for people.
func FromAct(a act.Act, who, doing string, targets []graph.Name, resolve func(typed string) (graph.Name, bool)) (Act, []string) {
	o := a.Observed
	n := Act{
		ID: a.ID, Session: o.Session, Who: who, Doing: doing, Kind: o.Tool + " " + o.Operation, Class: o.Class,
		Start: o.Start, End: o.End, Tail: o.Tail, Outcome: o.Outcome, Unclaimed: o.Unclaimed,
	}
	effect := graph.Effect(o.Effect)
	if o.Class == act.Unknown || !graph.KnownEffect(effect) {
		effect = graph.Opaque
	}
	for _, t := range targets {
		n.Targets = append(n.Targets, graph.Target{Node: t, Effect: effect})
	}
	var left []string
	place := func(symptom, at string) (graph.Symptom, graph.Name, bool) {
		s := graph.Symptom(symptom)
		if _, ok := s.About(); !ok {
			left = append(left, symptom)
			return "", "", false
		}
		if at == "" {
			return s, "", true
		}
		node, ok := resolve(at)
		if !ok {
			left = append(left, symptom+"@"+at)
		}
		return s, node, ok
	}
	expectations := func(list []act.Expectation) (out []Expectation) {
		for _, e := range list {
			if s, at, ok := place(e.Symptom, e.At); ok {
				out = append(out, Expectation{s, at, e.For})
			}
		}
		return out
	}
	n.Default = expectations(o.Envelope)
	if c := a.Claimed; c != nil {
		n.Work, n.Purpose, n.Phase, n.Long, n.Until = c.Work, c.Purpose, c.Phase, c.Long, c.Until
		n.Claimed = expectations(c.Envelope.Expected)
		for _, cond := range c.Envelope.AbortIf {
			if s, at, ok := place(cond.Symptom, cond.At); ok {
				n.AbortIf = append(n.AbortIf, Condition{s, at})
			}
		}
	}
	n.Doing = cmp.Or(n.Doing, "runs "+n.Kind)
	return n, left
}
