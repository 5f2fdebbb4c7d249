package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// CreatePlan records a plan and selects its artifact as the machine's Desired. p holds what was asked for; reading is the
// recorded observation that it was made from. The machine's identity, assignment and baseline are bound as they are now
// where p leaves them empty, and must be as p says where it does not. Everything that dispatch.CheckPlan demands is
// checked in the transaction, against the reading and against any newer one; a refusal writes nothing.
//
// The same idempotency key with the same request returns the plan made before (created is false); with another request it
// is refused. Expiry, difference and warnings, which differ from one asking to the next, are no part of the request.
func (s *Store) CreatePlan(ctx context.Context, who Who, p dispatch.Plan, reading dispatch.Observation) (plan dispatch.Plan, created bool, err error) {
	asked, err := hashOfRequest(p)
	if err != nil {
		return p, false, err
	}
	l := locks{machines: []string{p.Machine}, identities: shared, installation: shared}
	if p.Rollout != nil {
		l.rollout = p.Rollout.ID
	}
	err = s.update(ctx, l, "the plan for "+p.Machine, func(tx *Tx) error {
		if known, err := tx.planByKey(p.IdempotencyKey, asked); err != nil || known != nil {
			if known != nil {
				plan = *known
			}
			return err
		}
		created = true
		plan, err = tx.createPlan(who, p, reading, asked)
		return err
	})
	return plan, created && err == nil, err
}

// hashOfRequest covers what a request for a plan asks for.
func hashOfRequest(p dispatch.Plan) (string, error) {
	p.ID, p.Revision, p.DesiredRevision = "", 0, 0
	p.CreatedAt, p.ExpiresAt = time.Time{}, time.Time{}
	p.Diff, p.Validation = "", nil
	b, err := compact(p)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

func (tx *Tx) planByKey(key, asked string) (*dispatch.Plan, error) {
	if key == "" {
		return nil, nil
	}
	p, err := scanPlan(tx.row(selectPlan+` WHERE idempotency_key = $1`, key).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if p.Asked != asked {
		return nil, keyTaken(key)
	}
	return &p.Plan, nil
}

func keyTaken(key string) error {
	return refusal.New("planning", "idempotency-key", fmt.Sprintf("another plan was made with the key %q: use another one", key), "clew plan list --all")
}

func (tx *Tx) createPlan(who Who, p dispatch.Plan, reading dispatch.Observation, asked string) (dispatch.Plan, error) {
	actor, err := tx.acting(who, RoleAuthor)
	if err != nil {
		return p, err
	}
	m, err := tx.machine(p.Machine)
	if errors.Is(err, ErrNotFound) {
		return p, refusal.New("planning", "unknown-machine", fmt.Sprintf("no machine %q is registered", p.Machine), "clew machine import")
	}
	if err != nil {
		return p, err
	}
	if err := tx.bind(&p, m, actor); err != nil {
		return p, err
	}
	if reading, err = tx.checkAgainstReadings(p, m, reading.Basis); err != nil {
		return p, err
	}
	if err := tx.bindRollout(p, actor); err != nil {
		return p, err
	}
	if err := tx.selectDesired(&p, &m, actor); err != nil {
		return p, err
	}
	err = tx.writePlan(&p, actor, reading, asked)
	return p, err
}

// bind fills in and checks what a plan binds of its machine and of its makers.
func (tx *Tx) bind(p *dispatch.Plan, m dispatch.Machine, actor ledger.Actor) error {
	stale := func(what string) error {
		return refusal.New("planning", "stale", what+" of "+m.Name+" changed while the plan was made: plan it again", "clew machine show "+m.Name)
	}
	if p.ClusterID == "" && p.NodeID == "" {
		p.ClusterID, p.NodeID = m.ClusterID, m.NodeID
	}
	if p.AssignmentRevision == 0 {
		p.AssignmentRevision = m.AssignmentRevision
	}
	if p.BaselineRevision == 0 {
		p.BaselineRevision = m.BaselineRevision
	}
	switch {
	case p.ClusterID != m.ClusterID || p.NodeID != m.NodeID:
		return stale("the identity")
	case p.AssignmentRevision != m.AssignmentRevision:
		return stale("the assignment")
	case p.BaselineRevision != m.BaselineRevision:
		return stale("the configuration")
	case !slices.Contains(m.Assignment.Addresses, p.Address):
		return refusal.New("planning", "address", fmt.Sprintf("%s is no address of %s", p.Address, m.Name), "clew machine show "+m.Name)
	}
	p.Creator, p.CreatorRole = actor.Identity, actor.Role
	p.CreatedAt, p.ExpiresAt = tx.Now(), p.ExpiresAt.UTC().Truncate(time.Microsecond)
	return tx.bindAuthors(p)
}

// bindAuthors adds who made the artifact, and the people responsible for tokens among the makers: an approval by any of
// them is a self-approval.
func (tx *Tx) bindAuthors(p *dispatch.Plan) error {
	authors := slices.Clone(p.Authors)
	stored, err := list(tx, scanText, `SELECT author FROM artifacts WHERE digest = $1`, p.Artifact)
	if err != nil {
		return err
	}
	if len(stored) == 0 && p.Kind == dispatch.KindApply {
		return refusal.New("planning", "unknown-artifact",
			fmt.Sprintf("the configuration %s is not stored", dispatch.ShortDigest(p.Artifact)), "")
	}
	authors = append(authors, stored...)
	for _, name := range append(slices.Clone(authors), p.Creator) {
		responsible, err := list(tx, scanText, `SELECT responsible FROM identities WHERE name = $1 AND responsible <> ''`, name)
		if err != nil {
			return err
		}
		authors = append(authors, responsible...)
	}
	slices.Sort(authors)
	p.Authors = slices.DeleteFunc(slices.Compact(authors), func(name string) bool { return name == "" })
	return nil
}

func scanText(scan func(...any) error) (string, error) {
	var s string
	err := scan(&s)
	return s, err
}

// checkAgainstReadings checks the plan against the recorded reading that it was made from, which it returns, and against
// the newest one.
func (tx *Tx) checkAgainstReadings(p dispatch.Plan, m dispatch.Machine, basis int64) (dispatch.Observation, error) {
	o, err := tx.observation(m.ID, basis)
	if err != nil {
		return dispatch.Observation{}, err
	}
	if o == nil {
		return dispatch.Observation{}, refusal.New("planning", "no-reading",
			"no reading of "+m.Name+" is recorded that the plan could be made from", "")
	}
	newest, err := tx.newestObservation(m.ID)
	if err != nil {
		return *o, err
	}
	for _, shown := range []*dispatch.Observation{o, newest} {
		if r := dispatch.CheckPlan(p, m, shown.Reading, tx.Now()); r != nil {
			return *o, r
		}
	}
	return *o, nil
}

// selectDesired makes the plan's artifact the one that is wanted on the machine. It authorizes nothing.
func (tx *Tx) selectDesired(p *dispatch.Plan, m *dispatch.Machine, actor ledger.Actor) error {
	if m.Desired != p.Artifact {
		rev, err := tx.next(machineScope(m.ID))
		if err != nil {
			return err
		}
		m.Desired, m.DesiredRevision = p.Artifact, rev
		if _, err := tx.append(machineScope(m.ID), dispatch.EntrySelected, actor, nil, dispatch.Body{Machine: m}); err != nil {
			return err
		}
		if err := tx.saveMachine(*m); err != nil {
			return err
		}
	}
	p.DesiredRevision = m.DesiredRevision
	return nil
}

func (tx *Tx) writePlan(p *dispatch.Plan, actor ledger.Actor, reading dispatch.Observation, asked string) (err error) {
	scope := machineScope(p.Machine)
	if p.ID, err = tx.newID(PlanPrefix, "plans", "id"); err != nil {
		return err
	}
	if p.Revision, err = tx.next(scope); err != nil {
		return err
	}
	st := dispatch.Standing{State: dispatch.PlanProposed}
	links := []ledger.Link{{Rel: "observation", Scope: scope, Revision: reading.Revision}}
	body := dispatch.Body{Plan: p, PlanID: p.ID, Standing: &st, Text: p.Reason, Evidence: reading.Basis, Asked: asked}
	if _, err := tx.append(scope, dispatch.EntryPlanned, actor, links, body); err != nil {
		return err
	}
	added, err := tx.insertPlan(planRow{Plan: *p, Standing: st, Asked: asked})
	if err == nil && !added {
		return keyTaken(p.IdempotencyKey) // by another machine's plan, in the meantime
	}
	return err
}

// CancelPlan takes a plan back. After its commitment that is a fact beside it: nothing further is sent for it.
func (s *Store) CancelPlan(ctx context.Context, who Who, planID, reason string) error {
	return s.changePlan(ctx, planID, "the cancellation of "+planID, func(tx *Tx, b binding, p planRow) error {
		actor, err := tx.acting(who, RoleAuthor, RoleOperator, RoleApprover)
		if err != nil {
			return err
		}
		st := p.Standing
		switch {
		case st.CancelledRev != 0:
			return nil
		case st.State == dispatch.PlanProposed || st.State == dispatch.PlanApproved:
			st.State = dispatch.PlanCancelled
		default:
			if err := tx.stillRuns(p); err != nil {
				return err
			}
		}
		if st.CancelledRev, err = tx.next(b.scope()); err != nil {
			return err
		}
		return tx.writeStanding(b, dispatch.EntryPlanCanceled, actor, st, reason, nil)
	})
}

// stillRuns refuses a plan that is over, or whose operation is.
func (tx *Tx) stillRuns(p planRow) error {
	over := func(how string) error {
		return refusal.New("cancellation", "plan-over", fmt.Sprintf("plan %s is %s", p.ID, how), "clew show "+p.ID)
	}
	if p.Standing.State != dispatch.PlanCommitted {
		return over(string(p.Standing.State))
	}
	op, err := tx.operation(p.Standing.Operation)
	if err != nil {
		return err
	}
	if op.State.Terminal() {
		return over("dispatched, and its operation " + op.ID + " is " + string(op.State))
	}
	return nil
}

// changePlan runs fn on a plan under the locks of everything that counts its approvals.
func (s *Store) changePlan(ctx context.Context, planID, what string, fn func(tx *Tx, b binding, p planRow) error) error {
	b, err := s.bindingOfPlan(ctx, planID)
	if err != nil {
		return err
	}
	l := b.locks()
	l.rollout = ""
	l.remember = true // a restore to before it would bring back what authorizes
	return s.update(ctx, l, what, func(tx *Tx) error {
		p, err := tx.plan(planID)
		if err != nil {
			return err
		}
		return fn(tx, b, p)
	})
}

func (tx *Tx) writeStanding(b binding, kind string, actor ledger.Actor, st dispatch.Standing, text string, links []ledger.Link) error {
	body := dispatch.Body{PlanID: b.plan, Standing: &st, Text: text}
	if _, err := tx.append(b.scope(), kind, actor, append(b.links(), links...), body); err != nil {
		return err
	}
	return tx.saveStanding(b.plan, st)
}

// ExpirePlans records that plans whose time is over have expired, and returns how many. Expiry counts by time before it is
// recorded; a plan that is committed keeps its state, with the fact beside it.
func (s *Store) ExpirePlans(ctx context.Context) (int, error) {
	var due []string
	err := s.view(ctx, func(tx *Tx) (err error) {
		due, err = list(tx, scanText, `SELECT p.id FROM plans p LEFT JOIN operations o ON o.plan = p.id
			WHERE p.expires_at <= $1 AND p.expired_revision = 0
			AND (p.state IN ('proposed', 'approved') OR (p.state = 'committed' AND o.state IN `+holding+`))
			ORDER BY p.expires_at`, tx.Now())
		return err
	})
	n := 0
	for _, id := range due {
		if err != nil {
			break
		}
		var expired bool
		expired, err = s.expire(ctx, id)
		if expired {
			n++
		}
	}
	return n, err
}

func (s *Store) expire(ctx context.Context, planID string) (expired bool, err error) {
	err = s.changePlan(ctx, planID, "the expiry of "+planID, func(tx *Tx, b binding, p planRow) (err error) {
		st := p.Standing
		open := st.State == dispatch.PlanProposed || st.State == dispatch.PlanApproved
		if tx.Now().Before(p.ExpiresAt) || st.ExpiredRev != 0 || (!open && st.State != dispatch.PlanCommitted) {
			return nil
		}
		if open {
			st.State = dispatch.PlanExpired
		}
		if st.ExpiredRev, err = tx.next(b.scope()); err != nil {
			return err
		}
		expired = true
		return tx.writeStanding(b, dispatch.EntryPlanExpired, ledger.Actor{}, st, "", nil)
	})
	return expired && err == nil, err
}
