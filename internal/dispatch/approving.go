package dispatch

import (
	"fmt"
	"slices"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

// IsSelf says whether an approval by the identity would be a self-approval: it created the plan, wrote its artifact, or
// is responsible for the token that did (Plan.Authors names those too).
func IsSelf(p Plan, identity string) bool {
	return identity == p.Creator || slices.Contains(p.Authors, identity)
}

// Approve judges one more approval of a plan and returns the plan's standing with it. Approvals are added only while the
// plan is proposed, one by each identity; a break-glass approval counts as the policy's number.
func Approve(p Plan, s Standing, existing []Approval, a Approval, epoch string, now time.Time) (Standing, *refusal.Refusal) {
	no := func(code, why, remedy string) (Standing, *refusal.Refusal) {
		return s, refusal.New("approval", code, why, remedy)
	}
	if !now.Before(p.ExpiresAt) {
		return no("plan-expired", fmt.Sprintf("plan %s expired %s", p.ID, p.ExpiresAt.UTC().Format(time.RFC3339)), anew(p, p.Machine))
	}
	if s.State != PlanProposed {
		return no("plan-not-proposed", fmt.Sprintf("plan %s is %s: approvals are added only while it is proposed", p.ID, s.State), "clew show "+p.ID)
	}
	for _, e := range existing {
		if e.Approver == a.Approver && e.RevokedRevision == 0 && e.Epoch == epoch && a.BreakGlass == "" {
			return no("already-approved", fmt.Sprintf("%s has approved plan %s already: another person is needed", a.Approver, p.ID), "clew show "+p.ID)
		}
	}
	if a.Self && !p.Policy.SelfApproval && a.BreakGlass == "" {
		return no("self-approval", fmt.Sprintf("%s created plan %s or wrote what it sends: another person must approve it", a.Approver, p.ID), "clew show "+p.ID)
	}
	if CountApprovals(p.Policy, append(slices.Clone(existing), a), epoch) >= p.Policy.Approvals {
		s.State = PlanApproved
	}
	return s, nil
}

// AfterRevocation is the standing of a plan after a revocation, recorded at revision, of one of its approvals or of an
// approver's identity. Fewer approvals than the policy's number end a plan that is not committed; beside a committed one
// it is a fact, after which comparison 1 can never pass again.
func AfterRevocation(p Plan, s Standing, approvals []Approval, epoch string, revision int64) Standing {
	if CountApprovals(p.Policy, approvals, epoch) >= p.Policy.Approvals || s.RevokedRev != 0 {
		return s
	}
	switch s.State {
	case PlanProposed, PlanApproved:
		s.State = PlanRevoked
	case PlanCommitted:
	case PlanRevoked, PlanCancelled, PlanExpired:
		return s
	}
	s.RevokedRev = revision
	return s
}

// StandingNow is the standing as it counts now, for people: expiry counts by time before it is recorded, and the
// revocation of an approver's identity before the plan's own timeline tells of it.
func StandingNow(p Plan, s Standing, approvals []Approval, epoch string, now time.Time) Standing {
	if s.State != PlanProposed && s.State != PlanApproved {
		return s
	}
	if !now.Before(p.ExpiresAt) {
		s.State = PlanExpired
		return s
	}
	for _, a := range approvals {
		if a.IdentityRevoked && a.RevokedRevision == 0 && CountApprovals(p.Policy, approvals, epoch) < p.Policy.Approvals {
			s.State = PlanRevoked
		}
	}
	return s
}
