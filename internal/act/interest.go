package act

import (
	"slices"
	"time"
)

// InterestSpan is how long a command marks what it names, unless said otherwise.
const InterestSpan = 2 * time.Hour

// Interest is something that a session's own work touches. Interests are kept apart from the ledger and expire.
type Interest struct {
	Target  Target    `json:"target"`
	Place   Place     `json:"place"` // where: cluster, namespace, nodes
	Until   time.Time `json:"until"`
	Because string    `json:"because"` // tool and operation, never arguments
}

// Interests are what a recognised command marks. A command that touches no cluster marks nothing. What names no target
// marks the cluster's API alone, with an empty kind.
func Interests(r Recognised, at Place, now time.Time, span time.Duration) []Interest {
	if r.Local || !r.Known {
		return nil
	}
	if span <= 0 {
		span = InterestSpan
	}
	because := r.Tool + " " + r.Operation
	targets := r.WithPlace(at)
	list := make([]Interest, 0, max(1, len(targets)))
	for _, t := range targets {
		list = append(list, Interest{Target: t, Place: at, Until: now.Add(span), Because: because})
	}
	if len(list) == 0 {
		list = append(list, Interest{Place: at, Until: now.Add(span), Because: because})
	}
	return list
}

// MergeInterests adds newer interests to those kept, drops what expired, and keeps the later end of what is the same.
func MergeInterests(kept, newer []Interest, now time.Time) []Interest {
	var list []Interest
	for _, in := range append(slices.Clone(kept), newer...) {
		if !in.Until.After(now) {
			continue
		}
		i := slices.IndexFunc(list, func(have Interest) bool {
			return have.Target == in.Target && have.Place.Same(in.Place)
		})
		if i < 0 {
			list = append(list, in)
		} else if in.Until.After(list[i].Until) {
			list[i] = in
		}
	}
	return list
}
