package edit_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/tree"
	"github.com/clewops/clew/internal/source/edit"
)

const document = `# The roster of the demo.
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings # not to be changed
  labels: {app: web, tier: 'front'}   # in braces
data:
  # what colour
  color: blue   # the old one
  level: "3"
  quoted: 'it''s'
  empty:
  roster.yaml: |
    # servers
    servers:
    - name: a

    - name: b
  last: |-
    x
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  template:
    spec:
      containers:
      - name: web # main
        image: nginx:1.27
        args:
        - --one
        - --two   # second
        env: [{name: A, value: "1"}, {name: B, value: x}]
        ports:
        - containerPort: 80
      # the second one
      - name: side
        image: "envoy:1"
`

func change(t testing.TB, path string, v any) edit.Change {
	t.Helper()
	p, err := tree.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	if v == nil {
		return edit.Change{Path: p, Delete: true}
	}
	return edit.Change{Path: p, Value: drift.PlainOf(v)}
}

// Each edit changes exactly the named lines.
func TestApply(t *testing.T) {
	const pod = "spec.template.spec.containers"
	for name, c := range map[string]struct {
		document int
		path     string
		value    any
		old, new string // what of the text goes, and what comes in its place
	}{
		"a plain text":              {0, "data.color", "red", "color: blue ", "color: red "},
		"a text that needs quotes":  {0, "data.color", "yes", "color: blue ", "color: \"yes\" "},
		"a text with a colon":       {0, "data.color", "a: b", "color: blue ", "color: \"a: b\" "},
		"a quoted number":           {0, "data.level", "4", `level: "3"`, `level: "4"`},
		"single quotes":             {0, "data.quoted", "that's", "'it''s'", "'that''s'"},
		"nothing becomes something": {0, "data.empty", "x", "empty:\n", "empty: x\n"},
		"text becomes a block":      {0, "data.color", "a\nb\n", "color: blue   # the old one\n", "color: |   # the old one\n    a\n    b\n"},
		"a document in a block":     {0, `data["roster.yaml"]`, "# servers\nservers:\n- name: a\n\n- name: b\n- name: c\n", "    - name: b\n", "    - name: b\n    - name: c\n"},
		"a block without its end":   {0, "data.last", "x\ny", "    x\n", "    x\n    y\n"},
		"a block with an end":       {0, "data.last", "x\n", "last: |-\n", "last: |\n"},
		"a block becomes a line":    {0, "data.last", "z", "last: |-\n    x\n", "last: z\n"},
		"in braces":                 {0, "metadata.labels.app", "api", "{app: web, tier: 'front'}", "{app: api, tier: 'front'}"},
		"in braces, one more":       {0, "metadata.labels.z", "1", "{app: web, tier: 'front'}", "{app: web, tier: 'front', z: \"1\"}"},
		"in braces, one less":       {0, "metadata.labels.app", nil, "{app: web, tier: 'front'}", "{tier: 'front'}"},
		"a key more":                {0, "data.more", "x", "    x\n---", "    x\n  more: x\n---"},
		"a map more":                {0, "metadata.annotations.note", "x", "# in braces\n", "# in braces\n  annotations:\n    note: x\n"},
		"a key less":                {0, "data.level", nil, "  level: \"3\"\n", ""},
		"a key less, with comment":  {0, "data.empty", nil, "  empty:\n", ""},
		"a block less":              {0, "data.last", nil, "  last: |-\n    x\n", ""},
		"a number":                  {1, "spec.replicas", int64(5), "replicas: 2", "replicas: 5"},
		"an image":                  {1, pod + "[name=web].image", "nginx:1.28", "nginx:1.27", "nginx:1.28"},
		"an image in quotes":        {1, pod + "[name=side].image", "envoy:2", `"envoy:1"`, `"envoy:2"`},
		"by place":                  {1, pod + "[name=web].args[1]", "--three", "--two ", "--three "},
		"an item more":              {1, pod + "[name=web].args[2]", "--three", "- --two   # second\n", "- --two   # second\n        - --three\n"},
		"an item less":              {1, pod + "[name=web].args[0]", nil, "        - --one\n", ""},
		"an item in braces":         {1, pod + "[name=web].env[name=A].value", "2", `{name: A, value: "1"}`, `{name: A, value: "2"}`},
		"an item in braces less":    {1, pod + "[name=web].env[name=A]", nil, `{name: A, value: "1"}, `, ""},
		"a container more":          {1, pod + "[name=new]", map[string]any{"name": "new", "image": "x"}, "image: \"envoy:1\"\n", "image: \"envoy:1\"\n      - image: x\n        name: new\n"},
		"a key of a container":      {1, pod + "[name=side].tty", true, "image: \"envoy:1\"\n", "image: \"envoy:1\"\n        tty: true\n"},
		"a list replaced":           {1, pod + "[name=web].args", []any{"--x"}, "- --one\n        - --two ", "- --x "},
		"a port, by keys":           {1, pod + "[name=web].ports[containerPort=80,protocol=TCP].name", "http", "- containerPort: 80\n", "- containerPort: 80\n          name: http\n"},
		"the only item":             {1, pod + "[name=web].ports[containerPort=80,protocol=TCP]", nil, "ports:\n        - containerPort: 80\n", "ports: []\n"},
	} {
		out, err := edit.Apply([]byte(document), c.document, []edit.Change{change(t, c.path, c.value)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(document, c.old) {
			t.Fatalf("%s: the document has no %q", name, c.old)
		}
		if want := strings.Replace(document, c.old, c.new, 1); string(out) != want {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

// What cannot be written without touching something else is refused.
func TestCannot(t *testing.T) {
	for name, c := range map[string]struct {
		text, path string
		value      any
	}{
		"an anchor":               {"a: &x {b: 1}\nc: *x\n", "a.b", int64(2)},
		"an alias":                {"a: &x 1\nc: *x\n", "c", int64(2)},
		"a folded plain text":     {"a: one\n  two\nb: 1\n", "a", "x"},
		"a tag":                   {"a: !t x\n", "a", "y"},
		"no such item to go into": {"a:\n- name: x\n", "a[name=y].v", "1"},
		"nothing to take away":    {"a: 1\n", "b", nil},
		"through a text":          {"a: 1\n", "a.b", "x"},
		"no YAML":                 {"a: [\n", "a", "x"},
		"comments in braces":      {"a: {b: 1, # x\n  c: 2}\n", "a.b", int64(2)},
		"an empty document":       {"", "a", "x"},
		"mixed ends of lines":     {"a: 1\r\nb: 2\rc: 3\n", "a", "x"},
		"a list for one item":     {"a: 1\n", "b[name=x].c", "1"},
	} {
		out, err := edit.Apply([]byte(c.text), 0, []edit.Change{change(t, c.path, c.value)})
		if !errors.Is(err, edit.ErrCannot) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if out, err := edit.Apply([]byte("a: 1\n"), 3, []edit.Change{change(t, "a", "x")}); !errors.Is(err, edit.ErrCannot) {
		t.Errorf("a document too many: %v\n%s", err, out)
	}
}

func TestWindowsLineEnds(t *testing.T) {
	out, err := edit.Apply([]byte("a: 1\r\nb: x # c\r\n"), 0, []edit.Change{change(t, "b", "z"), change(t, "c", "z")})
	if err != nil || string(out) != "a: 1\r\nb: z # c\r\nc: z\r\n" {
		t.Errorf("%v %q", err, out)
	}
}

func load(t *rapid.T, text []byte) any {
	var raw any
	if err := yaml.Unmarshal(text, &raw); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	v, err := tree.Normalize(raw)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Whatever text is written under a key is read back as that text, and nothing but its lines changes.
func TestAnyTextIsReadBack(t *testing.T) {
	const text = "# head\na:\n  first: |\n    x\n  b: old # c\n  flow: {x: 1, y: 'z'}\n  d: 1\n# foot\n"
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"", " ", "\n", "a\n", "a\n\n", "\na", " a\n b\n", "a: b", "- a", "#", "a #b", "~", "null", "0x1", "1e3", "2026-01-01", "'", "\"", "a\tb\n",
			"{}", "[", "&a", "*a", "!t", "%", "@", "`", "|", ">", "?", "a:", "\u2028x\n", "<<", "=", "yes\nno\n", "a \nb\n",
		})).Draw(t, "text")
		where := rapid.SampledFrom([]string{"first", "b", "d", "new"}).Draw(t, "where")
		out, err := edit.Apply([]byte(text), 0, []edit.Change{{Path: tree.Fields("a", where), Value: drift.PlainOf(v)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := tree.Field(load(t, out), "a", where); got != v {
			t.Fatalf("wrote %q, read %q from\n%s", v, got, out)
		}
		for line := range strings.Lines(text) {
			if !strings.Contains(line, where+":") && line != "    x\n" && !strings.Contains(string(out), line) {
				t.Fatalf("the line %q is gone:\n%s", line, out)
			}
		}
	})
}

// The type of a change takes no redacted value. That the program with a plain one compiles shows that this is the reason.
func TestASecretIsNoChange(t *testing.T) {
	build := func(dir string) (string, error) {
		out, err := exec.Command("go", "build", "-o", t.TempDir()+"/x", "./testdata/"+dir).CombinedOutput()
		return string(out), err
	}
	if out, err := build("plain"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := build("redacted")
	if want := "cannot use r (variable of struct type drift.Redacted) as drift.Plain value in struct literal"; err == nil || !strings.Contains(out, want) {
		t.Errorf("%v: %s", err, out)
	}
	if c, err := edit.FromDifference(drift.Difference{Path: tree.Fields("a"), Live: drift.Redacted{}}); !errors.Is(err, edit.ErrCannot) {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := edit.FromDifference(drift.Difference{Path: tree.Fields("a"), Live: drift.Absent{}}); err != nil || !c.Delete {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := edit.FromDifference(drift.Difference{Live: drift.Absent{}}); !errors.Is(err, edit.ErrCannot) {
		t.Errorf("%v, %v", c, err)
	}
}
