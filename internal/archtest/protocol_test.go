package archtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Markers of the generated part of docs/protocol.md that this package writes; the others are written from the code in
// package dispatch.
const (
	placesBegin = "<!-- generated: places -->\n"
	placesEnd   = "<!-- end of places -->\n"
)

// offered are, by invariant, tests that offer what it forbids and see it refused or found.
var offered = map[string][]string{
	"I1":  {"TestControlWithoutComparison4AMachineIsHeldTwice"},
	"I2":  {"TestControlWithoutComparison7AStaleAttemptIsRecorded", "TestI2SendGuard"},
	"I3":  {"TestI3CompletionTakesAReadingThatBeganAfterTheResponse", "TestHistoryFindsEachViolation"},
	"I4":  {"TestVerifyFindsChangedRows", "TestHistoryFindsEachViolation"},
	"I5":  {"TestControlWithoutAccountingAnOperationEndsOnUntrueEvidence"},
	"I6":  {"TestControlWithoutAccountingAnOperationEndsOnUntrueEvidence"},
	"I7":  {"TestI7SecretsAreNotPrinted", "TestI7ErrorsKeepSecrets", "TestI7DiffHidesWhatTalosRedacts"},
	"I8":  {"TestI8NothingFromAnotherEpochAuthorizes", "TestHistoryFindsEachViolation"},
	"I9":  {"TestI9TheAssignmentStaysWhileTheMachineIsHeld", "TestHistoryFindsEachViolation"},
	"I10": {"TestControlWithoutComparison6AFrozenMachineIsChanged"},
	"I11": {"TestI11OnlyAPersonDecides", "TestHistoryFindsEachViolation"},
	"I12": {"TestControlWithoutComparison0APlanHasTwoOperations"},
	"I13": {"TestControlWithoutComparison1ARevokedPlanIsSent"},
	"I14": {"TestControlWithoutComparison2AStalePlanOverwrites", "TestControlWithoutComparison3AnUnseenChangeIsOverwritten"},
	"I15": {"TestControlWithoutComparison5ARolloutOverflows"},
	"I16": {"TestControlWithoutComparison9AttemptsExceedTheirBound"},
	"I17": {"TestControlWithoutComparison8ARetryFollowsAnAnswer"},
	"I18": {"TestControlWithoutExpiryAnExpiredPlanIsSent"},
}

// guardControl is the test with a case for each guard.
const guardControl = "TestEveryGuardHasAControl"

var (
	digits       = regexp.MustCompile(`\d+`)
	guardName    = regexp.MustCompile(`(?m)^\s+(Guard\w+)\s+Guard = "([\w-]+)"`)
	guardBreaks  = regexp.MustCompile(`dispatch\.(Guard\w+):\s+\{([\d, ]+)\},`)
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	namedTest    = regexp.MustCompile("`(Test\\w+)(?:/([\\w-]+))?`")
)

// guardsOf are the guards whose removal breaks an invariant, by its number, as the simulation's controls say.
func guardsOf(sources map[string]string) map[string][]string {
	names := map[string]string{}
	for _, m := range guardName.FindAllStringSubmatch(sources["dispatch/guard.go"], -1) {
		names[m[1]] = m[2]
	}
	found := map[string][]string{}
	for name, text := range sources {
		if !strings.HasPrefix(name, "sim/") || !strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range guardBreaks.FindAllStringSubmatch(text, -1) {
			for _, n := range digits.FindAllString(m[2], -1) {
				found["I"+n] = append(found["I"+n], names[m[1]])
			}
		}
	}
	for _, guards := range found {
		slices.Sort(guards)
	}
	return found
}

// placesTable is the table of docs/protocol.md: where each invariant is enforced, and what shows it.
func placesTable(contract string, sources map[string]string) string {
	places, guards := findPlaces(sources), guardsOf(sources)
	var b strings.Builder
	b.WriteString("| | Enforced in | Taken away | Offered by |\n| --- | --- | --- | --- |\n")
	for _, n := range listedInvariants(contract) {
		var controls []string
		for _, g := range guards[n] {
			controls = append(controls, guardControl+"/"+g)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", n, quoted(places[n].enforcing), quoted(controls), quoted(offered[n]))
	}
	return b.String()
}

// pageFaults lists the tests that a page names and that do not exist, and invariants of which nothing is named.
func pageFaults(page, contract string, sources map[string]string) []string {
	tests, guards := map[string]bool{}, map[string]bool{}
	for name, text := range sources {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range testFunction.FindAllStringSubmatch(text, -1) {
				tests[m[1]] = true
			}
		}
	}
	for _, m := range guardName.FindAllStringSubmatch(sources["dispatch/guard.go"], -1) {
		guards[m[2]] = true
	}
	var faults []string
	for _, m := range namedTest.FindAllStringSubmatch(page, -1) {
		switch {
		case !tests[m[1]]:
			faults = append(faults, "there is no test "+m[1])
		case m[2] != "" && (m[1] != guardControl || !guards[m[2]]):
			faults = append(faults, fmt.Sprintf("%s has no case %s", m[1], m[2]))
		}
	}
	for _, n := range listedInvariants(contract) {
		if len(offered[n]) == 0 {
			faults = append(faults, "nothing offers what "+n+" forbids")
		}
	}
	for _, g := range slices.Sorted(maps.Keys(guards)) {
		if !strings.Contains(page, "`"+guardControl+"/"+g+"`") {
			faults = append(faults, "the control of "+g+" is not named")
		}
	}
	return faults
}

func TestProtocolNamesThePlaces(t *testing.T) {
	file := filepath.Join(root(t), "docs", "protocol.md")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), placesBegin)
	_, after, ok2 := strings.Cut(rest, placesEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", file)
	}
	want := before + placesBegin + "\n" + placesTable(contract(t), sources(t)) + "\n" + placesEnd + after
	if string(b) != want {
		if !*update {
			t.Fatal("docs/protocol.md is not what the code says: run make docs")
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, fault := range pageFaults(want, contract(t), sources(t)) {
		t.Errorf("docs/protocol.md: %s", fault)
	}
}

func TestProtocolControl(t *testing.T) {
	sources := map[string]string{
		"dispatch/guard.go": "const (\n\tGuardX Guard = \"x\"\n\tGuardY Guard = \"y-2\" // why\n)\n",
		"sim/r_test.go":     "\tdispatch.GuardX: {1},\n\tdispatch.GuardY:   {12, 1},\nfunc TestEveryGuardHasAControl(t *testing.T) {\n",
		"a/b_test.go":       "func TestThere(t *testing.T) {\n",
	}
	const list = "// Package x.\n//\n//\tI1  One.\n//\tI12 Twelve.\npackage x\n"
	table := placesTable(list, sources)
	for _, want := range []string{
		"`TestEveryGuardHasAControl/x`, `TestEveryGuardHasAControl/y-2` | `" + offered["I1"][0],
		"| I12 |  | `TestEveryGuardHasAControl/y-2` |",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	const both = "`TestEveryGuardHasAControl/x` `TestEveryGuardHasAControl/y-2` "
	if got := pageFaults(both+"`TestThere`", list, sources); got != nil {
		t.Errorf("found in what is complete: %v", got)
	}
	for _, page := range []string{
		both + "`TestGone`", both + "`TestThere/x`", both + "`TestEveryGuardHasAControl/z`", "`TestEveryGuardHasAControl/x`",
	} {
		if got := pageFaults(page, list, sources); len(got) != 1 {
			t.Errorf("%s: %v, want one fault", page, got)
		}
	}
}
