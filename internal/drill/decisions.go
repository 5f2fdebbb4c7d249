package drill

import (
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
)

// StartSettling makes the first reading on the route of a plan's newest attempt after its transport deadline, and returns
// when the settle time that runs from it is over.
func (s *Stage) StartSettling(p *Plan) time.Time {
	a := s.newestAttempt(p)
	plan, _, err := s.ledger.PlanAndMachine(s.ctx, p.ID)
	s.must(err, "reading %s", p.ID)
	s.UntilTime("the transport deadline has passed", dispatch.Deadline(plan, a))
	s.observeRecovery(p, a)
	read := s.Now()
	return read.Add(dispatch.SettleTime(dispatch.MinimumSettle, a.StartedAt, read))
}

// DecideLost accounts for a plan's newest attempt as a recovery-admin, framed by a reading of its own. The settle time has
// to be over, and the sending process to have ended or be attested to have.
func (s *Stage) DecideLost(p *Plan) {
	a := s.newestAttempt(p)
	frame := s.observeRecovery(p, a)
	_, err := s.ledger.AccountByDecision(s.ctx, a.Operation, a.Number,
		ledger.Actor{Identity: founder, Role: store.RoleRecoveryAdmin, Assurance: ledger.Asserted},
		dispatch.Decision{Reason: "the drill judges that it cannot land any more", Basis: frame.Basis, SettleFloor: dispatch.MinimumSettle})
	s.must(err, "deciding about the attempt of %s", p.ID)
	s.Note("the attempt of %s is accounted for by decision", p.ID)
}

// Attest says, as a recovery-admin, that the process that sent a plan's newest attempt has ended, whether or not it has.
func (s *Stage) Attest(p *Plan) {
	a := s.newestAttempt(p)
	s.must(s.ledger.AttestInstance(s.ctx, s.As(founder, store.RoleRecoveryAdmin), a.By.Instance, "the drill attests it"),
		"attesting the end of %s", a.By.Instance)
	s.Note("the sender of %s is attested to have ended", p.ID)
}

func (s *Stage) observeRecovery(p *Plan, a dispatch.Attempt) dispatch.Observation {
	return s.Observe(p.Machine, dispatch.Observation{Purpose: dispatch.ForRecovery, Route: a.Route, Plan: p.ID, Operation: a.Operation})
}

func (s *Stage) newestAttempt(p *Plan) dispatch.Attempt {
	v := s.view(p)
	if len(v.Attempts) == 0 {
		s.Fail("plan %s has no attempt", p.ID)
	}
	return v.Attempts[len(v.Attempts)-1]
}

// view is a plan's operation as the ledger has it, for those who act on it. No reader uses it.
func (s *Stage) view(p *Plan) dispatch.OperationView {
	v, err := s.ledger.Operation(s.ctx, s.Operation(p))
	s.must(err, "looking up the operation of %s", p.ID)
	return v
}
