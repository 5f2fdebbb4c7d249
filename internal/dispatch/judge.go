package dispatch

import (
	"fmt"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

// Judgement is what a reading says about a plan's postconditions.
type Judgement int

// Judgements. NotComplete is neither: the node is on its way down or up, so what it shows is not final.
const (
	NotComplete Judgement = iota
	Shows
	Contradicts
)

// String is the judgement in words.
func (j Judgement) String() string { return [...]string{"not complete", "shows", "contradicts"}[j] }

// JudgePostconditions reads every postcondition of the plan in one reading. sendBoot is the node's boot id before the
// latest send. The text says which postcondition is contradicted, or why the reading decides nothing.
func JudgePostconditions(p Plan, m Machine, sendBoot string, r Reading) (Judgement, string) {
	switch {
	case r.InTransition():
		return NotComplete, fmt.Sprintf("the node is %s: what it shows is not final", r.Stage)
	case r.ClusterID != p.ClusterID || r.NodeID != p.NodeID:
		return Contradicts, "another machine answers"
	case r.Role != m.Assignment.Role || m.AssignmentRevision != p.AssignmentRevision: // I9
		return Contradicts, "the machine's assignment is not the bound one"
	case r.Stage != p.Post.Stage:
		return Contradicts, fmt.Sprintf("stage is %s, demanded is %s", r.Stage, p.Post.Stage)
	case !r.Active.Present || r.Active.Digest != p.Post.Digest:
		return Contradicts, fmt.Sprintf("active configuration is %s, demanded is %s",
			ShortDigest(r.Active.Digest), ShortDigest(p.Post.Digest))
	case r.Persistent.Present && r.Persistent.Digest != p.Post.Digest:
		return Contradicts, "the configuration for the next boot is another one"
	case !r.Persistent.Present && (sendBoot == "" || r.BootID == sendBoot):
		return Contradicts, "no configuration for the next boot is recorded, and the node has not booted since"
	}
	return Shows, ""
}

// CompletionBasis says whether an observation begun at basis can complete or contradict: every attempt is accounted
// for, and its read began after every response and accounting.
func CompletionBasis(attempts []Attempt, basis int64) bool {
	last, all := AllAccounted(attempts)
	return all && basis > last // I5 I6
}

// checkReading says why a reading cannot serve as evidence for a plan, "" when it can: identity, role, quiescence,
// preconditions and the bound pre-dispatch digest.
func checkReading(p Plan, m Machine, r Reading) (code, why string) {
	switch {
	case r.ClusterID != p.ClusterID || r.NodeID != p.NodeID:
		return "other-machine", "another machine answers at the address"
	case r.Role != m.Assignment.Role:
		return "other-role", fmt.Sprintf("the machine is a %s now", r.Role)
	case r.InTransition():
		return "in-transition", fmt.Sprintf("the node is %s: an accepted configuration could be lost", r.Stage)
	case !r.Active.Present:
		return "no-configuration", "the node shows no active configuration"
	case !r.Quiescent():
		return "not-quiescent", "a staged or try change is pending: the configuration for the next boot differs from the active one"
	case p.Pre.Stage != "" && r.Stage != p.Pre.Stage:
		return "stage", fmt.Sprintf("stage is %s, demanded is %s", r.Stage, p.Pre.Stage)
	case p.Pre.Ready && !r.Ready:
		return "not-ready", fmt.Sprintf("the node is not ready: %v", r.Unmet)
	case r.Active.Digest == p.Artifact && p.Kind == KindApply:
		return "already-there", "the node already runs the planned configuration"
	case r.Active.Digest != p.Expected:
		return "other-digest", fmt.Sprintf("the node runs %s, the plan expects %s", ShortDigest(r.Active.Digest), ShortDigest(p.Expected))
	}
	return "", ""
}

// approvalGone says why comparison 1 can never pass again for a committed plan, "" while it can: after the commitment
// nothing adds an approval.
func approvalGone(p Plan, s Standing, approvals []Approval, epoch string, now time.Time) string {
	switch {
	case s.CancelledRev != 0:
		return "the plan was cancelled"
	case s.ExpiredRev != 0 || !now.Before(p.ExpiresAt):
		return "the plan has expired"
	case s.RevokedRev != 0:
		return "its approval was revoked"
	case CountApprovals(p.Policy, approvals, epoch) < p.Policy.Approvals:
		return "fewer approvals than the policy demands stand in this recovery epoch"
	}
	return ""
}

// NeverAgain says why no retry of the case can ever be admitted, "" while one might.
func NeverAgain(c Case) string {
	if c.Op.PreRestore {
		return "a restored operation never retries"
	}
	if why := approvalGone(c.Plan, c.Standing, c.Approvals, c.Epoch, c.Now); why != "" {
		return why
	}
	if len(c.Attempts) >= c.Plan.MaxAttempts && !c.Without.Has(GuardAttempts) {
		return "its attempts are used up"
	}
	for _, a := range c.Attempts {
		if a.Response.FromTarget() {
			return "the node answered an attempt: " + string(a.Response.Class)
		}
	}
	return ""
}

// SafeToRetry is the classification: nil when the owner may record another attempt after the observation o. It never
// sends; comparison 7 asks for its record.
func SafeToRetry(c Case, o Observation) *refusal.Refusal {
	no := func(code, why string) *refusal.Refusal {
		return refusal.New("settling", code, why, "clew settle "+c.Op.ID)
	}
	last, all := AllAccounted(c.Attempts)
	if !all && !c.Without.Has(GuardAccounting) {
		return no("unaccounted", "an attempt is not accounted for: it may still arrive")
	}
	if why := NeverAgain(c); why != "" {
		return no("no-retry", why)
	}
	if r := gate(c.Machine, c.Plan, c.Epoch, c.InRecovery); r != "" {
		return no("gate-closed", r)
	}
	if o.Basis <= c.Op.Revision {
		return no("old-observation", "the observation began before the commitment")
	}
	if o.Basis <= last || (len(c.Attempts) > 0 && last == 0) {
		return no("old-observation", "the observation began before the last attempt was accounted for")
	}
	if code, why := checkReading(c.Plan, c.Machine, o.Reading); code != "" {
		return no(code, why)
	}
	return nil
}

// gate says why the machine's gate is closed for a plan, "" when it is open.
func gate(m Machine, p Plan, epoch string, inRecovery bool) string {
	switch {
	case m.Frozen:
		return fmt.Sprintf("the machine is frozen by %s: %s", m.FrozenBy, m.FreezeReason)
	case m.Drift != nil && m.Drift.ID != p.Drift:
		return "an open drift record is not the one the plan binds: what runs is not what was applied"
	case m.Drift == nil && p.Drift != "":
		return "the drift record that the plan binds is closed"
	case inRecovery && m.ReleasedEpoch != epoch:
		return "recovery after a restore is under way and the machine is not released"
	}
	return ""
}
