package secret

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const planted = "Pl4nted-s3cret"

// shown is every way in which a value may come to be printed.
func shown(v any) string {
	var all strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&all, verb+"\n", v)
	}
	return all.String()
}

// forms are how the planted secret would look when it was printed: as text, in hex, as numbers.
func forms() []string {
	return []string{planted, fmt.Sprintf("%x", planted), strings.Trim(fmt.Sprint([]byte(planted)), "[]")}
}

func leaks(text string) bool {
	for _, f := range forms() {
		if strings.Contains(text, f) {
			return true
		}
	}
	return false
}

func TestI7SecretsAreNotPrinted(t *testing.T) {
	s := Of([]byte(planted))
	type outer struct {
		Exported Bytes
		hidden   Bytes
	}
	for name, v := range map[string]any{
		"itself": s, "pointer": &s, "in a struct": outer{s, s}, "in a map": map[string]Bytes{"k": s}, "in a slice": []Bytes{s},
		"in an error": fmt.Errorf("reading %v: %w", s, fmt.Errorf("%+v", outer{s, s})),
	} {
		if text := shown(v); leaks(text) {
			t.Errorf("%s shows the secret:\n%s", name, text)
		}
	}
	// The control: the same search finds it in a type that does not hide.
	if !leaks(shown(struct{ hidden []byte }{[]byte(planted)})) {
		t.Error("the search finds nothing even where nothing is hidden")
	}
}

func TestI7SecretsAreNotEncoded(t *testing.T) {
	if b, err := json.Marshal(struct{ S Bytes }{Of([]byte(planted))}); err == nil {
		t.Errorf("JSON: %s", b)
	}
	if b, err := yaml.Marshal(struct{ S Bytes }{Of([]byte(planted))}); err == nil {
		t.Errorf("YAML: %s", b)
	}
}

func TestReveal(t *testing.T) {
	if got := string(Of([]byte(planted)).Reveal()); got != planted {
		t.Errorf("revealed %q", got)
	}
	var zero Bytes
	if zero.Reveal() != nil || zero.Len() != 0 || zero.String() != hidden {
		t.Error("the zero value is not an empty secret")
	}
}
