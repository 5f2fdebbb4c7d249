package embedded_test

import (
	"strings"
	"testing"

	"github.com/clewops/clew/internal/drift/tree"
	"github.com/clewops/clew/internal/source/embedded"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		file, text, format, want string
	}{
		"yaml":               {"roster.yaml", "servers:\n- name: a # first\n  port: 80\n- {name: b, on: true}\n", "yaml", `{"servers":[{"name":"a","port":80},{"name":"b","on":true}]}`},
		"yaml, two of them":  {"a.yml", "a: 1\n---\nb: 2\n", "yaml", `[{"a":1},{"b":2}]`},
		"yaml, aliases":      {"a.yaml", "x: &x {a: 1}\ny: *x\n", "yaml", `{"x":{"a":1},"y":{"a":1}}`},
		"yaml, numbers":      {"a.yaml", "1: 0x10\nb: 1.0\nc: ~\nd: '1'\n", "yaml", `{"1":16,"b":1,"c":null,"d":"1"}`},
		"yaml, a tag":        {"a.yaml", "a: !secret b\n", "yaml", `{"a":"!secret b"}`},
		"yaml, no ending":    {"roster", "a:\n- b\n", "yaml", `{"a":["b"]}`},
		"json":               {"a.json", `{"a":[1,2.5,"x",null,true]}`, "json", `{"a":[1,2.5,"x",null,true]}`},
		"json, no ending":    {"settings", `{"a":1}`, "json", `{"a":1}`},
		"toml":               {"a.toml", "a = 1\nat = 2026-11-30T12:00:00Z\n[s]\nb = [1, 2]\n[[t]]\nn = 'x'\n", "toml", `{"a":1,"at":"2026-11-30T12:00:00Z","s":{"b":[1,2]},"t":[{"n":"x"}]}`},
		"properties":         {"a.properties", "# c\na=1\nb.c : x y\nd e\nlong=a\\\n   b\nu=\\u0041\\n\n", "properties", `{"a":"1","b.c":"x y","d":"e","long":"ab","u":"A\n"}`},
		"env":                {".env", "A=1\nB=\n", "properties", `{"A":"1","B":""}`},
		"ini":                {"a.ini", "top = 1\n; c\n[s]\na = b = c\nd: e\n", "ini", `{"s":{"a":"b = c","d":"e"},"top":"1"}`},
		"ini in a conf file": {"a.conf", "[s]\na=1\n", "ini", `{"s":{"a":"1"}}`},
	} {
		d, ok := embedded.Parse(c.file, c.text)
		if !ok || d.Format != c.format || tree.JSON(d.Tree) != c.want {
			t.Errorf("%s: %v, %s, %s, want %s, %s", name, ok, d.Format, tree.JSON(d.Tree), c.format, c.want)
		}
	}
}

// What is not surely a document, or is too large, is compared as text.
func TestNoDocument(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
		"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
	for name, c := range map[string]struct{ file, text string }{
		"empty":                   {"a.yaml", " \n"},
		"plain text":              {"motd", "hello world"},
		"a plain value":           {"a.yaml", "42"},
		"broken yaml":             {"a.yaml", "a: [1"},
		"broken json":             {"a.json", `{"a":}`},
		"more after json":         {"a.json", `{"a":1} x`},
		"a key twice in json":     {"a.json", `{"a":1,"a":2}`},
		"a key twice in yaml":     {"a.yaml", "a: 1\na: 2\n"},
		"a key that is a list":    {"a.yaml", "[a]: 1\n"},
		"broken toml":             {"a.toml", "a = \n"},
		"a line of no property":   {"a.properties", "justaword\n"},
		"a property twice":        {"a.properties", "a=1\na=2\n"},
		"a line of no ini":        {"a.ini", "[s]\nword\n"},
		"a section twice":         {"a.ini", "[s]\na=1\n[s]\nb=1\n"},
		"nginx in a conf file":    {"nginx.conf", "server {\n  listen 80;\n}\n"},
		"not text":                {"a.yaml", "a: \xff\n"},
		"too large":               {"a.yaml", "a: " + strings.Repeat("x", 1<<20)},
		"too deep in json":        {"a.json", strings.Repeat("[", 100000) + strings.Repeat("]", 100000)},
		"too deep in toml":        {"a.toml", "a = " + strings.Repeat("[", 10000) + strings.Repeat("]", 10000)},
		"too deep in yaml blocks": {"a.yaml", strings.Repeat("- ", 200) + "x"},
		"a billion laughs":        {"a.yaml", bomb},
		"an alias of itself":      {"a.yaml", "a: &a [*a]\n"},
	} {
		if d, ok := embedded.Parse(c.file, c.text); ok {
			t.Errorf("%s: read as %s: %.80s", name, d.Format, tree.JSON(d.Tree))
		}
	}
}

// A text that is within the limits by a little is read, so that the test above shows limits and not refusals of anything.
func TestWithinTheLimits(t *testing.T) {
	deep := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	for name, c := range map[string]struct{ file, text string }{
		"deep json": {"a.json", deep}, "deep toml": {"a.toml", "a = " + strings.Repeat("[", 50) + strings.Repeat("]", 50)},
		"deep yaml": {"a.yaml", strings.Repeat("- ", 50) + "x"}, "large yaml": {"a.yaml", "a: " + strings.Repeat("x", 1<<19)},
	} {
		if _, ok := embedded.Parse(c.file, c.text); !ok {
			t.Errorf("%s is not read", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a: 1", `{"a":[1]}`, "a = 1\n[b]\n", "a=b\\\nc", "x: &x [*x]", "? a\n: b"} {
		for _, name := range []string{"a.yaml", "a.json", "a.toml", "a.properties", "a.ini", "a"} {
			f.Add(name, seed)
		}
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		d, ok := embedded.Parse(name, text)
		if !ok {
			return
		}
		if again, ok := embedded.Parse(name, text); !ok || !tree.Same(d.Tree, again.Tree) {
			t.Errorf("%q under %q is read in two ways", text, name)
		}
		if n, err := tree.Normalize(d.Tree); err != nil || !tree.Same(n, d.Tree) {
			t.Errorf("%q under %q is no plain tree: %v", text, name, err)
		}
	})
}
