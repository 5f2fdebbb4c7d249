package main

import (
	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/kisielk/errcheck/errcheck"
	"github.com/ldez/usetesting"
	"github.com/nishanths/exhaustive"
	"github.com/polyfloyd/go-errorlint/errorlint"
	"github.com/ryanrolds/sqlclosecheck/pkg/analyzer"
	"github.com/timakin/bodyclose/passes/bodyclose"
	"go-simpler.org/sloglint"
	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

// module is the import path that every package of the product begins with.
const module = "github.com/clewops/clew"

// suite is every analyzer, each with its reason, behind the filter for "//lint:ignore CHECK reason".
func suite() []*analysis.Analyzer {
	list := standardPasses()
	list = append(list, staticcheckDefaults()...)
	list = append(list,
		unusedAnalyzer(),                // dead code is read and maintained like any other
		errcheckAnalyzer(),              // a dropped error is a failure reported as success
		ineffassign.Analyzer,            // an assignment that nobody reads is often a lost error
		exhaustiveAnalyzer(),            // a new state has to be met in every switch
		errorlint.NewAnalyzer(),         // refusals and unknowns travel wrapped: == and type assertions would miss them
		sloglintAnalyzer(),              // constant messages and typed attributes can be searched, and carry no secret by accident
		usetesting.NewAnalyzer(),        // what a test makes must end with the test
		bodyclose.Analyzer,              // an unclosed body leaks a connection
		analyzer.NewDeferOnlyAnalyzer(), // unclosed rows hold a connection, and on SQLite a lock
	)
	for _, a := range list {
		honourIgnores(a)
	}
	return append(list, directiveAnalyzer(list))
}

// staticcheckDefaults are the checks that staticcheck itself runs by default: bugs, simplifications and the style
// checks that are not a matter of taste.
func staticcheckDefaults() []*analysis.Analyzer {
	var list []*analysis.Analyzer
	for _, group := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers} {
		for _, a := range group {
			if !a.Doc.NonDefault {
				list = append(list, a.Analyzer)
			}
		}
	}
	return list
}

// exhaustiveAnalyzer takes a default case as an answer for the values that are not listed.
func exhaustiveAnalyzer() *analysis.Analyzer {
	set(exhaustive.Analyzer, exhaustive.DefaultSignifiesExhaustiveFlag, "true")
	return exhaustive.Analyzer
}

func sloglintAnalyzer() *analysis.Analyzer {
	return sloglint.New(&sloglint.Options{NoMixedArguments: true, StaticMessage: true, NoGlobalLogger: "all"})
}

// errcheckExcluded are calls whose error nobody can act on: writing for people (a terminal that is gone cannot be told
// so) and closing what has no data left to lose. Closing a file is not among them.
var errcheckExcluded = []string{
	"fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln",
	"(net.Conn).Close", "(net.Listener).Close", "(*net.TCPConn).Close", "(*crypto/tls.Conn).Close",
	"(*net/http.Server).Close", "(*google.golang.org/grpc.ClientConn).Close",
}

// errcheckAnalyzer leaves out deferred closing and removing, too: that is how things are let go that were only read, or
// that may be gone already. What was written is closed in the open.
func errcheckAnalyzer() *analysis.Analyzer {
	errcheck.DefaultExcludedSymbols = append(errcheck.DefaultExcludedSymbols, errcheckExcluded...)
	dropWhere(errcheck.Analyzer, deferredLettingGo)
	return errcheck.Analyzer
}

// set sets an analyzer's option; a wrong one is a mistake in this program.
func set(a *analysis.Analyzer, option, value string) {
	if err := a.Flags.Set(option, value); err != nil {
		panic(a.Name + ": " + err.Error())
	}
}
