package notice

import (
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
)

func TestExplainedWhileInside(t *testing.T) {
	r := newRecord(t)
	r.note(r.PutAct(upgrade("i-1", "cp-2", 0), at(0)))
	r.note(r.PutReport(gap("s-1", 20, -1), at(21)))
	r.expect("judged explained by i-1 api-gap apiserver/prod")
	r.until(79)
	r.note(r.PutReport(gap("s-1", 20, 79), at(79)))
	r.until(600)
	r.expect()
	v, _ := r.VerdictOn("s-1", at(600))
	if v.Kind != Explained || v.Measured != 59*time.Second || v.Allowed != time.Minute || v.AllowedFrom != FromDefault || graph.Text(v.Path) != "cp-2>etcd>API" {
		t.Errorf("%+v", v)
	}
}

func TestOutlastsAtTheVerySecond(t *testing.T) {
	r := newRecord(t)
	r.note(r.PutAct(upgrade("i-1", "cp-2", 0), at(0)))
	r.note(r.PutReport(gap("s-1", 20, -1), at(21)))
	r.until(80)
	r.expect("judged explained by i-1 api-gap apiserver/prod")
	r.until(81)
	r.expect("judged exceeded/outlasts by i-1 api-gap apiserver/prod", "escalated exceeded/outlasts by i-1 api-gap apiserver/prod x1")
	r.until(3600)
	r.note(r.PutReport(gap("s-1", 20, 3600), at(3600)))
	r.until(7200)
	r.expect()
}

// Disturbed time adds up over several gaps of one act.
func TestDisturbedTimeIsCumulative(t *testing.T) {
	r := newRecord(t)
	r.note(r.PutAct(upgrade("i-1", "cp-2", 0), at(0)))
	for i, to := range []int{25, 65, 105} { // 25, then 25, then 25 seconds
		r.note(r.PutReport(gap(string(rune('a'+i)), to-25, to), at(to)))
	}
	r.until(600)
	r.expect(
		"judged explained by i-1 api-gap apiserver/prod",
		"judged explained by i-1 api-gap apiserver/prod",
		"judged exceeded/outlasts by i-1 api-gap apiserver/prod", // every gap of it, now that the sum is known
		"escalated exceeded/outlasts by i-1 api-gap apiserver/prod x1",
		"judged exceeded/outlasts by i-1 api-gap apiserver/prod",
		"judged exceeded/outlasts by i-1 api-gap apiserver/prod")
	two := newRecord(t)
	two.note(two.PutAct(upgrade("i-1", "cp-2", 0), at(0)))
	two.note(two.PutReport(gap("a", 10, 60), at(60)))
	two.note(two.PutReport(gap("b", 15, 65), at(65))) // the same gap, seen by another: not twice as long
	two.expect("judged explained by i-1 api-gap apiserver/prod")
}

func TestUnexplainedWaitsTwoSeconds(t *testing.T) {
	r := newRecord(t)
	r.note(r.PutReport(gap("s-1", 20, -1), at(21)))
	r.expect("judged unexplained api-gap apiserver/prod")
	r.until(21)
	r.expect()
	r.until(22)
	r.expect("escalated unexplained api-gap apiserver/prod x1")
	r.until(7200)
	r.expect()
	// One that is over sooner is not forgotten.
	r.note(r.PutReport(seen("s-2", "etcd/lab", graph.LeaderChange, 7200, 7201), at(7201)))
	r.until(7300)
	r.expect("judged unexplained leader-change etcd/lab", "escalated unexplained leader-change etcd/lab x1")
}

// An act that arrives late explains what was escalated; that is taken back, once, from those who were told.
func TestLateActRetractsOnce(t *testing.T) {
	r := newRecord(t)
	r.note(r.PutReport(gap("s-1", 20, -1), at(21)))
	r.until(25)
	key := r.all[len(r.all)-1].Escalation.Key
	r.Delivered(key, []string{"bob", "#ops"})
	r.log = nil
	r.note(r.PutAct(upgrade("i-1", "cp-2", 0), at(30)))
	r.expect("judged explained by i-1 api-gap apiserver/prod", "retracted explained by i-1 api-gap apiserver/prod x1")
	last := r.all[len(r.all)-1]
	if got := last.Escalation.Receivers; len(got) != 2 || got[0] != "bob" {
		t.Errorf("taken back from %v", got)
	}
	if !r.all[len(r.all)-2].Verdict.Revises {
		t.Error("the new verdict does not say that it revises one")
	}
	r.note(r.PutAct(upgrade("i-1", "cp-2", 0), at(31)))
	r.note(r.PutReport(gap("s-1", 20, 40), at(40)))
	r.until(3000)
	r.expect()
	// In time it never escalates.
	s := newRecord(t)
	s.note(s.PutReport(gap("s-1", 20, -1), at(20)))
	s.note(s.PutAct(upgrade("i-1", "cp-2", 19), at(21)))
	s.until(40)
	s.expect("judged unexplained api-gap apiserver/prod", "judged explained by i-1 api-gap apiserver/prod")
}

func TestTails(t *testing.T) {
	flux := graph.Name("flux/prod")
	for name, c := range map[string]struct {
		from, to int
		want     string
	}{
		"while the act runs":      {50, 200, "explained by i-1 reconcile-delay"},
		"in the tail of the edge": {250, 350, "explained by i-1 reconcile-delay"},
		"before the act":          {-30, -10, "unexplained reconcile-delay"},
		"as clocks differ":        {-1, 50, "explained by i-1 reconcile-delay"},
		"long after":              {700, 710, "unexplained reconcile-delay"},
		"still there after it":    {500, 900, "exceeded/late by i-1 reconcile-delay"},
		"begun in it, too late":   {600, 625, "exceeded/late by i-1 reconcile-delay"},
		"longer than allowed":     {0, 420, "exceeded/outlasts by i-1 reconcile-delay"},
	} {
		b := NewBook(shop(t, "prod"))
		a := upgrade("i-1", "cp-2", 0)
		a.End = at(300) // and 5 min 10 s of tails, and 10 s of delay: until 620
		b.PutAct(a, at(1000))
		b.PutReport(seen("s-1", flux, graph.ReconcileDelay, c.from, c.to), at(1000))
		v, _ := b.VerdictOn("s-1", at(1000))
		if said(v) != c.want {
			t.Errorf("%s: %s, want %s (%s of %s)", name, said(v), c.want, v.Measured, v.Allowed)
		}
	}
}

func TestStronger(t *testing.T) {
	for n, want := range map[int]string{
		0: "explained by i-1 api-gap", 1: "explained by i-1 api-gap", 2: "exceeded/stronger by i-1 api-gap",
	} {
		b := NewBook(shop(t, "prod"))
		b.PutAct(upgrade("i-1", "cp-2", 0), at(0))
		rep := gap("s-1", 10, -1)
		rep.Strength = n
		b.PutReport(rep, at(15))
		if v, _ := b.VerdictOn("s-1", at(15)); said(v) != want {
			t.Errorf("%d API servers: %s, want %s", n, said(v), want)
		}
	}
}

func TestDiffers(t *testing.T) {
	for _, c := range []struct {
		node    graph.Name
		symptom graph.Symptom
		want    string
	}{
		{etcd, graph.LeaderChange, "explained by i-1 leader-change"},
		{etcd, graph.QuorumLoss, "exceeded/differs by i-1 quorum-loss"},
		{web, graph.ReconcileDelay, "explained by i-1 reconcile-delay"},
		{web, graph.PodRestart, "unexplained pod-restart"}, // a delay does not stand for restarts
		{batch, graph.Unavailable, "unexplained unavailable"},
	} {
		b := NewBook(shop(t, "prod"))
		b.PutAct(upgrade("i-1", "cp-2", 0), at(0))
		b.PutReport(seen("s-1", c.node, c.symptom, 10, -1), at(15))
		if v, _ := b.VerdictOn("s-1", at(15)); said(v) != c.want {
			t.Errorf("%s at %s: %s, want %s", c.symptom, c.node, said(v), c.want)
		}
	}
}

func TestAbortConditions(t *testing.T) {
	for _, c := range []struct {
		name    string
		cond    Condition
		node    graph.Name
		symptom graph.Symptom
		from    int
		want    string
	}{
		{"anywhere it reaches", Condition{Symptom: graph.APIGap}, api, graph.APIGap, 10, "exceeded/abort by i-1 api-gap"},
		{"here", Condition{graph.APIGap, api}, api, graph.APIGap, 10, "exceeded/abort by i-1 api-gap"},
		{"elsewhere", Condition{graph.Unavailable, "svc/prod/shop/web"}, "svc/prod/shop/web", graph.Unavailable, 10, "exceeded/abort by i-1 unavailable"},
		{"where it does not reach", Condition{Symptom: graph.PodRestart}, batch, graph.PodRestart, 10, "unexplained pod-restart"},
		{"another symptom", Condition{Symptom: graph.QuorumLoss}, api, graph.APIGap, 10, "explained by i-1 api-gap"},
		{"when it is over", Condition{graph.Unavailable, "svc/prod/shop/web"}, "svc/prod/shop/web", graph.Unavailable, 210, "unexplained unavailable"},
	} {
		b := NewBook(shop(t, "prod"))
		a := upgrade("i-1", "cp-2", 0)
		a.AbortIf = []Condition{c.cond}
		a.End = at(200)
		b.PutAct(a, at(0))
		b.PutReport(seen("s-1", c.node, c.symptom, c.from, -1), at(c.from+5))
		if v, _ := b.VerdictOn("s-1", at(c.from+5)); said(v) != c.want {
			t.Errorf("%s: %s, want %s", c.name, said(v), c.want)
		}
	}
}

// Two upgrades at once are an outage, and only while both last.
func TestActsAddUp(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     string
	}{
		{150, 190, "explained by i-1 quorum-loss"},
		{50, 60, "exceeded/differs by i-1 quorum-loss"},
		{350, 360, "exceeded/differs by i-2 quorum-loss"},
	} {
		for _, order := range [][]int{{1, 2}, {2, 1}} {
			b := NewBook(shop(t, "prod"))
			acts := map[int]Act{1: upgrade("i-1", "cp-1", 0), 2: upgrade("i-2", "cp-2", 100)}
			one, two := acts[1], acts[2]
			one.End, two.End, two.Session, two.Who = at(300), at(500), "s-bob", "bob"
			acts[1], acts[2] = one, two
			for _, i := range order {
				b.PutAct(acts[i], at(1000))
			}
			b.PutReport(seen("s-1", etcd, graph.QuorumLoss, c.from, c.to), at(1000))
			v, _ := b.VerdictOn("s-1", at(1000))
			if c.want == "explained by i-1 quorum-loss" && v.Kind == Explained {
				continue // either of the two stands for both
			}
			if said(v) != c.want {
				t.Errorf("from %d to %d, in the order %v: %s, want %s", c.from, c.to, order, said(v), c.want)
			}
		}
	}
}

// One act after the other: what begins in the first and ends in the second is explained by both together.
func TestActsFollowEachOther(t *testing.T) {
	b := NewBook(shop(t, "prod"))
	one, two := upgrade("i-1", "cp-1", 0), upgrade("i-2", "cp-2", 100)
	one.End, two.End = at(100), at(200) // tails end at 120
	b.PutAct(one, at(1000))
	b.PutReport(gap("s-1", 90, 140), at(1000))
	if v, _ := b.VerdictOn("s-1", at(1000)); said(v) != "exceeded/late by i-1 api-gap" {
		t.Errorf("alone: %s", said(v))
	}
	b.PutAct(two, at(1000))
	if v, _ := b.VerdictOn("s-1", at(1000)); v.Kind != Explained {
		t.Errorf("with the second: %s", said(v))
	}
}

func TestUnclaimedActsAreNamedAndExplainNothing(t *testing.T) {
	r := newRecord(t)
	a := upgrade("i-9", "cp-1", 0)
	a.Session, a.Who, a.Doing, a.Unclaimed = "", "", "node/cp-1 rebooted", true
	r.note(r.PutAct(a, at(0)))
	r.note(r.PutReport(gap("s-1", 20, -1), at(22)))
	r.expect("judged unexplained by i-9 api-gap apiserver/prod", "escalated unexplained by i-9 api-gap apiserver/prod x1")
	v := r.all[0].Verdict
	if len(v.Near) != 1 || v.Near[0].Text != "node/cp-1 rebooted, nobody claimed it" || v.Near[0].Distance != 1 {
		t.Errorf("near: %+v", v.Near)
	}
}

func TestReadsExplainNothing(t *testing.T) {
	b := NewBook(shop(t, "prod"))
	a := upgrade("i-1", "cp-2", 0)
	a.Class = act.Read
	b.PutAct(a, at(0))
	b.PutReport(gap("s-1", 20, -1), at(25))
	if v, _ := b.VerdictOn("s-1", at(25)); v.Kind != Unexplained {
		t.Error(said(v))
	}
}

func TestWhatChangedNearby(t *testing.T) {
	b := NewBook(shop(t, "prod"))
	events := []Event{
		{at(-100), "ks/prod/flux-system/apps", "Flux applied apps@9f3c", "e-1"},
		{at(-50), "ks/prod/flux-system/apps", "Flux applied apps@aaaa", "e-2"},
		{at(-9000), web, "too old", "e-3"},
		{at(-20), "flux/prod", "flux was restarted by hand", "e-4"},
		{at(-10), batch, "not above it", "e-5"},
		{at(-3000), web, "somebody edited web", "e-6"},
	}
	for _, e := range events {
		b.PutEvent(e)
	}
	b.PutReport(seen("s-1", web, graph.PodRestart, 0, -1), at(5))
	v, _ := b.VerdictOn("s-1", at(5))
	var ids []string
	for _, n := range v.Near {
		ids = append(ids, n.ID)
	}
	if got := len(ids); got != 4 || ids[0] != "e-6" || ids[1] != "e-2" || ids[2] != "e-1" || ids[3] != "e-4" {
		t.Errorf("%v", v.Near)
	}
}

// An alert that people have got already is annotated, and escalates only when somebody's work is exceeded.
func TestAlertsAreAnnotated(t *testing.T) {
	r := newRecord(t)
	alert := gap("alert-1", 20, -1)
	alert.Source = Alert
	r.note(r.PutReport(alert, at(25)))
	r.until(60)
	r.expect("judged unexplained api-gap apiserver/prod")
	if !r.all[0].Verdict.Alerted {
		t.Error("the verdict does not say that people were told")
	}
	r.note(r.PutAct(upgrade("i-1", "cp-2", 0), at(61)))
	r.expect("judged explained by i-1 api-gap apiserver/prod")
	r.until(100)
	r.expect("judged exceeded/outlasts by i-1 api-gap apiserver/prod", "escalated exceeded/outlasts by i-1 api-gap apiserver/prod x1")
}

// Nothing but a probe or the alert's own end resolves a symptom: not the end of the act that explains it.
func TestAnActsEndResolvesNothing(t *testing.T) {
	r := newRecord(t)
	a := upgrade("i-1", "cp-2", 0)
	r.note(r.PutAct(a, at(0)))
	r.note(r.PutReport(gap("s-1", 20, -1), at(21)))
	a.End, a.Outcome = at(30), act.Outcome{State: act.OutcomeOK}
	r.note(r.PutAct(a, at(30)))
	if open := r.Open(at(31)); len(open) != 1 {
		t.Fatalf("%d open symptoms", len(open))
	}
	r.note(r.Well(api, graph.APIGap, at(40), at(40)))
	if open := r.Open(at(41)); len(open) != 0 {
		t.Errorf("open after the probe: %v", open)
	}
	r.until(3600)
	r.expect("judged explained by i-1 api-gap apiserver/prod", "measured i-1 api-gap 20s")
}
