package drift

import (
	"slices"
	"strings"

	"github.com/clewops/clew/internal/drift/apply"
	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

// Outcome is what a reconcile does to a difference.
type Outcome string

// Outcomes.
const (
	Reverted Outcome = "reverted" // the cluster gets what git says
	Survives Outcome = "survives" // the cluster keeps what it has
	Pruned   Outcome = "pruned"   // the object is deleted
	Unsure   Outcome = "unknown"  // it could not be decided; Why says what is missing
)

// Effect is what one reconcile does to one difference.
type Effect struct {
	Outcome   Outcome `json:"outcome"`
	RollsPods bool    `json:"rolls_pods,omitempty"`
	// NotReproduced says that the reconcile takes away an annotation that made pods roll when configuration changed, and
	// nothing in git puts it back.
	NotReproduced bool   `json:"not_reproduced,omitempty"`
	Why           string `json:"why,omitempty"`
}

// Forecast is what becomes of a difference: at the next reconcile as things stand, and at the first one after a resume
// where reconciling is suspended.
type Forecast struct {
	Next    Effect  `json:"next"`
	Resumed *Effect `json:"resumed,omitempty"`
}

// prediction is what the next reconcile would do to one object if nothing held it back.
type prediction struct {
	subject   Subject
	schema    schema.Object
	before    map[string]any // what of the object an apply looks at
	after     map[string]any // the same afterwards
	ownerless bool           // the object came without managedFields
	skipped   string         // why the controller leaves the object alone
	unsure    string         // why it cannot be said
	recreate  string         // the immutable field that makes the controller delete and create it
	refused   string         // the immutable field that makes the server refuse it
}

// predict repeats the controller's apply of the object.
func predict(s Subject, sc schema.Object, fields owner.Fields, flow Flow) prediction {
	p := prediction{subject: s, schema: sc, ownerless: fields.Absent}
	next, why := nextSide(s, flow)
	switch {
	case why != "":
		p.unsure = why
		return p
	case next.State != There:
		return p // the object is pruned or not, which is not said field by field
	}
	config, live := next.tree(), s.Live.tree()
	if p.skipped = skipReason(config, live); p.skipped != "" {
		return p
	}
	if s.Live.State != There {
		return p
	}
	if fields.Absent && s.Schema == nil {
		p.unsure = "neither managedFields nor a schema of the kind are at hand"
		return p
	}
	if s.Opaque {
		p.unsure = "git's values are encrypted and no key is at hand"
	}
	config = withoutIgnored(config, live, flow, sc)
	p.before = prepareForApply(s.Identity, live)
	applied := prepareForApply(s.Identity, config)
	if flow.Name == "" {
		p.before, applied = unlabelled(p.before), unlabelled(applied)
	} else {
		applied = labelled(applied, flow)
	}
	r := apply.Predict(apply.Input{Live: p.before, Config: applied, Schema: sc, Fields: fields, Override: flow.Override})
	p.after = r.After
	if field := immutableChange(s.Identity, sc.Root, p.before, r.After); field != "" {
		if flow.Force || apply.Mark(config, "force", "enabled") || apply.Mark(live, "force", "enabled") {
			p.recreate = field
		} else {
			p.refused = field
		}
	}
	return p
}

// nextSide is the side that the next reconcile applies. While the source delivers nothing new, that is what
// source-controller still serves.
func nextSide(s Subject, flow Flow) (Side, string) {
	stuck := flow.SourceFailure != "" || flow.SourceSuspended
	if !stuck || flow.ArtifactRevision == "" || flow.ArtifactRevision == flow.HeadRevision {
		if s.Head.State == Unread {
			return Side{}, s.Head.reason("head")
		}
		return s.Head, ""
	}
	if flow.ArtifactRevision == flow.AppliedRevision && s.Applied.State != Unread {
		return s.Applied, ""
	}
	return Side{}, "the source is stuck at " + flow.ArtifactRevision + ", which was not rendered"
}

// skipReason says why the controller does not touch the object.
func skipReason(config, live map[string]any) string {
	for _, side := range []struct {
		name   string
		object map[string]any
	}{{"git", config}, {"the cluster", live}} {
		if apply.Mark(side.object, "reconcile", "disabled") {
			return "reconciling of the object is disabled in " + side.name
		}
		if apply.Mark(side.object, "ssa", "Ignore") {
			return "the object is marked ssa: Ignore in " + side.name
		}
	}
	if live != nil && apply.Mark(config, "ssa", "IfNotPresent") {
		return "git says ssa: IfNotPresent, and the object is there"
	}
	return ""
}

// withoutIgnored is the configuration with the live value where spec.ignore leaves a field to others.
func withoutIgnored(config, live map[string]any, flow Flow, sc schema.Object) map[string]any {
	paths, err := ignoredPaths(flow.Ignore, config, sc.Root)
	if err != nil || len(paths) == 0 {
		return config
	}
	out, _ := tree.Copy(config).(map[string]any)
	for _, p := range paths {
		v, ok := sc.Root.Get(live, p)
		set(sc.Root, out, p, v, ok)
	}
	return out
}

// set puts v at the end of path in a tree that may be changed, or takes away what stands there.
func set(n *schema.Node, object map[string]any, path tree.Path, v any, there bool) {
	if len(path) == 0 {
		return
	}
	above, ok := n.Get(object, path[:len(path)-1])
	m, isMap := above.(map[string]any)
	name, isField := path[len(path)-1].Field()
	switch {
	case !ok || !isMap || !isField: // items of lists are left as they are: the pointer names a place, which may have moved
	case there:
		m[name] = v
	default:
		delete(m, name)
	}
}

// prepareForApply is the object as the controller applies it: a Secret's stringData as data, without status.
func prepareForApply(id Identity, object map[string]any) map[string]any {
	out := prepare(id, object)
	if out == nil {
		return nil
	}
	for _, mark := range []string{"apiVersion", "kind"} {
		out[mark] = object[mark]
	}
	meta := map[string]any{}
	for k, v := range tree.Map(object, "metadata") {
		if k == "labels" || k == "annotations" || !slices.Contains(bookkeeping, k) {
			meta[k] = v
		}
	}
	out["metadata"] = meta
	return out
}

// effect is what the predicted reconcile does to one difference.
func (p prediction) effect(f finding) Effect {
	switch {
	case p.skipped != "":
		return Effect{Outcome: Survives, Why: p.skipped}
	case p.unsure != "":
		return Effect{Outcome: Unsure, Why: p.unsure}
	case f.opaque:
		return Effect{Outcome: Unsure, Why: "git's value is encrypted and no key is at hand"}
	case f.unknown != "":
		return Effect{Outcome: Unsure, Why: f.unknown}
	case p.ownerless && f.change == Added:
		return Effect{Outcome: Unsure, Why: "without managedFields nobody can say whether Flux takes the field over"}
	case p.recreate != "":
		return Effect{
			Outcome: Reverted, RollsPods: runsPods(p.subject.Identity),
			Why: "the object is deleted and created again, because " + p.recreate + " cannot be changed",
		}
	case p.refused != "":
		return Effect{Outcome: Survives, Why: "the server refuses the object: " + p.refused + " cannot be changed; nothing of this stage is applied"}
	}
	live, had := p.schema.Root.Get(p.before, f.path)
	after, has := p.schema.Root.Get(p.after, f.path)
	if had == has && schema.Equal(f.node, live, after, p.schema.Custom) || !had && p.silent(f.path, after) || !has && p.silent(f.path, live) {
		return Effect{Outcome: Survives, Why: p.survives(f)}
	}
	e := Effect{Outcome: Reverted, RollsPods: p.rolls(f.path)}
	if !has && e.RollsPods && configHash(f.path) {
		e.NotReproduced = true
		e.Why = "pods rolled when configuration changed because of this annotation, and git has none"
	}
	return e
}

func (p prediction) silent(path tree.Path, v any) bool {
	name, ok := path[len(path)-1].Field()
	return ok && p.schema.Root.At(path[:len(path)-1]).SilentField(name, v, p.schema.Custom)
}

func (p prediction) survives(f finding) string {
	if f.change == Added {
		var names []string
		for _, o := range f.owners {
			names = append(names, o.Manager)
		}
		return "git does not say anything here, and Flux does not take over what " + strings.Join(names, ", ") + " owns"
	}
	return "the controller sees no difference that it would apply"
}
