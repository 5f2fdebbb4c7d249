package notice

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
)

func TestFromAct(t *testing.T) {
	recorded := act.Act{
		ID: "i-1",
		Observed: act.Observed{
			Session: "s-alice", Tool: "talosctl", Operation: "upgrade", Class: act.Mutate, Effect: "down", Start: at(0), Tail: time.Minute,
			Envelope: []act.Expectation{{Symptom: "api-gap", For: time.Minute}, {Symptom: "new-pain", For: time.Minute}},
		},
		Claimed: &act.Claim{Work: "w-1", Purpose: "Talos 1.13.6", Envelope: act.Envelope{
			Expected: []act.Expectation{{Symptom: "api-gap", At: "api", For: 2 * time.Minute}, {Symptom: "api-gap", At: "nowhere", For: time.Hour}},
			AbortIf:  []act.Condition{{Symptom: "quorum-loss"}},
		}},
	}
	resolve := func(s string) (graph.Name, bool) { return api, s == "api" }
	a, left := FromAct(recorded, "alice", "", []graph.Name{"node/prod/cp-2"}, resolve)
	if got := fmt.Sprint(left); got != "[new-pain api-gap@nowhere]" {
		t.Errorf("left out: %s", got)
	}
	if a.Doing != "runs talosctl upgrade" || a.Targets[0].Effect != graph.Down || a.Work != "w-1" || len(a.Default) != 1 ||
		fmt.Sprint(a.Claimed) != "[{api-gap apiserver/prod 2m0s}]" || fmt.Sprint(a.AbortIf) != "[{quorum-loss }]" || a.Tail != time.Minute {
		t.Errorf("%+v", a)
	}
	recorded.Observed.Class = act.Unknown
	if a, _ := FromAct(recorded, "alice", "", []graph.Name{"node/prod/cp-2"}, resolve); a.Targets[0].Effect != graph.Opaque {
		t.Error("what is not understood reaches further than its target")
	}
}

// Every effect and symptom of the shipped recognisers is in the graph's lists, or they would count for nothing.
func TestShippedRecognisersSpeakTheGraphsWords(t *testing.T) {
	files, err := filepath.Glob("../act/recognisers/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d recognisers, %v", len(files), err)
	}
	word := regexp.MustCompile(`(effect|symptom): ([a-z-]+)`)
	seen := map[string]int{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range word.FindAllStringSubmatch(string(text), -1) {
			seen[m[1]]++
			_, symptom := graph.Symptom(m[2]).About()
			if m[1] == "symptom" && !symptom || m[1] == "effect" && !graph.KnownEffect(graph.Effect(m[2])) {
				t.Errorf("%s: %s is no known %s", f, m[2], m[1])
			}
		}
	}
	if seen["effect"] < 10 || seen["symptom"] < 10 {
		t.Errorf("only %v were found", seen)
	}
}
