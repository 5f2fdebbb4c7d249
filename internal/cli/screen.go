package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// ago is how long ago a time was, in one word that fits a table.
func (a *app) ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := time.Since(t)
	switch {
	case d < 0:
		return "in the future"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

// writeDiff writes a redacted difference, coloured where that is wanted.
func (a *app) writeDiff(w io.Writer, diff string) {
	for line := range strings.Lines(diff) {
		line = printable(strings.TrimSuffix(line, "\n"))
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "+"):
			line = a.paint(styleGreen, line)
		case strings.HasPrefix(strings.TrimSpace(line), "-"):
			line = a.paint(styleRed, line)
		}
		fmt.Fprintln(w, line)
	}
}

// duration is a flag of a positive duration, such as 30s, 10m, 24h or 7d.
type duration struct {
	value *time.Duration
	zero  bool          // zero is allowed
	least time.Duration // what is shorter is a typing error
}

func (d duration) String() string {
	if d.value == nil {
		return ""
	}
	return d.value.String()
}

func (d duration) Type() string { return "duration" }

func (d duration) Set(s string) error {
	v, err := parseDuration(s)
	switch {
	case err != nil:
		return err
	case v < 0, v == 0 && !d.zero:
		return fmt.Errorf("%q is not a positive duration", shorten(s))
	case v < d.least:
		return fmt.Errorf("%q is shorter than %s", shorten(s), d.least)
	}
	*d.value = v
	return nil
}

// maxDuration bounds durations that users give: longer ones are typing errors, and sums of them stay far from overflow.
const maxDuration = 20 * 365 * 24 * time.Hour

// parseDuration reads Go's durations and whole days ("7d").
func parseDuration(s string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is not a duration such as 30s, 10m, 24h or 7d", shorten(s))
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || time.Duration(n) > maxDuration/(24*time.Hour) {
			return 0, wrong
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	v, err := time.ParseDuration(s)
	if err != nil || v > maxDuration {
		return 0, wrong
	}
	return v, nil
}

// parseMoment reads "2h" (ago), a date, or a date with time; local where no zone is given.
func parseMoment(s string, now time.Time) (time.Time, error) {
	if d, err := parseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a duration (2h, 7d) nor a date (2026-05-01, 2026-05-01 14:30)", shorten(s))
}

// firstSteps is what to type when nothing is recorded yet.
func (a *app) firstSteps(w io.Writer) error {
	_, err := fmt.Fprint(w, `No machine is registered yet.

  clew machine import --talosconfig FILE   register your Talos nodes (one question per cluster)
  clew lab up                              or practise on a cluster that runs on this machine only
  clew help                                what else there is
`)
	return err
}
