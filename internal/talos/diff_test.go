package talos

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/clewops/clew/internal/secret"
)

func diff(t testing.TB, older, newer []byte) string {
	t.Helper()
	d, err := Diff(secret.Of(older), secret.Of(newer))
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// base is a small configuration to change.
const base = `version: v1alpha1
machine:
  type: worker
  certSANs: [a, b, c]
  nodeLabels: {rack: a}
  files:
    - {path: /var/a, permissions: 0o644, op: create, content: "hello"}
  time: {bootTimeout: 2m}
  kubelet:
    extraConfig: {maxPods: 110, featureGates: {A: true}}
    extraArgs: {v: "2"}
cluster:
  controlPlane: {endpoint: "https://10.5.0.2:6443"}
`

func TestDiff(t *testing.T) {
	doc := "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: remote\nurl: tcp://10.0.0.9:514\n"
	for name, c := range map[string]struct{ older, newer, want string }{
		"changed":              {base, sub("rack: a", "rack: b"), "  machine.nodeLabels.rack: \"a\" -> \"b\"\n"},
		"added":                {base, sub("rack: a", "rack: a, row: \"\""), "+ machine.nodeLabels.row: \"\"\n"},
		"removed":              {base, sub("rack: a", ""), "- machine.nodeLabels.rack: \"a\"\n"},
		"removed section":      {base, sub("  nodeLabels: {rack: a}\n", ""), "- machine.nodeLabels.rack: \"a\"\n"},
		"a number":             {base, sub("maxPods: 110", "maxPods: 120"), "  machine.kubelet.extraConfig.maxPods: 110 -> 120\n"},
		"a number to a string": {base, sub("maxPods: 110", "maxPods: \"110\""), "  machine.kubelet.extraConfig.maxPods: 110 -> \"110\"\n"},
		"a value to a section": {base, sub("A: true", "A: {b: c}"), "- machine.kubelet.extraConfig.featureGates.A: true\n+ machine.kubelet.extraConfig.featureGates.A.b: \"c\"\n"},
		"an argument to many":  {base, sub("v: \"2\"", "v: [\"2\", \"3\"]"), "- machine.kubelet.extraArgs.v: \"2\"\n+ machine.kubelet.extraArgs.v[0]: \"2\"\n+ machine.kubelet.extraArgs.v[1]: \"3\"\n"},
		"an empty section":     {base, sub("A: true", "A: {}"), "- machine.kubelet.extraConfig.featureGates.A: true\n+ machine.kubelet.extraConfig.featureGates.A: {}\n"},
		"a mode":               {base, sub("0o644", "0o600"), "  machine.files[0].permissions: 0o644 -> 0o600\n"},
		"at the end of a list": {base, sub("[a, b, c]", "[a, b, c, d]"), "+ machine.certSANs[3]: \"d\"\n"},
		"inside a list":        {base, sub("[a, b, c]", "[a, x, b, c]"), "+ machine.certSANs[1]: \"x\"\n"},
		"out of a list":        {base, sub("[a, b, c]", "[a, c]"), "- machine.certSANs[1]: \"b\"\n"},
		"in a list":            {base, sub("[a, b, c]", "[a, x, c]"), "  machine.certSANs[1]: \"b\" -> \"x\"\n"},
		"the order of a list":  {base, sub("[a, b, c]", "[b, a, c]"), "  machine.certSANs[0]: \"a\" -> \"b\"\n  machine.certSANs[1]: \"b\" -> \"a\"\n"},
		"a duration":           {base, sub("bootTimeout: 2m", "bootTimeout: 3m"), "  machine.time.bootTimeout: \"2m0s\" -> \"3m0s\"\n"},
		"a key with control":   {base, sub("rack: a", "rack: a, \"x\\ty\": b"), "+ machine.nodeLabels.\"x\\ty\": \"b\"\n"},
		"a new document":       {base, base + "---\n" + doc, "new document KmsgLogConfig/remote (v1alpha1):\n+ url: \"tcp://10.0.0.9:514\"\n"},
		"a removed document":   {base + "---\n" + doc, base, "removed document KmsgLogConfig/remote (v1alpha1):\n- url: \"tcp://10.0.0.9:514\"\n"},
		"a renamed document": {
			base + "---\n" + doc, base + "---\n" + strings.Replace(doc, "remote", "other", 1),
			"new document KmsgLogConfig/other (v1alpha1):\n+ url: \"tcp://10.0.0.9:514\"\nremoved document KmsgLogConfig/remote (v1alpha1):\n- url: \"tcp://10.0.0.9:514\"\n",
		},
		"a changed document": {
			doc + "---\n" + base, base + "---\n" + strings.Replace(doc, "514", "515", 1),
			"document KmsgLogConfig/remote (v1alpha1):\n  url: \"tcp://10.0.0.9:514\" -> \"tcp://10.0.0.9:515\"\n",
		},
		"no manifests to none": {
			base, sub("cluster:\n", "cluster:\n  inlineManifests: []\n"),
			"+ cluster.inlineManifests: []\n", // Talos tells them apart
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := diff(t, []byte(c.older), []byte(c.newer)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func sub(old, repl string) string {
	if strings.Count(base, old) != 1 {
		panic("not in base once: " + old)
	}
	return strings.Replace(base, old, repl, 1)
}

func TestDiffShowsLongValuesWhereTheyDiffer(t *testing.T) {
	long := strings.Repeat("abc ", 1000)
	a := []byte(sub("rack: a", "rack: \""+long+"one"+long+"\""))
	b := []byte(sub("rack: a", "rack: \""+long+"two"+long+"\""))
	got := diff(t, a, b)
	if len(got) > 1200 || !strings.Contains(got, "abc one") || !strings.Contains(got, "abc two") || !strings.Contains(got, "of 8003 bytes") {
		t.Error(got)
	}
}

// A certificate is public: its name shows, not its bytes.
func TestDiffNamesCertificates(t *testing.T) {
	g := configs(t)
	other := replaceLine(t, g.worker, "        crt: ", "        crt: \"\"\n")
	got := diff(t, g.worker, other)
	if !strings.Contains(got, "machine.ca.crt: certificate \"O=talos\" until ") || strings.Contains(got, "LS0t") {
		t.Error(got)
	}
}

// Writings of the same configuration differ in nothing.
func TestDiffOfAReencodingIsEmpty(t *testing.T) {
	g := configs(t)
	for name, b := range map[string][]byte{"worker": g.worker, "control plane": g.controlPlane, "commented": g.commented, "base": []byte(base)} {
		for how, other := range map[string][]byte{
			"itself":            b,
			"line ends of DOS":  bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")),
			"comments":          append([]byte("# first\n"), bytes.ReplaceAll(b, []byte("\ncluster:"), []byte("\n# second\ncluster:"))...),
			"newlines":          append(bytes.Clone(b), "\n\n\n"...),
			"keys reordered":    rewrite(t, b, func(n *yaml.Node) { shuffle(n) }),
			"quoted":            rewrite(t, b, func(n *yaml.Node) { style(n, yaml.DoubleQuotedStyle) }),
			"in flow":           rewrite(t, b, func(n *yaml.Node) { style(n, yaml.FlowStyle) }),
			"Talos' own":        reencode(t, b),
			"documents swapped": swapDocuments(b),
		} {
			if got := diff(t, b, other); got != "" {
				t.Errorf("%s, %s:\n%s", name, how, got)
			}
			if got := diff(t, other, b); got != "" {
				t.Errorf("%s, %s, the other way:\n%s", name, how, got)
			}
		}
	}
	aliased := []byte(strings.Replace(sub("[a, b, c]", "[&x a, b, c]"), "rack: a", "rack: *x", 1))
	if got := diff(t, []byte(base), aliased); got != "" {
		t.Errorf("aliases:\n%s", got)
	}
	spelled := []byte(strings.Replace(sub("2m", "120s"), "0o644", "420", 1))
	if got := diff(t, []byte(base), spelled); got != "" {
		t.Errorf("other spellings:\n%s", got)
	}
}

func rewrite(t *testing.T, b []byte, change func(*yaml.Node)) []byte {
	t.Helper()
	docs, err := decodeDocuments(b)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for _, d := range docs {
		change(d)
		text, err := yaml.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	return bytes.Join(out, []byte("---\n"))
}

func shuffle(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		r := rand.New(rand.NewPCG(1, uint64(len(n.Content))))
		r.Shuffle(len(n.Content)/2, func(i, j int) {
			n.Content[2*i], n.Content[2*j] = n.Content[2*j], n.Content[2*i]
			n.Content[2*i+1], n.Content[2*j+1] = n.Content[2*j+1], n.Content[2*i+1]
		})
	}
	for _, c := range n.Content {
		shuffle(c)
	}
}

func style(n *yaml.Node, s yaml.Style) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" || s == yaml.FlowStyle {
		n.Style = s
	}
	for _, c := range n.Content {
		style(c, s)
	}
}

func reencode(t *testing.T, b []byte) []byte {
	t.Helper()
	m, err := ParseConfig(b)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.provider.EncodeBytes()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func swapDocuments(b []byte) []byte {
	docs := bytes.Split(b, []byte("---\n"))
	for i, j := 0, len(docs)-1; i < j; i, j = i+1, j-1 {
		docs[i], docs[j] = docs[j], docs[i]
	}
	return bytes.Join(docs, []byte("---\n"))
}

func TestDiffRefusesWhatParseConfigRefuses(t *testing.T) {
	for _, pair := range [][2]string{{"", base}, {base, ""}} {
		_, err := Diff(secret.Of([]byte(pair[0])), secret.Of([]byte(pair[1])))
		wantRefusal(t, err, "config-empty", "empty")
	}
	// Talos' library panics on what it cannot copy.
	odd := sub("A: true", "1: true")
	_, err := Diff(secret.Of([]byte(odd)), secret.Of([]byte(base)))
	wantRefusal(t, err, "config-invalid", "cannot deep copy")
}
