package drill

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
)

func init() {
	register(Row{
		ID: "036a",
		Case: "the store is lost during the COMMIT of the commitment: the server is killed when it has taken effect and not answered " +
			"(PostgreSQL), the disk is full when it is written (SQLite, not in effect): found out, then on",
		Expect: "lost=during COMMIT; in-effect=yes|no; plan=committed; operation=completed; states=committed, sending, verifying, completed; " +
			"generation=1; attempts=1; stale-attempts=0; accepted=1; landings=1; answered=OK 1; runs=planned; a.exit=0|1; b.exit=0|not needed",
		Needs: Needs{Crash: true}, OwnServer: true, Disk: true, Takes: 10 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateCommit)
			a.Reaches(GateCommit)
			s.losingCommit(a, GateCommit, nil)
			a.Ends()
			inEffect := s.Query("plan.sql", "plan", p.ID)["plan"] == string(dispatch.PlanCommitted)
			s.Set("in-effect", yesNo(inEffect))
			if inEffect {
				s.Set("b.exit", "not needed") // the same executor went on
				return
			}
			s.Dispatch("b", p).Ends()
		},
	})
	register(Row{
		ID: "036b",
		Case: "the same during the COMMIT of the attempt: what was recorded and is found out too late to be sent never left, and what " +
			"was not recorded was not sent",
		Expect: "lost=during COMMIT; in-effect=yes|no; operation=completed; attempts=2|1; accounted=never-left|none; accepted=1; " +
			"stale-attempts=0; landings=1; answered=OK 1; runs=planned; a.exit=4|1; sent-by-a=0; b.exit=0",
		Needs: Needs{Crash: true}, OwnServer: true, Disk: true, Takes: 10 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateAttempt)
			a.Reaches(GateAttempt)
			// The send window is over before anything can be found out.
			began := s.Now()
			s.losingCommit(a, GateAttempt, func() {
				s.Until("the send window is over", func() bool { return time.Since(began) > dispatch.SendWindow })
			})
			a.Ends()
			s.Set("in-effect", yesNo(s.Query("plan.sql", "plan", p.ID)["attempts"] != "0"))
			s.Set("sent-by-a", s.Landings(p.Machine, nil))
			s.Settle("b", p, nil, []string{"--retry"}).Ends()
		},
	})
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// losingCommit lets an executor go on from a gate inside its transaction and takes the store away during its COMMIT.
// meanwhile is what happens before the store comes back.
func (s *Stage) losingCommit(a *Process, g Gate, meanwhile func()) {
	if s.Store == config.SQLite {
		free := s.FillDisk()
		a.Opens(g)
		// SQLite writes nothing of a small transaction before its COMMIT.
		s.Until("the executor has lost an answer", func() bool { return strings.Contains(a.output.String(), "looking up what took effect") })
		s.Set("lost", "during COMMIT")
		s.Until("the executor ends", a.hasEnded)
		free()
		return
	}
	s.closeLedger() // its connections would be dead when the server is back
	s.holdCommits()
	a.Opens(g)
	s.Until("the COMMIT waits", func() bool { return s.heldCommit(a) })
	s.Set("lost", "during COMMIT")
	s.psql("ALTER SYSTEM RESET synchronous_standby_names;") // read at the next start
	s.KillServer()
	if meanwhile != nil {
		meanwhile()
	}
	s.RestartServer()
	s.reopenLedger()
}

// holdCommits makes every COMMIT of the row's own server wait, after it has become durable and before it is answered: for
// a standby that does not exist. A COMMIT of the drill's own, in another database, shows that it is so.
func (s *Stage) holdCommits() {
	s.ownServer()
	done := s.inject("postgres", "hold commits", "a standby that does not exist")
	s.psql("ALTER SYSTEM SET synchronous_standby_names = 'drill'; SELECT pg_reload_conf();")
	s.Background("a probe that waits, too", func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, s.server.URL().Reveal())
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		_, err = conn.Exec(ctx, "CREATE TABLE drill_probe ()")
		return err // the server is killed
	})
	s.Until("COMMITs wait", func() bool { return strings.Contains(s.psql(syncWaits+"true;"), ":") })
	done("")
}

// syncWaits lists sessions whose COMMIT waits, and their ports.
const syncWaits = "SELECT pid || ':' || client_port FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND "

// heldCommit says whether one of the COMMITs that wait is an executor's.
func (s *Stage) heldCommit(p *Process) bool {
	for _, line := range strings.Fields(s.psql(syncWaits + "datname = current_database();")) {
		_, port, _ := strings.Cut(line, ":")
		owns, err := ownsPort(p.PID(), port)
		s.must(err, "finding out whose COMMIT waits")
		if owns {
			return true
		}
	}
	return false
}
