package main

import (
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/unused"
)

// unusedAnalyzer reports what unused finds. That package leaves the reporting to its own driver, which joins the
// results of a package's test variants; "go vet" checks only the variant with the tests, so there is nothing to join.
func unusedAnalyzer() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     "unused",
		Doc:      "find what nothing uses",
		Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			result, ok := pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result)
			if !ok {
				return nil, nil
			}
			for _, o := range result.Unused {
				if pos := position(pass, o.Position); pos.IsValid() {
					pass.Report(analysis.Diagnostic{Pos: pos, Message: o.Kind + " " + o.Name + " is unused"})
				}
			}
			return nil, nil
		},
	}
}

// position finds a printed position again in the files of the package.
func position(pass *analysis.Pass, at token.Position) token.Pos {
	for _, f := range pass.Files {
		file := pass.Fset.File(f.FileStart)
		if file.Name() == at.Filename && at.Offset <= file.Size() {
			return file.Pos(at.Offset)
		}
	}
	return token.NoPos
}

// lettingGo are the functions that are deferred to let something go that may be gone already.
var lettingGo = []string{"Close", "Remove", "RemoveAll", "Rollback"}

// deferredLettingGo says whether a finding is about "defer x.Close()" and the like.
func deferredLettingGo(pass *analysis.Pass, d analysis.Diagnostic) bool {
	for _, f := range pass.Files {
		if d.Pos < f.FileStart || d.Pos > f.FileEnd {
			continue
		}
		found := false
		ast.Inspect(f, func(n ast.Node) bool {
			stmt, ok := n.(*ast.DeferStmt)
			if !ok || d.Pos < stmt.Pos() || d.Pos > stmt.End() {
				return n != nil && n.Pos() <= d.Pos && d.Pos <= n.End()
			}
			selector, ok := stmt.Call.Fun.(*ast.SelectorExpr)
			found = found || ok && slices.Contains(lettingGo, selector.Sel.Name) && d.Pos >= stmt.Call.Fun.Pos()
			return true
		})
		return found
	}
	return false
}
