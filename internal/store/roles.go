package store

import (
	"fmt"
	"slices"

	"github.com/clewops/clew/internal/refusal"
)

// Roles. Each is held by itself: an approver is not thereby an operator.
const (
	RoleViewer        = "viewer"         // reads
	RoleAuthor        = "author"         // plans
	RoleOperator      = "operator"       // dispatches, settles by evidence, imports, freezes
	RoleApprover      = "approver"       // approves, revokes, unfreezes, opens rollouts
	RoleRecoveryAdmin = "recovery-admin" // judges, attests, recovers, and admits people
)

// Roles lists all roles.
func Roles() []string {
	return []string{RoleViewer, RoleAuthor, RoleOperator, RoleApprover, RoleRecoveryAdmin}
}

// onlyPeople are the roles that no token and no agent ever holds: to approve and to judge takes a person.
var onlyPeople = []string{RoleApprover, RoleRecoveryAdmin}

// Authorize refuses what an identity may not do in a role: because it was revoked, does not hold the role, or is no
// person where only a person may decide. I11
func Authorize(i Identity, role string) *refusal.Refusal {
	no := func(code, why, remedy string) *refusal.Refusal {
		return refusal.New("authorization", code, why, remedy)
	}
	switch {
	case i.RevokedRevision != 0:
		return no("identity-revoked", fmt.Sprintf("the identity %s was revoked", i.Name), "")
	case i.Kind != Person && slices.Contains(onlyPeople, role):
		return no("not-a-person", fmt.Sprintf("%s is a %s: only a person can act as %s", i.Name, i.Kind, role), "")
	case !slices.Contains(i.Roles, role):
		return no("role-missing", fmt.Sprintf("%s does not hold the role %s: a recovery-admin gives it", i.Name, role),
			fmt.Sprintf("clew admin role add %s %s", i.Name, role))
	}
	return nil
}
