package dispatch

import "slices"

// machine follows the entry's machine record: each of its parts moves only in entries that may move it. I3 I8 I9 I10
func (t *timeline) machine() {
	m := t.b.Machine
	if m == nil {
		t.applied(t.rec.Machine)
		return
	}
	before := Machine{ID: t.scope.ID}
	if t.rec.Machine != nil {
		before = *t.rec.Machine
	} else if t.e.Kind != EntryRegistered {
		t.problem(9, m.ID, "the machine appears in an entry of kind %s", t.e.Kind)
	}
	t.identity(before, *m)
	t.assignment(before, *m)
	if (before.Frozen != m.Frozen || before.FreezeReason != m.FreezeReason || before.FrozenBy != m.FrozenBy) &&
		t.e.Kind != EntryFrozen && t.e.Kind != EntryUnfrozen { // I10
		t.problem(10, m.ID, "its freeze changes in an entry of kind %s", t.e.Kind)
	}
	if (before.Recovery != m.Recovery || before.ReleasedEpoch != m.ReleasedEpoch) && !t.kind(EntryRecovery, EntryReleased) { // I8
		t.problem(8, m.ID, "its place in a recovery changes in an entry of kind %s", t.e.Kind)
	}
	t.baseline(before, *m)
	t.applied(m)
	t.rec.Machine = m
}

func (t *timeline) kind(kinds ...string) bool { return slices.Contains(kinds, t.e.Kind) }

// identity: a machine stays the machine that was registered.
func (t *timeline) identity(before, after Machine) {
	registered := t.rec.Machine != nil
	if after.ID != t.scope.ID || registered && (after.ClusterID != before.ClusterID || after.NodeID != before.NodeID) {
		t.problem(9, after.ID, "another machine stands in its timeline")
	}
}

// assignment: it moves by an entry of its own, its revision with it, and never while the scope is held. I9
func (t *timeline) assignment(before, after Machine) {
	moved := !before.Assignment.Equal(after.Assignment)
	switch {
	case !moved && before.AssignmentRevision == after.AssignmentRevision:
		return
	case !t.kind(EntryRegistered, EntryAssigned):
		t.problem(9, after.ID, "its assignment changes in an entry of kind %s", t.e.Kind)
	case after.AssignmentRevision != t.e.Revision:
		t.problem(9, after.ID, "its assignment changes and claims revision %d", after.AssignmentRevision)
	}
	for id := range t.open {
		t.problem(9, after.ID, "its assignment changes while operation %s is %s", id, t.rec.Operations[id].State)
	}
}

// baseline: Applied, its source and its revision move together, as an operation completes, and to its plan's artifact. I3
func (t *timeline) baseline(before, after Machine) {
	if before.Applied == after.Applied && before.AppliedSource == after.AppliedSource && before.BaselineRevision == after.BaselineRevision {
		return
	}
	op := t.b.Operation
	switch {
	case op == nil || op.State != Completed || op.EndedRev != t.e.Revision:
		t.problem(3, after.ID, "what counts as applied changes, and no operation completes in the entry")
	case after.Applied != t.rec.Plans[op.Plan].Artifact:
		t.problem(3, after.ID, "operation %s completes plan %s of %s, applied becomes %s", op.ID, op.Plan,
			ShortDigest(t.rec.Plans[op.Plan].Artifact), ShortDigest(after.Applied))
	case after.AppliedSource != op.ID || after.BaselineRevision != t.e.Revision:
		t.problem(3, after.ID, "operation %s completes, applied claims %s and revision %d", op.ID, after.AppliedSource, after.BaselineRevision)
	}
}

// applied: an operation that completes sets Applied in the same entry. I3
func (t *timeline) applied(after *Machine) {
	op := t.b.Operation
	if op == nil || op.State != Completed || op.EndedRev != t.e.Revision {
		return
	}
	if after == nil || after.BaselineRevision != t.e.Revision {
		t.problem(3, op.ID, "it completes, and what counts as applied stays")
	}
}
