package notice

import (
	"slices"
	"time"

	"github.com/clewops/clew/internal/graph"
)

// Replay rebuilds a book: put is handed the book and puts the facts in, in any order; said are the entries that were
// made of them before, in their order. What follows from the facts and was not said yet comes out.
func (b *Book) Replay(put func(*Book), said []Entry, now time.Time) []Entry {
	b.replaying = true
	put(b)
	for _, e := range said {
		b.replay(e)
	}
	b.replaying = false
	touched := map[*tracked]bool{}
	for _, t := range b.acts {
		touched[t] = true
	}
	var entries []Entry
	for _, t := range inOrder(touched) {
		entries = append(entries, b.tellAll(t, now)...)
	}
	spots := map[*spot]bool{}
	for _, s := range b.spots {
		spots[s] = true
	}
	return append(entries, b.judgeAll(spots, now)...)
}

func (b *Book) replay(e Entry) {
	switch e.Kind {
	case Opened, Updated, Closed:
		t, x := b.acts[e.Notice.Act], b.session(e.Notice.Session)
		if t == nil {
			return
		}
		if e.Kind == Closed {
			delete(t.notices, x)
			delete(x.notices, t)
			return
		}
		n := *e.Notice
		t.notices[x], x.notices[t] = &n, &n
	case Judged:
		if _, o := b.boutOf(*e.Verdict); o != nil {
			v := *e.Verdict
			o.said = &v
		}
	case Escalated, Folded, Revised, Retracted:
		b.replayEscalation(e)
	case Measured:
		if t := b.acts[e.Past.Act]; t != nil {
			t.done = true
		}
		b.PutPast(*e.Past)
	}
}

func (b *Book) replayEscalation(e Entry) {
	s, o := b.boutOf(*e.Verdict)
	i := slices.IndexFunc(b.folds.list, func(f *fold) bool { return f.Key == e.Escalation.Key && f.Opened.Equal(e.Escalation.Opened) })
	var f *fold
	if i >= 0 {
		f = b.folds.list[i]
	} else {
		f = &fold{members: map[spotKey]map[time.Time]bool{}, suspects: b.graph.Carriers(e.Verdict.Node, e.Verdict.Symptom)}
	}
	f.Escalation = *e.Escalation
	key := keyOf(*e.Verdict)
	if i < 0 {
		if s == nil {
			s = &spot{spotKey: spotKey{e.Verdict.Node, e.Verdict.Symptom}}
		}
		b.folds.add(f, key, s, causeOf(*e.Verdict))
	}
	if e.Kind == Retracted {
		f.open = 0
		return
	}
	b.folds.byKey[key] = f
	if c := causeOf(*e.Verdict); c != "" && e.Kind == Revised && f.Verdict.Node == e.Verdict.Node && f.Verdict.Symptom == e.Verdict.Symptom {
		b.folds.byCause[c] = f
	}
	if o != nil {
		f.take(s, o)
	}
	if e.Kind == Folded {
		b.folds.bySpot[spotKey{e.Verdict.Node, e.Verdict.Symptom}] = f
		f.suspects = both(f.suspects, b.graph.Carriers(e.Verdict.Node, e.Verdict.Symptom))
	}
}

// boutOf finds the bout that a verdict was about: the one that was there when it began.
func (b *Book) boutOf(v Verdict) (*spot, *bout) {
	s := b.spots[spotKey{v.Node, v.Symptom}]
	if s == nil {
		return nil, nil
	}
	o := s.at(v.From)
	if o == nil || !(graph.Span{From: o.from, To: o.to}).Contains(v.From) {
		return nil, nil
	}
	return s, o
}
