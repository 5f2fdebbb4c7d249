package dispatch

import (
	"strings"
	"time"
)

// Route is the way to a machine: "direct", or "via:<endpoint address>", one endpoint pinned.
type Route string

// Direct is the route without an endpoint in between.
const Direct Route = "direct"

// Via is the route through one endpoint.
func Via(endpoint string) Route { return Route("via:" + endpoint) }

// Endpoint is the endpoint's address, "" for the direct route.
func (r Route) Endpoint() string {
	if e, ok := strings.CutPrefix(string(r), "via:"); ok {
		return e
	}
	return ""
}

// Valid says whether the route is one of the two forms.
func (r Route) Valid() bool { return r == Direct || r.Endpoint() != "" }

// PlanKind says what a plan does when it is dispatched.
type PlanKind string

// Kinds of plans. Adopt sends nothing: it accepts what runs as the new baseline.
const (
	KindApply PlanKind = "apply"
	KindAdopt PlanKind = "adopt"
)

// The one operation and mode that evidence rules exist for.
const (
	OperationApplyConfig = "apply-config"
	ModeNoReboot         = "no-reboot"
)

// Preconditions must hold in the evidence.
type Preconditions struct {
	Stage string `json:"stage"` // default "running"
	Ready bool   `json:"ready"` // demand that no health condition is unmet
}

// Postconditions must show in a completion observation.
type Postconditions struct {
	Stage  string `json:"stage"`
	Digest string `json:"digest"` // of v1alpha1; persistent must equal it, or be absent after a newer boot
}

// Policy is the approval policy bound by a plan.
type Policy struct {
	Approvals    int  `json:"approvals"` // distinct identities
	SelfApproval bool `json:"self_approval"`
}

// Rollout is the rollout membership that a plan binds.
type Rollout struct {
	ID        string `json:"id"`
	Limit     int    `json:"limit"`
	MaxFailed int    `json:"max_failed"`
}

// Plan is immutable. Everything that reaches the request, and everything that was true of the machine when it was
// made, is bound here.
type Plan struct {
	ID        string   `json:"id"`
	Machine   string   `json:"machine"`
	Kind      PlanKind `json:"kind"`
	ClusterID string   `json:"cluster_id"`
	NodeID    string   `json:"node_id"`

	Artifact           string `json:"artifact"` // digest
	AssignmentRevision int64  `json:"assignment_revision"`
	BaselineRevision   int64  `json:"baseline_revision"`
	DesiredRevision    int64  `json:"desired_revision"`
	Expected           string `json:"expected"`        // pre-dispatch digest
	Drift              string `json:"drift,omitempty"` // the open drift record it binds: then it is a revert, or an adoption of it

	Operation string `json:"operation"`
	Mode      string `json:"mode"`
	Route     Route  `json:"route"`
	Address   string `json:"address"` // of the target, one of the assignment's

	MaxAge            time.Duration  `json:"max_age"` // of an observation, in ns
	Pre               Preconditions  `json:"pre"`
	Post              Postconditions `json:"post"`
	TransportDeadline time.Duration  `json:"transport_deadline"`
	VerifyDeadline    time.Duration  `json:"verify_deadline"`
	MaxAttempts       int            `json:"max_attempts"`
	Rollout           *Rollout       `json:"rollout,omitempty"`
	ExpiresAt         time.Time      `json:"expires_at"`
	Policy            Policy         `json:"policy"`

	Creator        string   `json:"creator"`
	CreatorRole    string   `json:"creator_role"`
	Authors        []string `json:"authors,omitempty"` // of the artifact, and humans responsible for tokens among them and the creator
	IdempotencyKey string   `json:"idempotency_key,omitempty"`

	Diff       string   `json:"diff,omitempty"`       // redacted whole-configuration diff; informs the approver only
	Validation []string `json:"validation,omitempty"` // warnings at plan time; inform the approver only
	Reason     string   `json:"reason,omitempty"`

	Revision  int64     `json:"revision"` // of the entry that created it
	CreatedAt time.Time `json:"created_at"`
}

// PlanState is where a plan stands. From committed on, the operation carries the outcome.
type PlanState string

// Plan states; revoked, cancelled and expired are terminal.
const (
	PlanProposed  PlanState = "proposed"
	PlanApproved  PlanState = "approved"
	PlanCommitted PlanState = "committed"
	PlanRevoked   PlanState = "revoked"
	PlanCancelled PlanState = "cancelled"
	PlanExpired   PlanState = "expired"
)

// Standing is a plan's state and the facts beside it, which after commitment no longer move the state.
type Standing struct {
	State        PlanState `json:"state"`
	CancelledRev int64     `json:"cancelled_revision,omitempty"`
	RevokedRev   int64     `json:"revoked_revision,omitempty"` // fewer than the policy's approvals were left, since then
	ExpiredRev   int64     `json:"expired_revision,omitempty"` // recorded expiry; expiry counts by time even before
	Operation    string    `json:"operation,omitempty"`
}

// Approval is one identity's yes to one plan revision.
type Approval struct {
	ID              string    `json:"id"`
	Plan            string    `json:"plan"`
	PlanRevision    int64     `json:"plan_revision"`
	Approver        string    `json:"approver"`
	Role            string    `json:"role"`
	Epoch           string    `json:"epoch"`
	At              time.Time `json:"at"`
	Revision        int64     `json:"revision"`
	Self            bool      `json:"self,omitempty"`
	BreakGlass      string    `json:"break_glass,omitempty"` // the reason; such an approval counts as the policy's number
	Assurance       string    `json:"assurance"`
	RevokedRevision int64     `json:"revoked_revision,omitempty"`
	IdentityRevoked bool      `json:"identity_revoked,omitempty"` // as read in this transaction
}

// CountApprovals is how many of the policy's approvals stand now, in this epoch: distinct unrevoked identities, a
// break-glass approval counting as the policy's whole number.
func CountApprovals(policy Policy, approvals []Approval, epoch string) int {
	seen := map[string]bool{}
	for _, a := range approvals {
		if a.RevokedRevision != 0 || a.IdentityRevoked || a.Epoch != epoch { // I8
			continue
		}
		if a.BreakGlass != "" {
			return max(policy.Approvals, 1)
		}
		if a.Self && !policy.SelfApproval {
			continue
		}
		seen[a.Approver] = true
	}
	return len(seen)
}
