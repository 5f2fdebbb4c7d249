package main

import (
	"bytes"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
)

// ignorePrefix starts a comment that silences findings: on its own line when it stands behind code, else on the next.
// It reads "//lint:ignore CHECK[,CHECK] why".
const ignorePrefix = "//lint:ignore"

// ignore is one such comment.
type ignore struct {
	pos    token.Pos
	file   string
	line   int // that it speaks of
	checks []string
	reason string
}

// used remembers which comments silenced something; one process checks one package, with analyzers in parallel.
var used = struct {
	sync.Mutex
	at map[token.Pos]bool
}{at: map[token.Pos]bool{}}

// honourIgnores makes an analyzer's findings pass the package's ignore comments, and adds the check's name to those
// that remain, because it is what such a comment has to say.
func honourIgnores(a *analysis.Analyzer) {
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		named := *pass
		named.Report = func(d analysis.Diagnostic) {
			d.Message += " (" + a.Name + ")"
			pass.Report(d)
		}
		return run(&named)
	}
	dropWhere(a, func(pass *analysis.Pass, d analysis.Diagnostic) bool {
		at := pass.Fset.Position(d.Pos)
		for _, ig := range ignores(pass) {
			if ig.file == at.Filename && ig.line == at.Line && slices.Contains(ig.checks, a.Name) {
				used.Lock()
				used.at[ig.pos] = true
				used.Unlock()
				return true
			}
		}
		return false
	})
}

// dropWhere makes an analyzer lose the findings for which drop says yes.
func dropWhere(a *analysis.Analyzer, drop func(*analysis.Pass, analysis.Diagnostic) bool) {
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		filtered := *pass
		filtered.Report = func(d analysis.Diagnostic) {
			if !drop(pass, d) {
				pass.Report(d)
			}
		}
		return run(&filtered)
	}
}

// ignores lists a package's ignore comments.
func ignores(pass *analysis.Pass) []ignore {
	var list []ignore
	for _, f := range pass.Files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				if ig, ok := parseIgnore(pass.Fset, c); ok {
					if standsAlone(pass, c) {
						ig.line++
					}
					list = append(list, ig)
				}
			}
		}
	}
	return list
}

// standsAlone says whether nothing but space is before a comment on its line.
func standsAlone(pass *analysis.Pass, c *ast.Comment) bool {
	at := pass.Fset.Position(c.Pos())
	text, err := pass.ReadFile(at.Filename)
	if err != nil || at.Offset > len(text) {
		return false
	}
	before := text[:at.Offset]
	return len(bytes.TrimSpace(before[bytes.LastIndexByte(before, '\n')+1:])) == 0
}

func parseIgnore(fset *token.FileSet, c *ast.Comment) (ignore, bool) {
	rest, ok := strings.CutPrefix(c.Text, ignorePrefix)
	if !ok {
		return ignore{}, false
	}
	checks, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
	at := fset.Position(c.Pos())
	return ignore{
		pos: c.Pos(), file: at.Filename, line: at.Line,
		checks: strings.Split(checks, ","), reason: strings.TrimSpace(reason),
	}, true
}

// directiveAnalyzer checks the ignore comments themselves: each needs a known check and a reason, and has to silence
// something. It requires all other analyzers, so that it runs after them.
func directiveAnalyzer(all []*analysis.Analyzer) *analysis.Analyzer {
	known := map[string]bool{}
	for _, a := range all {
		known[a.Name] = true
	}
	return &analysis.Analyzer{
		Name:     "lintdirective",
		Doc:      "check that every lint:ignore names a check, says why, and is still needed",
		Requires: all,
		Run: func(pass *analysis.Pass) (any, error) {
			for _, ig := range ignores(pass) {
				if message := ig.wrong(known); message != "" {
					pass.Report(analysis.Diagnostic{Pos: ig.pos, Message: message})
				}
			}
			reportNolint(pass)
			return nil, nil
		},
	}
}

// wrong says what is wrong with an ignore comment, "" when nothing is.
func (ig ignore) wrong(known map[string]bool) string {
	for _, check := range ig.checks {
		if !known[check] {
			return "lint:ignore names no check of this suite: " + check
		}
	}
	if ig.reason == "" {
		return "lint:ignore needs a reason"
	}
	used.Lock()
	defer used.Unlock()
	if !used.at[ig.pos] {
		return "lint:ignore silences nothing here: remove it"
	}
	return ""
}

// reportNolint finds the comment that another tool would honour and this one does not.
func reportNolint(pass *analysis.Pass) {
	for _, f := range pass.Files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//nolint") {
					pass.Report(analysis.Diagnostic{Pos: c.Pos(), Message: "write //lint:ignore CHECK reason"})
				}
			}
		}
	}
}
