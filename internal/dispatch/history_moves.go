package dispatch

import "slices"

// operation follows the entry's operation: which state follows which, on what event, by whom and on what grounds.
func (t *timeline) operation() {
	op := t.b.Operation
	if op == nil {
		return
	}
	before, known := t.rec.Operations[op.ID]
	if !known && t.e.Kind != EntryCommitted && t.e.Kind != EntryAdopted {
		t.problem(2, op.ID, "no commitment of it comes before this entry of kind %s", t.e.Kind)
	}
	if t.b.From != "" && t.b.From != before.State {
		t.problem(0, op.ID, "the entry moves it from %s, it was %s", t.b.From, orAbsent(before.State))
	}
	event := eventOf(t.e.Kind, t.b.Event)
	if before.State != op.State || event == Takeover {
		if slices.Contains(historyTable[[2]State{before.State, op.State}], event) {
			t.grounds(event, before, *op)
		} else {
			t.problem(brokenBy(before.State, op.State), op.ID, "%q moves it from %s to %s, which no rule allows",
				event, orAbsent(before.State), op.State)
		}
	}
	if known {
		t.unchanged(before, *op, event)
	} else {
		t.rec.OperationTokens[op.ID] = t.b.Token
	}
	t.classification(before, *op)
	t.ended(*op)
	t.rec.Operations[op.ID] = *op
	delete(t.open, op.ID)
	if op.State.Holding() {
		t.open[op.ID] = true
	}
}

// unchanged: only a takeover changes the owner, and to the next generation; what an operation is does not change. I2 I8
func (t *timeline) unchanged(before, after Operation, event EventKind) {
	id := after.ID
	if after.Plan != before.Plan { // I12
		t.problem(12, id, "it dispatched plan %s and dispatches %s now", before.Plan, after.Plan)
	}
	if after.Machine != before.Machine || after.Kind != before.Kind || after.Revision != before.Revision || after.Rollout != before.Rollout {
		t.problem(4, id, "what it was committed as changed")
	}
	if before.PreRestore && !after.PreRestore {
		t.problem(8, id, "that a restore rewound it was forgotten")
	}
	switch {
	case event == Takeover:
		t.takenOver(before, after)
	case after.Owner != before.Owner:
		t.problem(2, id, "its owner changed from instance %s at generation %d to %s at %d without a takeover",
			before.Owner.Instance, before.Owner.Generation, after.Owner.Instance, after.Owner.Generation)
	case before.State != after.State && t.e.Actor.Instance != "" && t.e.Actor.Instance != before.Owner.Instance && event != RecordAttempt:
		t.problem(2, id, "instance %s moves it, the owner is %s", t.e.Actor.Instance, before.Owner.Instance)
	}
}

func (t *timeline) takenOver(before, after Operation) {
	if after.Owner.Generation != before.Owner.Generation+1 {
		t.problem(2, after.ID, "a takeover leads from generation %d to %d", before.Owner.Generation, after.Owner.Generation)
	}
	if !t.w.knowsEpoch(after.Owner.Epoch) {
		t.problem(8, after.ID, "no recovery epoch %q was ever in force", after.Owner.Epoch)
	}
	t.track(after.ID).takenOver = t.e.Revision
}

// classification follows the safe-to-retry classification: the owner's, on an observation at the bound digest that began
// after everything was accounted for. I6 I17
func (t *timeline) classification(before, after Operation) {
	if t.e.Kind == EntryClassified {
		t.track(after.ID).classified = t.e.Revision
	}
	c := after.Retry
	if c == nil {
		if t.e.Kind == EntryClassified {
			t.problem(17, after.ID, "the entry carries no classification")
		}
		return
	}
	if before.Retry != nil && *before.Retry == *c {
		return
	}
	p := t.rec.Plans[after.Plan]
	last, all := t.accounted(after.ID)
	o, ok := t.findRead(c.Basis)
	switch {
	case t.e.Kind != EntryClassified || c.Revision != t.e.Revision:
		t.problem(17, after.ID, "a classification of revision %d appears in an entry of kind %s", c.Revision, t.e.Kind)
	case after.State != Unresolved || c.By != before.Owner || t.e.Actor.Instance != before.Owner.Instance:
		t.problem(17, after.ID, "instance %s classifies it, the owner is %s", c.By.Instance, before.Owner.Instance)
	case before.PreRestore:
		t.problem(8, after.ID, "a restored operation never retries")
	case !all:
		t.problem(6, after.ID, "it is classified as safe to retry with an attempt unaccounted")
	case t.any(after.ID, Accepted) || t.any(after.ID, RejectedDef):
		t.problem(6, after.ID, "it is classified as safe to retry, and the node answered an attempt")
	case !ok || o.Basis <= last:
		t.problem(6, after.ID, "the classification rests on reading %d, which is not recorded after the accounting", c.Basis)
	case t.rec.Machine != nil && unfit(p, *t.rec.Machine, o.Reading) != "":
		t.problem(6, after.ID, "the classification rests on reading %d: %s", c.Basis, unfit(p, *t.rec.Machine, o.Reading))
	}
}

// ended: terminal and ended are one, and no attempt is left unaccounted. I5
func (t *timeline) ended(op Operation) {
	switch {
	case op.State.Terminal() != (op.EndedRev != 0):
		t.problem(5, op.ID, "it is %s and ended at revision %d", op.State, op.EndedRev)
	case op.State.Terminal() && !t.rec.Operations[op.ID].State.Terminal() && op.EndedRev != t.e.Revision:
		t.problem(5, op.ID, "it ends and claims revision %d for that", op.EndedRev)
	}
	if !op.State.Terminal() || t.rec.Operations[op.ID].State == op.State {
		return
	}
	if _, all := t.accounted(op.ID); !all {
		t.problem(5, op.ID, "it is %s with an attempt unaccounted", op.State)
	}
}

// grounds judges an allowed transition by what was recorded before it or with it. I3 I6
func (t *timeline) grounds(event EventKind, before, after Operation) {
	p := t.rec.Plans[after.Plan]
	id, n := after.ID, t.track(after.ID).attempts
	switch event {
	case AttemptRefused:
		if c := t.b.Comparison; c == nil || !slices.Contains([]int{1, 2, 3, 6}, *c) {
			t.problem(6, id, "no refusal by comparison 1, 2, 3 or 6 is named for its attempt")
		}
	case Accept:
		t.acceptance(p, after)
	case Reject:
		if r := t.rec.Attempts[AttemptKey{id, n}].Response; r == nil || r.Class != RejectedDef {
			t.problem(6, id, "no definitive rejection of its current attempt is recorded")
		}
		if after.State == Rejected && !t.allRejected(id) {
			t.problem(6, id, "it is rejected, and not every attempt was")
		}
	case LateReject:
		if n == 0 || !t.allRejected(id) || before.PreRestore {
			t.problem(6, id, "it is rejected, and not every attempt is known to be")
		}
	case Complete:
		last, all := t.accounted(id)
		if all && !t.conclusive(p, t.track(id).sendBoot, last, true) { // I3
			t.problem(3, id, "no reading that began after revision %d shows the postconditions, or a newer one differs", last)
		}
	case Contradict:
		t.contradiction(p, before, n)
	case Overdue:
		if t.e.At.Before(before.VerifyUntil) {
			t.problem(6, id, "its verification deadline is %s", stamp(before.VerifyUntil))
		}
	case Cancel:
		t.cancellation(p, before, n)
	case Commit, AdoptRecord, RecordAttempt, Lose, Takeover:
	}
}

func (t *timeline) acceptance(p Plan, after Operation) {
	r := t.rec.Attempts[AttemptKey{after.ID, t.track(after.ID).attempts}].Response
	switch {
	case r == nil || r.Class != Accepted:
		t.problem(6, after.ID, "no acceptance of its current attempt is recorded")
	case after.VerifyUntil.Before(r.At.Add(p.VerifyDeadline - clockSlack)):
		t.problem(6, after.ID, "it verifies until %s, the plan demands %s from the acceptance on", stamp(after.VerifyUntil), p.VerifyDeadline)
	}
}

func (t *timeline) contradiction(p Plan, before Operation, attempts int) {
	last, all := t.accounted(before.ID)
	boot := t.track(before.ID).sendBoot
	switch {
	case before.State == Verifying && t.e.At.Before(before.VerifyUntil):
		t.problem(6, before.ID, "it fails before its verification deadline at %s", stamp(before.VerifyUntil))
	case before.State == Unresolved && attempts == 0:
		t.problem(6, before.ID, "it fails, and nothing was attempted")
	case before.State == Unresolved && !t.spent(p, before, attempts):
		t.problem(6, before.ID, "it fails, and a retry may still be admitted")
	case all && !t.conclusive(p, boot, last, false):
		t.problem(6, before.ID, "no reading that began after revision %d contradicts a postcondition, or a newer one shows them", last)
	}
}

func (t *timeline) cancellation(p Plan, before Operation, attempts int) {
	switch {
	case attempts > 0:
		t.problem(6, before.ID, "it is cancelled, and an attempt was recorded")
	case before.PreRestore || t.gone(p, before):
	case t.e.Actor.Identity == "":
		t.problem(6, before.ID, "it is cancelled while its approval may admit an attempt, and nobody decided so")
	default:
		t.person(before.ID, judgeRole)
	}
}

// spent: no retry can be admitted any more.
func (t *timeline) spent(p Plan, op Operation, attempts int) bool {
	return op.PreRestore || attempts >= p.MaxAttempts || t.any(op.ID, Accepted) || t.any(op.ID, RejectedDef) || t.gone(p, op)
}

// gone: comparison 1 can never pass again. Identities' revocations have no order with this timeline, so that any counts.
func (t *timeline) gone(p Plan, op Operation) bool {
	s := t.rec.Standings[p.ID]
	if s.CancelledRev != 0 || s.RevokedRev != 0 || s.ExpiredRev != 0 || !t.e.At.Add(clockSlack).Before(p.ExpiresAt) {
		return true
	}
	standing := map[string]bool{}
	for _, id := range t.byPlan[p.ID] {
		a := t.rec.Approvals[id]
		if a.RevokedRevision != 0 || t.w.revokedAt(a.Approver) != 0 || a.Epoch != t.w.lastEpoch() {
			continue
		}
		if a.BreakGlass != "" {
			return false
		}
		standing[a.Approver] = true
	}
	return len(standing) < p.Policy.Approvals
}

// accounted says whether every attempt of the operation is, and the last revision of its commitment, a response or an
// accounting: what shows its end began later.
func (t *timeline) accounted(op string) (last int64, all bool) {
	all, last = true, t.rec.Operations[op].Revision
	for n := 1; n <= t.track(op).attempts; n++ {
		a := t.rec.Attempts[AttemptKey{op, n}]
		conclusive := a.Response != nil && (a.Response.Class == Accepted || a.Response.Class == RejectedDef)
		if !conclusive && a.Accounting == nil {
			all = false
		}
		if a.Response != nil {
			last = max(last, a.Response.Revision)
		}
		if a.Accounting != nil {
			last = max(last, a.Accounting.Revision)
		}
	}
	return last, all
}

// any says whether an attempt of the operation was answered so.
func (t *timeline) any(op string, class ResponseClass) bool {
	for n := 1; n <= t.track(op).attempts; n++ {
		if r := t.rec.Attempts[AttemptKey{op, n}].Response; r != nil && r.Class == class {
			return true
		}
	}
	return false
}

func (t *timeline) allRejected(op string) bool {
	for n := 1; n <= t.track(op).attempts; n++ {
		if r := t.rec.Attempts[AttemptKey{op, n}].Response; r == nil || r.Class != RejectedDef {
			return false
		}
	}
	return true
}
