package talos

import (
	"bytes"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/secret"
)

// patches applies patches and returns what they changed, as Diff tells it.
func patches(t *testing.T, b []byte, ps ...string) (string, error) {
	t.Helper()
	var texts [][]byte
	for _, p := range ps {
		texts = append(texts, []byte(p))
	}
	out, err := ApplyPatches(secret.Of(b), texts)
	if err != nil {
		return "", err
	}
	if _, err := Validate(out.Reveal()); err != nil {
		t.Errorf("the result is invalid: %v", err)
	}
	d, err := Diff(secret.Of(b), out)
	if err != nil {
		t.Fatal(err)
	}
	return d.String(), nil
}

func TestApplyPatches(t *testing.T) {
	g := configs(t)
	single := g.worker[:bytes.Index(g.worker, []byte("---\n"))]
	for name, c := range map[string]struct {
		b       []byte
		patches []string
		want    string
	}{
		"a label": {
			g.worker,
			[]string{"machine:\n  nodeLabels:\n    rack: a\n"},
			"+ machine.nodeLabels.rack: \"a\"\n",
		},
		"a commented configuration": {
			g.commented,
			[]string{"machine: {nodeLabels: {rack: a}}\n"},
			"+ machine.nodeLabels.rack: \"a\"\n",
		},
		"in JSON": {
			g.worker,
			[]string{`{"machine": {"nodeLabels": {"rack": "a"}}}`},
			"+ machine.nodeLabels.rack: \"a\"\n",
		},
		"two after each other": {
			g.worker,
			[]string{"machine: {nodeLabels: {rack: a, row: x}}\n", "machine: {nodeLabels: {rack: b}}\n"},
			"+ machine.nodeLabels.rack: \"b\"\n+ machine.nodeLabels.row: \"x\"\n",
		},
		"lists are appended to": {
			g.worker,
			[]string{"machine: {certSANs: [a.example]}\n", "machine: {certSANs: [b.example]}\n"},
			"+ machine.certSANs[0]: \"a.example\"\n+ machine.certSANs[1]: \"b.example\"\n",
		},
		"a deleted key": {
			g.worker,
			[]string{"machine:\n  sysctls:\n    net.core.somaxconn:\n      $patch: delete\n"},
			"- machine.sysctls.net.core.somaxconn: \"4096\"\n",
		},
		"a deleted document": {
			g.worker,
			[]string{"apiVersion: v1alpha1\nkind: HostnameConfig\n$patch: delete\n"},
			"removed document HostnameConfig (v1alpha1):\n- auto: \"stable\"\n",
		},
		"a JSON patch": {
			single,
			[]string{`[{"op": "add", "path": "/machine/nodeLabels", "value": {"rack": "a"}}, {"op": "replace", "path": "/machine/kubelet/disableManifestsDirectory", "value": false}]`},
			"  machine.kubelet.disableManifestsDirectory: true -> false\n+ machine.nodeLabels.rack: \"a\"\n",
		},
		"a JSON patch in YAML": {
			single,
			[]string{"- op: remove\n  path: /machine/sysctls/net.core.somaxconn\n"},
			"- machine.sysctls.net.core.somaxconn: \"4096\"\n",
		},
		"both kinds": {
			single,
			[]string{"- {op: remove, path: /machine/sysctls}\n", "machine: {nodeLabels: {rack: a}}\n"},
			"+ machine.nodeLabels.rack: \"a\"\n- machine.sysctls.net.core.somaxconn: \"4096\"\n",
		},
		"several documents": {
			g.worker,
			[]string{"machine: {nodeLabels: {rack: a}}\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\nhostname: w1\n---\napiVersion: v1alpha1\nkind: KmsgLogConfig\nname: remote\nurl: tcp://10.0.0.9:514\n"},
			"+ machine.nodeLabels.rack: \"a\"\n" +
				"document HostnameConfig (v1alpha1):\n  auto: \"stable\" -> \"off\"\n+ hostname: \"w1\"\n" +
				"new document KmsgLogConfig/remote (v1alpha1):\n+ url: \"tcp://10.0.0.9:514\"\n",
		},
		"nothing new": {g.worker, []string{"machine: {sysctls: {net.core.somaxconn: \"4096\"}}\n"}, ""},
		"a secret":    {g.worker, []string{"cluster: {token: aaaaaa.bbbbbbbbbbbbbbbb}\n"}, "  cluster.token: [secret changed]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := patches(t, c.b, c.patches...)
			if err != nil || got != c.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}

func TestApplyPatchesRefuses(t *testing.T) {
	g := configs(t)
	single := g.worker[:bytes.Index(g.worker, []byte("---\n"))]
	const planted = "plantedvalue"
	doubling := "- {op: add, path: /machine/certSANs/-, value: " + strings.Repeat("x", 1<<10) + "}\n"
	for range 40 {
		doubling += "- {op: copy, from: /machine/certSANs, path: /machine/certSANs/-}\n"
	}
	for name, c := range map[string]struct {
		b             []byte
		patches       []string
		code, message string
	}{
		"no patch":                      {g.worker, nil, "patch-empty", "no patch"},
		"an empty one":                  {g.worker, []string{""}, "patch-refused", "it is empty"},
		"an empty document":             {g.worker, []string{"---\n"}, "patch-refused", "it is empty"},
		"an empty JSON patch":           {single, []string{"[]"}, "patch-refused", "it is empty"},
		"unknown key":                   {g.worker, []string{"machine: {nodeLabls: {a: " + planted + "}}\n"}, "patch-refused", "unknown keys: machine.nodeLabls.a"},
		"the second one":                {g.worker, []string{"machine: {nodeLabels: {a: b}}\n", "machin: {token: " + planted + "}\n"}, "patch-refused", "patch 2 cannot"},
		"unknown kind":                  {g.worker, []string{"apiVersion: v1alpha1\nkind: NoSuchConfig\n"}, "patch-refused", "not registered"},
		"invalid result":                {g.worker, []string{"machine: {type: laborer}\n"}, "config-invalid", `unknown machine type "laborer"`},
		"a JSON patch of many":          {g.worker, []string{"- {op: remove, path: /machine/sysctls}\n"}, "patch-refused", "multi-document"},
		"a missing path":                {single, []string{"- {op: remove, path: /machine/nosuch}\n"}, "patch-refused", "/machine/nosuch"},
		"a failing test":                {single, []string{"- {op: test, path: /machine/token, value: " + planted + "}\n"}, "patch-refused", "/machine/token"},
		"an unknown operation":          {single, []string{"- {op: steal, path: /machine/token, value: " + planted + "}\n"}, "patch-refused", "steal"},
		"a result with unknown keys":    {single, []string{"- {op: add, path: /machine/tokn, value: " + planted + "}\n"}, "config-invalid", "unknown keys: machine.tokn"},
		"delete of a missing key":       {g.worker, []string{"machine: {nodeLabels: {$patch: delete}, pods: {a: {$patch: delete}}}\n"}, "patch-refused", "pods"},
		"delete in a missing document":  {g.worker, []string{"apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: a\n$patch: delete\n"}, "patch-refused", "KmsgLogConfig/a (v1alpha1), which the configuration does not have"},
		"delete of v1alpha1":            {single, []string{"- {op: remove, path: /machine}\n- {op: remove, path: /cluster}\n"}, "config-invalid", "machine instructions are required"},
		"copies that double":            {single, []string{doubling}, "patch-refused", "copy"},
		"too large":                     {g.worker, []string{strings.Repeat("#", MaxConfig+1)}, "config-too-large", "together"},
		"too large together":            {g.worker, []string{"machine: {nodeLabels: {a: b}}\n" + strings.Repeat("#", MaxConfig/2), "machine: {nodeLabels: {a: c}}\n" + strings.Repeat("#", MaxConfig/2)}, "config-too-large", "together"},
		"binary":                        {g.worker, []string{"\x00"}, "config-not-text", "UTF-8"},
		"a bomb":                        {g.worker, []string{"a: &a [*a]\n"}, "config-too-complex", "itself"},
		"not an object":                 {g.worker, []string{"[1, 2]"}, "patch-refused", "cannot"},
		"text":                          {g.worker, []string{planted}, "patch-refused", "cannot be applied"},
		"of no running configuration":   {[]byte("---\n"), []string{"machine: {nodeLabels: {a: b}}\n"}, "config-empty", "empty"},
		"a value in the wrong place":    {g.worker, []string{"machine: {certSANs: " + planted + "}\n"}, "patch-refused", "cannot construct"},
		"a secret that Talos would say": {g.worker, []string{"machine: {network: {interfaces: [{interface: wg0, wireguard: {privateKey: " + planted + "}}]}}\n"}, "config-invalid", "wrong key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := patches(t, c.b, c.patches...)
			wantRefusal(t, err, c.code, c.message)
			if strings.Contains(err.Error(), planted) || strings.ContainsAny(err.Error(), "\n\t") {
				t.Errorf("the error shows too much: %q", err)
			}
		})
	}
}
