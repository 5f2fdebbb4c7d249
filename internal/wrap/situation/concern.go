package situation

import (
	"cmp"
	"slices"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
	"github.com/clewops/clew/internal/notice"
)

// Cluster finds the cluster that a place belongs to.
func (h *Head) Cluster(at act.Place) *Cluster {
	known := make([]act.KnownCluster, len(h.Clusters))
	for i, c := range h.Clusters {
		known[i] = c.Known
	}
	found, _ := act.Locate(at, known)
	for i := range known {
		if found == &known[i] {
			return &h.Clusters[i]
		}
	}
	return nil
}

// Nodes are the names in the graph of what a command names. A kind that the graph does not know is none.
func (c *Cluster) Nodes(targets []act.Target) []graph.Name {
	var list []graph.Name
	for _, t := range targets {
		if n, ok := c.node(t); ok {
			list = append(list, n)
		}
	}
	return list
}

func (c *Cluster) node(t act.Target) (graph.Name, bool) {
	kind, ok := graph.KindOf(t.Kind)
	if !ok {
		return "", false
	}
	if n, ok := c.Machines[t.Name]; ok && kind == graph.Machine {
		return n, true
	}
	var rest []string
	switch {
	case kind.Singleton():
	case kind.Namespaced():
		rest = []string{t.Namespace, t.Name}
	default:
		rest = []string{t.Name}
	}
	n, err := graph.MakeName(string(kind), c.Name, rest...)
	return n, err == nil
}

// Mine are the open notices of a session, under whichever of its ids.
func (h *Head) Mine(ids []string) []notice.Notice {
	ids = slices.Clone(ids)
	for _, s := range h.Sessions {
		if slices.Contains(ids, s.ID) || slices.ContainsFunc(s.Aliases, func(a string) bool { return slices.Contains(ids, a) }) {
			ids = append(append(ids, s.ID), s.Aliases...)
		}
	}
	var list []notice.Notice
	for _, n := range h.Notices {
		if !n.Ended && slices.Contains(ids, n.Session) {
			list = append(list, n)
		}
	}
	return list
}

// Touching are those notices of a list that pass through one of some nodes, or through the API by which they are
// reached.
func Touching(list []notice.Notice, nodes []graph.Name) []notice.Notice {
	var out []notice.Notice
	for _, n := range list {
		if slices.ContainsFunc(nodes, func(x graph.Name) bool {
			api, ok := x.APIOf()
			return slices.Contains(n.Path, x) || ok && slices.Contains(n.Path, api)
		}) {
			out = append(out, n)
		}
	}
	return out
}

// Asked is what is asked after a failed command.
type Asked struct {
	IDs   []string     // of the asking session, the first one its own
	Nodes []graph.Name // that the command named
	Saw   notice.Sighting
	Now   time.Time
}

// Ask judges what a probe saw by what is kept.
func (s *Situation) Ask(q Asked) (notice.Answer, error) {
	facts, err := s.Facts()
	if err != nil {
		return notice.Answer{}, err
	}
	v, _, problems := graph.Build(facts.Graph)
	if len(problems) > 0 {
		return notice.Answer{}, problems[0]
	}
	book := notice.NewBook(v)
	session := s.of(q.IDs)
	book.Replay(func(b *notice.Book) {
		for _, x := range s.Sessions {
			b.PutSession(x, q.Now)
		}
		b.PutSession(session, q.Now)
		for _, p := range facts.Past {
			b.PutPast(p)
		}
		for _, a := range facts.Acts {
			b.PutAct(a, q.Now)
		}
		for _, in := range facts.Interests {
			b.PutInterest(in, q.Now)
		}
		for _, n := range append(slices.Clone(q.Nodes), q.Saw.Node) {
			b.PutInterest(notice.Interest{Session: session.ID, Node: n, Until: q.Now.Add(act.InterestSpan)}, q.Now)
		}
		for _, e := range facts.Events {
			b.PutEvent(e)
		}
		for _, r := range facts.Reports {
			b.PutReport(r, q.Now)
		}
	}, facts.Said, q.Now)
	return book.Ask(notice.Question{Session: session.ID, Saw: q.Saw, Ledger: s.Ledger}, q.Now), nil
}

// of is what is known of a session; one that is not known yet has an id and nothing else.
func (s *Situation) of(ids []string) notice.Session {
	for _, x := range s.Sessions {
		if slices.ContainsFunc(ids, func(id string) bool { return id == x.ID || slices.Contains(x.Aliases, id) }) {
			return x
		}
	}
	return notice.Session{ID: cmp.Or(ids...)}
}

// Unasked is the answer when nothing is kept that could be asked: what is disturbed is unknown, not unexplained.
func Unasked(saw notice.Sighting, now time.Time) notice.Answer {
	return notice.NewBook(emptyGraph()).Ask(notice.Question{Saw: saw}, now)
}

func emptyGraph() *graph.Version {
	v, _, _ := graph.Build()
	return v
}
