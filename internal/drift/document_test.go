package drift_test

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/tree"
)

// parseYAML stands for the adapter that parses documents.
func parseYAML(name, text string) (drift.Document, bool) {
	var raw any
	if !strings.HasSuffix(name, ".yaml") || yaml.Unmarshal([]byte(text), &raw) != nil {
		return drift.Document{}, false
	}
	v, err := tree.Normalize(raw)
	return drift.Document{Format: "yaml", Tree: v}, err == nil
}

// documents judges a ConfigMap of which git and the cluster have these texts.
func inDocument(t *testing.T, git, live string, change ...func(*drift.Input)) drift.Difference {
	t.Helper()
	head := parse(t, configMap)
	tree.Map(head, "data")["roster.yaml"] = git
	w := appliedObject(t, head)
	w.writesPath("kubectl-edit", "", tree.Fields("data", "roster.yaml"), live)
	o := judge(w.subject(), append([]func(*drift.Input){func(in *drift.Input) { in.Parse = parseYAML }}, change...)...)
	if len(o.Differences) != 1 {
		t.Fatal(shown(o))
	}
	return o.Differences[0]
}

func TestTheClusterHasFiveServersMore(t *testing.T) {
	git := "servers:\n- {name: search, url: http://search}\n"
	live := git
	for _, name := range []string{"fetch", "scratchpad", "moxn", "calculator", "skills"} {
		live += "- {name: " + name + ", url: http://" + name + "}\n"
	}
	d := inDocument(t, git, live)
	if d.Document == nil || !slices.Contains(d.Document.Summary, "servers: live has fetch, scratchpad, moxn, calculator, skills; git has none of them") {
		t.Fatalf("%+v", d.Document)
	}
	if len(d.Document.Entries) != 5 || d.Document.Entries[0].Path != "servers[name=fetch]" || d.Document.Entries[0].Change != drift.Added {
		t.Errorf("%+v", d.Document.Entries)
	}
	if d.Field != `data["roster.yaml"]` || d.Class != drift.Unclaimed || d.Forecast.Next.Outcome != drift.Reverted {
		t.Errorf("%+v", d)
	}
}

func TestDocumentEntries(t *testing.T) {
	for name, c := range map[string]struct {
		git, live string
		want      []string
		summary   string
	}{
		"a value":               {"a: {b: 1, c: 2}", "a: {b: 1, c: 3}", []string{"changed a.c"}, ""},
		"a key more":            {"a: {b: 1}", "a: {b: 1, c: 2}", []string{"added a.c"}, "a: live has c; git has not"},
		"a key less":            {"a: {b: 1, c: 2}", "a: {b: 1}", []string{"removed a.c"}, "a: git has c; live has not"},
		"an entry's field":      {"l: [{name: x, v: 1}, {name: z, v: 1}]", "l: [{name: x, v: 1}, {name: z, v: 2}]", []string{"changed l[name=z].v"}, ""},
		"an entry in front":     {"l: [{name: x}]", "l: [{name: z}, {name: x}]", []string{"added l[name=z]"}, "l: live has z; git has not"},
		"another key":           {"l: [{id: 1, v: a}]", "l: [{id: 1, v: b}]", []string{"changed l[id=1].v"}, ""},
		"by host":               {"l: [{host: a}]", "l: [{host: a}, {host: b}]", []string{"added l[host=b]"}, "l: live has b; git has not"},
		"no key":                {"l: [{v: 1}, {v: 2}]", "l: [{v: 1}, {v: 3}]", []string{"changed l[1].v"}, ""},
		"a name twice":          {"l: [{name: x, v: 1}, {name: x, v: 2}]", "l: [{name: x, v: 1}, {name: x, v: 3}]", []string{"changed l[1].v"}, ""},
		"values":                {"l: [a, b]", "l: [a, c]", []string{`removed l[="b"]`, `added l[="c"]`}, "l: live has c; git has not"},
		"order":                 {"l: [a, b]", "l: [b, a]", []string{"reordered l"}, ""},
		"a list at the top":     {"- {name: x}", "- {name: x}\n- {name: z}", []string{"added [name=z]"}, "live has z; git has not"},
		"comments only":         {"a: 1", "a: 1 # one", nil, "only the spelling, the order of keys or comments differ"},
		"another kind of value": {"a: [1]", "a: {b: 1}", []string{"changed a"}, ""},
	} {
		d := inDocument(t, c.git, c.live)
		if d.Document == nil {
			t.Errorf("%s: no document", name)
			continue
		}
		var got []string
		for _, e := range d.Document.Entries {
			got = append(got, string(e.Change)+" "+e.Path)
		}
		if !slices.Equal(got, c.want) || c.summary != "" && !slices.Contains(d.Document.Summary, c.summary) {
			t.Errorf("%s: %q, %q, want %q, %q", name, got, d.Document.Summary, c.want, c.summary)
		}
		if d.Class != drift.Unclaimed {
			t.Errorf("%s: what reads the same is still another text: %s", name, d.Class)
		}
	}
}

// Text that is no document, and text of a secret, are compared as texts.
func TestNoEntries(t *testing.T) {
	if d := inDocument(t, "a: 1", "a: ["); d.Document != nil {
		t.Errorf("%+v", d.Document)
	}
	if d := inDocument(t, "a: 1", "a: 2", func(in *drift.Input) { in.Subjects[0].Secret = true }); d.Document != nil {
		t.Errorf("entries of a secret text show: %+v", d.Document)
	}
}

func TestLongDocumentsAreCut(t *testing.T) {
	var git, live strings.Builder
	for i := range 600 {
		git.WriteString("k" + strings.Repeat("x", i) + ": 1\n")
		live.WriteString("k" + strings.Repeat("x", i) + ": 2\n")
	}
	d := inDocument(t, git.String(), live.String())
	if !d.Document.Cut || len(d.Document.Entries) != 500 {
		t.Errorf("%d entries, cut %v", len(d.Document.Entries), d.Document.Cut)
	}
}
