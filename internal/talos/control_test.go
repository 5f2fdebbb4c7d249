package talos

import (
	"strings"
	"testing"
)

// A control takes exactly the check away that it names, whatever the check found.
func TestAControlTakesOneCheckAway(t *testing.T) {
	all := viaTables()
	all.NextHop[0].Rx, all.Endpoint[0].Tx, all.Node[0].Rx, all.NextHopNode = 1, 1, 1, "node-x"
	checks := all.checks(baseline{tables: viaTables()})
	bad := 0
	for _, c := range checks {
		if c.Holds {
			continue
		}
		bad++
		e := evidence{without: c.Name}
		if missing := e.failing(checks); strings.Contains(missing, c.Name) || missing == "" {
			t.Errorf("without %q: %s", c.Name, missing)
		}
		if missing := e.failing([]Check{c}); missing != "" {
			t.Errorf("without %q alone: %s", c.Name, missing)
		}
	}
	if bad != 4 {
		t.Errorf("%d checks do not hold", bad)
	}
	if missing := (&evidence{}).failing(checks); strings.Count(missing, "(") != bad {
		t.Errorf("with every check in place: %s", missing)
	}
}
