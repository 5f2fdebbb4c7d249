package lab_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// The places where a fact's id stands: a call of fact, a row of the table of modes, a row of the page.
var (
	factCall = regexp.MustCompile(`(?m)fact\(t, "([A-Z]\d+)"|^\t\t"([A-Z]\d+)": \{`)
	factRow  = regexp.MustCompile(`(?m)^\| ([A-Z]\d+) \|`)
)

// TestFactsAreListed keeps docs/lab.md and the tests the same list.
func TestFactsAreListed(t *testing.T) {
	page, err := os.ReadFile("../../docs/lab.md")
	must(t, err)

	files, err := filepath.Glob("*_test.go")
	must(t, err)

	tested := map[string]bool{}

	for _, f := range files {
		if f == "facts_test.go" {
			continue
		}

		b, err := os.ReadFile(f)
		must(t, err)

		for _, m := range factCall.FindAllSubmatch(b, -1) {
			id := string(m[1]) + string(m[2])
			if tested[id] {
				t.Errorf("%s stands twice", id)
			}

			tested[id] = true
		}
	}

	listed := map[string]bool{}
	for _, m := range factRow.FindAllSubmatch(page, -1) {
		listed[string(m[1])] = true
	}

	if len(tested) < 50 || !maps.Equal(tested, listed) {
		t.Errorf("tested: %v\nlisted: %v", slices.Sorted(maps.Keys(tested)), slices.Sorted(maps.Keys(listed)))
	}
}
