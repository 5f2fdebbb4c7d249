package dispatch

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/clewops/clew/internal/ledger"
)

// timeline follows one machine. rec holds the records as they stood before the entry being read; each check compares a
// record with the entry's, and then takes that over.
type timeline struct {
	w      *world
	scope  ledger.Scope
	report func(Problem)
	rec    Records

	bodies bodyReader
	e      ledger.Entry
	b      Body

	openDrift string // id of the open drift record
	ops       map[string]*opTrack
	byPlan    map[string][]string // approvals by plan
	reads     []recordedRead      // what something open may still rest on, in the order of recording
	open      map[string]bool     // operations that hold the scope
	waiting   map[string]bool     // plans that may still be committed

	// What earlier commitments and attempts read of other scopes: later ones cannot have read less.
	identities   map[string]int64
	installation int64
}

// opTrack is what an operation's record does not say: when things were last recorded about it.
type opTrack struct {
	attempts   int
	answered   int64 // revision of the newest response entry
	takenOver  int64
	classified int64
	sendBoot   string // boot id in the evidence of its latest attempt
}

// recordedRead is an observation and the time of the entry that records it.
type recordedRead struct {
	Observation
	at time.Time
}

func newTimeline(w *world, s ledger.Scope, report func(Problem)) *timeline {
	return &timeline{
		w: w, scope: s, report: report, rec: newRecords(), ops: map[string]*opTrack{}, byPlan: map[string][]string{},
		open: map[string]bool{}, waiting: map[string]bool{}, identities: map[string]int64{},
	}
}

// problem reports what is wrong with the current entry.
func (t *timeline) problem(invariant int, record, format string, args ...any) {
	t.report(Problem{Scope: t.scope, Revision: t.e.Revision, Record: record, Invariant: invariant, Text: fmt.Sprintf(format, args...)})
}

// add reads the next entry. The order matters: a commitment and an attempt are judged by what stood before them; of the
// entry's records, facts come before the operation that rests on them, and the machine, which follows its operation,
// comes last.
func (t *timeline) add(e ledger.Entry) {
	t.e = e
	var observation []byte
	var err error
	if t.b, observation, err = t.bodies.body(e.Body); err != nil {
		t.problem(0, "", "the body cannot be read: %v", err)
		return
	}
	t.decider()
	t.read(observation)
	switch e.Kind {
	case EntryCommitted, EntryAdopted:
		t.commitment()
	case EntryAttempt:
		t.attemptRecorded()
	}
	t.plan()
	t.approval()
	t.facts()
	t.drift()
	t.operation()
	t.machine()
	t.prune()
}

// read checks and keeps what the entry says of a read: a reading's basis is the entry that began it, and its age runs
// from that entry.
func (t *timeline) read(raw []byte) {
	switch t.e.Kind {
	case EntryReadStarted:
		if t.b.Observation == nil || t.b.Observation.Basis != t.e.Revision {
			t.problem(14, "", "the entry begins no read, or claims another basis")
			return
		}
		if !t.b.Observation.StartedAt.Equal(t.e.At) {
			t.problem(14, "", "the read begins %s, its entry is of %s", stamp(t.b.Observation.StartedAt), stamp(t.e.At))
		}
		t.rec.Started[t.e.Revision] = *t.b.Observation
		return
	case EntryReadFailed:
		if o := t.b.Observation; o != nil {
			delete(t.rec.Started, o.Basis)
			t.rec.Failed[o.Basis] = FailedRead{Observation: *o, Reason: t.b.Text}
		}
		return
	case EntryRead:
	default:
		return
	}
	o := t.b.Observation
	if o == nil {
		t.problem(14, "", "the entry records no observation")
		return
	}
	problem := func(format string, args ...any) {
		t.problem(14, fmt.Sprintf("observation %d", o.Basis), format, args...)
	}
	started, ok := t.rec.Started[o.Basis]
	switch {
	case !ok:
		problem("no read began at revision %d, or it was recorded before", o.Basis)
	case !started.StartedAt.Equal(o.StartedAt) || started.Instance != o.Instance || started.Plan != o.Plan || started.Operation != o.Operation:
		problem("the reading is not the one that began: dated %s, begun %s", stamp(o.StartedAt), stamp(started.StartedAt))
	}
	if o.Revision != t.e.Revision {
		problem("the observation claims revision %d", o.Revision)
	}
	if t.e.Actor.Instance != "" && t.e.Actor.Instance != o.Instance {
		problem("instance %s records a reading of instance %s", t.e.Actor.Instance, o.Instance)
	}
	delete(t.rec.Started, o.Basis)
	t.rec.Observations[o.Basis] = sha256.Sum256(raw)
	t.reads = append(t.reads, recordedRead{Observation: *o, at: t.e.At})
}

// prune forgets readings that nothing can rest on any more: no operation holds the scope, and no plan waits for its
// commitment.
func (t *timeline) prune() {
	if len(t.reads) == 0 || len(t.open) > 0 {
		return
	}
	for id := range t.waiting {
		if t.e.At.Before(t.rec.Plans[id].ExpiresAt) {
			return
		}
		delete(t.waiting, id)
	}
	t.reads = t.reads[:0]
}

// end runs the checks that a whole timeline allows: an operation holds its rollout's slot while it is open, and no
// longer.
func (t *timeline) end() {
	for _, id := range slices.Sorted(maps.Keys(t.rec.Operations)) {
		op := t.rec.Operations[id]
		if op.Rollout == "" {
			continue
		}
		taken, freed := t.w.slotOf(op.Rollout, op.ID)
		switch {
		case taken == 0:
			t.report(Problem{
				Scope: t.scope, Revision: op.Revision, Record: op.ID, Invariant: 15,
				Text: fmt.Sprintf("rollout %s never counted this operation", op.Rollout),
			})
		case freed != 0 && op.State.Holding():
			t.report(Problem{
				Scope: t.scope, Revision: op.Revision, Record: op.ID, Invariant: 5,
				Text: fmt.Sprintf("its slot in rollout %s was freed at revision %d, and it is %s", op.Rollout, freed, op.State),
			})
		case freed == 0 && op.State.Terminal():
			t.report(Problem{
				Scope: t.scope, Revision: op.EndedRev, Record: op.ID, Invariant: 5,
				Text: fmt.Sprintf("it ended, and still holds its slot in rollout %s", op.Rollout),
			})
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
