package notice

import (
	"time"

	"github.com/clewops/clew/internal/graph"
)

// Answered says what a probe found.
type Answered string

// What a probe can find.
const (
	Fine      Answered = "well"
	Disturbed Answered = "disturbed"
	NoAnswer  Answered = "unknown" // the probe itself could not tell
)

// Sighting is what a probe found when a command had failed.
type Sighting struct {
	Node    graph.Name // what was probed: the API server, a machine
	Symptom graph.Symptom
	Found   Answered
	At      time.Time
	Took    time.Duration
	Detail  string // refused, timeout, 503; or why it could not tell
	Own     graph.Name
}

// Question is asked by a session whose command failed, or that wants to know why something is as it is.
type Question struct {
	Session string
	Saw     Sighting
	Ledger  time.Time // when the ledger was last reached; what is known is as old as that
}

// stale is how old what is known may be before silence of it means nothing.
const stale = 30 * time.Second

// Answer is a verdict as one session has to read it.
type Answer struct {
	Verdict
	Say      bool   // false: there is nothing to say, the error is the command's own and nobody would think otherwise
	Once     string // a line of this name was said to the session before: keep silent
	Saw      Sighting
	Ledger   time.Time
	Announce *Escalation // exceeded or unexplained: where it was announced, if it was
	May      string      // own: the act that might have suggested otherwise
}

// Ask answers a question. It records nothing: a sighting that is to count for others is a report.
func (b *Book) Ask(q Question, now time.Time) Answer {
	a := Answer{Saw: q.Saw, Ledger: q.Ledger}
	a.Verdict = Verdict{Node: q.Saw.Node, Symptom: q.Saw.Symptom, From: q.Saw.At, At: now, Detail: q.Saw.Detail, Graph: b.graph.Digest()}
	x := b.session(q.Session)
	switch {
	case q.Saw.Found == Fine:
		a.Kind = Own
		if t := b.suggests(x, q.Saw, now); t != nil {
			a.Say, a.May = true, t.act.ID
			a.name(t)
		}
	case q.Saw.Found != Disturbed:
		a.Kind, a.Say = Unknown, true
	default:
		a.Say = true
		a.Verdict = b.judgeFor(x, q.Saw, now)
		a.Detail = q.Saw.Detail
		if a.Kind == Unexplained && now.Sub(q.Ledger) > stale {
			// Somebody may have said so meanwhile, and nobody here would know.
			a.Kind, a.Near, a.Cause, a.Path = Unknown, nil, "", nil
		}
		if own := q.Saw.Own; own != "" && len(a.Path) > 0 && a.Path[len(a.Path)-1] != own {
			a.Path = append(a.Path, own)
		}
		a.Announce = b.announced(a.Verdict)
	}
	a.Once = string(a.Kind) + "|" + a.Cause + a.May
	return a
}

// suggests finds an act that might let a session take its failure for somebody else's doing.
func (b *Book) suggests(x *session, saw Sighting, now time.Time) *tracked {
	set := map[*tracked]bool{}
	for t := range x.notices {
		set[t] = true
	}
	for _, t := range inOrder(set) {
		if t.active(now) && (len(t.reach.At(saw.Node)) > 0 || saw.Own != "" && len(t.reach.At(saw.Own)) > 0) {
			return t
		}
	}
	return nil
}

// judgeFor judges what a session saw, together with what was reported, and leaves the session's own work out of what
// explains.
func (b *Book) judgeFor(x *session, saw Sighting, now time.Time) Verdict {
	k := spotKey{saw.Node, saw.Symptom}
	if api, ok := saw.Node.APIOf(); ok && saw.Symptom == graph.APIGap {
		k.node = api
	}
	trial := &spot{spotKey: k}
	if s := b.spots[k]; s != nil {
		for _, o := range s.bouts {
			c := *o
			c.folds = nil // what is only looked at counts nowhere
			trial.bouts = append(trial.bouts, &c)
		}
	}
	trial.add(&bout{from: saw.At, detail: saw.Detail, detailAt: saw.At})
	o := trial.at(saw.At)
	mine := func(t *tracked) bool { return b.authored(t, x) }
	v := b.evaluate(trial, o, now, mine)
	if v.Kind == Unexplained {
		// What its own act does is no riddle to the author, and no excuse.
		all := b.evaluate(trial, o, now, nil)
		switch {
		case all.Kind == Explained && b.acts[all.Cause] != nil && mine(b.acts[all.Cause]):
			v = all
			v.Kind, v.Authors = Own, true
		case all.Kind == Exceeded:
			v = all
		default:
			v.Root = b.root(trial, o)
			v.Near = b.nearby(k.node, o.from, now)
		}
	}
	return v
}

// authored says whether an act is a session's own, or of its work.
func (b *Book) authored(t *tracked, x *session) bool {
	return t.act.Session == x.ID || b.sessions[t.act.Session] == x || t.act.Work != "" && t.act.Work == x.Work
}

// announced finds the standing escalation of what a verdict is about.
func (b *Book) announced(v Verdict) *Escalation {
	if v.Kind != Exceeded && v.Kind != Unexplained {
		return nil
	}
	if f := b.folds.byKey[keyOf(v)]; f != nil && !f.Retracted {
		return f.snapshot()
	}
	s, o := b.boutOf(v)
	if s == nil {
		return nil
	}
	if f := standing(o); f != nil {
		return f.snapshot()
	}
	return nil
}

// VerdictOn is the verdict on a report now, as everybody but an author sees it.
func (b *Book) VerdictOn(report string, now time.Time) (Verdict, bool) {
	r := b.reports[report]
	if r == nil {
		return Verdict{}, false
	}
	s := b.spots[spotKey{r.Node, r.Symptom}]
	o := s.at(r.From)
	v := b.evaluate(s, o, now, nil)
	if v.Kind == Unexplained {
		v.Root = b.root(s, o)
		v.Near = b.nearby(s.node, o.from, now)
	}
	return v, true
}

// Open lists the verdicts on all that is there now, by node and symptom.
func (b *Book) Open(now time.Time) []Verdict {
	set := map[*spot]bool{}
	for _, s := range b.spots {
		set[s] = true
	}
	var list []Verdict
	for _, s := range sortedSpots(set) {
		if o := s.at(now); o != nil && o.to.IsZero() {
			list = append(list, b.evaluate(s, o, now, nil))
		}
	}
	return list
}
