package drift

import (
	"time"

	"github.com/clewops/clew/internal/drift/apply"
	"github.com/clewops/clew/internal/drift/schema"
	"github.com/clewops/clew/internal/drift/tree"
)

// State is what is known of an object on one side. The zero State is that nothing is.
type State int

// States of a side.
const (
	Unread  State = iota // nobody could or did look; Err says why
	There                // the side has the object
	Missing              // somebody looked, and the side has no such object
)

// Side is one object on one side.
type Side struct {
	State    State
	Err      string // why it is unread: for people, without secrets
	Content  Content
	Source   string // where it comes from: "cluster prod", "GitRepository/flux-system/fleet", "dump.yaml"
	Revision string // head and applied: the commit; live: the resourceVersion
	AsOf     time.Time
}

// tree is the object's tree where the side has it.
func (s Side) tree() map[string]any {
	if s.State != There {
		return nil
	}
	return s.Content.Reveal()
}

// reason says why a side is unread.
func (s Side) reason(side string) string {
	if s.Err == "" {
		return side + " was not read"
	}
	return side + " could not be read: " + s.Err
}

// Subject is one object and what is known of it.
type Subject struct {
	Identity Identity
	Head     Side
	Applied  Side // Unread where it cannot be rendered, which costs the classes pending and stale
	Live     Side
	DryRun   Side           // what a server-side dry-run of Flux' apply answered, where one was asked
	Schema   *schema.Object // nil where the server no longer describes the kind and it is no usual one
	Secret   bool           // values come from an encrypted file; a Secret is one without being marked
	Opaque   bool           // head's values are encrypted and no key is at hand
	Listed   bool           // in the Kustomization's inventory
	// Others are further Kustomizations and HelmReleases that render the object.
	Others []string
	// Born are times at which a scan saw ownership entries appear that carry no time, by manager.
	Born map[string]time.Time
}

// secret says whether values of the object must not be shown.
func (s Subject) secret() bool {
	return s.Secret || s.Opaque || s.Identity.Group == "" && s.Identity.Kind == "Secret"
}

// root describes the object; nil where nobody does.
func (s Subject) root() *schema.Node {
	if s.Schema == nil {
		return nil
	}
	return s.Schema.Root
}

// claimed is the Kustomization that the live object is labelled with, as namespace/name; "" if none.
func (s Subject) claimed() string {
	labels := tree.Map(s.Live.tree(), "metadata", "labels")
	name, _ := labels[apply.Group+"/name"].(string)
	namespace, _ := labels[apply.Group+"/namespace"].(string)
	if name == "" {
		return ""
	}
	return namespace + "/" + name
}

// Flow is how things stand with the Kustomization whose objects are looked at.
type Flow struct {
	Namespace, Name string
	Suspended       bool
	Prune           bool
	Force           bool
	Interval        time.Duration
	// AppliedRevision is what the Kustomization says it last applied, HeadRevision what the source's branch or tag is at
	// now, ArtifactRevision what source-controller serves.
	AppliedRevision, HeadRevision, ArtifactRevision string
	ArtifactUpdated                                 time.Time // the artifact's lastUpdateTime
	HeadSince                                       time.Time // since when head is what it is; zero if nobody knows
	SourceFailure                                   string    // why the source delivers nothing new; "" if it does
	SourceSuspended                                 bool
	// Blocked says why a reconcile would change nothing: the build fails, a dependency is not ready, an object is refused.
	// BlockedAt is the revision that this was seen with; BlockedStage from which stage on it holds.
	Blocked      string
	BlockedAt    string
	BlockedStage Stage
	// Override are managers that the controller was told to take over, besides kubectl's.
	Override []string
	Ignore   []IgnoreRule
	// Unreadable says why nothing is known of the Kustomization; then nothing is concluded from the rest.
	Unreadable string
}

// Ref is the Kustomization as namespace/name.
func (f Flow) Ref() string { return f.Namespace + "/" + f.Name }

// Stage is the order in which the controller applies objects. All of a stage are tried before any of it is applied.
type Stage int

// Stages of an apply.
const (
	Definitions Stage = iota // namespaces, custom resource definitions, cluster roles
	Classes                  // kinds that end in "Class"
	Rest
)

// StageOf is the stage in which the controller applies an object.
func StageOf(id Identity) Stage {
	switch {
	case id.Kind == "Namespace" && id.Group == "", id.Kind == "CustomResourceDefinition", id.Kind == "ClusterRole":
		return Definitions
	case len(id.Kind) >= 5 && id.Kind[len(id.Kind)-5:] == "Class":
		return Classes
	}
	return Rest
}
