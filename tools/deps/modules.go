package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// product is the module whose programs are looked at.
const product = "github.com/clewops/clew"

// platforms are those that the programs are built for; what is linked differs.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/arm64"}

// linked is one module that is linked into a program.
type linked struct {
	path, version string
	dir           string // where its source is
}

// linkedModules asks the Go tool which modules the programs' packages come from.
func linkedModules() ([]linked, error) {
	found := map[linked]bool{}
	for _, platform := range platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-deps", "-f",
			"{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}", "./cmd/...")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if len(f) == 3 && f[0] != product {
				found[linked{f[0], f[1], f[2]}] = true
			}
		}
	}
	var list []linked
	for m := range found {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b linked) int { return strings.Compare(a.path, b.path) })
	return list, nil
}

// render writes the list, and fails for every module whose licence is unknown or not allowed.
func render(modules []linked) (string, error) {
	var b strings.Builder
	b.WriteString("# Every module that is linked into the programs, its version and licence. Written by: make deps\n")
	b.WriteString("# The Go standard library (BSD-3-Clause) is linked too.\n")
	var wrong error
	for _, m := range modules {
		found, err := licencesIn(m.dir)
		if err == nil {
			err = allowed(found)
		}
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s %s: %w", m.path, m.version, err))
			continue
		}
		fmt.Fprintf(&b, "%s %s %s\n", m.path, m.version, strings.Join(found, "+"))
	}
	return b.String(), wrong
}

// licencesIn recognises the licence files in a module's root.
func licencesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() || !isLicenceFile(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found = append(found, recognise(string(text))...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
