package talos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
)

// contextsFile writes a talosconfig with two contexts, of which the first one named is current.
func contextsFile(t *testing.T, current string, change func(*clientconfig.Config)) string {
	t.Helper()
	_, config := credentials(t)
	file := &clientconfig.Config{Context: current, Contexts: map[string]*clientconfig.Context{}}
	for _, name := range []string{"b", "a"} {
		copied := *config.context
		copied.Endpoints, copied.Nodes = []string{"10.5.0.2", name}, []string{"10.5.0.3"}
		file.Contexts[name] = &copied
	}
	if change != nil {
		change(file)
	}
	path := filepath.Join(t.TempDir(), "talosconfig")
	b, err := file.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestContexts(t *testing.T) {
	path := contextsFile(t, "b", nil)
	c, err := LoadConfig(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if c.ContextName() != "b" || !slices.Equal(c.Endpoints(), []string{"10.5.0.2", "b"}) || !slices.Equal(c.NodeNames(), []string{"10.5.0.3"}) {
		t.Errorf("%s %v %v", c.ContextName(), c.Endpoints(), c.NodeNames())
	}
	if c, err := LoadConfig(path, "a"); err != nil || c.ContextName() != "a" {
		t.Errorf("%v %v", c, err)
	}
	_, err = LoadConfig(path, "c\n")
	if err == nil || !strings.Contains(err.Error(), `no context "c\n"; it has "a", "b"`) {
		t.Errorf("%v", err)
	}
	_, err = LoadConfig(contextsFile(t, "", nil), "")
	if err == nil || !strings.Contains(err.Error(), `choose one of "a", "b"`) {
		t.Errorf("%v", err)
	}
	for what, change := range map[string]func(*clientconfig.Config){
		"holds no context":        func(f *clientconfig.Config) { f.Contexts = nil },
		"not a YAML file of":      func(f *clientconfig.Config) { f.Contexts["b"] = nil },
		"client certificate":      func(f *clientconfig.Config) { f.Contexts["b"].Key = "bm90IGEga2V5" },
		"base64":                  func(f *clientconfig.Config) { f.Contexts["b"].Crt = "!" },
		"it has no client":        func(f *clientconfig.Config) { f.Contexts["b"].Crt, f.Contexts["b"].Key = "", "" },
		"signs in to Omni":        func(f *clientconfig.Config) { f.Contexts["b"].Auth.SideroV1 = &clientconfig.SideroV1{} },
		`"b": its client certifi`: func(f *clientconfig.Config) { f.Contexts["b"].Crt = "" },
	} {
		if _, err := LoadConfig(contextsFile(t, "b", change), ""); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want %q: %v", what, err)
		}
	}
}

func TestCredentialsAreNeverPrinted(t *testing.T) {
	_, c := credentials(t)
	key, encoded := keyOf(t, c), c.context.Key
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if s := fmt.Sprintf(verb, c); strings.Contains(s, encoded) || strings.Contains(s, key) || !strings.Contains(s, "raw") {
			t.Errorf("%s prints %q", verb, s)
		}
	}
	if b, err := json.Marshal(c); err == nil {
		t.Errorf("JSON: %s", b)
	}
}

func TestUnreadableTalosconfigs(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, want string }{
		{"unnamed", "", "no talosconfig is named"},
		{"missing", filepath.Join(dir, "no\nsuch"), `no\nsuch": no such file`},
		{"a directory", dir, "not a regular file"},
		{"a link to a directory", link, "not a regular file"},
		{"a device", os.DevNull, "not a regular file"},
		{"empty", file("empty", " \n"), "it is empty"},
		{"binary", file("binary", "context: a\x00"), "not text"},
		{"not UTF-8", file("latin", "context: \xff"), "not text"},
		{"huge", file("huge", strings.Repeat("# comment\n", maxTalosconfig/10+1)), "larger than"},
		{"not YAML", file("broken", "context: ["+marker), "not a YAML file of contexts"},
		{"another type", file("typed", "contexts:\n  a: "+marker+"\n"), "not a YAML file of contexts"},
		{"a list", file("list", "- "+marker+"\n"), "not a YAML file of contexts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := LoadConfig(c.path, "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q in it", err, c.want)
			}
			if strings.Contains(err.Error(), marker) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q shows what is in the file, or breaks its line", err)
			}
		})
	}
}
