package talos

import (
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/secret"
)

// slow is far above what any input within the limits takes, also on a busy machine under the race detector.
const slow = 30 * time.Second

func seeds() []string {
	return []string{
		base, "", "---\n", "a: &a [*a]\n", "a: [", "machine: {}\ncluster: {}\n", "machine:\n  <<: {type: worker}\n", "kind", "- kind", "{a: kind}",
		base + "---\napiVersion: v1alpha1\nkind: KmsgLogConfig\nname: a\nurl: tcp://10.0.0.9:514\n",
		sub("A: true", "1: {true: [null, 2024-01-01, 0x1F, 1e3, .nan, !!binary aGVsbG8=]}"),
		sub("  type: worker\n", "  type: worker\n  token: aaaaaa.bbbbbbbbbbbbbbbb\n"),
		strings.ReplaceAll(base, "\n", "\r\n"), "\ufeff" + base, "machine: \x00\n", "? [a]\n: b\n", "apiVersion: v1alpha1\nkind: LinkConfig\n",
	}
}

func patchSeeds() []string {
	return []string{
		"machine: {nodeLabels: {rack: b}}\n", "machine: {nodeLabels: {$patch: delete}}\n", "machine: {certSANs: [{$patch: delete}]}\n",
		"- {op: replace, path: /machine/nodeLabels/rack, value: b}\n", `[{"op": "remove", "path": "/machine"}]`, "- {op: copy, from: /machine, path: /cluster}\n",
		"- {op: move, from: /machine, path: \"\"}\n", "- {op: test, path: /machine/type, value: worker}\n", "- null\n", "- {op: [1]}\n", "- {}\n", "$patch: delete\n",
		"apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: a\n$patch: delete\n", "machine: {kubelet: {extraMounts: [{destination: /a, $patch: delete}]}}\n",
	}
}

func wantCleanError(t *testing.T, err error) {
	t.Helper()
	r, ok := refusal.As(err)
	if !ok {
		t.Fatalf("not a refusal: %v", err)
	}
	if strings.ContainsFunc(r.Message, func(r rune) bool { return r < ' ' }) || len(r.Message) > 2*maxMessage {
		t.Errorf("not a clean message: %q", r.Message)
	}
}

func bounded(t *testing.T, start time.Time) {
	t.Helper()
	if d := time.Since(start); d > slow {
		t.Errorf("took %s", d)
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		defer bounded(t, time.Now())
		SecretValues(secret.Of(b))
		m, err := ParseConfig(b)
		if err != nil {
			wantCleanError(t, err)
			return
		}
		m.Role()
		m.ClusterID()
		m.Omni()
		if string(m.Bytes().Reveal()) != string(b) {
			t.Error("the bytes are not the ones that were read")
		}
		if _, err := Validate(b); err != nil {
			wantCleanError(t, err)
		}
	})
}

func FuzzApplyPatches(f *testing.F) {
	for _, p := range patchSeeds() {
		f.Add([]byte(base), []byte(p), []byte(""))
		f.Add([]byte(base), []byte("machine: {nodeLabels: {rack: b}}\n"), []byte(p))
	}
	f.Fuzz(func(t *testing.T, config, one, two []byte) {
		defer bounded(t, time.Now())
		patches := [][]byte{one}
		if len(two) > 0 {
			patches = append(patches, two)
		}
		before := string(config)
		out, err := ApplyPatches(secret.Of(config), patches)
		if string(config) != before {
			t.Error("the configuration itself was changed")
		}
		if err != nil {
			wantCleanError(t, err)
			return
		}
		if _, err := Validate(out.Reveal()); err != nil {
			t.Errorf("the result is invalid: %v", err)
		}
	})
}

func FuzzDiff(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(base), []byte(s))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		defer bounded(t, time.Now())
		there, err := Diff(secret.Of(a), secret.Of(b))
		if err != nil {
			wantCleanError(t, err)
			return
		}
		back, err := Diff(secret.Of(b), secret.Of(a))
		if err != nil || (back.String() == "") != (there.String() == "") {
			t.Errorf("one way %q, the other %q (%v)", there, back, err)
		}
		if same, err := Diff(secret.Of(a), secret.Of(a)); err != nil || same.String() != "" {
			t.Errorf("from itself it differs in %q (%v)", same, err)
		}
	})
}
