package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

// FuzzDuration: what is read as a duration is written as one that reads the same, and is within bounds.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"30s", "7d", "24h", "-1s", "1.5h", "9999999999d", "106751d", "2540400h", "", "d", "1d2h", "+3d", "1e3s", "０s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parseDuration(s)
		if err != nil {
			wantShortError(t, err)
			return
		}
		if d > maxDuration {
			t.Errorf("%q is %s, and at most %s is allowed", s, d, maxDuration)
		}
		if again, err := parseDuration(d.String()); err != nil || again != d {
			t.Errorf("%q reads as %s, and that as %s, %v", s, d, again, err)
		}
		v := time.Duration(0)
		if err := (duration{value: &v}).Set(s); (err == nil) != (d > 0) || err == nil && v != d {
			t.Errorf("a flag takes %q: %v, %s", s, err, v)
		}
	})
}

// FuzzMoment: what is read as a moment is never one that is to come by more than a date can say.
func FuzzMoment(f *testing.F) {
	for _, s := range []string{"2h", "7d", "2026-05-01", "2026-05-01 14:30", "2026-05-01T14:30:05+02:00", "0000-01-01", "9999-12-31", "-1h", "x"} {
		f.Add(s)
	}
	now := time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		at, err := parseMoment(s, now)
		if err != nil {
			wantShortError(t, err)
			return
		}
		again, err := parseMoment(at.Format(time.RFC3339Nano), now)
		if at.Year() <= 9999 && (err != nil || !again.Equal(at)) {
			t.Errorf("%q reads as %s, and that as %s, %v", s, at, again, err)
		}
	})
}

// FuzzRollout: what is read as a rollout is written as one that reads the same.
func FuzzRollout(f *testing.F) {
	for _, s := range []string{"", "spring=2", "spring=2,0", "a=1,1000000", "=1", "a=0", "a=+1", "a=1,-1", "-a=1", "a=1,1,1", "a=00002", "ä=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseRollout(s)
		switch {
		case err != nil:
			if exitCode(err) != exitUsage {
				t.Errorf("%q is not called wrong usage: %v", s, err)
			}
			wantShortError(t, err)
		case r == nil:
			if s != "" {
				t.Errorf("%q is taken for no rollout", s)
			}
		case !plainName(r.ID) || r.Limit < 1 || r.MaxFailed < 0:
			t.Errorf("%q reads as %+v", s, *r)
		default:
			again, err := parseRollout(r.ID + "=" + itoa(r.Limit) + "," + itoa(r.MaxFailed))
			if err != nil || *again != *r {
				t.Errorf("%q reads as %+v, and that as %+v, %v", s, *r, again, err)
			}
		}
	})
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// wantShortError: what a user typed is quoted, shortened, and can neither forge a line nor move the cursor.
func wantShortError(t *testing.T, err error) {
	t.Helper()
	if s := err.Error(); len(s) > 600 || strings.ContainsFunc(s, unicode.IsControl) {
		t.Errorf("the error is %d bytes: %q", len(s), s)
	}
}

// FuzzCommandLine: any words are a command line or wrong usage. Nothing is run; what the program says is text, whatever it
// was given.
func FuzzCommandLine(f *testing.F) {
	for _, s := range []string{
		"plan create -n w -p {} --attempts 3 --rollout a=1,0 --expires 7d", "dispatch p-abc --limit 0", "settle op-1 --judge= --wait -1s",
		"apply -n w -f - --route via:10.0.0.1", "log --since 2026-05-01", "admin identity create eve --role approver", "--store", "--as \x1b[31m version",
		"machine import --talosconfig /nowhere", "-o yaml show x", "verify --bundle", "nonsense", "help nonsense", "plan", "-- dispatch", "--=", "-", "lab up --workers 99999999999999999999",
	} {
		f.Add(strings.ReplaceAll(s, " ", "\x00"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, cobra.ShellCompRequestCmd) || a == "executor" }) {
			return // these look into the store, or start something else
		}
		var stdout, stderr bytes.Buffer
		a := newApp(strings.NewReader(""), &stdout, &stderr, []string{"HOME=/nonexistent", "USER=tester"})
		root := newRoot(a)
		ran := false
		disarm(root, func() { ran = true })
		code := a.run(context.Background(), root, args)
		switch {
		case ran && code != exitDone:
			t.Errorf("%q was accepted, and ends with %d: %s", args, code, stderr.String())
		case code != exitDone && code != exitUsage && code != exitFailure:
			t.Errorf("%q ends with %d: %s", args, code, stderr.String())
		case code != exitDone && stderr.Len() == 0:
			t.Errorf("%q ends with %d, and nothing says why", args, code)
		}
		for _, text := range []string{stdout.String(), stderr.String()} {
			if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
				t.Errorf("%q: control characters come out: %q", args, text)
			}
		}
	})
}

// disarm takes what commands do away, and leaves how they read their words.
func disarm(c *cobra.Command, ran func()) {
	if c.RunE != nil || c.Run != nil {
		c.Run, c.RunE = nil, func(*cobra.Command, []string) error { ran(); return nil }
	}
	for _, sub := range c.Commands() {
		disarm(sub, ran)
	}
}
