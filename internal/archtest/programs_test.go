package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programLines is how long a program's main file may be: it only hands over to a package.
const programLines = 20

func TestProgramsAreShort(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root(t), "cmd", "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(b), "\n"); n > programLines {
			t.Errorf("%s has %d lines, at most %d are allowed", file, n, programLines)
		}
	}
}

// heavy is what the wrapper may not link: it would take longer to start than the command that it wraps.
var heavy = []string{
	"database/sql", "github.com/cosi-project/", "github.com/fluxcd/", "github.com/jackc/", "github.com/siderolabs/",
	"google.golang.org/grpc", "k8s.io/", "modernc.org/", "sigs.k8s.io/",
}

// heavyIn lists the packages among deps that the wrapper may not link.
func heavyIn(deps []string) []string {
	var found []string
	for _, d := range deps {
		if slices.ContainsFunc(heavy, func(prefix string) bool { return strings.HasPrefix(d, prefix) }) {
			found = append(found, d)
		}
	}
	return found
}

func TestWrapperIsLight(t *testing.T) {
	deps := func(program string) []string {
		var paths []string
		for _, p := range listPackages(t, platforms[0], "-deps", program) {
			paths = append(paths, p.ImportPath)
		}
		return paths
	}
	if len(heavyIn(deps("./cmd/clew"))) == 0 {
		t.Error("control: nothing heavy was found in the big program")
	}
	if _, err := os.Stat(filepath.Join(root(t), "cmd", "clewx")); err != nil {
		t.Skip("this stage has no cmd/clewx")
	}
	if found := heavyIn(deps("./cmd/clewx")); len(found) > 0 {
		t.Errorf("clewx links %v", found)
	}
}

// ownModules are the directories that may have a go.mod beside the root: programs for building and testing, which
// the product does not link.
var ownModules = []string{".", "tools", "testbed"}

func TestLayoutOfTheRepository(t *testing.T) {
	dir := root(t)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && rel != ".":
			return filepath.SkipDir
		case d.IsDir() && d.Name() == "pkg":
			t.Errorf("%s: everything importable is below internal", rel)
		case d.Name() == "go.mod" && !slices.Contains(ownModules, filepath.Dir(rel)):
			t.Errorf("%s: a nested module", rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
