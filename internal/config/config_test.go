package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// env makes a lookup from pairs; HOME is a fresh directory unless given.
func env(t *testing.T, kv map[string]string) Env {
	t.Helper()
	if _, ok := kv["HOME"]; !ok {
		kv["HOME"] = t.TempDir()
	}
	return func(k string) string { return kv[k] }
}

// withFile makes an environment whose configuration file has this content, and returns the file's path.
func withFile(t *testing.T, content string) (Env, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return env(t, map[string]string{"HOME": "/home/ada", EnvConfig: file}), file
}

func TestFindDirs(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want Dirs
	}{
		"defaults": {
			map[string]string{"HOME": "/home/ada"},
			Dirs{"/home/ada", "/home/ada/.config/clew", "/home/ada/.local/state/clew", "/home/ada/.cache/clew"},
		},
		"XDG without a home": {
			map[string]string{"HOME": "", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/k"},
			Dirs{"", "/c/clew", "/s/clew", "/k/clew"},
		},
		"a relative XDG path is ignored": {
			map[string]string{"HOME": "/home/ada", "XDG_STATE_HOME": "here"},
			Dirs{"/home/ada", "/home/ada/.config/clew", "/home/ada/.local/state/clew", "/home/ada/.cache/clew"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FindDirs(env(t, tc.env))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, home := range []string{"", "relative"} {
		if got, err := FindDirs(env(t, map[string]string{"HOME": home})); err == nil {
			t.Errorf("HOME=%q gave %+v, want an error", home, got)
		}
	}
}

func TestLoadReadsEveryKey(t *testing.T) {
	e, file := withFile(t, `
identity: ada
talosconfig: ~/talos/config
store:
  location: store.db
  password_file: secrets/pw
  key_file: /keys/k
`)
	got, err := Load(e)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(file)
	want := Config{
		Identity: "ada", Talosconfig: "/home/ada/talos/config", File: file,
		Store: StoreConfig{Location: "store.db", PasswordFile: filepath.Join(dir, "secrets/pw"), KeyFile: "/keys/k"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{}), cmpopts.IgnoreFields(Config{}, "Dirs")); diff != "" {
		t.Error(diff)
	}
}

func TestLoadWithoutAFile(t *testing.T) {
	c, err := Load(env(t, map[string]string{"HOME": "/nowhere/at/all"}))
	if err != nil {
		t.Fatal(err)
	}
	if key, err := c.KeyFile(); err != nil || key != "/nowhere/at/all/.local/state/clew/artifact.key" {
		t.Errorf("KeyFile() = %q, %v", key, err)
	}
	missing := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := Load(env(t, map[string]string{EnvConfig: missing})); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a named file that is missing: error %v, want one that names it", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"unknown key":          {"identity: a\nidentiti: b\n", `:2: unknown key "identiti"; known here: identity, store, talosconfig`},
		"unknown nested key":   {"store:\n  locaton: x\n", `:2: unknown key "store.locaton"`},
		"inner field":          {"dirs: {}\n", `unknown key "dirs"`},
		"duplicate key":        {"identity: a\nidentity: b\n", "already defined"},
		"list for a value":     {"identity: [a]\n", `:1: "identity" must be a single value`},
		"value for a mapping":  {"store: x\n", `:1: "store" must be a mapping`},
		"list at the top":      {"- a\n", ":1: the file must be a mapping"},
		"two documents":        {"identity: a\n---\nidentity: b\n", "only one document"},
		"broken YAML":          {"store: {\n", "yaml"},
		"not text":             {"\x00\xff\x01", "yaml"},
		"alias bomb":           {"identity: &a x\ntalosconfig: *a\n", `"talosconfig" must be a single value`},
		"merge key":            {"store:\n  <<: {}\n", `unknown key "store.<<"`},
		"larger than allowed":  {strings.Repeat("#", maxFile+1), "larger than"},
		"path with a new line": {`talosconfig: "a\nb"` + "\n", "control characters"},
	} {
		t.Run(name, func(t *testing.T) {
			e, file := withFile(t, tc.content)
			c, err := Load(e)
			if err == nil {
				t.Fatalf("accepted: %+v", c)
			}
			if !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("error %q, want one with %q and %q", err, tc.want, file)
			}
		})
	}
}

func TestLoadAcceptsFilesThatSetNothing(t *testing.T) {
	for _, content := range []string{"", "\n", "# nothing\n", "---\n", "store: {}\n"} {
		e, _ := withFile(t, content)
		if _, err := Load(e); err != nil {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// TestLoadRefusesWhatIsNoFile: a FIFO would wait for a writer that never comes, and a device has no end.
func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{t.TempDir(), fifo, "/dev/zero"} {
		if _, err := Load(env(t, map[string]string{EnvConfig: path})); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s as a configuration file: error %v", path, err)
		}
		c := Config{Store: StoreConfig{Location: "postgres://ada@db/clew", PasswordFile: path}, env: env(t, map[string]string{})}
		if _, err := c.StoreLocation(nil); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s as a password file: error %v", path, err)
		}
	}
}
