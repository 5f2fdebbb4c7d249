package recogniserfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/config"
)

// smallest is a recogniser that is complete.
const smallest = `schema: clew-recogniser/1
tool: x
release: "1"
executables: [x]
flags:
  value: -n --namespace, --token
  select: {namespace: namespace}
  record: {namespace: name}
commands:
  - words: get
    class: read
    args: resources
  - words: kill
    class: mutate
    effect: down
    args: {form: names, kind: pod}
    when: [{flag: namespace, in: [none], class: read}]
`

func TestSmallestFile(t *testing.T) {
	r, err := Parse("x.yaml", []byte(smallest))
	if err != nil {
		t.Fatal(err)
	}
	got := r.Match([]string{"kill", "a", "-n", "shop", "--token", "t"}, func(string) string { return "" })
	if got.Class != act.Mutate || got.Targets[0].String() != "pod/a -n shop" || strings.Join(got.Recorded, " ") != "x kill a --namespace=shop --token=…" {
		t.Errorf("got %+v", got)
	}
}

func TestMistakesNameTheirLines(t *testing.T) {
	edit := func(old, with string) string {
		if !strings.Contains(smallest, old) {
			t.Fatalf("%q is not in the file", old)
		}
		return strings.Replace(smallest, old, with, 1)
	}
	for name, c := range map[string]struct {
		text string
		want string // line and part of the message
	}{
		"another schema":              {edit("recogniser/1", "recogniser/9"), "x:1: this version of clew reads"},
		"an unknown key":              {edit("release:", "realease:"), `x:3: unknown key "realease"`},
		"a key that is missing":       {edit("executables: [x]\n", ""), `x:1: the key "executables" is missing`},
		"a key that stands twice":     {edit("tool: x\n", "tool: x\ntool: y\n"), "x:3: "},
		"a path as an executable":     {edit("[x]", "[/bin/x]"), "x:4: executables are base names"},
		"a class that is none":        {edit("class: read", "class: reed"), "x:11: class must be one of read, mutate, unknown"},
		"no class":                    {edit("    class: read\n", ""), `x:10: the key "class" is missing`},
		"a mutation without effect":   {edit("    effect: down\n", ""), `x:13: a command that changes something needs an "effect"`},
		"a read with a tail":          {edit("    args: resources\n", "    args: resources\n    tail: 5m\n"), "x:10: a command that reads has no effect"},
		"a duration that is none":     {edit("    effect: down\n", "    effect: down\n    tail: soon\n"), "x:16: tail must be a duration"},
		"a form without a kind":       {edit("args: resources", "args: names"), "x:12: names needs a kind"},
		"a form that is none":         {edit("args: resources", "args: things"), "x:12: args must be one of"},
		"a verb that stands twice":    {edit("words: kill", "words: kill|get"), `x:13: "kill|get" stands here twice`},
		"a flag that stands twice":    {edit("--token", "-n --token"), "x:6: "},
		"a flag without a long name":  {edit(", --token", ", -t"), "x:6: a flag needs a long name"},
		"selecting with no such flag": {edit("select: {namespace", "select: {context"), `x:7: no flag "context" is declared`},
		"selecting something strange": {edit("{namespace: namespace}", "{namespace: mood}"), "x:7: what is selected must be one of"},
		"a shape that is none":        {edit("record: {namespace: name}", "record: {namespace: anything}"), "x:8: what is recorded must be one of"},
		"a rule without a condition":  {edit("{flag: namespace, in: [none], class: read}", "{class: read}"), "x:17: a rule needs a condition"},
		"a rule without an effect":    {edit(", class: read}]", "}]"), "x:17: a rule must change something"},
		"a rule with no such flag":    {edit("flag: namespace, in", "flag: nemaspace, in"), `x:17: no flag "nemaspace"`},
		"a set that is not there":     {edit("    args: resources\n", "    args: resources\n    use: [print]\n"), `x:13: there is no set of flags "print"`},
		"a word that is a flag":       {edit("words: kill", "words: kill --all"), "x:13: "},
		"an alias of YAML":            {edit("[x]", "&a [x]"), "x:4: anchors and aliases are not allowed"},
		"two documents":               {smallest + "---\n" + smallest, "only one document"},
		"no YAML":                     {"a: [", "x: yaml"},
		"empty":                       {"", "is empty"},
		"a list":                      {"- a\n", "x:1: a recogniser must be a mapping"},
		"an observation that is none": {edit("    effect: down\n", "    effect: down\n    outcome: luck\n"), "x:16: outcome must be one of"},
		"a symptom in capitals":       {edit("    effect: down\n", "    effect: down\n    envelope: [{symptom: API, for: 1m}]\n"), "x:16: symptom must be lower-case words"},
		"too large":                   {smallest + "#" + strings.Repeat("x", MaxSize), "larger than"},
		"too deep":                    {"a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), "nested too deeply"},
	} {
		_, err := Parse("x", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAllMistakesAreListed(t *testing.T) {
	text := strings.NewReplacer("class: read\n", "class: reed\n", "effect: down", "effect: DOWN").Replace(smallest)
	var file *act.FileError
	if _, err := Parse("x", []byte(text)); !errors.As(err, &file) || len(file.Mistakes) < 2 || file.Mistakes[0].Line > file.Mistakes[1].Line {
		t.Errorf("got %v", err)
	}
}

func TestReadLimits(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "none.yaml")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
	big := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(big, make([]byte, MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(big); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a large file: %v", err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo.yaml")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(fifo); !errors.Is(err, config.ErrNotRegular) {
		t.Errorf("a FIFO, which would wait for a writer: %v", err)
	}
}

func TestProgramsFile(t *testing.T) {
	for text, want := range map[string]string{
		"schema: clew-programs/9\nprograms: []\n":                                                                        "reads the schema",
		"schema: clew-programs/1\nprograms:\n  - {name: a, kind: robot, id: [A]}\n":                                      "x:3: kind must be one of",
		"schema: clew-programs/1\nprograms:\n  - {name: a, kind: agent}\n":                                               "x:3: nothing would show this program",
		"schema: clew-programs/1\nprograms:\n  - {name: a, kind: agent, id: [A]}\n  - {name: a, kind: agent, id: [A]}\n": "x:4: \"a\" stands here twice",
	} {
		if _, err := ParsePrograms("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(smallest))
	f.Fuzz(func(_ *testing.T, b []byte) {
		r, err := Parse("x", b)
		if err == nil {
			r.Match([]string{"get", "-n", "x", "--", "y"}, func(string) string { return "" })
		}
	})
}
