package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listedInvariant is a line of the list in the contract's package documentation.
var listedInvariant = regexp.MustCompile(`(?m)^//\s+(I\d+)\s+\S`)

// enforcing is a comment that begins with invariants' numbers, "// I3" or "// I5 I6: why", behind code or on its own, or
// the comment of a function that ends with them, "// does this and that. I3".
var enforcing = regexp.MustCompile(`^//(?:\s+|.*\. )(I\d+(?:[ ,]+I\d+)*)(?:\W|$)`)

// proving is a test named after an invariant or several: TestI3..., TestI5I6...
var proving = regexp.MustCompile(`(?m)^func (Test((?:I\d+)+)(?:[^\d(]\w*)?)\(`)

// number is an invariant's number.
var number = regexp.MustCompile(`I\d+`)

// places are where one invariant is enforced and tested.
type places struct {
	enforcing []string // files, relative to internal
	tests     []string // names of test functions
}

// findPlaces looks every invariant up. sources maps file names, relative to internal, to their texts.
func findPlaces(sources map[string]string) map[string]places {
	found := map[string]places{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		text := sources[name]
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range proving.FindAllStringSubmatch(text, -1) {
				for _, n := range number.FindAllString(m[2], -1) {
					p := found[n]
					p.tests = appendNew(p.tests, m[1])
					found[n] = p
				}
			}
			continue
		}
		if strings.HasPrefix(name, "sim/") || strings.HasPrefix(name, "bench/") {
			continue // what only tests use enforces nothing
		}
		for line := range strings.Lines(text) {
			comment := max(0, strings.Index(line, "//"))
			m := enforcing.FindStringSubmatch(line[comment:])
			if m == nil || listedInvariant.MatchString(line) {
				continue
			}
			for _, n := range number.FindAllString(m[1], -1) {
				p := found[n]
				p.enforcing = appendNew(p.enforcing, name)
				found[n] = p
			}
		}
	}
	return found
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// invariantFaults lists the invariants of the contract that lack an enforcing line or a test.
func invariantFaults(contract string, sources map[string]string) []string {
	var faults []string
	found := findPlaces(sources)
	listed := listedInvariants(contract)
	for _, n := range listed {
		if len(found[n].enforcing) == 0 {
			faults = append(faults, n+" has no line that says it enforces it")
		}
		if len(found[n].tests) == 0 {
			faults = append(faults, n+" has no test named Test"+n+"...")
		}
	}
	for n := range found {
		if !slices.Contains(listed, n) {
			faults = append(faults, n+" is enforced or tested, and is not in the list")
		}
	}
	return faults
}

func listedInvariants(contract string) []string {
	var listed []string
	for _, m := range listedInvariant.FindAllStringSubmatch(contract, -1) {
		listed = append(listed, m[1])
	}
	return listed
}

// contract is the text that lists the invariants.
func contract(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root(t), "internal", "dispatch", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sources reads every Go file of the product and its tests but this package's own.
func sources(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	base := filepath.Join(root(t), "internal")
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || filepath.Base(filepath.Dir(path)) == "archtest" {
			return err
		}
		rel, err := filepath.Rel(base, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		texts[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func TestInvariantsHaveTheirPlaces(t *testing.T) {
	if n := len(listedInvariants(contract(t))); n != 18 {
		t.Errorf("the contract lists %d invariants, want 18", n)
	}
	for _, fault := range invariantFaults(contract(t), sources(t)) {
		t.Error(fault)
	}
}

func TestInvariantsControl(t *testing.T) {
	contract := "// Package x.\n//\n//\tI1  One.\n//\tI2  Two,\n//\t    longer.\n//\tI12 Twelve.\n"
	complete := map[string]string{
		"x.go":      "a() // I1\nb() // I12: because\n// c keeps it. I2\nfunc c() {\n",
		"x_test.go": "func TestI1Holds(t *testing.T) {\nfunc TestI2I12(t *testing.T) {\n",
	}
	if got := invariantFaults(contract, complete); got != nil {
		t.Errorf("found in what is complete: %v", got)
	}
	for name, sources := range map[string]map[string]string{
		"no line for I2":              {"x.go": "a() // I1\nb() // I12\n", "x_test.go": complete["x_test.go"]},
		"I12 does not stand for I1":   {"x.go": "a() // I12\nb() // I2\n", "x_test.go": complete["x_test.go"]},
		"no test for I2":              {"x.go": complete["x.go"], "x_test.go": "func TestI1(t\nfunc TestI12(t\n"},
		"TestI12 is no test of I1":    {"x.go": complete["x.go"], "x_test.go": "func TestI2(t\nfunc TestI12(t\n"},
		"a number that is not listed": {"x.go": complete["x.go"] + "c() // I7\n", "x_test.go": complete["x_test.go"]},
		"a line in a test enforces nothing": {
			"x.go": "b() // I12 I2\n", "x_test.go": complete["x_test.go"] + "a() // I1\n",
		},
		"the list itself enforces nothing": {
			"x.go": "a() // I1 I2\n", "doc.go": contract, "x_test.go": complete["x_test.go"],
		},
		"nor does a comment about the comments": {
			"x.go": "a() // I1 I2\n// Such a line says \"// I12\".\n", "x_test.go": complete["x_test.go"],
		},
	} {
		if got := invariantFaults(contract, sources); len(got) != 1 {
			t.Errorf("%s: %v, want one fault", name, got)
		}
	}
	if got := fmt.Sprint(listedInvariants(contract)); got != "[I1 I2 I12]" {
		t.Errorf("listed: %s", got)
	}
}
