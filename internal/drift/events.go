package drift

import (
	"slices"

	"github.com/clewops/clew/internal/drift/tree"
)

// EventKind is what happened to a record.
type EventKind string

// Kinds of events.
const (
	Merged EventKind = "merged" // git now says what was kept: the record closes
	Lost   EventKind = "lost"   // git and the cluster agree on something else: what was kept is gone
)

// Event is what a scan found out about a record of a kept difference.
type Event struct {
	Kind   EventKind `json:"kind"`
	Record string    `json:"record"`
	Object Identity  `json:"object"`
	Field  string    `json:"field"`
	Who    string    `json:"who"`
	Reason string    `json:"reason"`
}

// Events compares the records with what was judged. A record about an object of which a side is unread yields none.
func Events(in Input, objects []Object) []Event {
	var out []Event
	for _, k := range in.Kept {
		i := slices.IndexFunc(in.Subjects, func(s Subject) bool { return s.Identity == k.Object })
		j := slices.IndexFunc(objects, func(o Object) bool { return o.Identity == k.Object })
		if i < 0 || j < 0 || objects[j].Class == Unknown && len(objects[j].Differences) == 0 {
			continue
		}
		if slices.ContainsFunc(objects[j].Differences, func(d Difference) bool { return d.Field == k.Field && d.Visible() }) {
			continue
		}
		if kind := in.settled(in.Subjects[i], k); kind != "" {
			out = append(out, Event{Kind: kind, Record: k.ID, Object: k.Object, Field: k.Field, Who: k.Who, Reason: k.Reason})
		}
	}
	return out
}

// settled says how a record ended whose field no longer differs.
func (in Input) settled(s Subject, k Kept) EventKind {
	digest := absentDigest
	if k.Field == "" {
		if s.Head.State == There {
			digest = "present"
		}
	} else {
		path, err := tree.ParsePath(k.Field)
		if err != nil || s.Head.State != There {
			return ""
		}
		if v, ok := s.root().Get(prepare(s.Identity, s.Head.tree()), path); ok {
			if s.secret() && secretPlace(path) {
				digest = redact(v, in.Key).Digest()
			} else {
				digest = PlainOf(v).Digest()
			}
		}
	}
	switch digest {
	case "":
		return ""
	case k.Digest:
		return Merged
	}
	return Lost
}
