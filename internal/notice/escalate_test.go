package notice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/graph"
)

// farm is a graph of one worker with many Deployments, and one Deployment on another worker.
func farm(t testing.TB, n int) *graph.Version {
	t.Helper()
	v := shop(t, "prod")
	var s graph.Specs
	found := graph.Origin{By: "a test"}
	for i := range n {
		name := graph.Name(fmt.Sprintf("deploy/prod/farm/d%03d", i))
		s.Nodes = append(s.Nodes, graph.NodeSpec{Name: name, Origin: found})
		s.Edges = append(s.Edges, graph.EdgeSpec{From: "node/prod/w-1", To: name, Origin: found})
		s.Edges = append(s.Edges, graph.EdgeSpec{From: "ks/prod/flux-system/apps", To: name, Origin: found})
	}
	s.Nodes = append(s.Nodes, graph.NodeSpec{Name: "deploy/prod/farm/other", Origin: found})
	s.Edges = append(s.Edges, graph.EdgeSpec{From: "node/prod/w-2", To: "deploy/prod/farm/other", Origin: found})
	v, problems := v.Apply(s)
	if problems != nil {
		t.Fatal(problems)
	}
	return v
}

// storm lets two hundred objects fail within a minute, each with a text of its own, and an unrelated one in between.
func storm(r *record, symptom graph.Symptom) {
	for i := range 200 {
		from := i * 60 / 200
		rep := seen(fmt.Sprintf("s-%d", i), graph.Name(fmt.Sprintf("deploy/prod/farm/d%03d", i)), symptom, from, -1)
		rep.Detail = fmt.Sprintf("request %x took %d ms", i*7919, i*13)
		r.until(from)
		r.note(r.PutReport(rep, at(from)))
		if i == 100 {
			r.note(r.PutReport(seen("s-other", "deploy/prod/farm/other", symptom, from, -1), at(from)))
		}
	}
	r.until(120)
}

func count(log []string, prefix string) (n int) {
	for _, l := range log {
		if strings.HasPrefix(l, prefix) {
			n++
		}
	}
	return n
}

func TestStormsFoldByCause(t *testing.T) {
	drain := func() Act {
		a := upgrade("i-1", "w-1", -10)
		a.Doing, a.Targets[0].Effect, a.Default = "drains w-1", graph.Drain, []Expectation{{Symptom: graph.Unavailable, For: 10 * time.Second}}
		return a
	}
	for name, before := range map[string]func(*record){
		"nobody's work, a node above all of them":     func(*record) {},
		"a node that is seen to be away, first":       func(r *record) { r.note(r.PutReport(seen("s-n", "node/prod/w-1", graph.NodeNotReady, -5, -1), at(-5))) },
		"somebody's work, more than was said of it":   func(r *record) { r.note(r.PutAct(drain(), at(-10))) },
		"an act that nobody stands for":               func(r *record) { a := drain(); a.Unclaimed = true; r.note(r.PutAct(a, at(-10))) },
		"the same, and the API is away all the while": func(r *record) { r.note(r.PutReport(gap("s-api", -50, -1), at(-50))); r.until(-20); r.log = nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := &record{t: t, Book: NewBook(farm(t, 200))}
			before(r)
			storm(r, graph.Unavailable)
			if n := count(r.log, "escalated"); n != 2 {
				t.Errorf("escalated %d times, want the storm once and the unrelated failure once:\n%s", n, strings.Join(r.log[:min(len(r.log), 30)], "\n"))
			}
			other := slices.ContainsFunc(r.log, func(l string) bool {
				return strings.HasPrefix(l, "escalated unexplained unavailable deploy/prod/farm/other")
			})
			if !other {
				t.Error("the unrelated failure did not escalate by itself")
			}
			most := 0
			for _, e := range r.Escalations() {
				most = max(most, e.Members)
			}
			if most < 200 {
				t.Errorf("the storm's escalation stands for %d", most)
			}
		})
	}
}

// The storm of an act that stays within what was said is silent but for the unrelated failure.
func TestExplainedStormIsSilent(t *testing.T) {
	r := &record{t: t, Book: NewBook(farm(t, 200))}
	a := upgrade("i-1", "w-1", -10)
	a.Targets[0].Effect, a.Default = graph.Drain, []Expectation{{Symptom: graph.Unavailable, For: 10 * time.Minute}}
	r.note(r.PutAct(a, at(-10)))
	r.note(r.PutInterest(Interest{"s-bob", "deploy/prod/farm/d007", at(7200)}, at(-9)))
	storm(r, graph.Unavailable)
	if n := count(r.log, "escalated"); n != 1 || count(r.log, "notice-opened") != 1 {
		t.Errorf("escalated %d times", n)
	}
}

// A storm that began before its cause was known ends with the same verdicts as after it, and is taken back once.
func TestStormBeforeItsCause(t *testing.T) {
	r := &record{t: t, Book: NewBook(farm(t, 200))}
	storm(r, graph.Unavailable)
	a := upgrade("i-1", "w-1", -10)
	a.Targets[0].Effect, a.Default = graph.Drain, []Expectation{{Symptom: graph.Unavailable, For: 10 * time.Minute}}
	r.log = nil
	r.note(r.PutAct(a, at(121)))
	if n := count(r.log, "retracted"); n != 1 {
		t.Errorf("taken back %d times", n)
	}
	if n := count(r.log, "judged explained by i-1"); n != 200 {
		t.Errorf("%d of 200 explained", n)
	}
	if list := r.Escalations(); len(list) != 1 || list[0].Verdict.Node != "deploy/prod/farm/other" {
		t.Errorf("what stands: %+v", list)
	}
}

// What happens an hour later at the same node is another failure.
func TestLaterIsAnotherEscalation(t *testing.T) {
	r := newRecord(t)
	r.note(r.PutReport(gap("a", 0, 10), at(0)))
	r.until(10)
	r.note(r.PutReport(gap("b", 30, 40), at(40))) // flapping
	r.until(50)
	r.note(r.PutReport(gap("c", 3600, 3610), at(3610)))
	r.until(3700)
	r.expect("judged unexplained api-gap apiserver/prod", "escalated unexplained api-gap apiserver/prod x1",
		"judged unexplained api-gap apiserver/prod", "folded unexplained api-gap apiserver/prod x2",
		"judged unexplained api-gap apiserver/prod", "escalated unexplained api-gap apiserver/prod x1")
}

// Breaches of one act are told one by one, each once.
func TestEachBreachOnce(t *testing.T) {
	r := newRecord(t)
	r.note(r.PutAct(upgrade("i-1", "cp-2", 0), at(0)))
	r.note(r.PutReport(gap("s-1", 20, -1), at(21)))
	r.until(100)
	strong := gap("s-2", 30, -1)
	strong.Strength = 2
	r.note(r.PutReport(strong, at(101)))
	r.note(r.PutReport(seen("s-3", etcd, graph.LeaderChange, 20, -1), at(101)))
	r.until(2000)
	r.expect(
		"judged explained by i-1 api-gap apiserver/prod",
		"judged exceeded/outlasts by i-1 api-gap apiserver/prod", "escalated exceeded/outlasts by i-1 api-gap apiserver/prod x1",
		"judged exceeded/stronger by i-1 api-gap apiserver/prod", "escalated exceeded/stronger by i-1 api-gap apiserver/prod x1",
		"judged exceeded/outlasts by i-1 leader-change etcd/prod", "folded exceeded/outlasts by i-1 leader-change etcd/prod x2")
}

// An escalation that turns out to be somebody's, and too much of it, is corrected and not told twice.
func TestLateActThatExceeds(t *testing.T) {
	r := newRecord(t)
	r.note(r.PutReport(gap("s-1", 0, -1), at(1)))
	r.until(100)
	r.note(r.PutAct(upgrade("i-1", "cp-2", 0), at(100)))
	r.until(1000)
	r.expect("judged unexplained api-gap apiserver/prod", "escalated unexplained api-gap apiserver/prod x1",
		"judged exceeded/outlasts by i-1 api-gap apiserver/prod", "revised exceeded/outlasts by i-1 api-gap apiserver/prod x1")
	if list := r.Escalations(); len(list) != 1 || list[0].Verdict.Cause != "i-1" {
		t.Errorf("%+v", list)
	}
}

// A disturbed node above that is not anybody's work takes what follows from it into its own escalation.
func TestFollowersFoldIntoTheirRoot(t *testing.T) {
	r := newRecord(t)
	r.note(r.PutReport(gap("s-1", 0, -1), at(1)))
	r.until(10)
	r.note(r.PutReport(seen("s-2", "flux/prod", graph.ReconcileDelay, 20, -1), at(20)))
	r.note(r.PutReport(seen("s-3", web, graph.ReconcileDelay, 200, -1), at(200))) // over flux and ks, which was not seen
	r.note(r.PutReport(seen("s-4", "ks/prod/flux-system/apps", graph.ReconcileDelay, 200, -1), at(200)))
	r.until(300)
	r.expect("judged unexplained api-gap apiserver/prod", "escalated unexplained api-gap apiserver/prod x1",
		"judged unexplained reconcile-delay flux/prod",
		"judged unexplained reconcile-delay deploy/prod/shop/web",
		"judged unexplained reconcile-delay ks/prod/flux-system/apps",
		"folded unexplained reconcile-delay flux/prod x2",
		"folded unexplained reconcile-delay deploy/prod/shop/web x3",
		"folded unexplained reconcile-delay ks/prod/flux-system/apps x4")
}

// The escalation names whom it concerns: the act's session, and who works there.
func TestWhomItConcerns(t *testing.T) {
	r := newRecord(t)
	r.PutInterest(Interest{"s-bob", web, at(7200)}, at(0))
	r.PutInterest(Interest{"s-old", web, at(50)}, at(0))
	r.PutInterest(Interest{"s-lab", "deploy/lab/shop/web", at(7200)}, at(0))
	r.PutAct(upgrade("i-1", "cp-2", 0), at(0))
	r.note(r.PutReport(gap("s-1", 20, -1), at(21)))
	r.until(90)
	last := r.all[len(r.all)-1].Escalation
	if last == nil || fmt.Sprint(last.To) != "[s-alice s-bob]" {
		t.Errorf("%+v", last)
	}
}
