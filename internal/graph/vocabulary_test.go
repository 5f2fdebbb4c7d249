package graph

import (
	"slices"
	"strings"
	"testing"
)

// Every shipped default can be used: its kinds, effects and symptoms are known, its numbers have a basis, and what it
// passes on means something at its end.
func TestDefaultsAreSound(t *testing.T) {
	for _, d := range Defaults {
		what := string(d.From[0]) + " to " + string(d.To[0])
		if !strings.HasPrefix(d.Basis, "measured: ") && !strings.HasPrefix(d.Basis, "assumed: ") {
			t.Errorf("%s: its numbers rest on %q", what, d.Basis)
		}
		for _, k := range append(slices.Clone(d.From), d.To...) {
			if canonical, ok := KindOf(string(k)); !ok || canonical != k {
				t.Errorf("%s: %q is no kind", what, k)
			}
		}
		for _, r := range d.Rules {
			if err := r.check(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			for _, o := range []*Outcome{r.Absorbed, r.Outcome} {
				if o == nil || o.Symptom == "" || o.Effect == "" {
					continue
				}
				for _, k := range d.To {
					if !slices.Contains(EffectsBehind(k, o.Symptom), o.Effect) {
						t.Errorf("%s: %s shows as %s, which no %s at a %s is known to do", what, r.In, o.Symptom, o.Effect, k)
					}
				}
			}
		}
	}
}

func TestShowsAreSound(t *testing.T) {
	for _, s := range shows {
		if _, ok := s.symptom.About(); !ok || !KnownEffect(s.effect) || s.longest <= 0 {
			t.Errorf("%+v", s)
		}
		for _, k := range s.kinds {
			if canonical, ok := KindOf(string(k)); !ok || canonical != k {
				t.Errorf("%q is no kind", k)
			}
		}
	}
	for _, e := range Effects {
		if bit := bitOf(e.Effect); (bit == 0) != (e.Effect == Opaque) {
			t.Errorf("%s has the bit %d", e.Effect, bit)
		}
	}
	for _, s := range Symptoms {
		if s.Label == "" || s.Broken == "" || s.Means == "" || s.Family == "" {
			t.Errorf("%+v", s)
		}
	}
	if PodRestart.Comparable(ReconcileDelay) || !PodRestart.Comparable(Unavailable) || Symptom("x").Comparable("x") {
		t.Error("families are mixed up")
	}
}

// The measured numbers are the ones in the data.
func TestFluxTailCoversWhatWasMeasured(t *testing.T) {
	set, ok := defaultRules(APIServer, Flux)
	if !ok {
		t.Fatal("no rules")
	}
	for _, r := range set.Rules() {
		if r.Outcome.Symptom != ReconcileDelay || r.Outcome.Tail.Seconds() < 1.4*210 {
			t.Errorf("%+v: after 200 s without API Flux needed about 210 s", r.Outcome)
		}
	}
}
