package notice

import (
	"cmp"
	"slices"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
)

// Book holds what is known and what was said. See the package documentation.
type Book struct {
	graph    *graph.Version
	sessions map[string]*session
	byNode   map[graph.Name]map[*session]time.Time // interests
	byPlace  map[string]map[*session]bool          // sessions with an interest that is reached through a cluster's API
	acts     map[string]*tracked
	reached  map[graph.Name][]*tracked // by start and id
	aborting []*tracked
	loads    map[loadKey]map[*tracked][]graph.Load
	spots    map[spotKey]*spot
	atNode   map[graph.Name][]*spot
	reports  map[string]*Report
	events   map[graph.Name][]Event
	history  map[pastKey][]Past
	folds    folds
	due      dueHeap

	replaying bool
}

type session struct {
	Session
	interests map[graph.Name]time.Time
	notices   map[*tracked]*Notice
}

// tracked is an act with its reach and its notices.
type tracked struct {
	act     Act
	reach   *graph.Reach
	maxTail time.Duration // the longest that something may follow the act's end
	notices map[*session]*Notice
	graph   graph.Digest
	done    bool // measured and closed
}

// NewBook is an empty book on a version of the graph.
func NewBook(v *graph.Version) *Book {
	return &Book{
		graph: v, sessions: map[string]*session{}, byNode: map[graph.Name]map[*session]time.Time{},
		byPlace: map[string]map[*session]bool{}, acts: map[string]*tracked{}, reached: map[graph.Name][]*tracked{},
		loads: map[loadKey]map[*tracked][]graph.Load{}, spots: map[spotKey]*spot{}, atNode: map[graph.Name][]*spot{},
		reports: map[string]*Report{}, events: map[graph.Name][]Event{}, history: map[pastKey][]Past{}, folds: newFolds(),
	}
}

// Graph is the version that the book works with.
func (b *Book) Graph() *graph.Version { return b.graph }

// SetGraph takes another version. Acts that pass through what differs are propagated again.
func (b *Book) SetGraph(v *graph.Version, now time.Time) []Entry {
	changed := graph.ChangedNodes(b.graph, v)
	b.graph = v
	touched := map[*tracked]bool{}
	for _, n := range changed {
		for _, t := range b.reached[n] {
			touched[t] = true
		}
	}
	differs := map[graph.Name]bool{}
	for _, n := range changed {
		differs[n] = true
	}
	for _, t := range b.acts {
		if slices.ContainsFunc(t.act.Targets, func(x graph.Target) bool { return differs[x.Node] }) ||
			slices.ContainsFunc(t.reach.Absorbed, func(n graph.Name) bool { return differs[n] }) {
			touched[t] = true
		}
	}
	return b.refresh(inOrder(touched), now)
}

// inOrder lists acts by start and id, so that no map's order shows.
func inOrder(set map[*tracked]bool) []*tracked {
	list := make([]*tracked, 0, len(set))
	for t := range set {
		list = append(list, t)
	}
	slices.SortFunc(list, byStart)
	return list
}

func byStart(a, b *tracked) int {
	return cmp.Or(a.act.Start.Compare(b.act.Start), cmp.Compare(a.act.ID, b.act.ID))
}

// PutSession takes what is known of a session now: its name, and the work it is at.
func (b *Book) PutSession(s Session, now time.Time) []Entry {
	x := b.session(s.ID)
	work := x.Work
	x.Session = s
	for _, alias := range s.Aliases {
		b.sessions[alias] = x
	}
	if work == s.Work {
		return nil
	}
	// Acts of the same work are no news to it; those of the work it left are.
	var entries []Entry
	touched := map[*tracked]bool{}
	for n := range x.interests {
		b.acting(n, func(t *tracked) { touched[t] = true })
	}
	for _, t := range inOrder(touched) {
		entries = append(entries, b.tell(t, x, now)...)
	}
	return entries
}

// session finds or makes a session; one that is only heard of can be told, too.
func (b *Book) session(id string) *session {
	x, ok := b.sessions[id]
	if !ok {
		x = &session{Session: Session{ID: id}, interests: map[graph.Name]time.Time{}, notices: map[*tracked]*Notice{}}
		b.sessions[id] = x
	}
	return x
}

// PutInterest takes an interest, or a later end of one, and tells the session what runs there.
func (b *Book) PutInterest(in Interest, now time.Time) []Entry {
	x := b.session(in.Session)
	if in.Until.Before(x.interests[in.Node]) {
		return nil
	}
	_, known := x.interests[in.Node]
	x.interests[in.Node] = in.Until
	if b.byNode[in.Node] == nil {
		b.byNode[in.Node] = map[*session]time.Time{}
	}
	b.byNode[in.Node][x] = in.Until
	if _, ok := in.Node.APIOf(); ok {
		if b.byPlace[in.Node.Cluster()] == nil {
			b.byPlace[in.Node.Cluster()] = map[*session]bool{}
		}
		b.byPlace[in.Node.Cluster()][x] = true
	}
	b.push(in.Until.Add(1), due{session: x, node: in.Node})
	if known {
		return nil
	}
	touched := map[*tracked]bool{}
	b.acting(in.Node, func(t *tracked) { touched[t] = true })
	var entries []Entry
	for _, t := range inOrder(touched) {
		entries = append(entries, b.tell(t, x, now)...)
	}
	return entries
}

// acting goes through the acts that reach a node, or whoever works on it.
func (b *Book) acting(n graph.Name, yield func(*tracked)) {
	for _, t := range b.reached[n] {
		yield(t)
	}
	if api, ok := n.APIOf(); ok {
		for _, t := range b.reached[api] {
			if t.reach.Accessed(n) >= 0 {
				yield(t)
			}
		}
	}
}

// Forget drops interests of a session: one, or with an empty name all. Notices that rest on them are closed.
func (b *Book) Forget(id string, n graph.Name, now time.Time) []Entry {
	x := b.session(id)
	for node := range x.interests {
		if n == "" || n == node {
			b.dropInterest(x, node)
		}
	}
	var entries []Entry
	touched := map[*tracked]bool{}
	for t := range x.notices {
		touched[t] = true
	}
	for _, t := range inOrder(touched) {
		entries = append(entries, b.tell(t, x, now)...)
	}
	return entries
}

func (b *Book) dropInterest(x *session, n graph.Name) {
	delete(x.interests, n)
	delete(b.byNode[n], x)
	if len(b.byNode[n]) == 0 {
		delete(b.byNode, n)
	}
	for other := range x.interests {
		if _, ok := other.APIOf(); ok && other.Cluster() == n.Cluster() {
			return
		}
	}
	delete(b.byPlace[n.Cluster()], x)
}

// PutAct takes an act, new or changed: another phase, its end, its outcome.
func (b *Book) PutAct(a Act, now time.Time) []Entry {
	t, ok := b.acts[a.ID]
	if !ok {
		t = &tracked{reach: &graph.Reach{}, notices: map[*session]*Notice{}}
		b.acts[a.ID] = t
	}
	t.act, t.done = a, false
	b.aborting = slices.DeleteFunc(b.aborting, func(o *tracked) bool { return o == t })
	if len(a.AbortIf) > 0 && !a.Unclaimed {
		b.aborting = append(b.aborting, t)
		slices.SortFunc(b.aborting, byStart)
	}
	return b.refresh([]*tracked{t}, now)
}

// Acts lists the acts that the book knows, by start.
func (b *Book) Acts() []Act {
	set := map[*tracked]bool{}
	for _, t := range b.acts {
		set[t] = true
	}
	var list []Act
	for _, t := range inOrder(set) {
		list = append(list, t.act)
	}
	return list
}

// PutEvent takes something that changed, for the list of what changed nearby.
func (b *Book) PutEvent(e Event) {
	b.events[e.Node] = append(b.events[e.Node], e)
}

// Prune lets go of acts, bouts and events that were over before a time. Choose it well before anything that is still
// to be judged: at least the two hours of what changed nearby, and the time that records may arrive late.
func (b *Book) Prune(before time.Time) {
	for id, t := range b.acts {
		if t.done && !t.act.End.IsZero() && t.act.End.Add(t.maxTail).Before(before) {
			b.unindex(t)
			b.aborting = slices.DeleteFunc(b.aborting, func(o *tracked) bool { return o == t })
			delete(b.acts, id)
		}
	}
	for n, list := range b.events {
		if list = slices.DeleteFunc(list, func(e Event) bool { return e.At.Before(before) }); len(list) == 0 {
			delete(b.events, n)
		} else {
			b.events[n] = list
		}
	}
	b.pruneSpots(before)
	b.folds.prune(before)
}

// active says whether the act, or what may follow it, is on at a moment.
func (t *tracked) active(at time.Time) bool {
	return !at.Before(t.act.Start) && (t.act.End.IsZero() || !at.After(t.act.End.Add(t.maxTail)))
}

// onlyReads says whether nothing is expected of an act.
func (t *tracked) onlyReads() bool { return t.act.Class == act.Read }
