package drill

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAClockThatCannotBeReadIsBehindEverything(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clock")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := readClock(file); !got.IsZero() {
		t.Errorf("without a file it is %s", got)
	}
	for _, text := range []string{"", "1", "an hour\n"} {
		write(text)
		if got := readClock(file); !got.IsZero() {
			t.Errorf("%q makes it %s", text, got)
		}
	}
	for _, off := range []time.Duration{0, time.Hour, -90 * time.Minute} {
		write(off.String() + "\n")
		before := time.Now().Add(off)
		got := readClock(file)
		if after := time.Now().Add(off); got.Before(before) || got.After(after) {
			t.Errorf("%s off it is %s, not between %s and %s", off, got, before, after)
		}
	}
}

func TestLessIsOfNumbers(t *testing.T) {
	for _, tc := range []struct{ a, b, want string }{{"7", "5", "2"}, {"5", "5", "0"}, {"none", "5", "none after 5"}, {"5", "", "5 after "}} {
		if got := less(tc.a, tc.b); got != tc.want {
			t.Errorf("%q less %q is %q, want %q", tc.a, tc.b, got, tc.want)
		}
	}
}
