// Package output gives a drift report the forms in which it leaves the program: a plain structure for JSON and YAML, rows
// for a table, SARIF for code scanning, JUnit for a pipeline. It decides nothing; values of secrets are redacted before
// they come here.
package output

import (
	"time"

	"github.com/clewops/clew/internal/drift"
)

// View is a report for programs.
type View struct {
	AsOf           time.Time           `json:"as_of"`
	Cluster        string              `json:"cluster,omitempty"`
	ExitCode       int                 `json:"exit_code"`
	Counts         map[drift.Class]int `json:"counts"`
	Kustomizations []Kustomization     `json:"kustomizations"`
	NotLookedAt    []drift.Skipped     `json:"not_looked_at,omitempty"`
}

// Kustomization is one section of a report.
type Kustomization struct {
	Name      string        `json:"name"`
	Suspended bool          `json:"suspended,omitempty"`
	Head      string        `json:"head,omitempty"`
	Applied   string        `json:"applied,omitempty"`
	Objects   []Object      `json:"objects"`
	Events    []drift.Event `json:"events,omitempty"`
}

// Object is what was found out about one object.
type Object struct {
	drift.Identity
	Class       drift.Class  `json:"class"`
	Reason      string       `json:"reason,omitempty"`
	Method      drift.Method `json:"method"`
	Opaque      bool         `json:"opaque,omitempty"`
	Others      []string     `json:"also_rendered_by,omitempty"`
	Head        drift.Origin `json:"head"`
	Applied     drift.Origin `json:"applied"`
	Live        drift.Origin `json:"live"`
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is one field; Field is "" for the object itself.
type Difference struct {
	Field    string              `json:"field"`
	Change   drift.Change        `json:"change"`
	Head     drift.Value         `json:"head"`
	Applied  drift.Value         `json:"applied"`
	Live     drift.Value         `json:"live"`
	Digest   string              `json:"digest,omitempty"` // of the live value
	Owners   []Owner             `json:"owners,omitempty"`
	Class    drift.Class         `json:"class"`
	Reason   string              `json:"reason,omitempty"`
	Cover    *drift.Cover        `json:"cover,omitempty"`
	Forecast drift.Forecast      `json:"forecast"`
	Document *drift.DocumentDiff `json:"document,omitempty"`
}

// Owner is a writer of a field.
type Owner struct {
	Manager     string    `json:"manager"`
	Operation   string    `json:"operation"`
	Subresource string    `json:"subresource,omitempty"`
	Time        time.Time `json:"time,omitzero"`
	Tool        string    `json:"tool"`
}

// NewView gives the report for programs; with all, objects and fields that are in sync are in it, too.
func NewView(r drift.Report, all bool) View {
	v := View{
		AsOf: r.AsOf.UTC(), Cluster: r.Cluster, ExitCode: r.ExitCode(), Counts: r.Counts(), NotLookedAt: r.Skipped,
		Kustomizations: []Kustomization{},
	}
	for _, s := range r.Sections {
		k := Kustomization{
			Name: s.Kustomization, Suspended: s.Suspended, Head: s.Head, Applied: s.Applied, Events: s.Events, Objects: []Object{},
		}
		for _, o := range s.Objects {
			if all || o.Class != drift.InSync {
				k.Objects = append(k.Objects, newObject(o, all))
			}
		}
		v.Kustomizations = append(v.Kustomizations, k)
	}
	return v
}

func newObject(o drift.Object, all bool) Object {
	out := Object{
		Identity: o.Identity, Class: o.Class, Reason: o.Reason, Method: o.Method, Opaque: o.Opaque, Others: o.Others,
		Head: o.Head, Applied: o.Applied, Live: o.Live,
	}
	for _, d := range o.Differences {
		if !all && !d.Visible() {
			continue
		}
		diff := Difference{
			Field: d.Field, Change: d.Change, Head: d.Head, Applied: d.Applied, Live: d.Live, Digest: d.Live.Digest(),
			Class: d.Class, Reason: d.Reason, Cover: d.Cover, Forecast: d.Forecast, Document: d.Document,
		}
		for _, w := range d.Owners {
			diff.Owners = append(diff.Owners, Owner{
				Manager: w.Manager, Operation: string(w.Operation), Subresource: w.Subresource, Time: w.Time, Tool: w.Tool().Name,
			})
		}
		out.Differences = append(out.Differences, diff)
	}
	return out
}
