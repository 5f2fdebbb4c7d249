package dispatch

import (
	"encoding/json"
	"reflect"
	"time"
)

// facts follows the entry's attempt: recorded once, answered once, accounted for once. I2 I6
func (t *timeline) facts() {
	a := t.b.Attempt
	if t.e.Kind == EntryResponse && a == nil && !t.b.Orphan {
		t.problem(2, "", "the entry is a response to no attempt")
	}
	if a == nil || t.b.Orphan {
		return
	}
	key := AttemptKey{a.Operation, a.Number}
	before, known := t.rec.Attempts[key]
	track := t.track(a.Operation)
	switch {
	case !known && t.e.Kind != EntryAttempt: // I2
		t.problem(2, key.String(), "no such attempt was recorded before this entry of kind %s", t.e.Kind)
	case !known && (a.Response != nil || a.Accounting != nil):
		t.problem(6, key.String(), "it is answered or accounted for as it is recorded")
	case !known:
		track.attempts++
		if o, ok := t.findRead(a.Evidence); ok {
			track.sendBoot = o.Reading.BootID
		}
		t.rec.AttemptTokens[key] = t.b.Token
	default:
		t.response(key, before, *a, track)
		t.accounting(key, before, *a)
		rest := *a
		rest.Response, rest.Accounting = before.Response, before.Accounting
		if !reflect.DeepEqual(rest, before) {
			t.problem(2, key.String(), "what was recorded of the attempt changed")
		}
	}
	t.rec.Attempts[key] = *a
}

// response: a fact is recorded once, by a response entry of its sender. I6
func (t *timeline) response(key AttemptKey, before, after Attempt, track *opTrack) {
	if reflect.DeepEqual(before.Response, after.Response) {
		return
	}
	r := after.Response
	switch {
	case r == nil:
		t.problem(6, key.String(), "its response is gone")
		return
	case before.Response != nil:
		t.problem(6, key.String(), "its response was %s and is %s now", before.Response.Class, r.Class)
	case t.e.Kind != EntryResponse:
		t.problem(6, key.String(), "a response appears in an entry of kind %s", t.e.Kind)
	case r.Revision != t.e.Revision:
		t.problem(6, key.String(), "its response claims revision %d", r.Revision)
	case t.e.Actor.Instance != after.By.Instance:
		t.problem(6, key.String(), "instance %q records the response to what instance %s sent", t.e.Actor.Instance, after.By.Instance)
	}
	track.answered = t.e.Revision
}

// accounting: a lost attempt is accounted for once, on grounds that the timeline bears out. I6 I11
func (t *timeline) accounting(key AttemptKey, before, after Attempt) {
	if reflect.DeepEqual(before.Accounting, after.Accounting) {
		return
	}
	a := after.Accounting
	switch {
	case a == nil:
		t.problem(6, key.String(), "its accounting is gone")
		return
	case before.Accounting != nil:
		t.problem(6, key.String(), "it was accounted for as %s and is as %s now", before.Accounting.Kind, a.Kind)
	case a.Revision != t.e.Revision:
		t.problem(6, key.String(), "its accounting claims revision %d", a.Revision)
	}
	switch a.Kind {
	case NeverLeft:
		if t.e.Actor.Instance != after.By.Instance {
			t.problem(6, key.String(), "only its sender can know that it never left, not instance %q", t.e.Actor.Instance)
		}
	case CannotArrive:
		t.cannotArrive(key, after)
	case ByDecision:
		if t.person(key.String(), judgeRole) && a.By != t.e.Actor.Identity {
			t.problem(11, key.String(), "%q decides in the name of %q", t.e.Actor.Identity, a.By)
		}
		t.framed(key, after)
	case PreRestoreEnd:
		if t.person(key.String(), judgeRole) && !t.rec.Operations[key.Operation].PreRestore {
			t.problem(6, key.String(), "no restore rewound its operation")
		}
	default:
		t.problem(6, key.String(), "it is accounted for as %q, which is no ground", a.Kind)
	}
}

// cannotArrive: evidence on connections is gathered where the attempt was sent from, and two late reads on its route
// agree within one boot. I6
func (t *timeline) cannotArrive(key AttemptKey, a Attempt) {
	host, ok := t.w.hostOf(t.e.Actor.Instance)
	if !ok || host.ID != a.Host.ID || host.BootID != a.Host.BootID || host.NetNS != a.Host.NetNS {
		t.problem(6, key.String(), "instance %q does not run where it was sent from", t.e.Actor.Instance)
	}
	if len(a.Accounting.Evidence) == 0 {
		t.problem(6, key.String(), "nothing says what the connections showed")
	}
	second, ok := t.findRead(a.Accounting.Basis)
	if !ok || second.Basis <= a.Revision || second.Route != a.Route {
		t.problem(6, key.String(), "it rests on reading %d, which is not one on its route after it", a.Accounting.Basis)
		return
	}
	for _, first := range t.reads {
		x, y := first.Reading, second.Reading
		apart := second.StartedAt.Sub(first.StartedAt)
		if first.Basis > a.Revision && first.Basis < second.Basis && first.Route == a.Route && apart >= LateReadsApart &&
			x.BootID == y.BootID && x.NodeID == y.NodeID && x.Active.Digest == y.Active.Digest && x.Persistent.Digest == y.Persistent.Digest {
			return
		}
	}
	t.problem(6, key.String(), "no reading on its route, %s before reading %d, shows the same", LateReadsApart, second.Basis)
}

// framed: the reading that frames a decision is the newest one, and began after the settle time. I6 I11
func (t *timeline) framed(key AttemptKey, a Attempt) {
	frame, ok := t.findRead(a.Accounting.Basis)
	switch {
	case !ok || frame.Basis <= a.Revision:
		t.problem(11, key.String(), "the decision rests on reading %d, which is not recorded after the attempt", a.Accounting.Basis)
		return
	case frame.Basis < t.newest():
		t.problem(6, key.String(), "the decision rests on reading %d, and reading %d is newer", frame.Basis, t.newest())
	}
	deadline := a.StartedAt.Add(t.rec.Plans[t.rec.Operations[key.Operation].Plan].TransportDeadline)
	end, ok := t.settled(a, deadline)
	switch {
	case !ok:
		t.problem(6, key.String(), "no reading on its route shows when the settle time began")
	case frame.StartedAt.Before(end):
		t.problem(6, key.String(), "the decision's reading began %s, before the settle time ended at %s", stamp(frame.StartedAt), stamp(end))
	}
}

// settled is the earliest end of the settle time that any deployment may have: the floor is not in the store.
func (t *timeline) settled(a Attempt, deadline time.Time) (time.Time, bool) {
	if routeGone(a) {
		return deadline.Add(MinimumSettle), true
	}
	for _, o := range t.reads { // a read succeeds as it is recorded
		if o.Route == a.Route && o.Basis > a.Revision && o.StartedAt.After(deadline) {
			return o.at.Add(max(MinimumSettle, min(o.at.Sub(a.StartedAt), MaximumSettle))), true
		}
	}
	return time.Time{}, false
}

// routeGone says whether the decision attests that the attempt's endpoint restarted or is gone.
func routeGone(a Attempt) bool {
	var e struct {
		RouteGone string `json:"route_gone"`
	}
	return a.Route.Endpoint() != "" && json.Unmarshal(a.Accounting.Evidence, &e) == nil && e.RouteGone != ""
}

// drift follows the entry's drift record: at most one is open, and what closed stays closed.
func (t *timeline) drift() {
	d := t.b.Drift
	if d == nil {
		return
	}
	before, known := t.rec.Drifts[d.ID]
	switch {
	case !known && t.openDrift != "" && d.ClosedRevision == 0:
		t.problem(10, d.ID, "it opens while drift record %s is open", t.openDrift)
	case !known && d.OpenedRevision != t.e.Revision, known && d.OpenedRevision != before.OpenedRevision:
		t.problem(10, d.ID, "it claims to be opened at revision %d", d.OpenedRevision)
	case before.ClosedRevision != 0 && *d != before:
		t.problem(10, d.ID, "it was closed at revision %d and changed since", before.ClosedRevision)
	case d.ClosedRevision != 0 && before.ClosedRevision == 0 && d.ClosedRevision != t.e.Revision:
		t.problem(10, d.ID, "it claims to be closed at revision %d", d.ClosedRevision)
	}
	t.rec.Drifts[d.ID] = *d
	switch {
	case d.ClosedRevision == 0:
		t.openDrift = d.ID
	case t.openDrift == d.ID:
		t.openDrift = ""
	}
}

// decider: what only people decide names a known person, in the role that the contract demands. I11
func (t *timeline) decider() {
	switch t.e.Kind {
	case EntryFrozen, EntryPlanned, EntryPlanCanceled, EntryRegistered, EntryAssigned:
		t.person("", "")
	case EntryUnfrozen, EntryApproved, EntryUnapproved:
		t.person("", approveRole)
	case EntryRecovery, EntryReleased:
		t.person("", judgeRole)
	}
}

// person says whether the entry's actor is a known identity, in the role if one is demanded.
func (t *timeline) person(record, role string) bool {
	why := t.w.notPerson(t.e.Actor, role)
	if why != "" {
		t.problem(11, record, "%s", why)
	}
	return why == ""
}

// track is the operation's track, made on first use.
func (t *timeline) track(op string) *opTrack {
	if t.ops[op] == nil {
		t.ops[op] = &opTrack{}
	}
	return t.ops[op]
}
