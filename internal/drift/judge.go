package drift

import (
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/drift/apply"
	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
	"github.com/clewops/clew/internal/secret"
)

// Input is everything that a Kustomization's drift is judged from.
type Input struct {
	Now      time.Time
	Flow     Flow
	Subjects []Subject
	Kept     []Kept
	Acts     []Act
	Windows  []Window
	Mutators []Mutator     // besides those that are known
	Grace    time.Duration // zero: two intervals
	Parse    ParseDocument // nil: texts in ConfigMaps are not looked into
	Key      secret.Bytes  // for the digests of secrets; without it, no record covers one
}

// Judge compares, forecasts and classifies. The objects come in the order of their identities.
func Judge(in Input) []Object {
	subjects := slices.Clone(in.Subjects)
	slices.SortFunc(subjects, func(a, b Subject) int { return a.Identity.compare(b.Identity) })
	cases := make([]subjectCase, len(subjects))
	for i, s := range subjects {
		cases[i] = in.read(s)
	}
	in.Flow = withRefusals(in.Flow, cases)
	out := make([]Object, len(cases))
	for i, c := range cases {
		out[i] = in.judge(c)
	}
	return out
}

// subjectCase is a subject, read.
type subjectCase struct {
	Subject
	sc         schema.Object
	fields     owner.Fields
	found      []finding
	prediction prediction
	ours       bool   // Flux has applied the object, or it is labelled as Flux'
	err        string // why it cannot be judged
}

// fromGit is what is compared of a side that was rendered: with the labels that Flux adds, unless the object is none of
// Flux' yet.
func (in Input) fromGit(c subjectCase, side Side) map[string]any {
	object := prepare(c.Identity, side.tree())
	if object == nil || in.Flow.Name == "" || !c.ours {
		return unlabelled(object)
	}
	return labelled(object, in.Flow)
}

// fromCluster is what is compared of a side that the server holds.
func (in Input) fromCluster(c subjectCase, side Side) map[string]any {
	object := prepare(c.Identity, side.tree())
	if in.Flow.Name == "" {
		return unlabelled(object)
	}
	return object
}

func (in Input) read(s Subject) subjectCase {
	c := subjectCase{Subject: s}
	if s.Schema != nil {
		c.sc = *s.Schema
	}
	switch {
	case in.Flow.Unreadable != "":
		c.err = "the Kustomization could not be read: " + in.Flow.Unreadable
	case s.Live.State == Unread:
		c.err = s.Live.reason("live")
	case s.Head.State == Unread:
		c.err = s.Head.reason("head")
	case s.Head.State == There && s.Live.State == There &&
		tree.Text(s.Head.tree(), "apiVersion") != tree.Text(s.Live.tree(), "apiVersion"):
		c.err = "git has " + tree.Text(s.Head.tree(), "apiVersion") + " and live was read as " +
			tree.Text(s.Live.tree(), "apiVersion") + ": it has to be read at git's version"
	}
	if c.err != "" {
		return c
	}
	fields, err := owner.Read(s.Live.tree())
	if err != nil {
		c.err = "managedFields could not be read: " + err.Error()
		return c
	}
	c.fields = fields
	c.ours = s.claimed() != "" || slices.ContainsFunc(fields.Entries, func(e owner.Entry) bool { return isFlux(e.Owner) })
	if _, err := ignoredPaths(in.Flow.Ignore, s.Head.tree(), c.sc.Root); err != nil {
		c.err = err.Error()
		return c
	}
	if s.Head.State == There && s.Live.State == There {
		if c.found = in.compare(c); len(c.found) == 0 {
			return c // what does not differ needs no forecast
		}
	}
	c.prediction = predict(s, c.sc, fields, in.Flow)
	return c
}

// compare lists the places in which the two sides differ.
func (in Input) compare(c subjectCase) []finding {
	w := walker{schema: c.sc, fields: c.fields, closed: closedFields(c.Identity), opaque: c.Opaque, applied: in.fromGit(c, c.Applied)}
	return w.compare(in.fromGit(c, c.Head), in.fromCluster(c, c.Live))
}

// withRefusals is the flow with what the objects' own predictions say about a refused apply: all objects of a stage are
// tried before one of it is applied, and no later stage is begun.
func withRefusals(f Flow, cases []subjectCase) Flow {
	for _, c := range cases {
		if c.prediction.refused == "" || f.Suspended {
			continue
		}
		stage := StageOf(c.Identity)
		if f.Blocked == "" || stage < f.BlockedStage {
			f.Blocked = "the server will refuse " + c.Identity.String() + ": " + c.prediction.refused + " cannot be changed"
			f.BlockedStage = stage
			f.BlockedAt = ""
		}
	}
	return f
}

func (in Input) judge(c subjectCase) Object {
	o := Object{
		Identity: c.Identity, Head: sideOf(c.Head), Applied: sideOf(c.Applied), Live: sideOf(c.Live), Method: MethodRead,
		Others: c.Others, Opaque: c.Opaque, Class: InSync,
	}
	if c.DryRun.State == There {
		o.Method = MethodDryRun
	}
	switch {
	case c.err != "":
		o.Class, o.Reason = Unknown, c.err
		return o
	case c.Head.State == Missing && c.Live.State == Missing:
		return o
	case c.Live.State == Missing:
		d := Difference{Change: Removed, Head: PlainOf("the object"), Live: Absent{}}
		in.finish(&o, d, in.gone(c.Subject, d), in.goneForecast(c))
		return o
	case c.Head.State == Missing:
		d := Difference{Change: Added, Head: Absent{}, Live: PlainOf("the object")}
		if v, ours := in.left(c.Subject, d); ours {
			in.finish(&o, d, v, in.leftForecast(c))
		}
		return o
	}
	in.fieldsOf(c, &o)
	return o
}

// fieldsOf judges the fields of an object that both sides have.
func (in Input) fieldsOf(c subjectCase, o *Object) {
	ignored, _ := ignoredPaths(in.Flow.Ignore, c.Head.tree(), c.sc.Root)
	for _, f := range c.found {
		d := in.difference(c, f)
		d.Ignored = slices.ContainsFunc(ignored, func(p tree.Path) bool { return f.path.HasPrefix(p) })
		d.Mutator = mutatorOf(c.Subject, f, in.Mutators)
		forecast := in.forecast(c, f)
		if d.Ignored {
			forecast = Forecast{Next: Effect{Outcome: Survives, Why: "spec.ignore leaves the field to others"}}
		}
		in.finish(o, d, in.field(c, f, d), forecast)
	}
}

// difference is a finding with its values as they may be shown.
func (in Input) difference(c subjectCase, f finding) Difference {
	show := func(v any, there bool) Value {
		switch {
		case !there:
			return Absent{}
		case c.secret() && secretPlace(f.path):
			if encrypted(v) {
				return opaque()
			}
			return redact(v, in.Key)
		}
		return PlainOf(v)
	}
	d := Difference{
		Path: f.path, Field: f.path.String(), Change: f.change, Owners: f.owners,
		Head: show(f.head, f.change != Added), Live: show(f.live, f.change != Removed), Applied: Absent{},
	}
	if c.Applied.State == There {
		v, ok := c.sc.Root.Get(in.fromGit(c, c.Applied), f.path)
		d.Applied = show(v, ok)
	}
	head, ok := f.head.(string)
	live, ok2 := f.live.(string)
	if ok && ok2 && !c.secret() && c.Identity.Group == "" && c.Identity.Kind == "ConfigMap" && len(f.path) == 2 {
		name, _ := f.path[1].Field()
		d.Document = compareDocuments(name, head, live, in.Parse)
	}
	return d
}

// secretPlace says whether a secret object's values at the path are secret: all but metadata's, and the type.
func secretPlace(path tree.Path) bool {
	if len(path) == 0 {
		return true
	}
	first, _ := path[0].Field()
	return first != "type" && first != "immutable" && !(first == "metadata" && !annotated(path))
}

// annotated says whether the path is an annotation: tools copy whole secrets into them.
func annotated(path tree.Path) bool { return path.HasPrefix(tree.Fields("metadata", "annotations")) }

// finish enters a difference into the report of its object.
func (in Input) finish(o *Object, d Difference, v verdict, forecast Forecast) {
	if d.Applied == nil {
		d.Applied = Absent{}
	}
	d.Class, d.Reason, d.Cover, d.Forecast = v.class, v.reason, v.cover, forecast
	o.Differences = append(o.Differences, d)
	if worst := worse(o.Class, v.class); worst != o.Class {
		o.Class, o.Reason = worst, v.reason
	}
}

// pruneRefusal says why an object that git no longer has would be kept; "" if it is deleted.
func pruneRefusal(f Flow, s Subject) string {
	live := s.Live.tree()
	switch {
	case !f.Prune:
		return "the Kustomization does not prune"
	case apply.Mark(live, "prune", "disabled"):
		return "pruning of the object is disabled in the cluster"
	case apply.Mark(live, "reconcile", "disabled"):
		return "reconciling of the object is disabled in the cluster"
	case apply.Mark(live, "ssa", "Ignore"):
		return "the object is marked ssa: Ignore in the cluster"
	case !strings.EqualFold(s.claimed(), f.Ref()):
		return "the object is not labelled as this Kustomization's"
	}
	return ""
}
