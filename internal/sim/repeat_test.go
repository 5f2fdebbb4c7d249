package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store/storetest"
)

// A seed makes up the same history, with the same outcome, whatever the random ids and the engine; and the script that a
// history prints does the same once more.
func TestAHistoryRepeats(t *testing.T) {
	places := []*Place{newPlace(t, config.SQLite, nil)}
	for _, engine := range storetest.Engines(t) {
		places = append(places, newPlace(t, engine, nil))
	}
	seeds := uint64(12)
	if raced {
		seeds = 3
	}
	for seed := range seeds {
		first := walkOf(t, places[0], seed)
		for _, p := range places[1:] {
			again := walkOf(t, p, seed)
			if diff := cmp.Diff(first.told(), again.told()); diff != "" {
				t.Errorf("seed %d, again on %s:\n%s", seed, p.location.Engine, diff)
			}
			out, _ := run(t, p, script(first))
			if diff := cmp.Diff(first.told(), strings.Split(strings.TrimSpace(out), "\n")); diff != "" {
				t.Errorf("seed %d, as a script on %s:\n%s", seed, p.location.Engine, diff)
			}
		}
	}
}

// script is what a history prints, without the words around the commands.
func script(s *Sim) string {
	text := strings.TrimPrefix(s.Script(), "history\n")
	text, _, _ = strings.Cut(text, "----")
	return text
}

// told is each command with its outcome, as scripts have it.
func (s *Sim) told() []string {
	var out []string
	for i, line := range s.steps {
		out = append(out, fmt.Sprintf("%s: %s", line, s.said[i]))
	}
	return out
}

// Control: a history that does not hold is found again by its seed and by its script.
func TestABrokenHistoryRepeats(t *testing.T) {
	without := dispatch.Without{dispatch.GuardGate}
	p, other := newPlace(t, config.SQLite, without), newPlace(t, config.SQLite, without)
	for seed := range uint64(500) {
		s := walkOf(t, p, seed)
		if len(s.Broken()) == 0 {
			continue
		}
		if again := walkOf(t, other, seed); !slices.Equal(s.Broken(), again.Broken()) {
			t.Errorf("seed %d broke %v, and then %v", seed, s.Broken(), again.Broken())
		}
		if _, broken := run(t, other, script(s)); !slices.Equal(s.Broken(), broken) {
			t.Errorf("seed %d broke %v, and as a script %v", seed, s.Broken(), broken)
		}
		return
	}
	t.Fatal("nothing broke")
}
