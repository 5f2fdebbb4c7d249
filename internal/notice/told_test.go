package notice

import (
	"fmt"
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
)

func TestWhoIsTold(t *testing.T) {
	r := newRecord(t)
	a := upgrade("i-1", "cp-2", 0)
	a.Work = "w-1"
	r.PutSession(Session{ID: "s-alice", Identity: "alice", Work: "w-1", Aliases: []string{"s-alice-mcp"}}, at(0))
	r.PutSession(Session{ID: "s-alice-2", Identity: "alice"}, at(0))
	r.PutSession(Session{ID: "s-helper", Identity: "carol", Work: "w-1"}, at(0))
	r.PutSession(Session{ID: "s-code", Identity: "dave"}, at(0))
	for session, node := range map[string]graph.Name{
		"s-alice": web, "s-alice-mcp": web, "s-alice-2": web, "s-helper": web, "s-bob": batch,
		"s-lab": "deploy/lab/shop/web", "s-node": "node/prod/cp-2", "s-other-node": "node/prod/w-1",
	} {
		r.PutInterest(Interest{session, node, at(7200)}, at(0))
	}
	r.PutInterest(Interest{"s-past", web, at(-1)}, at(-100))
	r.note(r.PutAct(a, at(0)))
	r.expect("notice-opened i-1 to s-alice-2", "notice-opened i-1 to s-bob", "notice-opened i-1 to s-node")
	for session, want := range map[string]NotTold{
		"s-alice":      {false, ownSession, "it is the session's own act", nil},
		"s-alice-mcp":  {false, ownSession, "it is the session's own act", nil},
		"s-helper":     {false, sameWork, "the session is at the same work, w-1", nil},
		"s-lab":        {false, notReached, "nothing that it does reaches what the session works on", nil},
		"s-code":       {false, noInterests, "the session has touched nothing in a cluster lately", nil},
		"s-past":       {false, noInterests, "the session has touched nothing in a cluster lately", nil},
		"s-other-node": {false, notReached, "nothing that it does reaches what the session works on", nil},
		"s-bob":        {true, told, "it reaches what the session works on, by cp-2>etcd>API>shop/batch", nil},
	} {
		got := r.WhyNotTold("i-1", session, at(1))
		if got.Told != want.Told || got.Reason != want.Reason || got.Text != want.Text {
			t.Errorf("%s: %+v", session, got)
		}
	}
	if got := r.WhyNotTold("i-x", "s-bob", at(1)); got.Reason != noSuchAct {
		t.Errorf("%+v", got)
	}
}

func TestWhatANoticeSays(t *testing.T) {
	b := NewBook(shop(t, "prod"))
	b.PutInterest(Interest{"s-bob", web, at(7200)}, at(0))
	a := upgrade("i-1", "cp-2", 0)
	a.Claimed = []Expectation{{Symptom: graph.APIGap, For: 2 * time.Minute}}
	a.Phase, a.Purpose, a.Links = "second of three", "Talos 1.13.6", []string{"machine/cp-2 revision 7"}
	b.PutAct(a, at(0))
	n := b.Notices("s-bob")[0]
	if n.Who != "alice" || n.Doing != "upgrades cp-2" || n.Phase != a.Phase || n.Purpose != a.Purpose || len(n.Links) != 1 || n.Graph != b.Graph().Digest() {
		t.Errorf("%+v", n)
	}
	if got := graph.Text(n.Path); got != "cp-2>etcd>API>shop/web" {
		t.Errorf("path %s", got)
	}
	if got := fmt.Sprint(n.Expect); got != "[{api-gap apiserver/prod 2m0s claimed} {reconcile-delay deploy/prod/shop/web 7m0s claimed, with the graph's tail}]" {
		t.Errorf("expects %s", got)
	}
}

func TestANoticesLife(t *testing.T) {
	r := newRecord(t)
	r.note(r.PutInterest(Interest{"s-bob", web, at(7200)}, at(0)))
	a := upgrade("i-1", "cp-2", 0)
	r.note(r.PutAct(a, at(0)))
	r.note(r.PutAct(a, at(1))) // nothing new
	r.expect("notice-opened i-1 to s-bob")
	a.Phase = "waiting for etcd"
	r.note(r.PutAct(a, at(2)))
	a.End = at(100)
	r.note(r.PutAct(a, at(100)))
	a.Outcome = act.Outcome{State: act.OutcomeIncomplete, Detail: "cp-2 is still cordoned"}
	r.note(r.PutAct(a, at(110)))
	r.expect("notice-updated i-1 to s-bob", "notice-updated i-1 to s-bob", "notice-updated i-1 to s-bob")
	r.until(419)
	r.expect()
	r.until(3600) // tails: delay 10 s, API 10 s, Flux 5 min
	r.expect("notice-closed i-1 to s-bob")
	if last := r.all[len(r.all)-1].Notice; last.Outcome.Detail != "cp-2 is still cordoned" || !last.Ended {
		t.Errorf("%+v", last)
	}
	if len(r.Notices("s-bob")) != 0 {
		t.Error("a closed notice is listed")
	}
}

// Who comes later is told what runs, and whose interest ends is told no more.
func TestInterestsComeAndGo(t *testing.T) {
	r := newRecord(t)
	r.note(r.PutAct(upgrade("i-1", "cp-2", 0), at(0)))
	r.note(r.PutInterest(Interest{"s-bob", web, at(100)}, at(10)))
	r.note(r.PutInterest(Interest{"s-eve", web, at(7200)}, at(10)))
	r.note(r.PutInterest(Interest{"s-bob", web, at(200)}, at(50)))
	r.expect("notice-opened i-1 to s-bob", "notice-opened i-1 to s-eve")
	r.until(199)
	r.expect()
	r.until(201)
	r.expect("notice-closed i-1 to s-bob")
	r.note(r.Forget("s-eve", "", at(300)))
	r.expect("notice-closed i-1 to s-eve")
	if len(r.byNode)+len(r.byPlace["prod"]) > 0 {
		t.Error("interests are still indexed")
	}
	r.note(r.PutInterest(Interest{"s-fay", web, at(7200)}, at(310)))
	r.note(r.PutSession(Session{ID: "s-alice", Work: "w-1"}, at(311)))
	a := upgrade("i-1", "cp-2", 0)
	a.Work = "w-1"
	r.note(r.PutAct(a, at(312)))
	r.note(r.PutSession(Session{ID: "s-fay", Work: "w-1"}, at(313))) // joins the work
	r.expect("notice-opened i-1 to s-fay", "notice-closed i-1 to s-fay")
}

func TestReadsAndTheUnknownTellLittle(t *testing.T) {
	r := newRecord(t)
	r.PutInterest(Interest{"s-bob", web, at(7200)}, at(0))
	r.PutInterest(Interest{"s-node", "node/prod/cp-2", at(7200)}, at(0))
	a := upgrade("i-1", "cp-2", 0)
	a.Class = act.Read
	r.note(r.PutAct(a, at(0)))
	r.expect()
	a.ID, a.Class, a.Targets = "i-2", act.Unknown, []graph.Target{{Node: "node/prod/cp-2", Effect: graph.Opaque}}
	r.note(r.PutAct(a, at(0)))
	r.expect("notice-opened i-2 to s-node")
	a.ID, a.Unclaimed = "i-3", true
	r.note(r.PutAct(a, at(0)))
	r.expect()
}

// Redundancy that takes it all tells nobody, and says so when asked.
func TestAbsorbed(t *testing.T) {
	v, problems := shop(t, "prod").Apply(graph.Specs{Nodes: []graph.NodeSpec{{
		Name: "svc/prod/shop/web", Tolerates: []graph.Tolerance{{Of: graph.Deployment, Count: 1}}, Origin: graph.Origin{By: "a test"},
	}}})
	if problems != nil {
		t.Fatal(problems)
	}
	r := &record{t: t, Book: NewBook(v)}
	r.PutInterest(Interest{"s-bob", "svc/prod/shop/web", at(7200)}, at(0))
	a := upgrade("i-1", "cp-2", 0)
	a.Targets = []graph.Target{{Node: web, Effect: graph.Down}}
	r.note(r.PutAct(a, at(0)))
	r.expect()
	if got := r.WhyNotTold("i-1", "s-bob", at(1)); got.Reason != absorbed {
		t.Errorf("%+v", got)
	}
}

// A new version of the graph changes notices and verdicts of what passes through the difference, and of nothing else.
func TestAnotherGraph(t *testing.T) {
	r := newRecord(t)
	r.PutInterest(Interest{"s-bob", "flux/prod", at(7200)}, at(0))
	r.PutInterest(Interest{"s-lab", "flux/lab", at(7200)}, at(0))
	r.PutAct(upgrade("i-1", "cp-2", 0), at(0))
	lab := upgrade("i-2", "cp-2", 0)
	lab.Targets = []graph.Target{{Node: "node/lab/cp-2", Effect: graph.Down}}
	r.PutAct(lab, at(0))
	r.PutReport(seen("s-1", "flux/prod", graph.ReconcileDelay, 10, -1), at(15))
	cut, problems := r.Graph().Apply(graph.Specs{DropEdges: []graph.Dropped{{From: "apiserver/prod", To: "flux/prod"}}})
	if problems != nil {
		t.Fatal(problems)
	}
	r.note(r.SetGraph(cut, at(20)))
	r.expect("notice-updated i-1 to s-bob", "judged unexplained reconcile-delay flux/prod", "escalated unexplained reconcile-delay flux/prod x1")
	r.note(r.SetGraph(shop(t, "prod", "lab"), at(30)))
	r.expect("notice-updated i-1 to s-bob", "judged explained by i-1 reconcile-delay flux/prod", "retracted explained by i-1 reconcile-delay flux/prod x1")
}
