package store

import (
	"reflect"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
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
