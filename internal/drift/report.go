package drift

import (
	"slices"
	"time"

	"github.com/clewops/clew/internal/drift/owner"
	"github.com/clewops/clew/internal/drift/tree"
)

// Method is how an object was judged.
type Method string

// Methods.
const (
	MethodRead   Method = "read"    // from what was read
	MethodDryRun Method = "dry-run" // with the answer of a server-side dry-run
)

// Origin is where a side of an object comes from.
type Origin struct {
	Source   string    `json:"source,omitempty"`
	Revision string    `json:"revision,omitempty"`
	AsOf     time.Time `json:"as_of,omitzero"`
	Error    string    `json:"error,omitempty"`
}

func sideOf(s Side) Origin {
	return Origin{Source: s.Source, Revision: s.Revision, AsOf: s.AsOf, Error: s.Err}
}

// Difference is one field of an object, or the object itself where Path is empty.
type Difference struct {
	Path     tree.Path
	Field    string // Path for people; "" for the object itself
	Change   Change
	Head     Value
	Applied  Value // Absent where it is not known, too
	Live     Value
	Owners   []owner.Owner
	Mutator  string // the writers that own the field by design
	Ignored  bool   // spec.ignore leaves the field to others
	Class    Class
	Reason   string
	Cover    *Cover
	Forecast Forecast
	Document *DocumentDiff // what differs inside, for a text that is a document
}

// Visible says whether the difference is one to look at.
func (d Difference) Visible() bool { return d.Class != InSync }

// Object is what was found out about one object.
type Object struct {
	Identity    Identity
	Class       Class // the one of its differences' that asks the most
	Reason      string
	Method      Method
	Head        Origin
	Applied     Origin
	Live        Origin
	Differences []Difference
	Others      []string // further owners that render it
	Opaque      bool     // git's values are encrypted and no key is at hand
}

// Classes are those of the object and its differences.
func (o Object) Classes() []Class {
	classes := []Class{o.Class}
	for _, d := range o.Differences {
		classes = append(classes, d.Class)
	}
	return classes
}

// NeedsDryRun says whether a server-side dry-run could decide what reading did not.
func (o Object) NeedsDryRun() bool {
	return o.Method == MethodRead && slices.ContainsFunc(o.Differences, func(d Difference) bool {
		return d.Class == Unknown || d.Forecast.Next.Outcome == Unsure ||
			d.Forecast.Resumed != nil && d.Forecast.Resumed.Outcome == Unsure
	})
}

// Skipped are things that were not looked at, counted and named.
type Skipped struct {
	Kind  string   `json:"kind"` // "HelmRelease"
	Names []string `json:"names"`
	Why   string   `json:"why"`
}

// Section is the report of one Kustomization.
type Section struct {
	Kustomization string
	Suspended     bool
	Head          string
	Applied       string
	Objects       []Object
	Events        []Event
}

// Report is the answer to "what drifts".
type Report struct {
	AsOf     time.Time
	Cluster  string
	Sections []Section
	Skipped  []Skipped
}

// ExitCode is the exit code of the whole report.
func (r Report) ExitCode() int { return ExitCode(r.classes()) }

func (r Report) classes() []Class {
	var classes []Class
	for _, s := range r.Sections {
		for _, o := range s.Objects {
			classes = append(classes, o.Classes()...)
		}
	}
	return classes
}

// Counts are the numbers of objects by class.
func (r Report) Counts() map[Class]int {
	counts := map[Class]int{}
	for _, s := range r.Sections {
		for _, o := range s.Objects {
			counts[o.Class]++
		}
	}
	return counts
}
