package dispatch

import (
	"fmt"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

// MinimumSettle is the least that the settle floor of a deployment may be.
const MinimumSettle = 30 * time.Second

// MaximumSettle bounds the settle time that a late first read demands: retransmissions come at doubling intervals,
// capped at 120 s.
const MaximumSettle = 130 * time.Second

// SendWindow is the longest time between the beginning of the attempt transaction and the first byte of its request.
const SendWindow = 2 * time.Second

// SettleTime is how long must pass, after the first successful read on the attempt's own route, before a decision may
// account for the attempt: the larger of the floor and the time from the send to that read, at most 130 s.
func SettleTime(floor time.Duration, sent, firstRead time.Time) time.Duration {
	return max(floor, min(firstRead.Sub(sent), MaximumSettle))
}

// CheckPlan refuses a plan that no machine should get: what it binds must be complete, of the one operation that
// evidence rules exist for, and fit the machine as the reading shows it.
func CheckPlan(p Plan, m Machine, r Reading, now time.Time) *refusal.Refusal {
	no := func(code, why, remedy string) *refusal.Refusal {
		return &refusal.Refusal{Transaction: "planning", Comparison: refusal.None, Code: code, Message: why, Remedy: remedy}
	}
	if m.Assignment.Role == ControlPlane || r.Role == ControlPlane {
		return no("control-plane", fmt.Sprintf("%s is a control plane: control planes are observed, never targets", m.Name), "clew machine list")
	}
	if r.Omni {
		return no("omni", fmt.Sprintf("%s is managed by Omni: it is changed there", m.Name), "clew machine list")
	}
	if r.Stage == maintenance {
		return no("maintenance", fmt.Sprintf("%s is in maintenance mode: it has no configuration to change", m.Name), "clew machine show "+m.Name+" --refresh")
	}
	if why := checkTerms(p, now); why != "" {
		return no("terms", why, "clew plan create --help")
	}
	if p.Drift == "" && m.Drift != nil {
		return no("drift-open", fmt.Sprintf("an open drift record says that %s runs something else than what was applied: accept it, or go back over it", m.Name),
			"clew machine diff "+m.Name)
	}
	if p.Drift != "" && (m.Drift == nil || m.Drift.ID != p.Drift) {
		return no("drift-closed", "the drift record to bind is not open", "clew machine show "+m.Name)
	}
	if p.Kind == KindApply && m.Applied == "" {
		return no("no-baseline", fmt.Sprintf("no configuration of %s was ever accepted", m.Name), "clew machine import")
	}
	if p.Kind == KindApply && p.Expected != expected(p, m) {
		return no("other-digest", fmt.Sprintf("the plan expects %s, but neither was that applied to %s nor does the drift record it binds show it",
			ShortDigest(p.Expected), m.Name), "clew machine show "+m.Name+" --refresh")
	}
	if code, why := checkReading(p, m, r); code != "" {
		return no(code, why, "clew machine show "+m.Name+" --refresh")
	}
	return nil
}

// expected is the digest that a plan must expect before its dispatch: what was applied, or the drifted digest when it
// binds the drift record.
func expected(p Plan, m Machine) string {
	if p.Drift != "" {
		return m.Drift.Digest
	}
	return m.Applied
}

// maintenance is the stage of a node that waits for its first configuration.
const maintenance = "maintenance"

// checkTerms says what is wrong with a plan's own terms, "" when nothing is.
func checkTerms(p Plan, now time.Time) string {
	switch p.Kind {
	case KindApply:
		switch {
		case p.Operation != OperationApplyConfig:
			return fmt.Sprintf("operation %q: only %s can be dispatched", p.Operation, OperationApplyConfig)
		case p.Mode != ModeNoReboot:
			return fmt.Sprintf("mode %q: only %s can be dispatched (an absent mode means reboot to Talos)", p.Mode, ModeNoReboot)
		case p.TransportDeadline <= 0 || p.VerifyDeadline <= 0:
			return "transport and verification deadlines must be positive"
		case p.TransportDeadline > p.VerifyDeadline:
			return "the transport deadline must not be later than the verification deadline"
		case p.MaxAttempts < 1:
			return "at least one attempt must be allowed"
		case p.Post.Digest != p.Artifact || p.Post.Stage == "":
			return "the postconditions do not demand the planned configuration"
		case p.Pre.Stage == maintenance || p.Post.Stage == maintenance:
			return "a node in maintenance mode cannot be a target"
		}
	case KindAdopt:
		if p.Artifact != p.Expected {
			return "an adoption accepts the configuration that it expects to run, and no other"
		}
	default:
		return fmt.Sprintf("kind %q: a plan applies or adopts", p.Kind)
	}
	switch {
	case !p.Route.Valid():
		return fmt.Sprintf("route %q: use direct or via:ENDPOINT", p.Route)
	case p.Artifact == "" || p.Expected == "":
		return "artifact and expected digest must be bound"
	case p.MaxAge <= 0:
		return "the maximum observation age must be positive"
	case p.Policy.Approvals < 1:
		return "the policy must demand at least one approval"
	case !p.ExpiresAt.After(now):
		return "the plan would be expired at once: give it more time"
	case p.Rollout != nil && (p.Rollout.ID == "" || p.Rollout.Limit < 1 || p.Rollout.MaxFailed < 0):
		return "a rollout needs an id, a limit of at least 1 and a number of tolerated failures that is not negative"
	}
	return ""
}

// DefinitiveRejections lists, per Talos minor version, the gRPC codes of apply-config that prove, when they come with a
// grpc-status trailer, that the call changed nothing, whichever hop they come from. A minor without a list has none.
var DefinitiveRejections = map[string][]string{
	"v1.13": {"InvalidArgument", "FailedPrecondition", "PermissionDenied", "Unimplemented"},
}
