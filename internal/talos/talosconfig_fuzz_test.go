package talos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzTalosconfig: a talosconfig gives a context or an error, and neither shows what the file holds beside the names of
// its contexts.
func FuzzTalosconfig(f *testing.F) {
	const pair = "    ca: c29tZS1jZXJ0aWZpY2F0ZS1hdXRob3JpdHk=\n    crt: c29tZS1jbGllbnQtY2VydGlmaWNhdGU=\n    key: c29tZS1wcml2YXRlLWtleS1tYXRlcmlhbA==\n"
	for _, s := range []string{
		"", "context: a\ncontexts:\n  a:\n    endpoints: [10.0.0.1]\n    nodes: [10.0.0.2]\n" + pair, "context: b\ncontexts:\n  a:\n" + pair,
		"contexts:\n  a:\n", "contexts: {a: null}\n", "contexts: {a: {auth: {siderov1: {identity: somebody@example.org}}}}\n", "context: a\ncontexts: {a: {auth: {basic: {username: u, password: a-long-password-here}}}}\n",
		"contexts: [c29tZS1wcml2YXRlLWtleS1tYXRlcmlhbA==]\n", "a: &a [*a]\n", "\xff\xfe", "key: c29tZS1wcml2YXRlLWtleS1tYXRlcmlhbA==", "context: \"\\x1b[31m\"\ncontexts: {}\n",
	} {
		f.Add([]byte(s), "")
		f.Add([]byte(s), "a")
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		path := filepath.Join(dir, fmt.Sprintf("talosconfig-%d", os.Getpid()))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadConfig(path, name)
		if err != nil {
			wantNoKey(t, err.Error(), b, name)
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
				t.Errorf("control characters come out: %q", err)
			}
			return
		}
		if name != "" && c.ContextName() != name {
			t.Errorf("asked for %q, got %q", name, c.ContextName())
		}
		wantNoKey(t, fmt.Sprintf("%v %+v %#v", c, c, c), b, name)
		if _, err := json.Marshal(c); err == nil {
			t.Error("credentials are encoded")
		}
	})
}

// wantNoKey: no long word of the file is shown, but the names of its contexts.
func wantNoKey(t *testing.T, shown string, file []byte, asked string) {
	t.Helper()
	names := asked
	if parsed := parseContexts(file); parsed != nil {
		names += parsed.Context
		for name := range parsed.Contexts {
			names += "\x00" + name
		}
	}
	for _, word := range strings.FieldsFunc(string(file), func(r rune) bool { return strings.ContainsRune(" \n\t[]{},:'\"", r) }) {
		if len(word) >= 20 && strings.Contains(shown, word) && !strings.Contains(names, word) {
			t.Errorf("%q is shown: %s", word, shown)
		}
	}
}
