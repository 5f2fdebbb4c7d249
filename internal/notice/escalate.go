package notice

import (
	"fmt"
	"slices"
	"time"

	"github.com/clewops/clew/internal/graph"
)

const (
	// oldEnough is the age below which a symptom is judged again before it escalates.
	oldEnough = 2 * time.Second
	// foldGap is how long after its last member an escalation still takes in others of the same cause.
	foldGap = time.Minute
)

// fold is an escalation with all that it stands for.
type fold struct {
	Escalation
	members  map[spotKey]map[time.Time]bool // bouts, by their begin
	open     int                            // members that no act explains
	suspects []graph.Carrier                // what could do all of it
}

// folds are the escalations, by what later members find them by.
type folds struct {
	byKey   map[string]*fold // what was escalated: once per cause, node, symptom and breach
	byCause map[string]*fold // the latest
	bySpot  map[spotKey]*fold
	suspect map[graph.Carrier]*fold
	list    []*fold
}

func newFolds() folds {
	return folds{map[string]*fold{}, map[string]*fold{}, map[spotKey]*fold{}, map[graph.Carrier]*fold{}, nil}
}

// keyOf names what escalates once. Bouts of nobody's cause are told apart by when they began.
func keyOf(v Verdict) string {
	if v.Kind == Exceeded {
		return fmt.Sprintf("exceeded|%s|%s|%s|%s", v.Cause, v.Node, v.Symptom, v.Breach)
	}
	return fmt.Sprintf("unexplained|%s|%s|%d", v.Node, v.Symptom, v.From.UnixNano())
}

// causeOf names what bouts fold by. Nothing of a text is in it.
func causeOf(v Verdict) string {
	switch {
	case v.Kind == Exceeded:
		return "act|" + v.Cause + "|" + string(v.Breach)
	case v.Cause != "":
		return "unclaimed|" + v.Cause
	case v.Root != "":
		return "root|" + string(v.Root)
	}
	return ""
}

// judgeAll judges spots in a fixed order, those above others first, so that what follows folds into its root.
func (b *Book) judgeAll(set map[*spot]bool, now time.Time) []Entry {
	if b.replaying {
		return nil
	}
	var entries []Entry
	for _, s := range sortedSpots(set) {
		entries = append(entries, b.judgeSpot(s, now)...)
	}
	return entries
}

// judgeSpot judges every bout of a spot and says what is new.
func (b *Book) judgeSpot(s *spot, now time.Time) []Entry {
	var entries []Entry
	var next time.Time
	for _, o := range s.bouts {
		entries = append(entries, b.judgeBout(s, o, now)...)
		if t := b.again(s, o, now); !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if !next.IsZero() && (!s.pending.After(now) || next.Before(s.pending)) {
		s.pending = next
		b.push(next, due{spot: s})
	}
	return entries
}

func (b *Book) judgeBout(s *spot, o *bout, now time.Time) []Entry {
	v := b.evaluate(s, o, now, nil)
	if v.Kind == Unexplained && v.Cause == "" {
		v.Root = b.root(s, o)
	}
	changed := o.said == nil || o.said.Kind != v.Kind || o.said.Cause != v.Cause || o.said.Breach != v.Breach
	o.young = false
	if !changed && (v.Kind == Explained || len(o.folds) > 0) {
		o.said = &v
		return nil
	}
	if v.Kind == Unexplained {
		v.Near = b.nearby(s.node, o.from, now)
	}
	var entries []Entry
	if changed {
		v.Revises = o.said != nil
		entries = append(entries, Entry{Kind: Judged, At: now, Verdict: &v})
	}
	o.said = &v
	if v.Kind == Explained {
		return append(entries, b.retract(s, o, v, now)...)
	}
	switch {
	case o.alerted && v.Kind == Unexplained:
	case now.Sub(o.from) < oldEnough:
		o.young = true
	default:
		entries = append(entries, b.escalate(s, o, v, now)...)
	}
	return entries
}

// escalate tells people of a bout, once, or folds it into what they were told.
func (b *Book) escalate(s *spot, o *bout, v Verdict, now time.Time) []Entry {
	key := keyOf(v)
	if f := b.folds.byKey[key]; f != nil && !f.Retracted {
		f.take(s, o)
		return nil
	}
	if f := standing(o); f != nil && !(v.Kind == Exceeded && f.Verdict.Kind == Exceeded && f.Verdict.Cause == v.Cause) {
		// People know of it already, by another name.
		b.folds.byKey[key] = f
		if f.Verdict.Node == v.Node && f.Verdict.Symptom == v.Symptom {
			f.Verdict = v
			if c := causeOf(v); c != "" {
				b.folds.byCause[c] = f
			}
		}
		return []Entry{{Kind: Revised, At: now, Verdict: &v, Escalation: f.snapshot()}}
	}
	carriers := b.graph.Carriers(s.node, s.symptom)
	if f := b.joining(s, v, carriers, now); f != nil {
		f.take(s, o)
		f.Members++
		f.Last = now
		b.folds.byKey[key] = f
		b.folds.bySpot[s.spotKey] = f
		if f.suspects = both(f.suspects, carriers); len(f.suspects) > 0 {
			f.Suspect = f.suspects[0].Node
		}
		return []Entry{{Kind: Folded, At: now, Verdict: &v, Escalation: f.snapshot()}}
	}
	f := &fold{members: map[spotKey]map[time.Time]bool{}, suspects: carriers}
	f.Escalation = Escalation{Key: key, Verdict: v, Members: 1, Opened: now, Last: now, To: b.concerned(v, now)}
	f.take(s, o)
	b.folds.add(f, key, s, causeOf(v))
	return []Entry{{Kind: Escalated, At: now, Verdict: &v, Escalation: f.snapshot()}}
}

func (f *fold) snapshot() *Escalation {
	e := f.Escalation
	return &e
}

func (f *fold) take(s *spot, o *bout) {
	if f.members[s.spotKey] == nil {
		f.members[s.spotKey] = map[time.Time]bool{}
	}
	f.members[s.spotKey][o.from] = true
	if !slices.Contains(o.folds, f) {
		o.folds = append(o.folds, f)
		f.open++
	}
}

// standing is the escalation that a bout is already part of.
func standing(o *bout) *fold {
	for _, f := range slices.Backward(o.folds) {
		if !f.Retracted {
			return f
		}
	}
	return nil
}

func (l *folds) add(f *fold, key string, s *spot, cause string) {
	l.list = append(l.list, f)
	l.byKey[key], l.bySpot[s.spotKey] = f, f
	if cause != "" {
		l.byCause[cause] = f
	}
	for _, c := range f.suspects {
		l.suspect[c] = f
	}
}

// joining finds the escalation of the same cause that is recent enough: of the act, the unclaimed act or the disturbed
// node that is named; of the same spot; or of bouts that have a possible cause in common with this one.
func (b *Book) joining(s *spot, v Verdict, carriers []graph.Carrier, now time.Time) *fold {
	recent := func(f *fold) bool { return f != nil && !f.Retracted && now.Sub(f.Last) <= foldGap }
	if c := causeOf(v); c != "" {
		if f := b.folds.byCause[c]; recent(f) {
			return f
		}
		if v.Kind == Exceeded || v.Cause != "" {
			return nil
		}
	}
	if v.Root != "" {
		for _, above := range b.atNode[v.Root] {
			if f := b.folds.bySpot[above.spotKey]; f != nil && !f.Retracted && len(above.bouts) > 0 &&
				slices.Contains(above.bouts[len(above.bouts)-1].folds, f) {
				return f
			}
		}
	}
	if f := b.folds.bySpot[s.spotKey]; recent(f) && f.Verdict.Kind == Unexplained {
		return f
	}
	for _, c := range carriers {
		f := b.folds.suspect[c]
		if recent(f) && f.Verdict.Kind == Unexplained && f.Verdict.Cause == "" && f.Verdict.Symptom == v.Symptom && slices.Contains(f.suspects, c) {
			return f
		}
	}
	return nil
}

// both keeps what is in both lists.
func both(a, b []graph.Carrier) []graph.Carrier {
	var list []graph.Carrier
	for _, c := range a {
		if slices.Contains(b, c) {
			list = append(list, c)
		}
	}
	return list
}

// retract takes an escalation back when acts explain all that it stands for.
func (b *Book) retract(s *spot, o *bout, v Verdict, now time.Time) []Entry {
	var entries []Entry
	for _, f := range o.folds {
		delete(f.members, s.spotKey)
		if f.open--; f.open > 0 || f.Retracted {
			continue
		}
		f.Retracted = true
		entries = append(entries, Entry{Kind: Retracted, At: now, Verdict: &v, Escalation: f.snapshot()})
	}
	o.folds = nil
	return entries
}

// concerned lists whom an escalation concerns: the act's session, and those that work on the node.
func (b *Book) concerned(v Verdict, now time.Time) []string {
	set := map[string]bool{}
	if t := b.acts[v.Cause]; t != nil && t.act.Session != "" {
		set[t.act.Session] = true
	}
	for x, until := range b.byNode[v.Node] {
		if until.After(now) {
			set[x.ID] = true
		}
	}
	if v.Node.Kind() == graph.APIServer {
		for x := range b.byPlace[v.Node.Cluster()] {
			set[x.ID] = true
		}
	}
	list := make([]string, 0, len(set))
	for id := range set {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// Delivered notes who was really told of an escalation, for when it is taken back.
func (b *Book) Delivered(key string, receivers []string) {
	if f := b.folds.byKey[key]; f != nil {
		for _, r := range receivers {
			if !slices.Contains(f.Receivers, r) {
				f.Receivers = append(f.Receivers, r)
			}
		}
	}
}

// Escalations lists what stands, oldest first.
func (b *Book) Escalations() []Escalation {
	var list []Escalation
	for _, f := range b.folds.list {
		if !f.Retracted {
			list = append(list, *f.snapshot())
		}
	}
	return list
}

func (l *folds) prune(before time.Time) {
	gone := func(f *fold) bool { return f.Last.Before(before) }
	l.list = slices.DeleteFunc(l.list, gone)
	for k, f := range l.byKey {
		if gone(f) {
			delete(l.byKey, k)
		}
	}
	for k, f := range l.byCause {
		if gone(f) {
			delete(l.byCause, k)
		}
	}
	for k, f := range l.bySpot {
		if gone(f) {
			delete(l.bySpot, k)
		}
	}
	for k, f := range l.suspect {
		if gone(f) {
			delete(l.suspect, k)
		}
	}
}
