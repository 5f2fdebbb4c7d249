package notice

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
	"pgregory.net/rapid"
)

// world is a drawn set of facts.
type world struct {
	acts      []Act
	reports   []Report
	interests []Interest
}

var (
	machines  = []graph.Name{"node/prod/cp-1", "node/prod/cp-2", "node/prod/cp-3", "node/prod/w-1", "node/prod/w-2", "node/lab/cp-1"}
	disturbed = []spotKey{
		{api, graph.APIGap},
		{etcd, graph.LeaderChange},
		{etcd, graph.QuorumLoss},
		{"flux/prod", graph.ReconcileDelay},
		{web, graph.PodRestart},
		{web, graph.Unavailable},
		{batch, graph.Unavailable},
		{"node/prod/w-1", graph.NodeNotReady},
	}
	worked = []graph.Name{web, batch, "flux/prod", "node/prod/cp-1", "deploy/lab/shop/web", "svc/prod/shop/web"}
)

func drawWorld(t *rapid.T) world {
	var w world
	for i := range rapid.IntRange(0, 6).Draw(t, "acts") {
		a := Act{
			ID: fmt.Sprintf("i-%d", i), Session: fmt.Sprintf("s-%d", rapid.IntRange(0, 3).Draw(t, "author")), Class: act.Mutate, Kind: "upgrade",
			Start: at(rapid.IntRange(0, 600).Draw(t, "start")), Tail: time.Duration(rapid.IntRange(0, 30).Draw(t, "tail")) * time.Second,
			Targets:   []graph.Target{{Node: rapid.SampledFrom(machines).Draw(t, "target"), Effect: rapid.SampledFrom([]graph.Effect{graph.Down, graph.Drain}).Draw(t, "effect")}},
			Unclaimed: rapid.IntRange(0, 5).Draw(t, "unclaimed") == 0,
		}
		if rapid.Bool().Draw(t, "ended") {
			a.End = a.Start.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "length")) * time.Second)
		}
		if rapid.Bool().Draw(t, "default") {
			a.Default = []Expectation{{Symptom: graph.APIGap, For: time.Duration(rapid.IntRange(1, 120).Draw(t, "gap")) * time.Second}}
		}
		if rapid.IntRange(0, 4).Draw(t, "abort") == 0 {
			a.AbortIf = []Condition{{Symptom: graph.LeaderChange}}
		}
		w.acts = append(w.acts, a)
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "reports") {
		k := rapid.SampledFrom(disturbed).Draw(t, "where")
		r := Report{ID: fmt.Sprintf("r-%d", i), Node: k.node, Symptom: k.symptom, From: at(rapid.IntRange(0, 1200).Draw(t, "from")), Source: Probe}
		if rapid.IntRange(0, 3).Draw(t, "open") > 0 {
			r.To = r.From.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "for")) * time.Second)
		}
		r.Strength = rapid.IntRange(0, 2).Draw(t, "strength")
		if rapid.IntRange(0, 5).Draw(t, "alert") == 0 {
			r.Source = Alert
		}
		w.reports = append(w.reports, r)
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "interests") {
		w.interests = append(w.interests, Interest{fmt.Sprintf("s-%d", i%5), rapid.SampledFrom(worked).Draw(t, "interest"), at(100000)})
	}
	return w
}

// fact is one call of a book.
type fact func(b *Book, now time.Time) []Entry

// facts are the world's, in the order in which they happened or in another. Open reports and running acts come first
// as such where they end later: their end is a fact of its own.
func (w world) facts() []fact {
	var list []fact
	for _, in := range w.interests {
		list = append(list, func(b *Book, now time.Time) []Entry { return b.PutInterest(in, now) })
	}
	for _, a := range w.acts {
		list = append(list, func(b *Book, now time.Time) []Entry { return b.PutAct(a, now) })
	}
	for _, r := range w.reports {
		list = append(list, func(b *Book, now time.Time) []Entry { return b.PutReport(r, now) })
	}
	return list
}

const theEnd = 4000

// play puts the facts in, in an order, some seconds apart, and lets time pass until the end.
func play(b *Book, list []fact, gaps []int) []Entry {
	now, i := at(0), 0
	var all []Entry
	for _, f := range list {
		now = now.Add(time.Duration(gaps[i%len(gaps)]) * time.Second)
		i++
		all = append(all, b.Judge(now)...)
		all = append(all, f(b, now)...)
	}
	for range 10000 {
		next, ok := b.Next()
		if !ok || next.After(at(theEnd)) {
			return append(all, b.Judge(at(theEnd))...)
		}
		all = append(all, b.Judge(next)...)
	}
	panic("time does not pass: the book is due again and again")
}

// truth is what stands in the end: the verdict on every report, the notices, and what is out of bounds and told.
func (w world) truth(b *Book) string {
	var lines []string
	for _, r := range w.reports {
		v, _ := b.VerdictOn(r.ID, at(theEnd))
		lines = append(lines, fmt.Sprintf("%s %s of %s %s", r.ID, said(v), v.Measured, v.Allowed))
	}
	for s := range 5 {
		for _, n := range b.Notices(fmt.Sprintf("s-%d", s)) {
			lines = append(lines, fmt.Sprintf("notice %s to %s %v", n.Act, n.Session, n.Expect))
		}
	}
	for _, s := range b.spots {
		for _, o := range s.bouts {
			if v := b.evaluate(s, o, at(theEnd), nil); v.Kind == Unexplained && o.alerted {
				continue // it may have been told while it seemed to be one with another
			}
			lines = append(lines, fmt.Sprintf("%s %s from %s told %v", s.node, s.symptom, o.from.Format("15:04:05"), standing(o) != nil))
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// The result does not depend on the order in which facts arrive, nor on when.
func TestArrivalOrderDoesNotMatter(t *testing.T) {
	v := shop(t, "prod", "lab")
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		list := w.facts()
		one, other := NewBook(v), NewBook(v)
		play(one, list, []int{0})
		play(other, rapid.Permutation(list).Draw(t, "order"), rapid.SliceOfN(rapid.IntRange(0, 200), 1, 5).Draw(t, "gaps"))
		if a, b := w.truth(one), w.truth(other); a != b {
			t.Fatalf("in order:\n%s\nin another:\n%s", a, b)
		}
	})
}

// Facts that come in pieces (an act that runs and ends later, a symptom that is there and is gone later) end like those
// that come at once.
func TestPiecesDoNotMatter(t *testing.T) {
	v := shop(t, "prod", "lab")
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		var list []fact
		for _, a := range w.acts {
			running := a
			running.End = time.Time{}
			list = append(list, func(b *Book, now time.Time) []Entry { return b.PutAct(running, now) })
		}
		for _, r := range w.reports {
			open := r
			open.To = time.Time{}
			list = append(list, func(b *Book, now time.Time) []Entry { return b.PutReport(open, now) })
		}
		one, other := NewBook(v), NewBook(v)
		play(one, w.facts(), []int{0})
		play(other, append(rapid.Permutation(list).Draw(t, "pieces"), rapid.Permutation(w.facts()).Draw(t, "wholes")...), []int{1})
		if a, b := w.truth(one), w.truth(other); a != b {
			t.Fatalf("at once:\n%s\nin pieces:\n%s", a, b)
		}
	})
}

// Every bout that is out of bounds is told in exactly one standing escalation, but for alerts that people have had; what
// is explained is in none; and nothing is told twice.
func TestEscalatesExactlyOnce(t *testing.T) {
	v := shop(t, "prod", "lab")
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		b := NewBook(v)
		entries := play(b, rapid.Permutation(w.facts()).Draw(t, "order"), []int{rapid.IntRange(0, 100).Draw(t, "gap")})
		for _, s := range b.spots {
			for _, o := range s.bouts {
				verdict := b.evaluate(s, o, at(theEnd), nil)
				in := map[Breach]int{}
				for _, f := range o.folds {
					if !f.Retracted {
						in[f.Verdict.Breach]++
					}
				}
				if verdict.Kind == Unexplained && o.alerted {
					continue // people have had the alert, and may have been told of more before the last fact came
				}
				if (len(in) == 0) != (verdict.Kind == Explained) {
					t.Fatalf("%s %s: %s, told %v", s.node, s.symptom, said(verdict), in)
				}
			}
		}
		seen := map[string]bool{}
		for _, e := range entries {
			if e.Kind == Retracted {
				delete(seen, e.Escalation.Key)
			}
			if e.Kind == Escalated {
				if seen[e.Escalation.Key] {
					t.Fatalf("%s was told twice", e.Escalation.Key)
				}
				seen[e.Escalation.Key] = true
			}
		}
	})
}

// Nobody is told of what does not reach what they work on, nor of their own acts.
func TestOnlyIntersectingSessionsAreTold(t *testing.T) {
	v := shop(t, "prod", "lab")
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		b := NewBook(v)
		authors, interests := map[string]Act{}, map[string][]graph.Name{}
		for _, a := range w.acts {
			authors[a.ID] = a
		}
		for _, in := range w.interests {
			interests[in.Session] = append(interests[in.Session], in.Node)
		}
		for _, e := range play(b, rapid.Permutation(w.facts()).Draw(t, "order"), []int{7}) {
			if e.Notice == nil {
				continue
			}
			n, a := e.Notice, authors[e.Notice.Act]
			if a.Session == n.Session || a.Unclaimed {
				t.Fatalf("%s was told of %s", n.Session, n.Act)
			}
			if !slices.Contains(interests[n.Session], n.Path[len(n.Path)-1]) || n.Path[0] != a.Targets[0].Node {
				t.Fatalf("%s was told by %s, and works on %v", n.Session, graph.Text(n.Path), interests[n.Session])
			}
			for i := range n.Path[1:] {
				_, edge := v.Edge(n.Path[i], n.Path[i+1])
				if above, ok := n.Path[i+1].APIOf(); !edge && (!ok || above != n.Path[i]) {
					t.Fatalf("there is no edge in %s", graph.Text(n.Path))
				}
			}
		}
	})
}

// A book that is rebuilt from its facts and what it said says nothing again, and goes on like the one that was lost.
func TestReplay(t *testing.T) {
	v := shop(t, "prod", "lab")
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		list := w.facts()
		cut := rapid.IntRange(0, len(list)).Draw(t, "cut")
		b := NewBook(v)
		var entries []Entry
		now := at(0)
		for _, f := range list[:cut] {
			now = now.Add(5 * time.Second)
			entries = append(entries, b.Judge(now)...)
			entries = append(entries, f(b, now)...)
		}
		again := NewBook(v)
		put := func(r *Book) {
			for _, f := range rapid.Permutation(list[:cut]).Draw(t, "order") {
				f(r, now)
			}
		}
		if fresh := again.Replay(put, entries, now); len(fresh) > 0 {
			t.Fatalf("said again: %s", inShort(fresh[0]))
		}
		a, c := play(b, list[cut:], []int{3}), play(again, list[cut:], []int{3})
		short := func(list []Entry) string {
			var lines []string
			for _, e := range list {
				lines = append(lines, inShort(e))
			}
			sort.Strings(lines)
			return strings.Join(lines, "\n")
		}
		if short(a) != short(c) {
			t.Fatalf("goes on:\n%s\nrebuilt goes on:\n%s", short(a), short(c))
		}
		if w.truth(b) != w.truth(again) {
			t.Fatalf("ends:\n%s\nrebuilt ends:\n%s", w.truth(b), w.truth(again))
		}
	})
}
