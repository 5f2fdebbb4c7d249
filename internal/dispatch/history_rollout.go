package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/clewops/clew/internal/ledger"
)

// slots follows one rollout: which operations hold its slots, and the limits in force. I15
type slots struct {
	id    string
	row   RolloutRow
	last  int64
	taken map[string]int64 // by operation: the revision at which it took its slot
	freed map[string]int64

	// The smallest limits that the machines' plans bind; 0 before the first.
	boundLimit, boundFailed int
}

// bind notes the limits of a plan that was read on its machine's timeline.
func (s *slots) bind(r Rollout) {
	if s.boundLimit == 0 {
		s.boundLimit, s.boundFailed = r.Limit, r.MaxFailed
	}
	s.boundLimit, s.boundFailed = min(s.boundLimit, r.Limit), min(s.boundFailed, r.MaxFailed)
}

// add reads the rollout's next entry.
func (s *slots) add(e ledger.Entry, report func(Problem)) {
	s.last = e.Revision
	problem := func(invariant int, format string, args ...any) {
		report(Problem{Scope: e.Scope, Revision: e.Revision, Invariant: invariant, Text: fmt.Sprintf(format, args...)})
	}
	var b Body
	if err := json.Unmarshal(e.Body, &b); err != nil {
		problem(0, "the body cannot be read: %v", err)
		return
	}
	if b.Rollout == nil {
		problem(15, "the entry does not say how the rollout stands")
		return
	}
	before, after := s.row, *b.Rollout
	s.row = after
	s.limits(e, before, after, problem)
	added, removed := difference(after.Open, before.Open), difference(before.Open, after.Open)
	switch e.Kind {
	case EntryRolloutTaken:
		s.take(e, before, after, added, removed, problem)
	case EntryRolloutFreed:
		if len(added) != 0 || len(removed) != 1 {
			problem(15, "one operation frees its slot, and the open operations change by +%v -%v", added, removed)
		}
		for _, op := range removed {
			s.freed[op] = e.Revision
		}
	default:
		if len(added)+len(removed) != 0 {
			problem(15, "the open operations change by +%v -%v in an entry of kind %s", added, removed, e.Kind)
		}
	}
}

// take: a commitment takes one slot, within the limits then in force, its own operation included.
func (s *slots) take(e ledger.Entry, before, after RolloutRow, added, removed []string, problem func(int, string, ...any)) {
	if len(added) != 1 || len(removed) != 0 {
		problem(15, "one operation takes a slot, and the open operations change by +%v -%v", added, removed)
	}
	for _, op := range added {
		if s.taken[op] != 0 {
			problem(15, "operation %s took a slot before", op)
		}
		s.taken[op] = e.Revision
	}
	if len(after.Open) > after.Limit { // I15
		problem(15, "%d operations are open, the limit in force is %d", len(after.Open), after.Limit)
	}
	if before.Failed > before.MaxFailed {
		problem(15, "%d operations failed or were rejected since it was last opened, %d may", before.Failed, before.MaxFailed)
	}
}

// limits: they only shrink, as plans bind the rollout; failures only grow, until a person opens it again. I11 I15
func (s *slots) limits(e ledger.Entry, before, after RolloutRow, problem func(int, string, ...any)) {
	first := before.ID == ""
	if after.ID != s.id {
		problem(15, "rollout %q stands in its timeline", after.ID)
	}
	if !first && e.Kind != EntryRolloutBound && (after.Limit != before.Limit || after.MaxFailed != before.MaxFailed) ||
		!first && (after.Limit > before.Limit || after.MaxFailed > before.MaxFailed) {
		problem(15, "the limits change from %d and %d to %d and %d in an entry of kind %s",
			before.Limit, before.MaxFailed, after.Limit, after.MaxFailed, e.Kind)
	}
	failed := after.Failed - before.Failed
	switch {
	case e.Kind == EntryRolloutOpened:
		if why := misplaced(e.Actor, approveRole); why != "" { // I11
			problem(11, "%s", why)
		}
		if after.Failed != 0 || after.OpenedRevision != e.Revision {
			problem(15, "the rollout opens again at revision %d with %d failures", after.OpenedRevision, after.Failed)
		}
	case after.OpenedRevision != before.OpenedRevision:
		problem(15, "the rollout claims to be opened at revision %d", after.OpenedRevision)
	case failed != 0 && (e.Kind != EntryRolloutFreed || failed != 1):
		problem(15, "failures change from %d to %d in an entry of kind %s", before.Failed, after.Failed, e.Kind)
	}
}

// difference is what stands in a and not in b.
func difference(a, b []string) []string {
	var out []string
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}
