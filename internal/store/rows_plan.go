package store

import (
	"github.com/clewops/clew/internal/dispatch"
)

// planRow is a plan with its standing and the hash of what was asked for when it was made.
type planRow struct {
	dispatch.Plan
	Standing dispatch.Standing
	Asked    string
}

const selectPlan = `SELECT content, content_hash, state, cancelled_revision, revoked_revision, expired_revision, operation
	FROM plans`

const planByID = selectPlan + ` WHERE id = $1`

func scanPlan(scan func(...any) error) (planRow, error) {
	var p planRow
	s := &p.Standing
	err := scan(intoJSON(&p.Plan), &p.Asked, &s.State, &s.CancelledRev, &s.RevokedRev, &s.ExpiredRev, &s.Operation)
	return p, err
}

func (tx *Tx) plan(id string) (planRow, error) {
	p, err := scanPlan(tx.row(planByID, id).Scan)
	return p, found(err, "plan", id)
}

// insertPlan adds a plan; false means that its idempotency key is taken. Its content is never updated. I4
func (tx *Tx) insertPlan(p planRow) (bool, error) {
	var rollout string
	if p.Rollout != nil {
		rollout = p.Rollout.ID
	}
	n, err := tx.exec(`INSERT INTO plans (id, machine, revision, kind, rollout, idempotency_key, content, content_hash,
		expires_at, state, cancelled_revision, revoked_revision, expired_revision, operation)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, 0, '') ON CONFLICT DO NOTHING`,
		p.ID, p.Machine, p.Revision, p.Kind, rollout, p.IdempotencyKey, asJSON(p.Plan), p.Asked, p.ExpiresAt, p.Standing.State)
	return n == 1, err
}

// saveStanding writes where a plan stands.
func (tx *Tx) saveStanding(plan string, s dispatch.Standing) error {
	return tx.exec1(`UPDATE plans SET state = $1, cancelled_revision = $2, revoked_revision = $3, expired_revision = $4,
		operation = $5 WHERE id = $6`, s.State, s.CancelledRev, s.RevokedRev, s.ExpiredRev, s.Operation, plan)
}

// approvalRow is an approval and the revision of its approver's identity as it was read.
type approvalRow struct {
	dispatch.Approval
	IdentityRevision int64
}

// An approver whose identity is not there counts as revoked.
const selectApproval = `SELECT a.id, a.plan, a.plan_revision, a.approver, a.role, a.epoch, a.at, a.revision, a.self,
	a.break_glass, a.assurance, a.revoked_revision, COALESCE(i.revoked_revision, 1), COALESCE(i.revision, 0)
	FROM approvals a LEFT JOIN identities i ON i.name = a.approver`

// approvalsOf are a plan's, oldest first.
const approvalsOf = selectApproval + ` WHERE a.plan = $1 ORDER BY a.revision`

func scanApproval(scan func(...any) error) (approvalRow, error) {
	var a approvalRow
	var revoked int64
	err := scan(&a.ID, &a.Plan, &a.PlanRevision, &a.Approver, &a.Role, &a.Epoch, intoTime(&a.At), &a.Revision,
		intoBool(&a.Self), &a.BreakGlass, &a.Assurance, &a.RevokedRevision, &revoked, &a.IdentityRevision)
	a.IdentityRevoked = revoked != 0
	return a, err
}

// approvals are a plan's, oldest first, with what the identities table says of the approvers now.
func (tx *Tx) approvals(plan string) ([]approvalRow, error) {
	return list(tx, scanApproval, approvalsOf, plan)
}

func plainApprovals(rows []approvalRow) []dispatch.Approval {
	out := make([]dispatch.Approval, len(rows))
	for i, r := range rows {
		out[i] = r.Approval
	}
	return out
}

func (tx *Tx) insertApproval(a dispatch.Approval) error {
	return tx.exec1(`INSERT INTO approvals (id, plan, plan_revision, approver, role, epoch, at, revision, self, break_glass,
		assurance, revoked_revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0)`,
		a.ID, a.Plan, a.PlanRevision, a.Approver, a.Role, a.Epoch, a.At, a.Revision, a.Self, a.BreakGlass, a.Assurance)
}

// saveRevocation marks an approval as revoked, once.
func (tx *Tx) saveRevocation(a dispatch.Approval) error {
	return tx.exec1(`UPDATE approvals SET revoked_revision = $1 WHERE id = $2 AND revoked_revision = 0`, a.RevokedRevision, a.ID)
}
