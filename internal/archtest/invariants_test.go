package archtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listedInvariant is a line of the list in the contract's package documentation.
var listedInvariant = regexp.MustCompile(`(?m)^//\s+(I\d+)\s+\S`)

// enforcing is a comment that begins with invariants' numbers: "// I3" or "// I5 I6: why".
var enforcing = regexp.MustCompile(`//\s+(I\d+(?:[ ,]+I\d+)*)(?:\W|$)`)

// proving is a test named after an invariant.
var proving = regexp.MustCompile(`(?m)^func Test(I\d+)(?:\D\w*)?\(`)

// invariantFaults lists the invariants of the contract that lack an enforcing line or a test. sources maps file names
// to their texts.
func invariantFaults(contract string, sources map[string]string) []string {
	enforced, proved := map[string]bool{}, map[string]bool{}
	for name, text := range sources {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range proving.FindAllStringSubmatch(text, -1) {
				proved[m[1]] = true
			}
			continue
		}
		for line := range strings.Lines(text) {
			if m := enforcing.FindStringSubmatch(line); m != nil && !listedInvariant.MatchString(line) {
				for number := range strings.FieldsFuncSeq(m[1], func(r rune) bool { return r == ' ' || r == ',' }) {
					enforced[number] = true
				}
			}
		}
	}
	var faults []string
	listed := listedInvariants(contract)
	for _, number := range listed {
		if !enforced[number] {
			faults = append(faults, number+" has no line that says it enforces it")
		}
		if !proved[number] {
			faults = append(faults, number+" has no test named Test"+number+"...")
		}
	}
	for number := range enforced {
		if !slices.Contains(listed, number) {
			faults = append(faults, number+" is said to be enforced, and is not in the list")
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

func TestInvariantsHaveTheirPlaces(t *testing.T) {
	dir := root(t)
	contract, err := os.ReadFile(filepath.Join(dir, "internal", "dispatch", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(listedInvariants(string(contract))); n != 18 {
		t.Errorf("the contract lists %d invariants, want 18", n)
	}
	sources := map[string]string{}
	err = filepath.WalkDir(filepath.Join(dir, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.Contains(path, "archtest") {
			return err
		}
		b, err := os.ReadFile(path)
		sources[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range invariantFaults(string(contract), sources) {
		t.Error(fault)
	}
}

func TestInvariantsControl(t *testing.T) {
	contract := "// Package x.\n//\n//\tI1  One.\n//\tI2  Two,\n//\t    longer.\n//\tI12 Twelve.\n"
	complete := map[string]string{
		"x.go":      "a() // I1 I2\nb() // I12: because\n",
		"x_test.go": "func TestI1Holds(t *testing.T) {\nfunc TestI2(t *testing.T) {\nfunc TestI12_x(t *testing.T) {\n",
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
	} {
		if got := invariantFaults(contract, sources); len(got) != 1 {
			t.Errorf("%s: %v, want one fault", name, got)
		}
	}
	if got := fmt.Sprint(listedInvariants(contract)); got != "[I1 I2 I12]" {
		t.Errorf("listed: %s", got)
	}
}
