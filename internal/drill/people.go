package drill

import (
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

// Cancel takes a plan back.
func (s *Stage) Cancel(p *Plan) {
	s.must(s.ledger.CancelPlan(s.ctx, s.As(operator(operators-1), store.RoleOperator), p.ID, "the drill takes it back"), "cancelling %s", p.ID)
	s.Note("%s is cancelled", p.ID)
}

// RevokePerson revokes an identity, and then writes on the machines' timelines what that does to plans, as the command
// that revokes does.
func (s *Stage) RevokePerson(name string) {
	_, err := s.ledger.RevokeIdentity(s.ctx, s.As(founder, store.RoleApprover), name, "the drill revokes it")
	s.must(err, "revoking %s", name)
	_, err = s.ledger.RecordRevocations(s.ctx)
	s.must(err, "recording what the revocation of %s does to plans", name)
	s.Note("%s is revoked", name)
}

// Freeze closes a machine's gate; Unfreeze opens it.
func (s *Stage) Freeze(m *Machine) {
	_, err := s.ledger.Freeze(s.ctx, s.As(operator(operators-1), store.RoleOperator), m.ID, "the drill freezes it")
	s.must(err, "freezing %s", m.Name())
	s.Note("%s is frozen", m.Name())
}

// Unfreeze lifts a freeze.
func (s *Stage) Unfreeze(m *Machine) {
	_, err := s.ledger.Unfreeze(s.ctx, s.As(approver, store.RoleApprover), m.ID, "the drill goes on")
	s.must(err, "lifting the freeze of %s", m.Name())
	s.Note("the freeze of %s is lifted", m.Name())
}

// OpenRollout lets a rollout go on that failures closed.
func (s *Stage) OpenRollout(id string) {
	_, err := s.ledger.OpenRollout(s.ctx, s.As(approver, store.RoleApprover), id, "the drill has looked at what failed")
	s.must(err, "opening rollout %s", id)
	s.Note("rollout %s is open again", id)
}

// Now is the store's time.
func (s *Stage) Now() time.Time {
	now, err := s.ledger.Now(s.ctx)
	s.must(err, "reading the store's time")
	return now
}

// UntilTime waits until the store's time is past t: what the row is about happens by the clock.
func (s *Stage) UntilTime(what string, t time.Time) {
	s.Until(what, func() bool { return s.Now().After(t) })
}

// UntilExpired waits until a plan's time is over.
func (s *Stage) UntilExpired(p *Plan) {
	plan, _, err := s.ledger.PlanAndMachine(s.ctx, p.ID)
	s.must(err, "reading %s", p.ID)
	s.UntilTime("plan "+p.ID+" has expired", plan.ExpiresAt)
}

// MaxAge bounds the age of the evidence.
func MaxAge(d time.Duration) Terms { return func(p *dispatch.Plan) { p.MaxAge = d } }

// Observe makes one recorded reading of a machine on a route, as an instance of its own that ends with it, and returns it.
func (s *Stage) Observe(m *Machine, o dispatch.Observation) dispatch.Observation {
	var done dispatch.Observation
	s.asInstance(func(instance string) { done, _ = s.read(instance, m, o) })
	return done
}

// Watch is the reading by which drift is found.
func (s *Stage) Watch(m *Machine) dispatch.Observation {
	return s.Observe(m, dispatch.Observation{Purpose: dispatch.ForDrift, Route: dispatch.Direct})
}

// NeverLeft has a plan's attempt recorded and not sent: the executor stands before its send guard until the send window
// is over, and then writes down that nothing left. It stays unresolved.
func (s *Stage) NeverLeft(name string, p *Plan) *Process {
	e := s.Dispatch(name, p, GateGuard)
	e.Reaches(GateGuard)
	// The attempt's own time is later than the beginning from which the window is counted.
	s.UntilTime("the send window is over", s.attempted(p).Add(dispatch.SendWindow))
	e.Opens(GateGuard)
	e.Ends()
	return e
}

// attempted is when the newest attempt of a plan was recorded.
func (s *Stage) attempted(p *Plan) time.Time {
	v, err := s.ledger.Operation(s.ctx, s.Operation(p))
	s.must(err, "reading the operation of %s", p.ID)
	if len(v.Attempts) == 0 {
		s.Fail("plan %s has no attempt", p.ID)
	}
	return v.Attempts[len(v.Attempts)-1].StartedAt
}
