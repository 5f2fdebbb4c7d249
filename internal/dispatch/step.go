package dispatch

import (
	"fmt"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

// EventKind names what may happen to an operation.
type EventKind string

// Events. Each is offered by the store inside the transaction that records it.
const (
	Commit         EventKind = "commit"          // C succeeded
	AdoptRecord    EventKind = "adopt"           // an adoption record
	RecordAttempt  EventKind = "attempt"         // A succeeded
	AttemptRefused EventKind = "attempt-refused" // A refused, by Comparison
	Accept         EventKind = "accept"          // the target's acceptance of the current attempt
	Reject         EventKind = "reject"          // a definitive rejection of the current attempt
	Lose           EventKind = "lose"            // lost response, transport error, deadline, any other class, or not sent
	Takeover       EventKind = "take-over"       // a new owner at the next generation
	Complete       EventKind = "complete"        // a completion observation shows the postconditions
	Contradict     EventKind = "contradict"      // a completion observation contradicts a postcondition
	Overdue        EventKind = "overdue"         // the verification deadline passed without either
	LateReject     EventKind = "late-reject"     // definitive rejections are recorded for the whole set
	Cancel         EventKind = "cancel"          // nothing was ever attempted and nothing will be
)

// Events lists all events in the order of the table.
var Events = []EventKind{
	Commit, AdoptRecord, RecordAttempt, AttemptRefused, Accept, Reject, Lose, Takeover, Complete, Contradict, Overdue,
	LateReject, Cancel,
}

// Table is the transition table: for each state and event, the states that may follow. A pair that is not in it is a
// refusal and changes nothing.
var Table = map[State]map[EventKind][]State{
	Absent:    {Commit: {Committed}, AdoptRecord: {Completed}},
	Committed: {RecordAttempt: {Sending}, AttemptRefused: {Unresolved}, Takeover: {Unresolved}},
	Sending: {
		Accept: {Verifying}, Reject: {Rejected, Unresolved}, Lose: {Unresolved}, Takeover: {Unresolved},
	},
	Verifying: {
		Complete: {Completed}, Contradict: {Failed}, Overdue: {Unresolved}, Takeover: {Unresolved},
	},
	Unresolved: {
		Complete: {Completed}, Contradict: {Failed}, LateReject: {Rejected}, RecordAttempt: {Sending},
		Cancel: {Cancelled}, Takeover: {Unresolved},
	},
}

// Case is one operation with everything that its next step depends on, as read in one transaction.
type Case struct {
	Op         Operation
	Plan       Plan
	Standing   Standing
	Approvals  []Approval
	Attempts   []Attempt
	Machine    Machine
	Epoch      string
	InRecovery bool
	Now        time.Time
	Without    Without
}

// Event is what happened, and who says so.
type Event struct {
	Kind        EventKind
	By          Owner        // the executor; ignored for Commit, AdoptRecord and Takeover
	NewOwner    string       // Takeover: the instance that takes over
	Revision    int64        // under which the event is recorded
	Comparison  int          // AttemptRefused
	Observation *Observation // Complete, Contradict
	Conflict    bool         // Complete: a recorded observation of higher basis differs on a postcondition
	Decision    string       // Cancel: the recovery-admin who says so, "" without one
	Reason      string
}

// Effects is what else the store must write in the same transaction.
type Effects struct {
	Release    bool   // scope and rollout slot become free
	Applied    string // Applied becomes this digest and the baseline revision advances; "" leaves both
	CloseDrift string // the bound drift record closes as this
	OpenDrift  string // a drift record opens at this digest as the scope is released
}

// Step is the one function that moves an operation. It returns the new operation and the effects to persist with it, or
// a refusal that changes nothing.
func Step(c Case, e Event) (Operation, Effects, *refusal.Refusal) {
	op := c.Op
	to, known := Table[op.State][e.Kind]
	if !known {
		return op, Effects{}, stepRefusal(op, "no-transition", fmt.Sprintf("%s cannot follow %s", e.Kind, orAbsent(op.State)))
	}
	if r := ownerOf(c, e); r != nil {
		return op, Effects{}, r
	}
	next, why := admit(c, e, to)
	if why != "" {
		return op, Effects{}, stepRefusal(op, "not-admitted", why)
	}
	op.State = next
	op.Reason = e.Reason
	return carry(c, e, op)
}

// OwnedBy refuses anyone but the current owner in the current epoch.
func OwnedBy(c Case, by Owner) *refusal.Refusal { return ownerOf(c, Event{Kind: Complete, By: by}) }

func orAbsent(s State) string {
	if s == Absent {
		return "no operation"
	}
	return string(s)
}

func stepRefusal(op Operation, code, why string) *refusal.Refusal {
	return refusal.New("operation", code, why, "clew show "+op.ID)
}

// ownerOf refuses an event from anyone but the current owner in the current epoch. I2 I8
func ownerOf(c Case, e Event) *refusal.Refusal {
	if e.Kind == Commit || e.Kind == AdoptRecord || e.Kind == Takeover {
		return nil
	}
	if c.Without.Has(GuardOwnership) || (c.Without.Has(GuardOwner) && e.Kind == RecordAttempt) {
		return nil
	}
	if e.By != c.Op.Owner {
		return &refusal.Refusal{
			Transaction: "operation", Comparison: 7, Code: "not-owner",
			Message: "another executor owns the operation now", Remedy: "clew show " + c.Op.ID,
		}
	}
	if e.By.Epoch != c.Epoch {
		return &refusal.Refusal{
			Transaction: "operation", Comparison: 7, Code: "other-epoch",
			Message: "the operation belongs to another recovery epoch", Remedy: "clew admin recovery status",
		}
	}
	return nil
}

// admit picks the state that follows, or says why the event is not admitted in this case.
func admit(c Case, e Event, to []State) (State, string) {
	switch e.Kind {
	case AttemptRefused:
		switch e.Comparison {
		case 1, 2, 3, 6:
		default:
			return "", fmt.Sprintf("a refusal by comparison %d leaves the operation where it is", e.Comparison)
		}
	case RecordAttempt:
		return to[0], admitAttempt(c)
	case Accept:
		if a := current(c.Attempts); a == nil || a.Response == nil || a.Response.Class != Accepted {
			return "", "no acceptance of the current attempt is recorded"
		}
	case Reject:
		if a := current(c.Attempts); a == nil || a.Response == nil || a.Response.Class != RejectedDef {
			return "", "no definitive rejection of the current attempt is recorded"
		}
		if !allRejected(c.Attempts) {
			return Unresolved, ""
		}
	case LateReject:
		if len(c.Attempts) == 0 || !allRejected(c.Attempts) {
			return "", "not every attempt was definitively rejected"
		}
		if c.Op.PreRestore {
			return "", "after a restore the recorded attempts may not be all"
		}
	case Complete:
		return to[0], admitComplete(c, e)
	case Contradict:
		return to[0], admitContradict(c, e)
	case Overdue:
		if c.Now.Before(c.Op.VerifyUntil) {
			return "", "the verification deadline has not passed"
		}
	case Cancel:
		return to[0], admitCancel(c, e)
	case Commit, AdoptRecord, Lose, Takeover:
	}
	return to[0], ""
}

// admitAttempt repeats comparisons 7 to 9: where a race decides, the table refuses too.
func admitAttempt(c Case) string {
	if c.Op.State == Unresolved && c.Op.Retry == nil && !c.Without.Has(GuardOwnership) && !c.Without.Has(GuardOwnedState) {
		return "the operation is not classified as safe to retry"
	}
	if len(c.Attempts) >= c.Plan.MaxAttempts && !c.Without.Has(GuardAttempts) { // I16
		return "its attempts are used up"
	}
	return ""
}

func admitComplete(c Case, e Event) string {
	why := admitObservation(c, e, Shows)
	if why == "" && e.Conflict {
		return "a later reading differs on a postcondition"
	}
	if why == "" && c.Op.State == Unresolved && c.Op.PreRestore && c.Machine.Recovery == PreRestore {
		return "the machine's sends from before the restore are not accounted for"
	}
	return why
}

func admitContradict(c Case, e Event) string {
	if why := admitObservation(c, e, Contradicts); why != "" {
		return why
	}
	if c.Op.State == Verifying {
		if c.Now.Before(c.Op.VerifyUntil) {
			return "the verification deadline has not passed"
		}
		return ""
	}
	if len(c.Attempts) == 0 {
		return "nothing was attempted: the operation is cancelled or retried, it cannot fail"
	}
	if NeverAgain(c) == "" {
		return "a retry may still be admitted"
	}
	if c.Op.PreRestore && c.Machine.Recovery == PreRestore {
		return "the machine's sends from before the restore are not accounted for"
	}
	return ""
}

// admitObservation: a completion observation, begun after every response and accounting, that says what is asked. I3 I6
func admitObservation(c Case, e Event, want Judgement) string {
	if e.Observation == nil {
		return "no completion observation"
	}
	if !CompletionBasis(c.Attempts, e.Observation.Basis) && !c.Without.Has(GuardAccounting) {
		return "an attempt is not accounted for, or the reading began before it was"
	}
	if e.Observation.Basis <= c.Op.Revision {
		return "the reading began before the commitment"
	}
	got, why := JudgePostconditions(c.Plan, c.Machine, c.Op.SendBoot, e.Observation.Reading)
	if got != want {
		return fmt.Sprintf("the reading %s the postconditions: %s", got, why)
	}
	return ""
}

func admitCancel(c Case, e Event) string {
	switch {
	case len(c.Attempts) > 0:
		return "an attempt was recorded"
	case c.Op.PreRestore && c.Machine.Recovery == PreRestore:
		return "the machine's sends from before the restore are not accounted for"
	case e.Decision == "" && !c.Op.PreRestore && approvalGone(c.Plan, c.Standing, c.Approvals, c.Epoch, c.Now) == "":
		return "its approval may still admit an attempt"
	}
	return ""
}

func current(attempts []Attempt) *Attempt {
	if len(attempts) == 0 {
		return nil
	}
	return &attempts[len(attempts)-1]
}

func allRejected(attempts []Attempt) bool {
	for _, a := range attempts {
		if a.Response == nil || a.Response.Class != RejectedDef {
			return false
		}
	}
	return true
}

// carry fills in what the new state brings with it, and the effects of ends.
func carry(c Case, e Event, op Operation) (Operation, Effects, *refusal.Refusal) {
	var fx Effects
	switch e.Kind {
	case Takeover:
		op.Owner = Owner{Instance: e.NewOwner, Generation: c.Op.Owner.Generation + 1, Epoch: c.Epoch}
		op.Retry = nil // I17
	case RecordAttempt:
		op.Retry = nil
	case Accept:
		op.VerifyUntil = c.Now.Add(c.Plan.VerifyDeadline)
	case Complete, AdoptRecord:
		fx.Applied = c.Plan.Artifact // I3
		if c.Plan.Drift != "" {
			fx.CloseDrift = DriftReverted
			if c.Plan.Kind == KindAdopt {
				fx.CloseDrift = DriftAdopted
			}
		}
	case Contradict:
		if d := e.Observation.Reading.Active.Digest; e.Observation.Reading.NodeID == c.Machine.NodeID && d != c.Machine.Applied {
			fx.OpenDrift = d
		}
	case Commit, AttemptRefused, Reject, Lose, Overdue, LateReject, Cancel:
	}
	if op.State.Terminal() {
		if _, all := AllAccounted(c.Attempts); !all && !c.Without.Has(GuardAccounting) { // I5
			return c.Op, Effects{}, stepRefusal(c.Op, "unaccounted", "an attempt is not accounted for")
		}
		fx.Release = true
		op.EndedRev = e.Revision
		op.Retry = nil
	}
	return op, fx, nil
}
