package output

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/tree"
)

// Columns are the headings of Rows.
var Columns = []string{"CLASS", "OBJECT", "FIELD", "GIT", "LIVE", "WRITTEN BY", "NEXT"}

// Rows are the differences for a table, those that ask most first. when writes a time for people. With all, what is in
// sync is in it, too. Cells are not made safe for a terminal: many come from a cluster.
func Rows(r drift.Report, all bool, when func(time.Time) string) [][]string {
	type row struct {
		weight int
		cells  []string
	}
	var rows []row
	add := func(c drift.Class, cells ...string) {
		rows = append(rows, row{slices.Index(order, c), append([]string{string(c)}, cells...)})
	}
	for _, s := range r.Sections {
		for _, o := range s.Objects {
			shown := 0
			for _, d := range o.Differences {
				if !all && !d.Visible() {
					continue
				}
				shown++
				add(d.Class, o.Identity.String(), d.Field, cell(d.Head), cell(d.Live), writtenBy(d, when), next(d.Forecast))
			}
			if shown == 0 && (all || o.Class != drift.InSync) {
				add(o.Class, o.Identity.String(), "", "", "", o.Reason, "")
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.weight - b.weight })
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = r.cells
	}
	return out
}

// order is the order of rows.
var order = []drift.Class{
	drift.Unclaimed, drift.NotLive, drift.Extra, drift.Orphan, drift.AheadExpired, drift.Stale, drift.Unknown, drift.Ahead,
	drift.Pending, drift.InSync,
}

// cellWidth is how much of a value a cell shows, in characters.
const cellWidth = 40

func cell(v drift.Value) string {
	text := strings.Join(strings.Fields(v.String()), " ")
	if runes := []rune(text); len(runes) > cellWidth {
		return string(runes[:cellWidth-1]) + "…"
	}
	return text
}

// writtenBy names the tools, the time, and who covers it.
func writtenBy(d drift.Difference, when func(time.Time) string) string {
	var parts []string
	for _, o := range d.Owners {
		text := o.Tool().Name
		if !o.Time.IsZero() {
			text += " " + when(o.Time)
		}
		parts = append(parts, text)
	}
	if d.Cover != nil {
		parts = append(parts, fmt.Sprintf("%s: %s", d.Cover.Who, d.Cover.Reason))
	}
	if len(parts) == 0 {
		return d.Reason
	}
	return strings.Join(parts, ", ")
}

// next is a forecast in words.
func next(f drift.Forecast) string {
	text := effect(f.Next)
	if f.Resumed != nil {
		text += "; on resume " + effect(*f.Resumed)
	}
	return text
}

func effect(e drift.Effect) string {
	text := string(e.Outcome)
	if e.RollsPods {
		text += ", rolls pods"
	}
	if e.NotReproduced {
		text += ", not reproduced"
	}
	return text
}

// Summary is what the table leaves out, a line each: what differs inside documents, records that ended, what was not
// looked at, and the counts.
func Summary(r drift.Report) []string {
	var out []string
	for _, s := range r.Sections {
		for _, o := range s.Objects {
			for _, d := range o.Differences {
				if d.Document == nil || !d.Visible() {
					continue
				}
				for _, line := range d.Document.Summary {
					out = append(out, fmt.Sprintf("%s %s: %s", o.Identity, d.Field, line))
				}
			}
		}
		for _, e := range s.Events {
			what := "git has it now"
			if e.Kind == drift.Lost {
				what = "git and the cluster agree on another value"
			}
			out = append(out, fmt.Sprintf("%s %s %s %s: %s", e.Record, e.Kind, e.Object, e.Field, what))
		}
	}
	for _, s := range r.Skipped {
		out = append(out, fmt.Sprintf("not looked at: %d %s (%s): %s", len(s.Names), s.Kind, s.Why, strings.Join(s.Names, ", ")))
	}
	var counts []string
	numbers := r.Counts()
	for _, c := range order {
		if numbers[c] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", numbers[c], c))
		}
	}
	if len(counts) > 0 {
		out = append(out, strings.Join(counts, ", "))
	}
	return out
}

// location is the object and the field.
func location(o drift.Object, d drift.Difference) string {
	if d.Field == "" {
		return o.Identity.String()
	}
	return o.Identity.String() + "#" + d.Field
}

// sentence says in one line what a difference is.
func sentence(o drift.Object, d drift.Difference) string {
	text := fmt.Sprintf("%s %s: git has %s, live has %s", d.Class, location(o, d), quoted(d.Head), quoted(d.Live))
	if by := writtenBy(d, func(t time.Time) string { return t.UTC().Format(time.RFC3339) }); by != "" {
		text += " (" + by + ")"
	}
	return text + "; next reconcile: " + next(d.Forecast)
}

func quoted(v drift.Value) string {
	if _, absent := v.(drift.Absent); absent {
		return "nothing"
	}
	return tree.JSON(cell(v))
}
