package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// ApproveOptions say what kind of approval is given.
type ApproveOptions struct {
	BreakGlass string // the reason of a break-glass approval, which counts as the policy's number; "" for an ordinary one
}

// Approve records one person's approval of a plan, and returns it with the plan's standing. It is refused unless the plan
// is proposed and unexpired; by who has approved it already; and, where the policy says so, by who made it. A
// self-approval and a break-glass approval are marked for ever, and the latter raises an alert.
func (s *Store) Approve(ctx context.Context, who Who, planID string, o ApproveOptions) (dispatch.Approval, dispatch.Standing, error) {
	var a dispatch.Approval
	var st dispatch.Standing
	err := s.changePlan(ctx, planID, "the approval of "+planID, func(tx *Tx, b binding, p planRow) error {
		actor, err := tx.acting(who, RoleApprover)
		if err != nil {
			return err
		}
		if a, err = tx.newApproval(b, p, actor, o); err != nil {
			return err
		}
		existing, err := tx.approvals(planID)
		if err != nil {
			return err
		}
		after, r := dispatch.Approve(p.Plan, p.Standing, plainApprovals(existing), a, actor.Epoch, tx.Now())
		if r != nil {
			return r
		}
		st = after
		return tx.writeApproval(b, a, st, actor)
	})
	return a, st, err
}

func (tx *Tx) newApproval(b binding, p planRow, actor ledger.Actor, o ApproveOptions) (a dispatch.Approval, err error) {
	a = dispatch.Approval{
		Plan: p.ID, PlanRevision: p.Revision, Approver: actor.Identity, Role: actor.Role, Epoch: actor.Epoch, At: tx.Now(),
		Self: dispatch.IsSelf(p.Plan, actor.Identity), BreakGlass: o.BreakGlass, Assurance: string(actor.Assurance),
	}
	if a.ID, err = tx.newID(ApprovalPrefix, "approvals", "id"); err != nil {
		return a, err
	}
	a.Revision, err = tx.next(b.scope())
	return a, err
}

func (tx *Tx) writeApproval(b binding, a dispatch.Approval, st dispatch.Standing, actor ledger.Actor) error {
	body := dispatch.Body{PlanID: b.plan, Standing: &st, Approval: &a, Text: a.BreakGlass}
	if _, err := tx.append(b.scope(), dispatch.EntryApproved, actor, b.links(), body); err != nil {
		return err
	}
	if err := tx.insertApproval(a); err != nil {
		return err
	}
	if err := tx.saveStanding(b.plan, st); err != nil {
		return err
	}
	if a.BreakGlass == "" {
		return nil
	}
	links := append(b.links(), ledger.Link{Rel: "approval", Scope: b.scope(), Revision: a.Revision, ID: a.ID})
	_, err := tx.append(b.scope(), dispatch.EntryAlert, actor, links, dispatch.Body{
		Code: "break-glass", PlanID: b.plan, Text: fmt.Sprintf("%s approved plan %s by breaking the glass: %s", a.Approver, b.plan, a.BreakGlass),
	})
	return err
}

// RevokeApproval takes an approval back, by its id, or all that stand of a plan, by the plan's id. It is final. Fewer than
// the policy's number left end a plan that is not committed; beside a committed one it is a fact, after which nothing
// further is sent for it.
func (s *Store) RevokeApproval(ctx context.Context, who Who, planOrApproval, reason string) error {
	planID, approvalID, err := s.approvalNamed(ctx, planOrApproval)
	if err != nil {
		return err
	}
	return s.changePlan(ctx, planID, "the revocation of "+planOrApproval, func(tx *Tx, b binding, p planRow) error {
		actor, err := tx.acting(who, RoleApprover)
		if err != nil {
			return err
		}
		if approvalID != "" {
			if err := tx.lockRow(`SELECT id FROM approvals WHERE id = $1 FOR UPDATE`, approvalID); err != nil {
				return err
			}
		}
		approvals, err := tx.approvals(planID)
		if err != nil {
			return err
		}
		revoked := 0
		for i, a := range approvals {
			if a.RevokedRevision != 0 || (approvalID != "" && a.ID != approvalID) {
				continue
			}
			revoked++
			if approvals[i].RevokedRevision, err = tx.next(b.scope()); err != nil {
				return err
			}
			if err := tx.revoke(b, &p, approvals, i, actor, reason); err != nil {
				return err
			}
		}
		if revoked == 0 {
			return refusal.New("revocation", "nothing-stands", "no approval of plan "+planID+" stands that could be revoked", "clew show "+planID)
		}
		return nil
	})
}

// approvalNamed finds the plan that an id is of, or whose approval it is; approval is "" for a plan's id.
func (s *Store) approvalNamed(ctx context.Context, id string) (plan, approval string, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		err := tx.row(`SELECT plan FROM approvals WHERE id = $1`, id).Scan(&plan)
		if errors.Is(err, sql.ErrNoRows) {
			plan = id
			return nil
		}
		approval = id
		return err
	})
	return plan, approval, err
}

// revoke writes the revocation of approvals[i], whose revision is set.
func (tx *Tx) revoke(b binding, p *planRow, approvals []approvalRow, i int, actor ledger.Actor, reason string) error {
	a := approvals[i].Approval
	p.Standing = dispatch.AfterRevocation(p.Plan, p.Standing, plainApprovals(approvals), actor.Epoch, a.RevokedRevision)
	st, recorded := p.Standing, a
	recorded.IdentityRevoked = false // another timeline's fact
	body := dispatch.Body{PlanID: b.plan, Standing: &st, Approval: &recorded, Text: reason}
	links := append(b.links(), ledger.Link{Rel: "approval", Scope: b.scope(), Revision: a.Revision, ID: a.ID})
	if _, err := tx.append(b.scope(), dispatch.EntryUnapproved, actor, links, body); err != nil {
		return err
	}
	if err := tx.saveRevocation(a); err != nil {
		return err
	}
	return tx.saveStanding(b.plan, st)
}

// RecordRevocations writes on machines' timelines what revoked identities did to plans, and returns how many plans it
// changed. The revocation itself locks no machine and counts at once, in comparison 1 and in every view; this makes the
// plans' own timelines tell of it, machine by machine. Whoever revokes an identity calls it afterwards; doing it again
// changes nothing.
func (s *Store) RecordRevocations(ctx context.Context) (int, error) {
	var plans []string
	err := s.view(ctx, func(tx *Tx) (err error) {
		plans, err = list(tx, scanText, `SELECT DISTINCT p.id FROM plans p JOIN approvals a ON a.plan = p.id
			JOIN identities i ON i.name = a.approver LEFT JOIN operations o ON o.plan = p.id
			WHERE i.revoked_revision > 0 AND a.revoked_revision = 0 AND p.revoked_revision = 0
			AND (p.state IN ('proposed', 'approved') OR (p.state = 'committed' AND o.state IN `+holding+`)) ORDER BY p.id`)
		return err
	})
	n := 0
	for _, id := range plans {
		if err != nil {
			break
		}
		var changed bool
		changed, err = s.recordRevocation(ctx, id)
		if changed {
			n++
		}
	}
	return n, err
}

func (s *Store) recordRevocation(ctx context.Context, planID string) (changed bool, err error) {
	err = s.changePlan(ctx, planID, "the revocation of "+planID, func(tx *Tx, b binding, p planRow) error {
		approvals, err := tx.approvals(planID)
		if err != nil {
			return err
		}
		epoch, err := tx.epoch()
		if err != nil {
			return err
		}
		rev, err := tx.next(b.scope())
		if err != nil {
			return err
		}
		st := dispatch.AfterRevocation(p.Plan, p.Standing, plainApprovals(approvals), epoch, rev)
		if st == p.Standing {
			return nil
		}
		changed = true
		var links []ledger.Link
		text := "too few approvals are left: an approver's identity was revoked"
		for _, a := range approvals {
			if a.IdentityRevoked {
				scope := ledger.Scope{Kind: ledger.Identity, ID: a.Approver}
				links = append(links, ledger.Link{Rel: "identity", Scope: scope, Revision: a.IdentityRevision})
				text += " (" + a.Approver + ")"
			}
		}
		return tx.writeStanding(b, dispatch.EntryPlanRevoked, ledger.Actor{Epoch: epoch}, st, text, links)
	})
	return changed && err == nil, err
}
