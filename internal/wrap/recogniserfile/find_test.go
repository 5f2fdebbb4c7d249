package recogniserfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clewops/clew/internal/act"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	class := func(r *act.Recogniser, args ...string) act.Class {
		return r.Match(args, func(string) string { return "" }).Class
	}
	tofu, err := os.ReadFile(filepath.Join(userDir, "terraform.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write("tofu.yaml", string(tofu))
	write("kubectl.yaml", "schema: clew-recogniser/1\ntool: kubectl\nrelease: mine\nexecutables: [kubectl]\ncommands:\n  - {words: neat, class: read, args: opaque}\n")
	write("helm.yaml", "schema: clew-recogniser/1\ntool: helm\n")
	write("flux.yaml", "schema: clew-recogniser/1\ntool: flux\nrelease: mine\nexecutables: [flux]\ncommands:\n  - {words: install, class: read}\n")

	if r, err := Find(dir, "/usr/bin/tofu"); err != nil || class(r, "destroy") != act.Mutate {
		t.Errorf("a file of its own: %v, %v", r, err)
	}
	if r, err := Find(dir, "kubectl"); err != nil || class(r, "neat", "x") != act.Read || class(r, "delete", "pod", "x") != act.Mutate {
		t.Errorf("an extended one: %v", err)
	}
	if r, err := Find(dir, "talosctl"); err != nil || class(r, "reboot") != act.Mutate {
		t.Errorf("a shipped one: %v", err)
	}
	if r, err := Find(dir, "helm"); err == nil || class(r, "uninstall", "x") != act.Mutate {
		t.Errorf("a file with mistakes: %v", err)
	}
	if r, err := Find(dir, "flux"); err == nil || class(r, "install") != act.Mutate {
		t.Errorf("a file that contradicts: %v", err)
	}
	if r, err := Find(dir, "make"); err != nil || r != nil {
		t.Errorf("a program that nothing knows: %v, %v", r, err)
	}
	for _, name := range []string{"", "..", "/", "../kubectl/.."} {
		if r, err := Find(dir, name); r != nil || err != nil {
			t.Errorf("%q: %v, %v", name, r, err)
		}
	}
	if r, err := Find("", "kubectl"); err != nil || r == nil {
		t.Errorf("without a directory: %v", err)
	}
}
