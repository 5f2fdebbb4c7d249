package notice

import (
	"cmp"
	"slices"
	"time"

	"github.com/clewops/clew/internal/graph"
)

// skew is how much earlier than an act a symptom of it may seem to begin: they are seen by different clocks.
const skew = 2 * time.Second

// claim is one act's hit that carries a symptom to a node, with what it has to say of a bout.
type claim struct {
	t        *tracked
	hit      int
	windows  []graph.Span // when it can show
	measured time.Duration
	allowed  graph.Allowance
	strength int
}

// claims are an act's hits for a symptom at a node. What is measured is the same for all: the time in which the symptom
// was there within the act and what may follow it.
func (b *Book) claims(s *spot, t *tracked, now time.Time) []claim {
	var list []claim
	for _, i := range t.reach.At(s.node) {
		h := &t.reach.Hits[i]
		if h.Symptom != s.symptom {
			continue
		}
		c := claim{t: t, hit: int(i), allowed: h.Allowed, strength: h.Strength, windows: t.windows(h)}
		c.measured = s.measured(graph.Span{From: t.act.Start.Add(-skew), To: t.end()}, now)
		list = append(list, c)
	}
	return list
}

// end is when all that may follow the act is over; zero while it runs.
func (t *tracked) end() time.Time {
	if t.act.End.IsZero() {
		return time.Time{}
	}
	return t.act.End.Add(t.maxTail)
}

// windows are the spans in which a hit can show.
func (t *tracked) windows(h *graph.Hit) []graph.Span {
	whole := graph.Span{From: t.act.Start.Add(-skew)}
	if !t.act.End.IsZero() {
		whole.To = t.act.End.Add(t.act.Tail + h.Delay + h.Tail)
	}
	if h.During == nil {
		return []graph.Span{whole}
	}
	var list []graph.Span
	for _, d := range h.During {
		d.From = d.From.Add(-skew)
		if !d.To.IsZero() {
			d.To = d.To.Add(h.Delay + h.Tail)
		}
		if x, ok := whole.Overlap(d); ok {
			list = append(list, x)
		}
	}
	return list
}

// at is the window that contains a moment.
func (c claim) at(t time.Time) (graph.Span, bool) {
	for _, w := range c.windows {
		if w.Contains(t) {
			return w, true
		}
	}
	return graph.Span{}, false
}

// holds says whether the claim stays within what was expected, in amount and strength.
func (c claim) holds(o *bout) bool {
	return c.measured <= c.allowed.For && !c.weaker(o)
}

func (c claim) weaker(o *bout) bool { return c.strength > 0 && o.strength > c.strength }

// evaluate judges one bout at a moment. skip leaves acts out; it is how an author's own are.
func (b *Book) evaluate(s *spot, o *bout, now time.Time, skip func(*tracked) bool) Verdict {
	v := Verdict{
		Node: s.node, Symptom: s.symptom, From: o.from, To: o.to, At: now, Strength: o.strength, Detail: o.detail,
		Graph: b.graph.Digest(), Alerted: o.alerted,
	}
	claims, strangers := b.gather(s, now, skip)
	if t := b.abortedBy(s, o, now, skip); t != nil {
		v.Kind, v.Breach = Exceeded, Aborts
		i := slices.IndexFunc(claims, func(c claim) bool { return c.t == t })
		if i >= 0 {
			v.take(claims[i])
		} else {
			v.name(t)
			v.Measured = s.measured(graph.Span{From: t.act.Start, To: t.end()}, now)
		}
		return v
	}
	if c, ok := covering(claims, o, now); ok {
		v.Kind = Explained
		v.take(c)
		v.Over = now
		if o.to.IsZero() {
			v.Over = now.Add(c.allowed.For - c.measured)
		}
		return v
	}
	if c, breach, ok := breached(claims, o, now); ok {
		v.Kind, v.Breach = Exceeded, breach
		v.take(c)
		return v
	}
	if c, ok := b.differing(s, o, skip); ok {
		v.Kind, v.Breach = Exceeded, Differs
		v.take(c)
		v.Measured, v.Allowed = s.measured(graph.Span{From: c.t.act.Start, To: c.t.end()}, now), 0
		return v
	}
	v.Kind = Unexplained
	for _, c := range strangers {
		if _, ok := c.at(o.from); ok {
			v.Cause, v.Path = c.t.act.ID, c.t.reach.Path(c.hit)
			break
		}
	}
	return v
}

// gather collects the claims on a spot, those of claimed acts and those of acts that nobody stands for.
func (b *Book) gather(s *spot, now time.Time, skip func(*tracked) bool) (claims, strangers []claim) {
	for _, t := range b.reached[s.node] {
		switch {
		case skip != nil && skip(t):
		case t.act.Unclaimed:
			strangers = append(strangers, b.claims(s, t, now)...)
		default:
			claims = append(claims, b.claims(s, t, now)...)
		}
	}
	return claims, strangers
}

// take fills in what a claim says.
func (v *Verdict) take(c claim) {
	v.name(c.t)
	v.Path = c.t.reach.Path(c.hit)
	v.Measured, v.Allowed, v.AllowedFrom, v.Expected = c.measured, c.allowed.For, c.allowed.Source, c.strength
}

func (v *Verdict) name(t *tracked) {
	v.Cause, v.Who, v.Doing = t.act.ID, t.act.Who, t.act.Doing
}

// covering finds the claim that explains a bout: it is there when the bout begins, and it, or others one after the
// other, are there until the bout ends, each within what it allows. Of several the one that reaches farthest counts.
func covering(claims []claim, o *bout, now time.Time) (claim, bool) {
	var first claim
	found := false
	for at, end := o.from, o.end(now); ; {
		best := -1
		var until time.Time
		for i, c := range claims {
			w, ok := c.at(at)
			if !ok || !c.holds(o) {
				continue
			}
			if best < 0 || !until.IsZero() && (w.To.IsZero() || w.To.After(until)) {
				best, until = i, w.To
			}
		}
		if best < 0 {
			return claim{}, false
		}
		if !found {
			first, found = claims[best], true
		}
		if until.IsZero() || !until.Before(end) {
			return first, true
		}
		if !until.After(at) {
			return claim{}, false
		}
		at = until
	}
}

// breached finds the claim that was there when the bout began and does not cover it, and in what way it does not. The
// weightiest breach counts, then the latest act.
func breached(claims []claim, o *bout, now time.Time) (claim, Breach, bool) {
	var best claim
	var breach Breach
	found := false
	for _, c := range claims {
		w, ok := c.at(o.from)
		if !ok {
			continue
		}
		this := Late
		switch {
		case c.weaker(o):
			this = Stronger
		case c.measured > c.allowed.For:
			this = Outlasts
		case w.To.IsZero() || !w.To.Before(o.end(now)):
			continue // it would cover the bout
		}
		if !found || weight(this) < weight(breach) || weight(this) == weight(breach) && moreLikely(c, best) {
			best, breach, found = c, this, true
		}
	}
	return best, breach, found
}

// moreLikely prefers, among claims that are breached alike, the one that allows more, then the later act.
func moreLikely(a, b claim) bool {
	return cmp.Or(cmp.Compare(a.allowed.For, b.allowed.For), byStart(a.t, b.t)) > 0
}

func weight(x Breach) int {
	return slices.Index([]Breach{Aborts, Stronger, Outlasts, Late, Differs}, x)
}

// abortedBy is the act with an abort condition that a bout meets while the act runs.
func (b *Book) abortedBy(s *spot, o *bout, now time.Time, skip func(*tracked) bool) *tracked {
	for _, t := range b.aborting {
		if skip != nil && skip(t) {
			continue
		}
		running := graph.Span{From: t.act.Start, To: t.act.End}
		if _, ok := running.Overlap(graph.Span{From: o.from, To: o.end(now)}); !ok {
			continue
		}
		for _, c := range t.act.AbortIf {
			if c.Symptom == s.symptom && (c.At == s.node || c.At == "" && len(t.reach.At(s.node)) > 0) {
				return t
			}
		}
	}
	return nil
}

// differing finds an act that is expected to show at the node, by another symptom of the same family.
func (b *Book) differing(s *spot, o *bout, skip func(*tracked) bool) (claim, bool) {
	for _, t := range slices.Backward(b.reached[s.node]) {
		if skip != nil && skip(t) || t.act.Unclaimed {
			continue
		}
		for _, i := range t.reach.At(s.node) {
			h := &t.reach.Hits[i]
			c := claim{t: t, hit: int(i), windows: t.windows(h)}
			if _, ok := c.at(o.from); ok && h.Symptom != s.symptom && h.Symptom.Comparable(s.symptom) {
				return c, true
			}
		}
	}
	return claim{}, false
}

// again is when time alone can change the verdict on an open bout, or let it escalate.
func (b *Book) again(s *spot, o *bout, now time.Time) time.Time {
	var next time.Time
	sooner := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if o.young {
		sooner(o.from.Add(oldEnough))
	}
	if !o.to.IsZero() && !o.to.After(now) {
		return next
	}
	if o.from.After(now) {
		sooner(o.from) // told by a clock that is ahead
		return next
	}
	claims, _ := b.gather(s, now, nil)
	for _, c := range claims {
		// Only what grows by itself can come to be too much by itself.
		grows := !now.Before(c.t.act.Start.Add(-skew)) && (c.t.act.End.IsZero() || now.Before(c.t.end()))
		if grows && c.measured <= c.allowed.For {
			sooner(now.Add(c.allowed.For - c.measured + 1))
		}
		for _, w := range c.windows {
			if !w.To.IsZero() {
				sooner(w.To.Add(1))
			}
			sooner(w.From)
		}
	}
	return next
}
