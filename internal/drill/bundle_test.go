package drill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/lab"
)

func TestOutRefusesAWorkTree(t *testing.T) {
	base := t.TempDir()
	tree, outside := filepath.Join(base, "tree"), filepath.Join(base, "tree-beside")
	for _, dir := range []string{filepath.Join(tree, ".git"), filepath.Join(tree, "sub"), outside} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(outside, "link")
	if err := os.Symlink(filepath.Join(tree, "sub"), link); err != nil {
		t.Fatal(err)
	}
	worktree := filepath.Join(base, "worktree")
	if err := os.Mkdir(worktree, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(worktree, ".git"), []byte("gitdir: elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{
		tree, filepath.Join(tree, "new"), filepath.Join(tree, "sub", "a", "b"), link, filepath.Join(link, "new"), worktree,
		filepath.Join(outside, "..", "tree", "x"), "",
	} {
		if got, err := prepareOut(dir); err == nil {
			t.Errorf("%s is taken, as %s", dir, got)
		}
	}
	good := filepath.Join(outside, "new", "deep")
	if _, err := prepareOut(good); err != nil {
		t.Errorf("a directory beside a tree whose name begins alike: %v", err)
	}
	if _, err := prepareOut(good); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("evidence is mixed: %v", err)
	}
}

func TestLeakScan(t *testing.T) {
	plant := func(t *testing.T, s *secrets, files map[string]string) []string {
		t.Helper()
		dir := t.TempDir()
		files[plantedFile] += string(s.control.bytes)
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		lines, err := s.scan(dir)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, leakFile)
		if err := writeLeaks(path, lines); err != nil {
			t.Fatal(err)
		}
		read, err := readLeaks(path)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), "hunter2hunter2") {
			t.Errorf("the scan's own report holds the secret: %v", err)
		}
		return judgeLeaks(read)
	}
	fresh := func() *secrets {
		s := newSecrets()
		s.add("database password", []byte("hunter2hunter2\n"))
		return s
	}
	if p := plant(t, fresh(), map[string]string{"a": "nothing"}); len(p) > 0 {
		t.Errorf("a clean directory: %q", p)
	}
	for name, text := range map[string]string{
		"plain": "x hunter2hunter2 y", "base64": "aHVudGVyMmh1bnRlcjI=", "inside": "postgres://u:hunter2hunter2@h/d",
	} {
		if p := plant(t, fresh(), map[string]string{"a": text}); len(p) != 1 {
			t.Errorf("%s: %q", name, p)
		}
	}
	s := fresh()
	if p := plant(t, s, map[string]string{"a": string(s.control.bytes)}); len(p) == 0 {
		t.Error("a control that shows elsewhere is taken")
	}
	if p := plant(t, newSecrets(), map[string]string{"a": ""}); len(p) == 0 {
		t.Error("a search for nothing is taken")
	}
	if p := judgeLeaks([]leakLine{{kind: "database password", patterns: 1}, {kind: "machine secret", patterns: 1}}); len(p) == 0 {
		t.Error("a search whose control was not found is taken")
	}
	if got := fresh().hide("a hunter2hunter2 b"); strings.Contains(got, "hunter2") {
		t.Errorf("hidden text shows %q", got)
	}
}

func TestPoolLendsTogether(t *testing.T) {
	p := newPool(&lab.Lab{})
	p.free, p.all = []*lab.Node{{}, {}, {}}, 3
	two, err := p.take(t.Context(), 2)
	if err != nil || len(two) != 2 {
		t.Fatalf("%v", err)
	}
	got := make(chan int, 1)
	go func() {
		nodes, _ := p.take(t.Context(), 2)
		got <- len(nodes)
	}()
	p.give(two[0], true)
	if n := <-got; n != 2 {
		t.Errorf("lent %d", n)
	}
	p.give(two[1], false)
	if _, err := p.take(t.Context(), 3); err == nil {
		t.Error("more is lent than is in order")
	}
}
