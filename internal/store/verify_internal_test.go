package store

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// An observation's row is encoded as the observation is: the same fields under the same names in the same order.
func TestObservationRowEncodesAsAnObservation(t *testing.T) {
	row, o := reflect.TypeFor[observationRow](), reflect.TypeFor[dispatch.Observation]()
	for i := range o.NumField() {
		if a, b := row.Field(i), o.Field(i); a.Name != b.Name || a.Tag.Get("json") != b.Tag.Get("json") {
			t.Errorf("field %d of the row is %s %q, of the observation %s %q", i, a.Name, a.Tag, b.Name, b.Tag)
		}
	}
	if next := row.Field(o.NumField()); next.IsExported() {
		t.Errorf("the row also encodes %s", next.Name)
	}
}

func TestSameValue(t *testing.T) {
	for _, c := range []struct {
		got, told any
		same      bool
	}{
		{int64(1), int64(1), true},
		{int64(1), int64(2), false},
		{"1", int64(1), false},
		{int64(1), "1", false},
		{[]byte("a"), "a", true},
		{"a", "b", false},
		{"", "{}", true},
		{"[]", "", true},
		{nil, "", false},
	} {
		if sameValue(c.got, c.told) != c.same {
			t.Errorf("%#v and %#v: same is not %v", c.got, c.told, c.same)
		}
	}
}

// What is appended without the encoder is what the encoder writes, for words of all kinds.
func TestPlainRowsAreAppendedAsTheyAreEncoded(t *testing.T) {
	words := []string{"", "m-1", "via:cp", "ü", `"`, `\`, "<", "\n", "\x7f", "\xff"}
	plain := 0
	for i := range 10 * len(words) {
		word := func(n int) string { return words[(i*7+i/10*n)%len(words)] }
		o := observationRow{
			Machine: word(1), Basis: int64(i), Revision: int64(i * i), StartedAt: fromMicros(int64(i) * 1_234_567_890_123),
			Purpose: dispatch.Purpose(word(2)), Plan: word(3), Operation: word(4), Instance: word(5), Route: dispatch.Route(word(6)),
			LocalAddr: word(7), RemoteAddr: word(8), ReadAddress: word(9), Reading: []byte(`{"stage":"running"}`),
		}
		got, ok := o.appendPlain(nil)
		if !ok {
			continue
		}
		plain++
		want, err := compact(o)
		if err != nil || string(got) != string(want) {
			t.Fatalf("appended\n%s\nencoded\n%s (%v)", got, want, err)
		}
	}
	if plain == 0 {
		t.Error("no row was plain")
	}
	if _, ok := (observationRow{StartedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}).appendPlain(nil); ok {
		t.Error("a time without a form was appended")
	}
}

func TestExactHash(t *testing.T) {
	want := ledger.Hash{0x01, 0xab, 31: 0xff}
	if got, bad := exactHash(want.String()); got != want || bad != "" {
		t.Errorf("%s is read as %s (%s)", want, got, bad)
	}
	for _, text := range []string{
		"", "01", strings.ToUpper(want.String()), want.String() + "0", "g" + want.String()[1:], want.String()[:63] + "/", want.String()[:63] + ":",
	} {
		if _, bad := exactHash(text); bad == "" {
			t.Errorf("%q was taken for a hash", text)
		}
	}
}
