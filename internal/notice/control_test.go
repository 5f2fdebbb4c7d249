package notice

import (
	"testing"
	"time"

	"github.com/clewops/clew/internal/graph"
)

// fault takes one thing away that the scene below needs.
type fault struct {
	edges  graph.Specs // changes to the graph
	gap    time.Duration
	unseen bool // the probe reports nothing
}

// scene is one maintenance with an application beside it, and what went wrong in it: alice upgrades a control plane and
// the API is away for 40 s of 60; bob works on the shop, eve on another cluster; later the API is away for two minutes.
func scene(t *testing.T, f fault) (faults []string) {
	t.Helper()
	v, problems := shop(t, "prod", "lab").Apply(f.edges)
	if problems != nil {
		t.Fatal(problems)
	}
	r := &record{t: t, Book: NewBook(v)}
	wrong := func(bad bool, what string) {
		if bad {
			faults = append(faults, what)
		}
	}
	r.PutInterest(Interest{"s-bob", "flux/prod", at(7200)}, at(0))
	r.PutInterest(Interest{"s-eve", "deploy/lab/shop/web", at(7200)}, at(0))
	a := upgrade("i-1", "cp-2", 0)
	a.Default[0].For = f.gap
	r.note(r.PutAct(a, at(0)))
	see := func(rep Report, now int) {
		if !f.unseen {
			r.note(r.PutReport(rep, at(now)))
		}
		r.until(now)
	}
	see(gap("s-1", 10, -1), 11)
	see(seen("s-2", "flux/prod", graph.ReconcileDelay, 12, -1), 13)
	answer := r.Ask(Question{Session: "s-bob", Ledger: at(20), Saw: Sighting{
		Node: "flux/prod", Symptom: graph.ReconcileDelay, Found: map[bool]Answered{true: NoAnswer, false: Disturbed}[f.unseen], At: at(20),
	}}, at(20))
	wrong(answer.Kind != Explained, "bob's failure is not explained")
	see(gap("s-1", 10, 50), 50)
	wrong(count(r.log, "escalated") > 0, "something in bounds escalated")
	wrong(len(r.Notices("s-bob")) != 1 || len(r.Notices("s-bob")[0].Expect) != 2, "bob was not told, or not of all")
	wrong(len(r.Notices("s-eve")) != 0, "eve was told")
	see(gap("s-3", 100, -1), 101)
	r.until(240)
	wrong(count(r.log, "escalated exceeded/outlasts by i-1 api-gap") != 1, "what went on too long did not escalate once")
	return faults
}

// The scene holds, and each of the four controls makes it fail.
func TestControls(t *testing.T) {
	if faults := scene(t, fault{gap: time.Minute}); faults != nil {
		t.Errorf("the scene does not hold: %v", faults)
	}
	wide := []graph.Rule{{In: graph.Blip, Outcome: &graph.Outcome{Symptom: graph.Unavailable}}}
	for name, f := range map[string]fault{
		"the path is taken out of the graph": {
			gap: time.Minute, edges: graph.Specs{DropEdges: []graph.Dropped{{From: "apiserver/prod", To: "flux/prod"}}},
		},
		"the envelope is shortened": {gap: 20 * time.Second},
		"one edge reaches everything": {gap: time.Minute, edges: graph.Specs{Edges: []graph.EdgeSpec{{
			From: "etcd/prod", To: "deploy/lab/shop/web", Rules: wide, Origin: graph.Origin{By: "a test"},
		}}}},
		"the probe is taken away": {gap: time.Minute, unseen: true},
	} {
		if faults := scene(t, f); len(faults) == 0 {
			t.Errorf("%s, and nothing fails", name)
		}
	}
}

// Guards, each taken away by hand: the failure that it exists to prevent is there.
func TestGuards(t *testing.T) {
	b := NewBook(shop(t, "prod"))
	a := upgrade("i-1", "cp-2", 0)
	b.PutAct(a, at(0))
	b.PutReport(gap("s-1", 10, -1), at(15))
	s := b.spots[spotKey{api, graph.APIGap}]
	x := b.session("s-alice")
	// Without the exclusion of authors the author is excused.
	if v := b.evaluate(s, s.bouts[0], at(15), nil); v.Kind != Explained {
		t.Error("for others it is explained")
	}
	if v := b.judgeFor(x, Sighting{Node: api, Symptom: graph.APIGap, At: at(15)}, at(15)); v.Kind == Explained {
		t.Error("the author is excused")
	}
	// Without others' loads two upgrades are no outage.
	v := shop(t, "prod")
	d := graph.Disturbance{Targets: a.Targets, During: graph.Span{From: at(0)}}
	alone := v.Propagate(d, nil)
	both := v.Propagate(d, func(n graph.Name, of graph.Kind) []graph.Load {
		return []graph.Load{{Node: n, Of: of, Source: "node/prod/cp-1", During: graph.Span{From: at(0)}}}
	})
	lost := func(r *graph.Reach) bool {
		for _, h := range r.Hits {
			if h.Symptom == graph.QuorumLoss {
				return true
			}
		}
		return false
	}
	if lost(alone) || !lost(both) {
		t.Error("loads make no difference")
	}
}
