package recogniserfile

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
)

// userDir has the recognisers that users copy.
const userDir = "../../../docs/recognisers"

// allFiles are the shipped recognisers and those to copy.
func allFiles(t *testing.T) map[string]act.Recogniser {
	t.Helper()
	found := map[string]act.Recogniser{}
	for _, dir := range []string{shippedDir, userDir} {
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no recognisers in %s: %v", dir, err)
		}
		for _, file := range files {
			r, err := Read(file)
			if err != nil {
				t.Error(err)
				continue
			}
			if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); r.Tool != want {
				t.Errorf("%s is of the tool %q", file, r.Tool)
			}
			found[r.Tool] = r
		}
	}
	return found
}

// unknownNames lists effects, symptoms and kinds that the graph does not know.
func unknownNames(r act.Recogniser) []string {
	var faults []string
	effect := func(where, e string) {
		if e != "" && !graph.KnownEffect(graph.Effect(e)) {
			faults = append(faults, where+": effect "+e)
		}
	}
	envelope := func(where string, list []act.Expectation) {
		for _, e := range list {
			if _, ok := graph.Symptom(e.Symptom).About(); !ok {
				faults = append(faults, where+": symptom "+e.Symptom)
			}
		}
	}
	for _, c := range r.Commands {
		where := strings.Join(c.Words, " ")
		effect(where, c.Effect)
		envelope(where, c.Envelope)
		for _, rule := range c.When {
			effect(where, rule.Effect)
			envelope(where, rule.Envelope)
		}
		for _, kind := range c.On {
			if _, ok := graph.KindOf(kind); !ok {
				faults = append(faults, where+": kind "+kind)
			}
		}
	}
	return faults
}

func TestRecognisersSpeakTheGraphsWords(t *testing.T) {
	for tool, r := range allFiles(t) {
		for _, fault := range unknownNames(r) {
			t.Errorf("%s: %s", tool, fault)
		}
	}
	planted := act.Recogniser{Commands: []act.Command{
		{Effect: "sparks", Envelope: []act.Expectation{{Symptom: "smoke"}}, On: []string{"toaster"}},
	}}
	if got := unknownNames(planted); len(got) != 3 {
		t.Errorf("control: of three unknown names %v were found", got)
	}
}
