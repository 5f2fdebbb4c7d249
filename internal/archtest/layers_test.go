package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// layer is a group of packages and what they may import of the module. A package belongs to the layer that names it
// or the longest of its parents; packages below one named package may import each other.
type layer struct {
	name     string
	packages []string
	may      []string // names of layers
	siblings bool     // packages of this layer may import each other
}

// layers go from the bottom to the top; the names are those of ARCHITECTURE.md.
var layers = []layer{
	{
		name: "pure", siblings: true,
		packages: []string{
			"refusal", "secret", "ledger", "dispatch", "act", "graph", "notice", "drift", "adopt",
		},
	},
	{name: "settings", packages: []string{"config"}, may: []string{"pure"}},
	{name: "drivers", packages: []string{"executor", "observer"}, may: []string{"pure"}},
	{
		name:     "adapters",
		packages: []string{"store", "talos", "kube", "source", "deliver", "artifact"},
		may:      []string{"pure", "settings"},
	},
	{name: "wire", packages: []string{"api"}, may: []string{"pure"}},
	{
		name:     "fronts",
		packages: []string{"server", "web", "mcpserver", "wrap"},
		may:      []string{"pure", "settings", "drivers", "wire", "fronts"},
	},
	{name: "lab", packages: []string{"lab"}, may: []string{"settings"}},
	{name: "histories", packages: []string{"sim"}, may: []string{"pure", "settings", "drivers", "adapters"}},
	{
		name: "drill", packages: []string{"drill"},
		may: []string{"pure", "settings", "drivers", "adapters", "wire", "fronts", "lab", "histories"},
	},
	{
		name: "cli", packages: []string{"cli"},
		may: []string{"pure", "settings", "drivers", "adapters", "wire", "fronts", "lab", "drill"},
	},
	{
		name: "test only", packages: []string{"archtest", "bench", "store/storetest"}, siblings: true,
		may: []string{"pure", "settings", "drivers", "adapters", "wire", "fronts", "lab", "histories", "drill", "cli"},
	},
	{name: "programs", packages: []string{"cmd/clew"}, may: []string{"cli"}},
	{name: "demo", packages: []string{"scripts/demo"}}, // it types at the built program, as a person would
	{name: "wrapper", packages: []string{"cmd/clewx"}, may: []string{"fronts"}},
}

// home finds the layer of a package and the package of it that names it.
func home(path string) (l layer, named string, ok bool) {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "./"), "internal/")
	for _, candidate := range layers {
		for _, p := range candidate.packages {
			if (path == p || strings.HasPrefix(path, p+"/")) && len(p) > len(named) {
				l, named, ok = candidate, p, true
			}
		}
	}
	return l, named, ok
}

// importFaults lists every import that does not point down.
func importFaults(packages []pkg) []string {
	var faults []string
	for _, p := range packages {
		from, fromName, ok := home(p.ImportPath)
		if !ok {
			faults = append(faults, fmt.Sprintf("%s belongs to no layer: add it to the table in layers_test.go", p.ImportPath))
			continue
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, "./") {
				continue
			}
			to, toName, ok := home(imported)
			if ok && (toName == fromName || slices.Contains(from.may, to.name) || from.siblings && to.name == from.name) {
				continue
			}
			faults = append(faults, fmt.Sprintf("%s (%s) may not import %s (%s)", p.ImportPath, from.name, imported, to.name))
		}
	}
	return faults
}

func TestImportsPointDown(t *testing.T) {
	for _, fault := range importFaults(modulePackages(t)) {
		t.Error(fault)
	}
}

func TestImportsControl(t *testing.T) {
	faulty := []pkg{
		{ImportPath: "./internal/ledger", Imports: []string{"./internal/store"}},
		{ImportPath: "./internal/store", Imports: []string{"./internal/talos"}},
		{ImportPath: "./internal/talos/wire", Imports: []string{"./internal/executor"}},
		{ImportPath: "./internal/executor", Imports: []string{"./internal/store"}},
		{ImportPath: "./internal/executor", Imports: []string{"./internal/observer"}},
		{ImportPath: "./internal/store", Imports: []string{"./internal/store/storetest"}},
		{ImportPath: "./internal/lab/node", Imports: []string{"./internal/dispatch"}},
		{ImportPath: "./internal/wrap", Imports: []string{"./internal/cli"}},
		{ImportPath: "./cmd/clewx", Imports: []string{"./internal/cli"}},
		{ImportPath: "./internal/util", Imports: nil},
	}
	for _, p := range faulty {
		if got := importFaults([]pkg{p}); len(got) != 1 {
			t.Errorf("%s importing %v: %d faults, want one", p.ImportPath, p.Imports, len(got))
		}
	}
	fine := []pkg{
		{ImportPath: "./internal/store", Imports: []string{"./internal/ledger", "./internal/store/migrations", "context", "github.com/x/y"}},
		{ImportPath: "./internal/dispatch", Imports: []string{"./internal/ledger", "./internal/refusal"}},
		{ImportPath: "./internal/store/storetest", Imports: []string{"./internal/store", "./internal/lab/pgserver"}},
		{ImportPath: "./internal/cli", Imports: []string{"./internal/store", "./internal/executor", "./internal/lab"}},
		{ImportPath: "./cmd/clew", Imports: []string{"./internal/cli"}},
	}
	if got := importFaults(fine); len(got) > 0 {
		t.Errorf("found in what is fine: %v", got)
	}
}
