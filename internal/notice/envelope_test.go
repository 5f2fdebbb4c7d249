package notice

import (
	"fmt"
	"testing"
	"time"

	"github.com/clewops/clew/internal/graph"
)

func TestEnvelopeInOrder(t *testing.T) {
	past := func(seconds ...int) []Past {
		var list []Past
		for i, s := range seconds {
			list = append(list, Past{
				Act: fmt.Sprintf("i-p%d", i), Kind: "talosctl upgrade", Cluster: "prod", Symptom: graph.APIGap, At: graph.APIServer,
				Measured: time.Duration(s) * time.Second, Ended: at(-1000 + i), OK: true,
			})
		}
		return list
	}
	claim := func(d time.Duration, at graph.Name) []Expectation { return []Expectation{{graph.APIGap, at, d}} }
	other := past(20, 20, 20)
	for i := range other {
		other[i].Cluster = "lab"
	}
	exceeded := past(20, 20, 20)
	exceeded[1].Exceeded = true
	failed := past(20, 20, 20)
	failed[1].OK = false
	for _, c := range []struct {
		name    string
		claimed []Expectation
		long    bool
		past    []Past
		none    bool // no default
		want    time.Duration
		from    string
	}{
		{name: "the default", want: time.Minute, from: FromDefault},
		{name: "a claim", claimed: claim(90*time.Second, ""), past: past(1, 2, 3), want: 90 * time.Second, from: FromClaim},
		{name: "a claim for this node", claimed: append(claim(90*time.Second, ""), claim(80*time.Second, api)...), want: 80 * time.Second, from: FromClaim},
		{name: "a claim for another node", claimed: claim(90*time.Second, "apiserver/lab"), want: time.Minute, from: FromDefault},
		{name: "a smaller claim", claimed: claim(5*time.Second, ""), want: 5 * time.Second, from: FromClaim},
		{name: "too large a claim", claimed: claim(time.Hour, ""), want: 4 * time.Minute, from: FromClaim},
		{name: "of long work", claimed: claim(time.Hour, ""), long: true, want: time.Hour, from: FromClaim},
		{name: "history", past: past(10, 20, 12), want: 30 * time.Second, from: FromHistory},
		{name: "the last five", past: past(99, 10, 11, 12, 13, 14), want: 21 * time.Second, from: FromHistory},
		{name: "too little history", past: past(10, 20), want: time.Minute, from: FromDefault},
		{name: "history of another cluster", past: other, want: time.Minute, from: FromDefault},
		{name: "history that exceeded", past: exceeded, want: time.Minute, from: FromDefault},
		{name: "history that failed", past: failed, want: time.Minute, from: FromDefault},
		{name: "nothing but the edges", none: true, want: 70 * time.Second, from: "the graph"},
		{name: "a claim without a default", none: true, claimed: claim(time.Hour, ""), want: 280 * time.Second, from: FromClaim},
	} {
		b := NewBook(shop(t, "prod"))
		for _, p := range c.past {
			b.PutPast(p)
		}
		a := upgrade("i-1", "cp-2", 0)
		a.Claimed, a.Long = c.claimed, c.long
		if c.none {
			a.Default = nil
		}
		b.PutAct(a, at(0))
		b.PutReport(gap("s-1", 1, -1), at(2))
		v, _ := b.VerdictOn("s-1", at(2))
		if v.Kind != Explained || v.Allowed != c.want || v.AllowedFrom != c.from {
			t.Errorf("%s: %s, %s from %q, want %s from %q", c.name, said(v), v.Allowed, v.AllowedFrom, c.want, c.from)
		}
	}
}

// What an act did goes into the history when all that follows it is over, and bounds the fourth of its kind.
func TestHistoryIsLearnt(t *testing.T) {
	r := newRecord(t)
	for i, length := range []int{10, 14, 12} {
		start := i * 2000
		a := upgrade(fmt.Sprintf("i-%d", i), "cp-2", start)
		a.End = at(start + 300)
		a.Outcome.State = "ok"
		r.note(r.PutAct(a, at(start)))
		r.note(r.PutReport(gap(fmt.Sprintf("s-%d", i), start+20, start+20+length), at(start+40)))
		r.until(start + 1900)
	}
	r.log = nil
	r.note(r.PutAct(upgrade("i-9", "cp-1", 8000), at(8000)))
	r.note(r.PutReport(gap("s-9", 8010, -1), at(8011)))
	v, _ := r.VerdictOn("s-9", at(8012))
	if v.Allowed != 21*time.Second || v.AllowedFrom != FromHistory {
		t.Errorf("%s from %q", v.Allowed, v.AllowedFrom)
	}
	r.until(8040)
	r.expect("judged explained by i-9 api-gap apiserver/prod",
		"judged exceeded/outlasts by i-9 api-gap apiserver/prod", "escalated exceeded/outlasts by i-9 api-gap apiserver/prod x1")
}
