package late

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/lab"
)

func TestSendsThatHaveToBeSound(t *testing.T) {
	trials := sound(200)
	count := map[string]int{}
	for _, x := range trials {
		count[x.Route]++
		if x.Split < shortest || x.Split > longest || !x.Account || x.Client != Abort || x.Without != "" {
			t.Errorf("%+v", x)
		}
		if x.deadline() >= x.Split || x.horizon() < x.Split {
			t.Errorf("%s: deadline %s, horizon %s", x.Split, x.deadline(), x.horizon())
		}
	}
	if count[Direct] != 200 || count[Endpoint] != 200 {
		t.Errorf("%v", count)
	}
	if trials[0].Split != shortest || trials[len(trials)-1].Split != longest {
		t.Errorf("from %s to %s", trials[0].Split, trials[len(trials)-1].Split)
	}
}

func TestTheTableHasEveryCombination(t *testing.T) {
	trials := matrix(2, []time.Duration{5 * time.Second, 16 * time.Second})
	count := map[Trial]int{}
	for _, x := range trials {
		count[x]++
	}
	if len(count) != 2*2*2*2*3 {
		t.Errorf("%d combinations", len(count))
	}
	for x, n := range count {
		if n != 2 {
			t.Errorf("%+v is tried %d times", x, n)
		}
	}
}

func TestEveryControlTakesOneConditionAway(t *testing.T) {
	names := map[string]bool{}
	for _, c := range controls() {
		if c.Name == "" || names[c.Name] || c.trial.Without == "" || !c.trial.Account {
			t.Errorf("%+v", c)
		}
		names[c.Name] = true
		if x := c.trial; x.Entered && x.slow() <= x.Split {
			t.Errorf("%s: a node that is slow for %s has gone on before the heal", c.Name, x.slow())
		}
	}
}

// A landing after the accounting is a problem with every condition in place, and what a control is for without one.
func TestReport(t *testing.T) {
	landed := func(accounted, at time.Duration) Result {
		return Result{
			Trial: Trial{Route: Direct, Split: 5 * time.Second, Client: Abort, Account: true}, Bytes: 3000,
			Accounted: accounted, Landings: []time.Duration{at},
		}
	}
	before, after := landed(6*time.Second, 4*time.Second), landed(6*time.Second, 10*time.Second)
	never := landed(0, 10*time.Second)
	if before.After() != 0 || after.After() != 1 || never.After() != 0 {
		t.Errorf("after: %d %d %d", before.After(), after.After(), never.After())
	}
	control := Control{Name: "some condition", trial: Trial{Links: lab.LinksUserland}}
	r := &Report{Options: Options{Sends: 1, Tries: 1, Repeat: 1}, Sound: []Result{before, never}, Table: []Result{before}}
	if p := r.Problems(); len(p) != 0 {
		t.Errorf("%q", p)
	}
	r.Controlled = []ControlResult{{control, []Result{after}}}
	if p := r.Problems(); len(p) != 0 {
		t.Errorf("a control's landing: %q", p)
	}
	shows(t, r, "Each was shown to matter", "| direct | 2 | 2 | 1 | 6.0 s | 1 | 0 |", "| direct | abort | 5s | unlimited | 3 KiB | 1 | 1 | 4.0 s |")
	r.Controlled = append(r.Controlled, ControlResult{Control{Name: "another"}, []Result{before}})
	shows(t, r, "Not shown to matter", "- another\n")
	r.Sound = append(r.Sound, after)
	r.Table = append(r.Table, Result{Err: errors.New("no answer")})
	if p := r.Problems(); len(p) != 2 {
		t.Errorf("%q", p)
	}
	r.Table = append(r.Table, Result{Err: errNotMade}, Result{Err: errNotMade})
	r.Failed = []error{errors.New("no lab")}
	if p := r.Problems(); len(p) != 4 {
		t.Errorf("%q", p)
	}
	shows(t, r, "2 sends were not made", "no lab", "What does not hold", "landed after it was accounted for", "no answer")
}

func shows(t *testing.T, r *Report, want ...string) {
	t.Helper()
	var b strings.Builder
	if err := r.Markdown(&b, "test", "the command"); err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		if !strings.Contains(b.String(), w) {
			t.Errorf("no %q in\n%s", w, b.String())
		}
	}
}

func TestAControlNamesARealCheck(t *testing.T) {
	const evidence = `{"before":[{"name":"b","holds":true}],"rounds":[{"checks":[{"name":"x","holds":false}]},
		{"checks":[{"name":"x","holds":true}]},{"checks":[{"name":"x","holds":true}]}]}`
	for check, want := range map[string]bool{"b": false, "x": false} {
		if got, err := notMet([]byte(evidence), check); got != want || err != nil {
			t.Errorf("%s: %v %v", check, got, err)
		}
	}
	if got, err := notMet([]byte(strings.Replace(evidence, `"x","holds":true}]}]`, `"x","holds":false}]}]`, 1)), "x"); !got || err != nil {
		t.Errorf("a check that does not hold: %v %v", got, err)
	}
	if _, err := notMet([]byte(evidence), "y"); err == nil {
		t.Error("a check that there is not was taken away")
	}
}
