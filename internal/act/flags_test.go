package act_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/act"
)

// unknownFlags lists what the tools' own lists of verbs and flags have and the recogniser has not, or has otherwise: a
// flag that takes a value and counts as a switch would make an argument of its value.
func unknownFlags(r *act.Recogniser, text string) (faults []string, flags int) {
	none := func(string) string { return "" }
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		columns := strings.Split(line+" ", " |")
		verb := strings.Fields(columns[0])
		bare := r.Match(verb, none)
		if slices.Contains(bare.Doubts, act.DoubtVerb) {
			continue // a group of verbs, or a verb that is left unknown on purpose
		}
		for column, value := range map[int]bool{1: false, 2: true} {
			for names := range strings.SplitSeq(columns[column], ",") {
				for name := range strings.FieldsSeq(names) {
					name, optional := strings.CutSuffix(name, "?")
					flags++
					got := r.Match(append(slices.Clone(verb), name, "zq-value"), none)
					taken := strings.Contains(strings.Join(got.Recorded, " "), "=")
					switch {
					case slices.Contains(got.Doubts, act.DoubtFlag):
						faults = append(faults, columns[0]+": "+name+" is not known")
					case !value && taken && !optional:
						faults = append(faults, columns[0]+": "+name+" takes no value")
					case value && !optional && !taken && !slices.Contains(optionalValues, name):
						faults = append(faults, columns[0]+": "+name+" takes a value")
					}
				}
			}
		}
	}
	return faults, flags
}

// optionalValues are listed like flags with a value, and take one after = only.
var optionalValues = []string{"--dry-run", "--validate", "--cascade"}

func TestTheToolsFlagsAreKnown(t *testing.T) {
	for tool, least := range map[string]int{"kubectl": 600, "talosctl": 200, "flux": 200, "helm": 200} {
		b, err := os.ReadFile("testdata/flags/" + tool + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		faults, flags := unknownFlags(act.ShippedFor(tool), string(b))
		for _, fault := range faults {
			t.Errorf("%s %s", tool, fault)
		}
		if flags < least {
			t.Errorf("only %d flags of %s were looked at", flags, tool)
		}
	}
	planted := "top node | --no-headers, --zq | --selector\ncordon | --selector | --zq\n"
	if faults, _ := unknownFlags(act.ShippedFor("kubectl"), planted); len(faults) != 3 {
		t.Errorf("control: of three faults %q were found", faults)
	}
}
