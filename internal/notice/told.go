package notice

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/clewops/clew/internal/graph"
)

// mostExpected bounds the symptoms that one notice lists.
const mostExpected = 6

// tellAll opens, updates and closes the notices of an act.
func (b *Book) tellAll(t *tracked, now time.Time) []Entry {
	concerned := map[*session]bool{}
	for x := range t.notices {
		concerned[x] = true
	}
	places := map[string]bool{}
	t.reach.Nodes(func(n graph.Name) bool {
		for x := range b.byNode[n] {
			concerned[x] = true
		}
		if n.Kind() == graph.APIServer {
			places[n.Cluster()] = true
		}
		return true
	})
	for place := range places {
		for x := range b.byPlace[place] {
			concerned[x] = true
		}
	}
	list := make([]*session, 0, len(concerned))
	for x := range concerned {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b *session) int { return cmp.Compare(a.ID, b.ID) })
	var entries []Entry
	for _, x := range list {
		entries = append(entries, b.tell(t, x, now)...)
	}
	return entries
}

// tell brings the notice of one act to one session up to date.
func (b *Book) tell(t *tracked, x *session, now time.Time) []Entry {
	if b.replaying {
		return nil
	}
	old := t.notices[x]
	fresh, why := b.project(t, x, now)
	switch {
	case fresh == nil && old == nil:
		return nil
	case fresh == nil:
		delete(t.notices, x)
		delete(x.notices, t)
		last := *old
		last.Ended, last.Outcome = why == over || !t.act.End.IsZero(), t.act.Outcome
		return []Entry{{Kind: Closed, At: now, Notice: &last}}
	}
	t.notices[x], x.notices[t] = fresh, fresh
	switch {
	case old == nil:
		return []Entry{{Kind: Opened, At: now, Notice: fresh}}
	case reflect.DeepEqual(*old, *fresh):
		return nil
	}
	return []Entry{{Kind: Updated, At: now, Notice: fresh}}
}

// Reason says why a session was or was not told of an act.
type Reason string

// Reasons.
const (
	told        Reason = "told"
	noSuchAct   Reason = "no-such-act"
	ownSession  Reason = "own-session"
	sameWork    Reason = "same-work"
	onlyReads   Reason = "only-reads"
	unclaimed   Reason = "unclaimed"
	over        Reason = "over"
	noInterests Reason = "no-interests"
	notReached  Reason = "not-reached"
	absorbed    Reason = "absorbed"
	noSymptom   Reason = "no-symptom"
)

// NotTold says why a session was told of an act, or was not.
type NotTold struct {
	Told   bool
	Reason Reason
	Text   string
	Path   []graph.Name // told: from the target to the session's own node
}

// WhyNotTold answers for one act and one session.
func (b *Book) WhyNotTold(actID, sessionID string, now time.Time) NotTold {
	t, ok := b.acts[actID]
	if !ok {
		return NotTold{Reason: noSuchAct, Text: fmt.Sprintf("no act %s is known here; it may be too old", actID)}
	}
	x := b.session(sessionID)
	n, why := b.project(t, x, now)
	if n != nil {
		return NotTold{Told: true, Reason: told, Text: "it reaches what the session works on, by " + graph.Text(n.Path), Path: n.Path}
	}
	return NotTold{Reason: why, Text: map[Reason]string{
		ownSession:  "it is the session's own act",
		sameWork:    fmt.Sprintf("the session is at the same work, %s", t.act.Work),
		onlyReads:   "it only reads",
		unclaimed:   "nobody stands for it: it was seen without a wrapper, and serves only to name what changed",
		over:        "it is over, and so is all that may follow it",
		noInterests: "the session has touched nothing in a cluster lately",
		notReached:  "nothing that it does reaches what the session works on",
		absorbed:    "redundancy absorbs it before it reaches what the session works on",
		noSymptom:   "what it does where the session works shows as no symptom",
	}[why]}
}

// project makes the notice of an act for a session, or says why there is none.
func (b *Book) project(t *tracked, x *session, now time.Time) (*Notice, Reason) {
	a := t.act
	switch {
	case b.sessions[a.Session] == x || a.Session == x.ID:
		return nil, ownSession
	case a.Work != "" && a.Work == x.Work:
		return nil, sameWork
	case t.onlyReads():
		return nil, onlyReads
	case a.Unclaimed:
		return nil, unclaimed
	case !t.active(now) && now.After(a.Start):
		return nil, over
	}
	n, why := nearest(t, x, now)
	if n == nil {
		return nil, why
	}
	n.Act, n.Session, n.Who, n.Doing, n.Since, n.Phase, n.Purpose = a.ID, x.ID, a.Who, a.Doing, a.Start, a.Phase, a.Purpose
	n.Ended, n.Outcome, n.Graph, n.Links = !a.End.IsZero(), a.Outcome, t.graph, a.Links
	n.Until = t.until()
	return n, told
}

// until is when the act and all that follows it should be over.
func (t *tracked) until() time.Time {
	a := t.act
	switch {
	case !a.End.IsZero():
		return a.End.Add(t.maxTail)
	case !a.Until.IsZero():
		return a.Until
	}
	var longest time.Duration
	for _, h := range t.reach.Hits {
		longest = max(longest, h.Delay+h.Allowed.For)
	}
	return a.Start.Add(longest)
}

// nearest finds the session's own node that is nearest to the act's target, and what may show at its nodes.
func nearest(t *tracked, x *session, now time.Time) (*Notice, Reason) {
	why := noInterests
	var n *Notice
	for _, node := range sortedNames(x.interests) {
		if !x.interests[node].After(now) {
			continue
		}
		hits := slices.Clone(t.reach.At(node))
		access := t.reach.Accessed(node)
		if len(hits) == 0 && access < 0 {
			if why == noInterests {
				why = notReached
			}
			if slices.Contains(t.reach.Absorbed, node) {
				why = absorbed
			}
			continue
		}
		if n == nil {
			n = &Notice{}
		}
		for _, i := range hits {
			n.add(t, int(i), node)
		}
		if access >= 0 && node.Kind() != graph.APIServer {
			n.add(t, access, node)
		}
	}
	switch {
	case n == nil:
		return nil, why
	case n.Path == nil:
		return nil, noSymptom
	}
	slices.SortFunc(n.Expect, func(a, b Expected) int {
		return cmp.Or(cmp.Compare(a.Symptom, b.Symptom), cmp.Compare(a.At, b.At))
	})
	n.Expect = n.Expect[:min(len(n.Expect), mostExpected)]
	return n, told
}

// add takes a hit into a notice: a shorter path, a longer expectation.
func (n *Notice) add(t *tracked, hit int, own graph.Name) {
	h := t.reach.Hits[hit]
	path := t.reach.Path(hit)
	if h.Node != own {
		path = append(path, own)
	}
	if h.Symptom != "" || len(path) == 1 {
		if n.Path == nil || len(path) < len(n.Path) {
			n.Path = path
		}
	}
	if h.Symptom == "" {
		return
	}
	e := Expected{h.Symptom, h.Node, h.Allowed.For, h.Allowed.Source}
	i := slices.IndexFunc(n.Expect, func(o Expected) bool { return o.Symptom == e.Symptom && o.At == e.At })
	switch {
	case i < 0:
		n.Expect = append(n.Expect, e)
	case e.For > n.Expect[i].For:
		n.Expect[i] = e
	}
}

func sortedNames(m map[graph.Name]time.Time) []graph.Name {
	list := make([]graph.Name, 0, len(m))
	for n := range m {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// Notices lists a session's open notices, by the acts' start.
func (b *Book) Notices(sessionID string) []Notice {
	x, ok := b.sessions[sessionID]
	if !ok {
		return nil
	}
	set := map[*tracked]bool{}
	for t := range x.notices {
		set[t] = true
	}
	var list []Notice
	for _, t := range inOrder(set) {
		list = append(list, *x.notices[t])
	}
	return list
}
