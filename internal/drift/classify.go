package drift

import (
	"fmt"
	"slices"
	"time"

	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/schema"
)

// verdict is a class and why.
type verdict struct {
	class  Class
	reason string
	cover  *Cover
}

// DefaultGraceIntervals is how many intervals of a Kustomization Flux has for what is new in Git.
const DefaultGraceIntervals = 2

// lag says whether what was applied is older than head: pending in grace, stale after it or where Flux cannot.
func (in Input) lag() verdict {
	f := in.Flow
	switch {
	case f.Suspended:
		return verdict{class: Stale, reason: "the Kustomization is suspended"}
	case f.SourceSuspended:
		return verdict{class: Stale, reason: "the source is suspended"}
	case f.SourceFailure != "":
		return verdict{class: Stale, reason: "the source fails: " + f.SourceFailure}
	case f.Blocked != "":
		return verdict{class: Stale, reason: f.Blocked}
	}
	since := f.ArtifactUpdated
	if f.ArtifactRevision != f.HeadRevision {
		since = f.HeadSince
	}
	if since.IsZero() {
		return verdict{class: Unknown, reason: "nobody knows since when head is what it is, so the grace has no beginning"}
	}
	grace := in.Grace
	if grace == 0 {
		grace = DefaultGraceIntervals * f.Interval
	}
	age := in.Now.Sub(since)
	if age < grace {
		return verdict{class: Pending, reason: fmt.Sprintf("head is %s old, Flux has %s", age.Round(time.Second), grace)}
	}
	return verdict{class: Stale, reason: fmt.Sprintf("head is %s old, and Flux had %s", age.Round(time.Second), grace)}
}

// moved says whether head is another revision than the one applied. Where one of them is not known it may be.
func (in Input) moved() bool {
	f := in.Flow
	return f.AppliedRevision == "" || f.HeadRevision == "" || f.AppliedRevision != f.HeadRevision
}

// field classifies a difference of a field.
func (in Input) field(c subjectCase, f finding, d Difference) verdict {
	switch {
	case f.unknown != "":
		return verdict{class: Unknown, reason: f.unknown}
	case f.opaque:
		return in.opaqueField(f)
	case d.Ignored:
		return verdict{class: InSync, reason: "spec.ignore leaves the field to others"}
	case d.Mutator != "":
		return verdict{class: InSync, reason: d.Mutator + " owns the field"}
	}
	if len(f.owners) == 0 || slices.ContainsFunc(f.owners, isFlux) {
		if v, decided := in.fluxField(c, f); decided {
			return v
		}
	}
	return in.claimed(c.Subject, d)
}

// opaqueField judges a field of which git's value is encrypted, by who owns it.
func (in Input) opaqueField(f finding) verdict {
	if fluxAlone(f.owners) && !in.moved() {
		return verdict{class: InSync, reason: "opaque: Flux applied it at this revision and nobody has written it since"}
	}
	return verdict{class: Unknown, reason: "opaque: git's value is encrypted and no key is at hand"}
}

// fluxField judges a field that nobody but Flux can have written: it is pending or stale where it is what was applied.
func (in Input) fluxField(c subjectCase, f finding) (verdict, bool) {
	if other := c.claimed(); len(f.owners) > 0 && other != "" && other != in.Flow.Ref() {
		return verdict{}, false // another Kustomization applied its own idea of the object
	}
	admission := verdict{
		class: Unknown,
		reason: "Flux alone owns the field and yet it is not what git says: it was changed at admission, or a substitution has " +
			"changed since; a dry-run can tell",
	}
	if v, decided := in.dryRun(c, f); decided {
		return v, true
	}
	if !in.moved() {
		return admission, fluxAlone(f.owners)
	}
	if c.Applied.State == Unread {
		return verdict{class: Unknown, reason: c.Applied.reason("what was applied")}, true
	}
	applied, had := c.sc.Root.Get(in.fromGit(c, c.Applied), f.path)
	has := f.change != Removed
	if had == has && (!had || schema.Equal(f.node, applied, f.live, c.sc.Custom)) {
		return in.lag(), true
	}
	return admission, f.change == Changed && fluxAlone(f.owners)
}

// fluxAlone says whether the field has an owner and it is Flux' apply.
func fluxAlone(owners []owner.Owner) bool {
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(o owner.Owner) bool { return !isFlux(o) })
}

// dryRun uses the answer of a server-side dry-run, where one was asked: what an apply leaves as it is differs from git
// because admission makes it so.
func (in Input) dryRun(c subjectCase, f finding) (verdict, bool) {
	if c.DryRun.State != There || f.change == Removed || len(f.owners) == 0 {
		return verdict{}, false
	}
	after, ok := c.sc.Root.Get(in.fromCluster(c, c.DryRun), f.path)
	if !ok || !schema.Equal(f.node, after, f.live, c.sc.Custom) {
		return verdict{}, false
	}
	return verdict{class: InSync, reason: "a dry-run leaves the value as it is: admission makes it so"}, true
}

// claimed says whether a record or an act covers the difference.
func (in Input) claimed(s Subject, d Difference) verdict {
	if c, ok := in.cover(s, d); ok {
		if c.expired(in.Now) {
			return verdict{class: AheadExpired, reason: c.Reason, cover: &c}
		}
		return verdict{class: Ahead, reason: c.Reason, cover: &c}
	}
	reason := "nobody claims it"
	if w := in.bornIn(s, d); w != "" {
		reason = "born in window " + w + ", and no recorded act covers it"
	}
	return verdict{class: Unclaimed, reason: reason}
}

// gone classifies an object that git has and the cluster has not.
func (in Input) gone(s Subject, d Difference) verdict {
	wasApplied := s.Applied.State == There || s.Applied.State == Unread && s.Listed
	if !wasApplied && in.moved() && in.Flow.Name != "" {
		return in.lag()
	}
	if v := in.claimed(s, d); v.class != Unclaimed {
		return v
	}
	return verdict{class: NotLive, reason: "git has the object, the cluster has not"}
}

// left classifies an object that the cluster has and git has not.
func (in Input) left(s Subject, d Difference) (verdict, bool) {
	kept := pruneRefusal(in.Flow, s)
	if s.Listed && kept == "" && in.moved() && in.Flow.HeadRevision != "" {
		return in.lag(), true
	}
	ours := s.claimed() == in.Flow.Ref()
	if !s.Listed && !ours {
		return verdict{}, false
	}
	if v := in.claimed(s, d); v.class != Unclaimed {
		return v, true
	}
	if !s.Listed {
		return verdict{class: Orphan, reason: "labelled as " + in.Flow.Ref() + "'s, and in no inventory"}, true
	}
	if kept == "" {
		kept = "the inventory has it, git has not"
	}
	return verdict{class: Extra, reason: kept}, true
}
