package archtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// foreign matches what has no place in the repository: directories of one machine and hosts of package registries,
// which belong to whoever builds it. The patterns are written so that they do not match themselves.
var foreign = regexp.MustCompile(strings.Join([]string{
	`(?:^|[^\w./$}])/(?:work|root)/`,
	`proxy\.golang\.` + `org`, `sum\.golang\.` + `org`, `registry\.npmjs\.` + `org`, `pypi\.` + `org`, `deb\.debian\.` + `org`,
	`crates\.` + `io`,
	`\b[Ss]tep [A-F]\b`,
}, "|"))

// foreignIn lists the lines of a file that speak of something else.
func foreignIn(name string, text []byte) []string {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil // binary
	}
	var faults []string
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if m := foreign.FindString(line); m != "" {
			faults = append(faults, fmt.Sprintf("%s:%d: %q", name, n, m))
		}
	}
	return faults
}

// trackedFiles lists the repository's files: what git tracks, or every file where git is not at hand.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	dir := root(t)
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = dir
	if out, err := cmd.Output(); err == nil && len(out) > 0 {
		return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == ".cache" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(dir, path)
			files = append(files, rel)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestRepositorySpeaksOfItselfOnly(t *testing.T) {
	dir := root(t)
	for _, name := range trackedFiles(t) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue // deleted, and git not told yet
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range foreignIn(name, b) {
			t.Error(fault)
		}
	}
}

func TestSpeechControl(t *testing.T) {
	for _, line := range []string{
		"cd /" + "work/main", "see `/" + "root/notes`", "GOPROXY=https://proxy.golang." + "org", "as in step" + " A of the plan",
	} {
		if got := foreignIn("x", []byte("fine\n"+line+"\n")); len(got) != 1 || !strings.HasPrefix(got[0], "x:2:") {
			t.Errorf("%q: %v", line, got)
		}
	}
	for _, line := range []string{
		"https://example.com/" + "work/x", "a/" + "root/b", "the next step a user takes", "$HOME/" + "work/x", "step by step",
	} {
		if got := foreignIn("x", []byte(line)); got != nil {
			t.Errorf("%q is fine, found %v", line, got)
		}
	}
}
