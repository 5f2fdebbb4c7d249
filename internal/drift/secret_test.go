package drift_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/tree"
	"github.com/clewops/clew/internal/secret"
)

const secretObject = `
apiVersion: v1
kind: Secret
metadata: {name: creds, namespace: demo}
stringData: {password: planted-git-value}
data: {token: YWJj}
`

// build runs the compiler on a program of testdata.
func build(t *testing.T, dir string) (string, error) {
	t.Helper()
	out, err := exec.Command("go", "build", "-o", t.TempDir()+"/x", "./testdata/writing/"+dir).CombinedOutput()
	return string(out), err
}

// What writes takes a Plain value, and the compiler refuses a Redacted one in its place. That it takes the program with
// the Plain one shows that it refuses for this reason.
func TestRedactedCannotBeWritten(t *testing.T) {
	if out, err := build(t, "plain"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := build(t, "redacted")
	if err == nil {
		t.Fatal("a program that writes a redacted value compiles")
	}
	for _, want := range []string{
		"cannot use r (variable of struct type drift.Redacted) as drift.Plain value",
		"cannot convert r (variable of struct type drift.Redacted) to type drift.Plain",
		"r.Tree undefined",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the compiler does not say %q:\n%s", want, out)
		}
	}
}

// everything is each way in which a report could be printed.
func everything(t *testing.T, o drift.Object) string {
	t.Helper()
	j, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v %+v %#v %s %s %s", o, o, o, j, y, shown(o))
}

// The values of a Secret are in no output, plain or encoded. In a ConfigMap, which is the control, they are.
func TestSecretsDoNotShow(t *testing.T) {
	planted := []string{"planted-git-value", encode("planted-git-value"), "planted-live-value", encode("planted-live-value")}
	w := applied(t, secretObject)
	w.writes("kubectl-edit", "", "data.password", encode("planted-live-value"))
	w.writes("kubectl-annotate", "", "metadata.annotations.copied", "planted-live-value")
	s := w.subject()
	o := judge(s, func(in *drift.Input) { in.Key = secret.Of([]byte("k")) })
	if len(o.Differences) != 2 || o.Class != drift.Unclaimed {
		t.Fatal(shown(o))
	}
	text := everything(t, o) + fmt.Sprintf("%v %+v %#v", s, s, s)
	for _, p := range planted {
		if strings.Contains(text, p) {
			t.Errorf("%q shows", p)
		}
	}
	if _, err := json.Marshal(s.Live.Content); err == nil {
		t.Error("an object's content was encoded")
	}
	control := applied(t, strings.NewReplacer("kind: Secret", "kind: ConfigMap", "stringData", "data", "data: {token: YWJj}", "").Replace(secretObject))
	control.writes("kubectl-edit", "", "data.password", "planted-live-value")
	shown := everything(t, judge(control.subject()))
	if !strings.Contains(shown, "planted-live-value") || !strings.Contains(shown, "planted-git-value") {
		t.Error("the control shows nothing, so this test would see nothing")
	}
}

func TestValuesOfAnEncryptedFileDoNotShow(t *testing.T) {
	w := applied(t, configMap)
	w.writes("kubectl-edit", "", "data.color", "planted-live-value")
	s := w.subject()
	s.Secret = true
	if text := everything(t, judge(s)); strings.Contains(text, "planted-live-value") || !strings.Contains(text, "[secret]") {
		t.Error(text)
	}
}

// A kept secret is covered by its keyed digest, and without the key by nothing.
func TestKeptSecrets(t *testing.T) {
	key := func(k string) func(*drift.Input) {
		return func(in *drift.Input) { in.Key = secret.Of([]byte(k)) }
	}
	w := applied(t, secretObject)
	w.writes("kubectl-edit", "", "data.password", encode("live"))
	digest := at(judge(w.subject(), key("k")), "data.password").Live.Digest()
	if digest == "" || digest == tree.Digest(encode("live")) {
		t.Fatalf("the digest is keyed: %q", digest)
	}
	kept := func(in *drift.Input) {
		in.Kept = []drift.Kept{{
			ID: "k-1", Object: drift.Identity{Kind: "Secret", Namespace: "demo", Name: "creds"}, Field: "data.password",
			Digest: digest, Who: "anna", Until: day.Add(time.Hour),
		}}
	}
	withoutDigest := func(in *drift.Input) { kept(in); in.Kept[0].Digest = "" }
	for _, key := range []func(*drift.Input){key(""), key("k")} {
		w := applied(t, secretObject)
		w.writes("kubectl-edit", "", "data.password", encode("live"))
		if o := judge(w.subject(), both(key, withoutDigest)); o.Class != drift.Unclaimed {
			t.Errorf("a record of no digest covers nothing: %s", shown(o))
		}
	}
	for name, c := range map[string]struct {
		key   string
		value string
		want  drift.Class
	}{
		"covered": {"k", "live", drift.Ahead}, "another key": {"l", "live", drift.Unclaimed},
		"no key": {"", "live", drift.Unclaimed}, "a second edit": {"k", "later", drift.Unclaimed},
	} {
		w := applied(t, secretObject)
		w.writes("kubectl-edit", "", "data.password", encode(c.value))
		if o := judge(w.subject(), both(key(c.key), kept)); o.Class != c.want {
			t.Errorf("%s: want %s: %s", name, c.want, shown(o))
		}
	}
}

const sopsSecret = `
apiVersion: v1
kind: Secret
metadata: {name: creds, namespace: demo}
stringData: {password: "ENC[AES256_GCM,data:abc,type:str]"}
data: {token: "ENC[AES256_GCM,data:def,type:str]"}
sops: {version: 3.9.0}
`

// Without a key an encrypted Secret is compared by the names of its keys, and nothing is guessed of the values.
func TestOpaqueSecrets(t *testing.T) {
	opaque := func(w *world) drift.Subject {
		s := w.subject()
		s.Head, s.Applied = side(t, parse(t, sopsSecret)), side(t, parse(t, sopsSecret))
		s.Opaque = true
		return s
	}
	for name, c := range map[string]struct {
		change func(*world)
		input  func(*drift.Input)
		want   drift.Class
		field  string
	}{
		"nobody wrote since Flux did": {func(*world) {}, func(*drift.Input) {}, drift.InSync, "data.password"},
		"head moved":                  {func(*world) {}, moved, drift.Unknown, "data.password"},
		"somebody wrote":              {func(w *world) { w.writes("kubectl-edit", "", "data.password", encode("x")) }, func(*drift.Input) {}, drift.Unknown, "data.password"},
		"a key more":                  {func(w *world) { w.writes("kubectl-edit", "", "data.more", encode("x")) }, func(*drift.Input) {}, drift.Unclaimed, "data.more"},
		"a key less":                  {func(w *world) { w.writes("kubectl-edit", "", "data.token", nil) }, func(*drift.Input) {}, drift.Unclaimed, "data.token"},
	} {
		w := applied(t, secretObject)
		c.change(w)
		o := judge(opaque(w), c.input)
		d := at(o, c.field)
		if o.Class != c.want || d == nil || d.Class != c.want || !o.Opaque {
			t.Errorf("%s: want %s: %s", name, c.want, shown(o))
			continue
		}
		if d.Forecast.Next.Outcome != drift.Unsure {
			t.Errorf("%s: what cannot be read cannot be forecast: %+v", name, d.Forecast.Next)
		}
	}
}

// stringData and data are two spellings.
func TestStringData(t *testing.T) {
	w := applied(t, secretObject)
	s := w.subject()
	wrapped := parse(t, secretObject)
	delete(wrapped, "stringData")
	wrapped["data"] = map[string]any{"token": "YW\nJj\n", "password": encode("planted-git-value")}
	s.Head = side(t, wrapped)
	if o := judge(s); o.Class != drift.InSync || len(o.Differences) > 0 {
		t.Error(shown(o))
	}
	over := parse(t, secretObject)
	tree.Map(over, "stringData")["token"] = "abc"
	tree.Map(over, "data")["token"] = encode("something that stringData goes over")
	s.Head = side(t, over)
	if o := judge(s); o.Class != drift.InSync {
		t.Error(shown(o))
	}
}
