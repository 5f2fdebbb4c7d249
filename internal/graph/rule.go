package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// Rule says what an edge does with one effect that arrives at its cause.
type Rule struct {
	In        Effect
	Redundant bool     // disturbed causes of this kind are counted against what the dependant tolerates
	Absorbed  *Outcome // while it tolerates them; nil: nothing shows
	Outcome   *Outcome // beyond that, or always if the rule is not redundant; nil: nothing shows
}

// Outcome is how an effect shows at the dependant, and as what it goes on from there.
type Outcome struct {
	Symptom Symptom       // empty: nothing that could be observed
	Effect  Effect        // empty: it ends here
	Delay   time.Duration // it begins at the latest so long after its cause
	Longest time.Duration // it lasts at most so long; 0: as long as its cause
	Tail    time.Duration // it may last so much longer than its cause
}

// RuleSet is an edge's rules. Sets are shared between edges and versions and never change.
type RuleSet struct {
	rules []Rule
	sum   [sha256.Size]byte
}

// Rules lists the set's rules. They are not to be changed.
func (s *RuleSet) Rules() []Rule { return s.rules }

// encoder writes fields, each with its length, so that different contents never have the same encoding.
type encoder struct{ b []byte }

func (e *encoder) text(s string) {
	e.b = binary.AppendUvarint(e.b, uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) num(n int64) { e.b = binary.AppendVarint(e.b, n) }

func (e *encoder) outcome(o *Outcome) {
	if o == nil {
		e.num(0)
		return
	}
	e.num(1)
	e.text(string(o.Symptom))
	e.text(string(o.Effect))
	e.num(int64(o.Delay))
	e.num(int64(o.Longest))
	e.num(int64(o.Tail))
}

// newRuleSet encodes the rules in the order given, which is part of what they say.
func newRuleSet(rules []Rule) *RuleSet {
	return &RuleSet{rules: rules, sum: sha256.Sum256(encodeRules(rules))}
}

func encodeRules(rules []Rule) []byte {
	var e encoder
	e.num(int64(len(rules)))
	for _, r := range rules {
		e.text(string(r.In))
		if r.Redundant {
			e.num(1)
		} else {
			e.num(0)
		}
		e.outcome(r.Absorbed)
		e.outcome(r.Outcome)
	}
	return e.b
}

// check says what is wrong with a rule.
func (r Rule) check() error {
	if !KnownEffect(r.In) || r.In == Opaque {
		return fmt.Errorf("%.60q is no effect that an edge can carry", r.In)
	}
	if r.Absorbed != nil && !r.Redundant {
		return fmt.Errorf("the rule for %s absorbs something, but is not marked redundant", r.In)
	}
	for _, o := range []*Outcome{r.Absorbed, r.Outcome} {
		if o == nil {
			continue
		}
		if _, ok := o.Symptom.About(); !ok && o.Symptom != "" {
			return fmt.Errorf("%.60q is no known symptom", o.Symptom)
		}
		if o.Effect != "" && (!KnownEffect(o.Effect) || o.Effect == Opaque) {
			return fmt.Errorf("%.60q is no effect that an edge can pass on", o.Effect)
		}
		if o.Symptom == "" && o.Effect == "" {
			return fmt.Errorf("an outcome of %s shows nothing and passes nothing on", r.In)
		}
		if o.Delay < 0 || o.Longest < 0 || o.Tail < 0 {
			return fmt.Errorf("a duration of the rule for %s is below zero", r.In)
		}
	}
	return nil
}
