package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// logLine is one entry of a timeline as it is listed. What it says is made from the entry alone.
type logLine struct {
	At       time.Time `json:"at"`
	Scope    string    `json:"scope"` // kind/id
	Revision int64     `json:"revision"`
	Kind     string    `json:"kind"`
	Machine  string    `json:"machine,omitempty"` // its name
	By       string    `json:"by"`
	Role     string    `json:"role,omitempty"`
	Text     string    `json:"text"`
	Refs     []string  `json:"refs,omitempty"` // ids of the records that it is about

	Actor ledger.Actor    `json:"actor"`
	Links []ledger.Link   `json:"links,omitempty"`
	Body  json.RawMessage `json:"body,omitempty"`
	Hash  ledger.Hash     `json:"hash"`
}

// where is the timeline that the entry is on, for people.
func (l logLine) where() string { return first(l.Machine, strings.TrimSuffix(l.Scope, "/")) }

// teller puts entries into words. machines maps machine ids to names.
type teller struct{ machines map[string]string }

func (t teller) line(e ledger.Entry) logLine {
	var b dispatch.Body
	l := logLine{
		At: e.At.UTC(), Scope: e.Scope.String(), Revision: e.Revision, Kind: e.Kind, By: actorName(e.Actor), Role: e.Actor.Role,
		Actor: e.Actor, Links: e.Links, Body: e.Body, Hash: e.Hash,
	}
	if e.Scope.Kind == ledger.Machine {
		l.Machine = t.name(e.Scope.ID)
	}
	if len(e.Body) > 0 && json.Unmarshal(e.Body, &b) != nil {
		// A later release may write bodies that this one cannot read; the entry is still listed.
		l.Text = e.Kind
		return l
	}
	l.Text, l.Refs = t.text(e, b), refs(b)
	return l
}

func (t teller) name(id string) string {
	if n := t.machines[id]; n != "" {
		return n
	}
	return id
}

// actorName is who wrote an entry: a person, or the program itself.
func actorName(a ledger.Actor) string {
	switch {
	case a.Identity != "":
		return a.Identity
	case a.Instance != "":
		return "executor " + dispatch.ShortDigest(a.Instance)
	}
	return "clew"
}

// refs are the ids that a body is about, the most telling first.
func refs(b dispatch.Body) []string {
	var ids []string
	add := func(id string) {
		if id != "" {
			ids = append(ids, id)
		}
	}
	switch {
	case b.Operation != nil:
		add(b.Operation.ID)
		add(b.Operation.Plan)
	case b.Attempt != nil:
		add(b.Attempt.Operation)
	}
	if b.Plan != nil {
		add(b.Plan.ID)
	} else if b.Operation == nil {
		add(b.PlanID)
	}
	if b.Approval != nil {
		add(b.Approval.ID)
	}
	if b.Drift != nil {
		add(b.Drift.ID)
	}
	if b.Observation != nil {
		add(b.Observation.Operation)
		add(b.Observation.Plan)
	}
	if b.Rollout != nil && b.Operation == nil && b.Plan == nil {
		add(b.Rollout.ID)
	}
	return ids
}

// text is what the entry says, in one line.
func (t teller) text(e ledger.Entry, b dispatch.Body) string {
	switch {
	case strings.HasPrefix(e.Kind, "operation."):
		return operationText(e, b)
	case strings.HasPrefix(e.Kind, "plan."):
		return planText(e, b)
	case strings.HasPrefix(e.Kind, "observation."), strings.HasPrefix(e.Kind, "drift."):
		return observationText(e, b)
	case strings.HasPrefix(e.Kind, "machine."):
		return machineText(e, b)
	case e.Kind == dispatch.EntryRefused:
		return refusedText(b)
	case e.Kind == dispatch.EntryAlert:
		return "ALERT: " + b.Text
	}
	return otherText(e, b)
}

func operationText(e ledger.Entry, b dispatch.Body) string {
	op := b.Operation
	if op == nil {
		op = &dispatch.Operation{}
	}
	switch e.Kind {
	case dispatch.EntryCommitted:
		return fmt.Sprintf("%s committed to operation %s", op.Plan, op.ID)
	case dispatch.EntryAdopted:
		return fmt.Sprintf("%s accepted what runs as the baseline (%s)", op.ID, op.Plan)
	case dispatch.EntryAttempt:
		if b.Attempt != nil {
			return fmt.Sprintf("%s attempt %d recorded, %s", b.Attempt.Operation, b.Attempt.Number, b.Attempt.Route)
		}
	case dispatch.EntryResponse:
		return responseText(b)
	case dispatch.EntryAccounted:
		if b.Attempt != nil && b.Attempt.Accounting != nil {
			c := b.Attempt.Accounting
			return fmt.Sprintf("%s attempt %d accounted for (%s): %s", b.Attempt.Operation, b.Attempt.Number, c.Kind, c.Reason)
		}
	case dispatch.EntryClassified:
		return op.ID + " is safe to retry"
	case dispatch.EntryTakenOver:
		return fmt.Sprintf("%s taken over: %s", op.ID, b.Takeover)
	case dispatch.EntryMoved:
		return withReason(fmt.Sprintf("%s %s → %s", op.ID, b.From, op.State), op.Reason)
	case dispatch.EntryVersionMoved:
		return withReason("the same configuration was written again", b.Text)
	}
	return withReason(e.Kind, b.Text)
}

func responseText(b dispatch.Body) string {
	if b.Attempt == nil || b.Attempt.Response == nil {
		return withReason("a response without its attempt", b.Text)
	}
	r := b.Attempt.Response
	head := fmt.Sprintf("%s attempt %d: ", b.Attempt.Operation, b.Attempt.Number)
	switch r.Class {
	case dispatch.Accepted:
		return head + "accepted by the node"
	case dispatch.RejectedDef:
		return withReason(head+"rejected by the node ("+r.Code+")", shownResponse(*r))
	case dispatch.Inconclusive:
	}
	if r.Code == "" {
		return withReason(head+"no answer", shownResponse(*r))
	}
	return withReason(head+"no conclusive answer ("+r.Code+")", shownResponse(*r))
}

// shownResponse is a response's text, or that it was withheld.
func shownResponse(r dispatch.Response) string {
	if r.Withheld && r.Text == "" {
		return "the node's text is withheld: it could hold a secret"
	}
	return r.Text
}

func planText(e ledger.Entry, b dispatch.Body) string {
	id := b.PlanID
	if b.Plan != nil {
		id = b.Plan.ID
	}
	switch e.Kind {
	case dispatch.EntryPlanned:
		if b.Plan != nil && b.Plan.Kind == dispatch.KindAdopt {
			return withReason(fmt.Sprintf("%s planned: accept %s as the baseline", id, dispatch.ShortDigest(b.Plan.Artifact)), b.Plan.Reason)
		}
		if b.Plan != nil {
			return withReason(fmt.Sprintf("%s planned: %s → %s", id, dispatch.ShortDigest(b.Plan.Expected),
				dispatch.ShortDigest(b.Plan.Artifact)), b.Plan.Reason)
		}
	case dispatch.EntryApproved:
		return approvedText(id, b)
	case dispatch.EntryUnapproved:
		return withReason(id+" approval revoked", b.Text)
	case dispatch.EntryPlanCanceled:
		return withReason(id+" cancelled", b.Text)
	case dispatch.EntryPlanExpired:
		return id + " expired"
	}
	return withReason(e.Kind+" "+id, b.Text)
}

func approvedText(id string, b dispatch.Body) string {
	if b.Approval == nil {
		return id + " approved"
	}
	text := fmt.Sprintf("%s approved by %s", id, b.Approval.Approver)
	if b.Approval.Self {
		text += " (self-approval)"
	}
	if b.Approval.BreakGlass != "" {
		text += " BREAK-GLASS: " + b.Approval.BreakGlass
	}
	return text
}

func observationText(e ledger.Entry, b dispatch.Body) string {
	switch e.Kind {
	case dispatch.EntryReadStarted:
		if b.Observation != nil {
			return "reading begins (" + string(b.Observation.Purpose) + ")"
		}
	case dispatch.EntryRead:
		if o := b.Observation; o != nil {
			return fmt.Sprintf("read (%s): runs %s, stage %s", o.Purpose, dispatch.ShortDigest(o.Reading.Active.Digest), o.Reading.Stage)
		}
	case dispatch.EntryReadFailed:
		return withReason("reading failed", b.Text)
	case dispatch.EntryDriftOpened, dispatch.EntryDriftAdded:
		if b.Drift != nil {
			return fmt.Sprintf("%s drift: runs %s, which nothing here applied", b.Drift.ID, dispatch.ShortDigest(b.Drift.Digest))
		}
	case dispatch.EntryDriftClosed:
		if b.Drift != nil {
			return fmt.Sprintf("%s drift closed: %s", b.Drift.ID, b.Drift.ClosedAs)
		}
	}
	return withReason(e.Kind, b.Text)
}

func machineText(e ledger.Entry, b dispatch.Body) string {
	m := b.Machine
	if m == nil {
		return withReason(e.Kind, b.Text)
	}
	switch e.Kind {
	case dispatch.EntryRegistered:
		return fmt.Sprintf("%s registered as a %s of %s", m.Name, m.Assignment.Role, m.Cluster)
	case dispatch.EntryAssigned:
		return fmt.Sprintf("%s is now %s at %s", m.Name, m.Assignment.Role, strings.Join(m.Assignment.Addresses, ", "))
	case dispatch.EntrySelected:
		return fmt.Sprintf("%s wants %s", m.Name, dispatch.ShortDigest(m.Desired))
	case dispatch.EntryFrozen:
		return withReason(m.Name+" frozen", m.FreezeReason)
	case dispatch.EntryUnfrozen:
		return withReason(m.Name+" unfrozen", b.Text)
	}
	return withReason(e.Kind+" "+m.Name, b.Text)
}

func refusedText(b dispatch.Body) string {
	text := "refused by clew"
	if b.Tx != "" {
		text += " (" + b.Tx
		if b.Comparison != nil && *b.Comparison >= 0 {
			text += fmt.Sprintf(", comparison %d", *b.Comparison)
		}
		text += ")"
	}
	return withReason(text, b.Text)
}

func otherText(e ledger.Entry, b dispatch.Body) string {
	words := map[string]string{
		dispatch.EntryIdentityCreated:  "identity " + e.Scope.ID + " created",
		dispatch.EntryIdentityRoles:    "roles of " + e.Scope.ID + " changed",
		dispatch.EntryIdentityRevoked:  "identity " + e.Scope.ID + " revoked",
		dispatch.EntryInstanceStarted:  "executor " + dispatch.ShortDigest(e.Scope.ID) + " started",
		dispatch.EntryInstanceEnded:    "executor " + dispatch.ShortDigest(e.Scope.ID) + " ended",
		dispatch.EntryInstanceAttested: "executor " + dispatch.ShortDigest(e.Scope.ID) + " attested to have ended",
		dispatch.EntryRolloutOpened:    "rollout " + e.Scope.ID + " opened again",
		dispatch.EntryInstalled:        "store created",
		dispatch.EntryAnchored:         "heads of all timelines anchored",
		dispatch.EntryRecoveryEntered:  "recovery entered: nothing from before authorizes any more",
		dispatch.EntryRecoveryLeft:     "recovery left",
		dispatch.EntryClockStep:        "clock step recorded",
		dispatch.EntryRetention:        "what was kept long enough was dropped",
		dispatch.EntryReleased:         "released after the restore",
		dispatch.EntryRecovery:         "marked after the restore",
	}
	text := words[e.Kind]
	if text == "" {
		text = e.Kind
	}
	return withReason(text, b.Text)
}

func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}
