package notice

import (
	"cmp"
	"slices"
	"time"

	"github.com/clewops/clew/internal/graph"
)

// spotKey is a symptom at a node.
type spotKey struct {
	node    graph.Name
	symptom graph.Symptom
}

// spot collects what was reported of one symptom at one node.
type spot struct {
	spotKey
	reports map[string]*Report
	bouts   []*bout // by From, apart from each other
	pending time.Time
}

// bout is a span of time in which the symptom was there, whoever saw it.
type bout struct {
	from, to time.Time // zero to: still there
	strength int
	alerted  bool // every report of it is an alert that people have been told of
	detail   string
	detailAt time.Time
	said     *Verdict
	folds    []*fold // what it was escalated in
	young    bool    // its escalation waits until it is old enough
}

// end is when the bout ended, or now.
func (o *bout) end(now time.Time) time.Time {
	if o.to.IsZero() || o.to.After(now) {
		return now
	}
	return o.to
}

// touches says whether two bouts are one.
func (o *bout) touches(p *bout) bool {
	return (o.to.IsZero() || !p.from.After(o.to)) && (p.to.IsZero() || !o.from.After(p.to))
}

// boutOf is a report by itself.
func boutOf(r *Report) *bout {
	return &bout{from: r.From, to: r.To, strength: r.Strength, alerted: r.Source == Alert, detail: r.Detail, detailAt: r.From}
}

// join takes another bout in. What was said of either is kept: of the earlier one, if both were judged.
func (o *bout) join(p *bout) {
	if p.said != nil && (o.said == nil || p.from.Before(o.from)) {
		o.said = p.said
	}
	for _, f := range p.folds {
		if slices.Contains(o.folds, f) {
			f.open-- // two that it stood for are one
		} else {
			o.folds = append(o.folds, f)
		}
	}
	if p.from.Before(o.from) {
		o.from = p.from
	}
	if p.to.IsZero() || !o.to.IsZero() && p.to.After(o.to) {
		o.to = p.to
	}
	if p.detail != "" && (o.detail == "" || p.detailAt.After(o.detailAt)) {
		o.detail, o.detailAt = p.detail, p.detailAt
	}
	o.strength = max(o.strength, p.strength)
	o.alerted = o.alerted && p.alerted
}

// PutReport takes a sighting, or the correction of an earlier one. That the API does not answer is a matter of the API
// server, at whatever object it was met.
func (b *Book) PutReport(r Report, now time.Time) []Entry {
	if api, ok := r.Node.APIOf(); ok && r.Symptom == graph.APIGap {
		r.Node = api
	}
	k := spotKey{r.Node, r.Symptom}
	s := b.spots[k]
	if s == nil {
		s = &spot{spotKey: k, reports: map[string]*Report{}}
		b.spots[k] = s
		b.atNode[r.Node] = append(b.atNode[r.Node], s)
		slices.SortFunc(b.atNode[r.Node], bySpot)
	}
	old := b.reports[r.ID]
	if old != nil && *old == r {
		return nil
	}
	b.reports[r.ID], s.reports[r.ID] = &r, &r
	if old == nil {
		s.add(boutOf(&r))
		return b.judgeAll(map[*spot]bool{s: true}, now)
	}
	touched := map[*spot]bool{s: true}
	if k := (spotKey{old.Node, old.Symptom}); k != s.spotKey {
		delete(b.spots[k].reports, r.ID)
		b.spots[k].rebuild()
		touched[b.spots[k]] = true
	}
	s.rebuild()
	return b.judgeAll(touched, now)
}

// Well ends every open report of a symptom at a node: a probe saw it gone, or the alert was resolved. Nothing else does.
func (b *Book) Well(n graph.Name, symptom graph.Symptom, at, now time.Time) []Entry {
	if api, ok := n.APIOf(); ok && symptom == graph.APIGap {
		n = api
	}
	s := b.spots[spotKey{n, symptom}]
	if s == nil {
		return nil
	}
	for id, r := range s.reports {
		if r.To.IsZero() && !r.From.After(at) {
			c := *r
			c.To = at
			b.reports[id], s.reports[id] = &c, &c
		}
	}
	s.rebuild()
	return b.judgeAll(map[*spot]bool{s: true}, now)
}

// add joins a bout with those that it touches.
func (s *spot) add(n *bout) {
	i, _ := slices.BinarySearchFunc(s.bouts, n, func(a, b *bout) int { return a.from.Compare(b.from) })
	if i > 0 && s.bouts[i-1].touches(n) {
		i--
	}
	j := i
	for j < len(s.bouts) && s.bouts[j].touches(n) {
		j++
	}
	if i == j {
		s.bouts = slices.Insert(s.bouts, i, n)
		return
	}
	first := s.bouts[i]
	for _, o := range s.bouts[i+1 : j] {
		first.join(o)
	}
	first.join(n)
	s.bouts = slices.Delete(s.bouts, i+1, j)
}

// rebuild puts the bouts together anew from the reports, after one was corrected. What was said of a bout stays with
// the first that overlaps it.
func (s *spot) rebuild() {
	old := s.bouts
	list := make([]*Report, 0, len(s.reports))
	for _, r := range s.reports {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *Report) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.ID, b.ID)) })
	s.bouts = nil
	for _, r := range list {
		n := boutOf(r)
		if len(s.bouts) > 0 && s.bouts[len(s.bouts)-1].touches(n) {
			s.bouts[len(s.bouts)-1].join(n)
		} else {
			s.bouts = append(s.bouts, n)
		}
	}
	for _, o := range old {
		i := slices.IndexFunc(s.bouts, func(n *bout) bool { return n.touches(o) })
		if i >= 0 && s.bouts[i].said == nil {
			s.bouts[i].said, s.bouts[i].folds = o.said, o.folds
			continue
		}
		for _, f := range o.folds {
			if i >= 0 && !slices.Contains(s.bouts[i].folds, f) {
				s.bouts[i].folds = append(s.bouts[i].folds, f)
			} else {
				f.open-- // what it stood for is not there any more, or is one with another
			}
		}
	}
}

func bySpot(a, b *spot) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.symptom, b.symptom))
}

func sortedSpots(set map[*spot]bool) []*spot {
	list := make([]*spot, 0, len(set))
	for s := range set {
		list = append(list, s)
	}
	slices.SortFunc(list, bySpot)
	return list
}

// measured is how long the symptom was there in a span, up to now.
func (s *spot) measured(during graph.Span, now time.Time) time.Duration {
	var sum time.Duration
	for _, o := range s.bouts {
		if x, ok := during.Overlap(graph.Span{From: o.from, To: o.end(now)}); ok && x.To.After(x.From) {
			sum += x.To.Sub(x.From)
		}
	}
	return sum
}

// at finds the bout that is there at a moment, or the last before it.
func (s *spot) at(t time.Time) *bout {
	var found *bout
	for _, o := range s.bouts {
		if o.from.After(t) {
			break
		}
		found = o
	}
	return found
}

func (b *Book) pruneSpots(before time.Time) {
	for k, s := range b.spots {
		s.bouts = slices.DeleteFunc(s.bouts, func(o *bout) bool { return !o.to.IsZero() && o.to.Before(before) })
		for id, r := range s.reports {
			if !r.To.IsZero() && r.To.Before(before) {
				delete(s.reports, id)
				delete(b.reports, id)
			}
		}
		if len(s.bouts) > 0 {
			continue
		}
		delete(b.spots, k)
		b.atNode[k.node] = slices.DeleteFunc(b.atNode[k.node], func(o *spot) bool { return o == s })
		if len(b.atNode[k.node]) == 0 {
			delete(b.atNode, k.node)
		}
	}
}
