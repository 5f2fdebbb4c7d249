package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// FuzzPlanOptions: the words of clew plan create are refused, as wrong usage, or ask for a plan within the bounds that its
// help names.
func FuzzPlanOptions(f *testing.F) {
	for _, s := range []string{
		"-n w -p {}", "-n w -f x --attempts 100 --approvals 100", "-n w -p a -p b --rollout a=1,0", "-n w -f x -p y", "-n w --revert --max-age 1ns", "-p x", "-n w -p x --attempts 0",
		"-n w -p x --transport-deadline 2m", "-n w -p x --expires 0s", "-n w -p x --expires -1h", "-n w -p x --rollout =", "-n  -p x", "-n w -p x --route via:", "-n w -p x --verify-deadline 7300d", "-n w -n v -p x",
	} {
		f.Add(strings.ReplaceAll(s, " ", "\x00"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		a := newApp(strings.NewReader(""), io.Discard, io.Discard, []string{"HOME=/nonexistent"})
		var o planOptions
		c := &cobra.Command{Use: "create"}
		o.bind(a, c)
		giveOnce(c.Flags())
		if err := c.ParseFlags(strings.Split(line, "\x00")); err != nil {
			return // the whole command line is another target
		}
		if err := o.check(); err != nil {
			if exitCode(err) != exitUsage {
				t.Errorf("%q is not called wrong usage: %v", line, err)
			}
			return
		}
		for name, holds := range map[string]bool{
			"one machine":         o.node != "",
			"one way":             (o.file != "") != (len(o.patches) > 0) != o.revert,
			"attempts":            o.attempts >= 1 && o.attempts <= 100,
			"approvals":           o.approvals >= 1 && o.approvals <= 100,
			"positive durations":  o.expires > 0 && o.maxAge > 0 && o.transport > 0 && o.verify > 0,
			"bounded durations":   max(o.expires, o.maxAge, o.transport, o.verify) <= maxDuration,
			"the send ends first": o.transport <= o.verify,
		} {
			if !holds {
				t.Errorf("%q is accepted without %s: %+v", line, name, o)
			}
		}
		if r, err := parseRollout(o.rollout); err != nil || (r == nil) != (o.rollout == "") {
			t.Errorf("%q is accepted with rollout %+v, %v", line, r, err)
		}
	})
}
