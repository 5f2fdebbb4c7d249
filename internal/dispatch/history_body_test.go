package dispatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What is read without the decoder is what the decoder reads, whatever stands in the body.
func TestPlainBodiesAreReadAsTheDecoderReads(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		var r bodyReader
		for range 6 {
			raw := someObservationBody(t)
			var want Body
			wantErr := json.Unmarshal(raw, &want)
			if o, _ := r.plain(raw); o != nil {
				taken++
				if wantErr != nil {
					t.Fatalf("%s: read, and the decoder says %v", raw, wantErr)
				}
			}
			got, part, err := r.body(raw)
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("%s: error %v, the decoder's is %v", raw, err, wantErr)
			}
			if err != nil {
				continue
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s:\nread as %+v\nholds   %+v", raw, got.Observation, want.Observation)
			}
			var object struct {
				Observation json.RawMessage `json:"observation"`
			}
			if err := json.Unmarshal(raw, &object); err != nil || !bytes.Equal(object.Observation, bytes.TrimSpace(part)) {
				t.Fatalf("%s: its observation is %s, read as %s (%v)", raw, object.Observation, part, err)
			}
		}
	})
	if taken == 0 {
		t.Error("no body was read without the decoder")
	}
}

// someObservationBody is an observation's body as the store writes it, or nearly so.
func someObservationBody(t *rapid.T) []byte {
	// A word that is written with an escape is left to the decoder, and one is enough in a body of eight: they are rare.
	odd := rapid.SampledFrom([]string{"ü", `"`, `\`, "<", "a\tb", "\x7f"})
	plain := rapid.SampledFrom([]string{"", "m-1", "direct", "via:cp"})
	word := rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 15).Draw(t, "odd") == 0 {
			return odd.Draw(t, "word")
		}
		return plain.Draw(t, "word")
	})
	o := Observation{
		Machine: word.Draw(t, "machine"), Basis: rapid.Int64Range(-1, 1<<62).Draw(t, "basis"), Revision: rapid.Int64Range(0, 300).Draw(t, "revision"),
		StartedAt: time.UnixMicro(rapid.Int64Range(0, 1<<51).Draw(t, "at")).UTC(), Purpose: Purpose(word.Draw(t, "purpose")),
		Plan: word.Draw(t, "plan"), Operation: word.Draw(t, "operation"), Instance: word.Draw(t, "instance"),
		Route: Route(word.Draw(t, "route")), LocalAddr: word.Draw(t, "local"), RemoteAddr: word.Draw(t, "remote"),
		Reading: Reading{Stage: rapid.SampledFrom([]string{"", "running", "}"}).Draw(t, "stage")},
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(Body{Observation: &o}); err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(b.String(), "\n")
	switch rapid.IntRange(0, 9).Draw(t, "spoilt") {
	case 0:
		at := rapid.IntRange(0, len(text)-1).Draw(t, "cut")
		text = text[:at] + text[at+1:]
	case 1:
		at := rapid.IntRange(0, len(text)-1).Draw(t, "place")
		text = text[:at] + rapid.SampledFrom([]string{" ", "0", "}", `"`, ",", `"revision":7,`}).Draw(t, "more") + text[at:]
	case 2:
		text = strings.Replace(text, `"basis":`, fmt.Sprintf(`"basis":%d`, rapid.IntRange(0, 9).Draw(t, "digit")), 1)
	}
	return []byte(text)
}
