package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// impure are the standard packages, with everything below them, that bring in a clock, a goroutine, randomness or
// the outside world.
var impure = []string{
	"context", "crypto/rand", "database/sql", "log", "math/rand", "net", "os", "plugin", "runtime", "sync", "syscall",
	"testing", "unsafe",
}

// clock are the functions of package time that read or wait for the clock.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// impureImports lists what a pure package imports and may not.
func impureImports(p pkg) []string {
	var faults []string
	for _, imported := range p.Imports {
		if strings.HasPrefix(imported, "./") {
			continue // the layers decide
		}
		first, _, _ := strings.Cut(imported, "/")
		bad := strings.Contains(first, ".") || slices.ContainsFunc(impure, func(deny string) bool {
			return imported == deny || strings.HasPrefix(imported, deny+"/")
		})
		if bad {
			faults = append(faults, fmt.Sprintf("%s is pure and may not import %s", p.ImportPath, imported))
		}
	}
	return faults
}

// impureCode lists uses of the clock and started goroutines in one file.
func impureCode(fset *token.FileSet, f *ast.File) []string {
	timeName := ""
	for _, spec := range f.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == "time" {
			timeName = path.Base(p)
			if spec.Name != nil {
				timeName = spec.Name.Name
			}
		}
	}
	var faults []string
	report := func(n ast.Node, what string) {
		faults = append(faults, fmt.Sprintf("%s: a pure package may not %s", fset.Position(n.Pos()), what))
	}
	if timeName == "." {
		report(f.Name, "import time with a dot")
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "start a goroutine")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && timeName != "" && x.Name == timeName && slices.Contains(clock, n.Sel.Name) {
				report(n, "use time."+n.Sel.Name)
			}
		}
		return true
	})
	return faults
}

func TestPurePackagesArePure(t *testing.T) {
	seen := 0
	for _, p := range modulePackages(t) {
		if l, _, ok := home(p.ImportPath); !ok || l.name != "pure" {
			continue
		}
		seen++
		for _, fault := range impureImports(p) {
			t.Error(fault)
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range impureCode(fset, f) {
				t.Error(fault)
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d pure packages were found", seen)
	}
}

func TestPureControl(t *testing.T) {
	for _, imported := range []string{
		"net", "net/http", "os", "os/exec", "database/sql", "context", "sync", "sync/atomic", "log/slog", "math/rand/v2",
		"github.com/google/go-cmp/cmp", "gopkg.in/yaml.v3", "crypto/rand",
	} {
		if got := impureImports(pkg{Imports: []string{imported}}); len(got) != 1 {
			t.Errorf("importing %s: %v", imported, got)
		}
	}
	if got := impureImports(pkg{Imports: []string{"errors", "time", "crypto/sha256", "encoding/json", "./internal/ledger"}}); got != nil {
		t.Errorf("found in what is fine: %v", got)
	}
	for source, want := range map[string]int{
		`import "time"; var x = time.Now()`:                                1,
		`import clock "time"; var x = clock.Now`:                           1,
		`import . "time"; var x = Now()`:                                   1,
		`func f() { go f() }`:                                              1,
		`import "time"; var x = time.After(time.Second)`:                   1,
		`import "time"; func f(time2 time.Time) { _ = time2.Unix() }`:      0,
		`import "time"; const day = 24 * time.Hour; var t = time.Unix`:     0,
		`type c struct{}; func (c) Now() {}; var time c; var x = time.Now`: 0,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", "package x; "+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := impureCode(fset, f); len(got) != want {
			t.Errorf("%s: %v, want %d", source, got, want)
		}
	}
}
