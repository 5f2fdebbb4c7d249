package dispatch

// Kinds of entries on a machine's timeline.
const (
	EntryRegistered   = "machine.registered"
	EntryAssigned     = "machine.assigned"
	EntrySelected     = "machine.selected" // Desired changed
	EntryFrozen       = "machine.frozen"
	EntryUnfrozen     = "machine.unfrozen"
	EntryReadStarted  = "observation.started"
	EntryRead         = "observation.recorded"
	EntryReadFailed   = "observation.failed"
	EntryDriftOpened  = "drift.opened"
	EntryDriftAdded   = "drift.added"
	EntryDriftClosed  = "drift.closed"
	EntryPlanned      = "plan.created"
	EntryApproved     = "plan.approved"
	EntryUnapproved   = "plan.approval-revoked"
	EntryPlanCanceled = "plan.cancelled"
	EntryPlanExpired  = "plan.expired"
	EntryPlanRevoked  = "plan.revoked" // an approver's identity was revoked: too few approvals are left
	EntryCommitted    = "operation.committed"
	EntryAdopted      = "operation.adopted"
	EntryAttempt      = "operation.attempt"
	EntryMoved        = "operation.moved"      // any other event of the transition table
	EntryResponse     = "operation.response"   // a fact; a move, if any, is an entry of its own
	EntryAccounted    = "operation.accounted"  // a lost attempt, by evidence or by decision
	EntryClassified   = "operation.classified" // safe to retry
	EntryTakenOver    = "operation.taken-over"
	EntryVersionMoved = "operation.version-moved" // a late landing of identical bytes
	EntryRefused      = "refused"
	EntryAlert        = "alert"
	EntryRecovery     = "recovery.marked"
	EntryReleased     = "recovery.released"
)

// Kinds of entries on the other scopes.
const (
	EntryIdentityCreated  = "identity.created"
	EntryIdentityRoles    = "identity.roles"
	EntryIdentityRevoked  = "identity.revoked"
	EntryInstanceStarted  = "instance.started"
	EntryInstanceEnded    = "instance.ended"
	EntryInstanceAttested = "instance.attested"
	EntryRolloutBound     = "rollout.bound"  // a plan bound it: the limits in force may have become smaller
	EntryRolloutTaken     = "rollout.taken"  // a commitment took a slot
	EntryRolloutFreed     = "rollout.freed"  // its operation ended
	EntryRolloutOpened    = "rollout.opened" // an approver opened it again after failures
	EntryInstalled        = "installation.created"
	EntryAnchored         = "installation.anchored" // heads of all scopes that moved since the last one
	EntryRecoveryEntered  = "installation.recovery-entered"
	EntryRecoveryLeft     = "installation.recovery-left"
	EntryClockStep        = "installation.clock-step"
	EntryRetention        = "installation.retention"
)

// Body is what an entry of the dispatch contract says. Every record in it stands as it is *after* the entry, so that
// the projected tables can be replayed by taking each record's last body, and a checker can follow every change.
type Body struct {
	Machine     *Machine     `json:"machine,omitempty"`
	Plan        *Plan        `json:"plan,omitempty"`
	PlanID      string       `json:"plan_id,omitempty"`
	Standing    *Standing    `json:"standing,omitempty"` // of PlanID
	Approval    *Approval    `json:"approval,omitempty"`
	Operation   *Operation   `json:"operation,omitempty"`
	Attempt     *Attempt     `json:"attempt,omitempty"`
	Observation *Observation `json:"observation,omitempty"`
	Drift       *Drift       `json:"drift,omitempty"`
	Rollout     *RolloutRow  `json:"rollout,omitempty"`

	Event      EventKind `json:"event,omitempty"`       // EntryMoved and its like: the event of the table
	From       State     `json:"from,omitempty"`        // the state before
	Comparison *int      `json:"comparison,omitempty"`  // EntryRefused, and Event AttemptRefused
	Code       string    `json:"code,omitempty"`        // of a refusal or an alert
	Tx         string    `json:"transaction,omitempty"` // of a refusal
	Text       string    `json:"text,omitempty"`        // why, in words; reasons of people
	Token      string    `json:"token,omitempty"`       // of C and A: proves which transaction wrote the entry
	Asked      string    `json:"asked,omitempty"`       // of EntryPlanned: the hash of the request, for its idempotency key
	Evidence   int64     `json:"evidence,omitempty"`    // basis of the observation that C or A rested on
	Orphan     bool      `json:"orphan,omitempty"`      // a response whose attempt has no row, after a restore
	Takeover   string    `json:"takeover,omitempty"`    // why the former owner counts as stopped, or that an operator forced it

	// What comparison 1 read in C: approvals by id, identities by name and the installation, with their revisions.
	Approvals    map[string]int64 `json:"approvals,omitempty"`
	Identities   map[string]int64 `json:"identities,omitempty"`
	Installation int64            `json:"installation,omitempty"`
}

// RolloutRow is a rollout as its timeline tells.
type RolloutRow struct {
	ID             string   `json:"id"`
	Limit          int      `json:"limit"`      // the smallest that its plans bind
	MaxFailed      int      `json:"max_failed"` // the smallest that its plans bind
	OpenedRevision int64    `json:"opened_revision,omitempty"`
	Open           []string `json:"open,omitempty"` // operations in holding states, sorted
	Failed         int      `json:"failed,omitempty"`
}
