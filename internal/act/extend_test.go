package act_test

import (
	"testing"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/wrap/recogniserfile"
)

func parsed(t *testing.T, text string) act.Recogniser {
	t.Helper()
	r, err := recogniserfile.Parse("own.yaml", []byte("schema: clew-recogniser/1\ntool: kubectl\nrelease: mine\nexecutables: [kubectl, k]\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExtend(t *testing.T) {
	none := func(string) string { return "" }
	own := parsed(t, `
kinds: {rollout: [rollouts, ro]}
sets: {print: {switch: --mine}}
commands:
  - {words: neat, class: read, args: opaque, use: [print]}
  - {words: argo promote, class: mutate, effect: restart, args: {form: names, kind: rollout}}
when:
  - {flag: mine, in: ["true"], class: read}
`)
	r, err := act.Extend(*act.ShippedFor("kubectl"), own)
	if err != nil {
		t.Fatal(err)
	}
	list := []*act.Recogniser{&r}
	for line, want := range map[string]string{
		"kubectl neat get pod -n shop --mine": "read | - | namespace=shop | -",
		"k argo promote web -n shop":          "mutate | rollout/web -n shop | namespace=shop | -",
		"kubectl get ro web":                  "read | rollout/web | - | -",
		"kubectl delete pod web":              "mutate | pod/web | - | 5m",
		"kubectl get pods --mine":             "unknown | pod + | - | -",
		"kubectl get pods -o json":            "read | pod + | - | -",
	} {
		if got := described(act.Match(list, words(line), none)); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if got := act.Match(list, words("kubectl neat x"), none).Recogniser; got != "kubectl/1+mine" {
		t.Errorf("the recogniser is called %q", got)
	}
}

func TestNoFileMakesAMutationARead(t *testing.T) {
	shipped := *act.ShippedFor("kubectl")
	for _, text := range []string{
		"commands:\n  - {words: delete, class: read}\n",
		"commands:\n  - {words: apply|neat, class: read}\n",
	} {
		if _, err := act.Extend(shipped, parsed(t, text)); err == nil {
			t.Errorf("accepted: %s", text)
		}
	}
	own := parsed(t, "flags: {switch: --quietly}\ncommands: []\nwhen:\n  - {flag: quietly, in: [\"true\"], class: read}\n")
	r, err := act.Extend(shipped, own)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Match(words("delete pod web --quietly"), func(string) string { return "" }); got.Class != act.Mutate {
		t.Errorf("a rule of the user's file made it %s", got.Class)
	}
	if _, err := act.Extend(*act.ShippedFor("helm"), own); err == nil {
		t.Error("a file of kubectl extends helm")
	}
}
