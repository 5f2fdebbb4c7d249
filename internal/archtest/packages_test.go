package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// module is the import path that every package of the product begins with.
const module = "github.com/clewops/clew"

// pkg is what the checks need to know of a package. Paths of the module's own packages are relative to the module.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string // of the files that are built, tests excluded
}

// root is the repository's root directory.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// platforms are those whose files are looked at: a file for one system is not seen from the other.
var platforms = []string{"linux/amd64", "darwin/arm64"}

// modulePackages lists the module's packages, as seen from every platform.
func modulePackages(t *testing.T) []pkg {
	t.Helper()
	byPath := map[string]*pkg{}
	var order []string
	for _, platform := range platforms {
		for _, p := range listPackages(t, platform, "./...") {
			known := byPath[p.ImportPath]
			if known == nil {
				byPath[p.ImportPath] = &p
				order = append(order, p.ImportPath)
				continue
			}
			known.Imports = union(known.Imports, p.Imports)
			known.GoFiles = union(known.GoFiles, p.GoFiles)
		}
	}
	list := make([]pkg, len(order))
	for i, path := range order {
		list[i] = *byPath[path]
	}
	return list
}

// listPackages asks the Go tool.
func listPackages(t *testing.T, platform string, args ...string) []pkg {
	t.Helper()
	goos, goarch, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", append([]string{"list", "-e", "-json=ImportPath,Dir,GoFiles,Imports"}, args...)...)
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	var list []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = relative(p.ImportPath)
		for i := range p.Imports {
			p.Imports[i] = relative(p.Imports[i])
		}
		list = append(list, p)
	}
}

// relative shortens an import path of the module: "github.com/clewops/clew/internal/cli" becomes "./internal/cli".
func relative(path string) string {
	if rest, ok := strings.CutPrefix(path, module+"/"); ok {
		return "./" + rest
	}
	return path
}

func union(a, b []string) []string {
	seen := map[string]bool{}
	for _, s := range a {
		seen[s] = true
	}
	for _, s := range b {
		if !seen[s] {
			a = append(a, s)
		}
	}
	return a
}
