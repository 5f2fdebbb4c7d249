package drill

import (
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

// giveUp is the transport deadline of the rows that lose an answer: they wait for its end.
const giveUp = 2 * time.Second

// lossy are the terms of a plan whose send will be lost.
func lossy(route dispatch.Route, more ...Terms) []Terms {
	return append([]Terms{Route(route), Deadlines(giveUp, time.Minute)}, more...)
}

// settleLong is how long a settling looks for evidence: a retransmission may be as far off as the partition was long.
const settleLong = "120s"

// loseAtSend dispatches p, makes the fault while the executor stands right before its send, lets it send into the fault
// and waits until it has given up.
func (s *Stage) loseAtSend(p *Plan, fault lab.Order) {
	a := s.Dispatch("a", p, GateSend)
	a.Reaches(GateSend)
	s.Fault(fault)
	a.Opens(GateSend)
	a.Ends()
}

// settleAfter settles p while the fault lasts, ends the fault, has the lost attempt accounted for, and settles to the end.
func (s *Stage) settleAfter(p *Plan, end lab.Order) {
	s.Settle("early", p, nil, nil).Ends()
	s.Set("landings-before-heal", s.Landings(p.Machine, p))
	healed := time.Now()
	s.Fault(end)
	s.settleLost(p, "--retry")
	s.setLate(p, healed)
}

// settleLost accounts for a lost attempt and settles. Over userland links no evidence can be had, because they terminate
// TCP: a recovery-admin decides after the settle time. Over real links the executor finds the evidence by itself.
func (s *Stage) settleLost(p *Plan, flags ...string) {
	if s.Net == lab.LinksUserland {
		s.Settle("undecided", p, nil, flags).Ends()
		s.UntilTime("the settle time is over", s.StartSettling(p))
		s.DecideLost(p)
	} else {
		s.Set("undecided.exit", "not asked")
	}
	s.Settle("settled", p, nil, append(flags, "--wait", settleLong)).Ends()
}

// setLate records when the first landing of p's bytes came, counted from the heal by the node's own journal.
func (s *Stage) setLate(p *Plan, healed time.Time) {
	for _, a := range s.journal(p.Machine) {
		if a.Entry == journalLanded && a.SHA256 == p.sum {
			s.Set("landed-after-heal", a.Time.Sub(healed).Round(10*time.Millisecond))
			return
		}
	}
	s.Set("landed-after-heal", "never")
}

// decideAtOnce tries to account for the newest attempt of p by decision, without any wait, and says what came of it: the
// code of the ledger's refusal, or "accounted".
func (s *Stage) decideAtOnce(p *Plan) string {
	a := s.newestAttempt(p)
	frame := s.observeRecovery(p, a)
	_, err := s.ledger.AccountByDecision(s.ctx, a.Operation, a.Number,
		ledger.Actor{Identity: founder, Role: store.RoleRecoveryAdmin, Assurance: ledger.Asserted},
		dispatch.Decision{Reason: "the drill decides too early", Basis: frame.Basis, SettleFloor: dispatch.MinimumSettle})
	if r, refused := refusal.As(err); refused {
		s.Note("the decision is refused: %s", r.Message)
		return r.Code
	}
	s.must(err, "deciding about the attempt of %s", p.ID)
	return "accounted"
}

// seldom makes a condition that starts a process fit for Until: it is asked four times a second.
func seldom(holds func() bool) func() bool {
	var last time.Time
	return func() bool {
		if time.Since(last) < 250*time.Millisecond {
			return false
		}
		last = time.Now()
		return holds()
	}
}

// failedReads is how many reads of p's machine failed since the commitment, by the database's reader.
func (s *Stage) failedReads(p *Plan) string {
	return s.Query("failed_reads.sql", "plan", p.ID)["failed-reads"]
}

// loseStore takes the row's store away from everybody: PostgreSQL is killed; on SQLite another process holds the file's
// write lock. The function that it returns brings the store back.
func (s *Stage) loseStore() (back func()) {
	if s.Store == config.Postgres {
		s.KillServer()
		return func() {
			s.RestartServer()
			s.reconnectLedger()
		}
	}
	return s.holdWriteLock()
}

// reconnectLedger opens the stage's own store again, after its connections were lost with the server.
func (s *Stage) reconnectLedger() {
	if err := s.ledger.Close(s.ctx); err != nil {
		s.Note("the drill's own store, whose server was killed: %v", err)
	}
	var err error
	s.ledger, err = store.Open(s.ctx, store.Config{
		Location: s.place.location, StateDir: s.stateDir(), Without: s.Row.Without,
	})
	s.must(err, "opening the row's store again")
}
