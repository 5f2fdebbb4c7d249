// Command lint is the project's static analysis, run by "go vet -vettool", which caches its results by package.
//
// It holds the analyzers that can be defended one by one (see suite.go) and nothing else. What the packages may
// import is not its business: internal/archtest checks that.
package main

import (
	"encoding/json"
	"log"
	"os"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	last := os.Args[len(os.Args)-1]
	if !strings.HasSuffix(last, ".cfg") {
		unitchecker.Main(suite()...) // the questions of "go vet": exits
	}
	u, err := readUnit(last)
	switch {
	case err != nil:
		log.Fatal(err)
	case u.VetxOnly && u.thirdParty():
		// Passed over, as a package without facts: whole-program facts about the Kubernetes libraries take minutes to
		// compute and change hardly a finding of ours.
		if err := os.WriteFile(u.VetxOutput, nil, 0o666); err != nil {
			log.Fatal(err)
		}
	case u.VetxOnly:
		unitchecker.Run(last, factAnalyzers(suite()))
	default:
		unitchecker.Main(suite()...)
	}
}

// unit is the part that is needed here of what "go vet" hands to the checker for one package.
type unit struct {
	ImportPath string
	VetxOnly   bool   // wanted for its facts, as a dependency of what is checked
	VetxOutput string // the file for the facts
}

func readUnit(file string) (unit, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return unit{}, err
	}
	var u unit
	return u, json.Unmarshal(b, &u)
}

// thirdParty says whether the package is neither ours nor the standard library's.
func (u unit) thirdParty() bool {
	first, _, _ := strings.Cut(u.ImportPath, "/")
	ours := u.ImportPath == module || strings.HasPrefix(u.ImportPath, module+"/")
	return strings.Contains(first, ".") && !ours
}

// factAnalyzers are those analyzers, down to what they require, that leave facts for dependent packages. The rest
// would only compute findings that nobody asked for.
func factAnalyzers(all []*analysis.Analyzer) []*analysis.Analyzer {
	var facts []*analysis.Analyzer
	seen := map[*analysis.Analyzer]bool{}
	var visit func([]*analysis.Analyzer)
	visit = func(list []*analysis.Analyzer) {
		for _, a := range list {
			if seen[a] {
				continue
			}
			seen[a] = true
			if len(a.FactTypes) > 0 {
				facts = append(facts, a)
			}
			visit(a.Requires)
		}
	}
	visit(all)
	return facts
}
