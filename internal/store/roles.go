package store


// The roles in which people, tokens and agents act.
const (
	RoleViewer        = "viewer"         // reads
	RoleAuthor        = "author"         // plans
	RoleOperator      = "operator"       // dispatches, settles by evidence, imports, freezes
	RoleApprover      = "approver"       // approves, revokes, unfreezes, opens rollouts; people only
	RoleRecoveryAdmin = "recovery-admin" // judges, attests, recovers; people only
)

// Roles lists all roles, the weakest first.
func Roles() []string {
	return []string{RoleViewer, RoleAuthor, RoleOperator, RoleApprover, RoleRecoveryAdmin}
}
