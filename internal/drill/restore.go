package drill

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

// Backup copies the row's store as it is now: by SQLite's own shell, or by pg_dump.
func (s *Stage) Backup() {
	done := s.inject("store", "backup", "")
	if s.Store == config.SQLite {
		s.sqliteShell(fmt.Sprintf(".backup '%s'", s.backupFile()))
	} else {
		plain, env := s.pgEnv()
		c := exec.CommandContext(s.ctx, filepath.Join(s.server.Bin(), "pg_dump"), "--data-only", "--no-password", "--file", s.backupFile(), plain)
		c.Env = env
		out, err := c.CombinedOutput()
		s.must(err, "pg_dump: %s", s.run.hide(clean(string(out))))
	}
	done("")
}

// Restore puts the copy back, under whoever has the store open: the file keeps its inode, the database its tables, and
// what was recorded since the backup is gone.
func (s *Stage) Restore() {
	done := s.inject("store", "restore", "")
	s.closeLedger()
	if s.Store == config.SQLite {
		s.sqliteShell(fmt.Sprintf(".restore '%s'", s.backupFile()))
	} else {
		dump, err := os.ReadFile(s.backupFile())
		s.must(err, "reading the backup")
		tables := s.psql("SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables WHERE schemaname = 'public';")
		s.psql("BEGIN;\nTRUNCATE " + tables + ";\n" + string(dump) + "\nCOMMIT;\n")
	}
	done("")
	s.reopenLedger()
}

// pgEnv is the database's URL without its password, and an environment with it.
func (s *Stage) pgEnv() (plain string, env []string) {
	plain, password, err := databaseURL(s.place.location.URL)
	s.must(err, "naming the database")
	return plain, []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "PGPASSWORD=" + password}
}

func (s *Stage) backupFile() string { return s.path("backup.db") }

// sqliteShell has SQLite's own shell do something to the row's file.
func (s *Stage) sqliteShell(order string) {
	c := exec.CommandContext(s.ctx, "sqlite3", "-batch", "-bail", "-cmd", ".timeout 20000", s.place.location.Path, order)
	out, err := c.CombinedOutput()
	s.must(err, "sqlite3 %s: %s", order, clean(string(out)))
}

// EnterRecovery issues a new epoch and closes every machine, as a recovery-admin does after a restore.
func (s *Stage) EnterRecovery() {
	who := s.As(founder, store.RoleRecoveryAdmin)
	_, err := s.ledger.EnterRecovery(s.ctx, who, "the drill restored the store")
	s.must(err, "entering recovery")
	s.asInstance(func(instance string) {
		n, err := s.ledger.CloseMachines(s.ctx, who, instance)
		s.must(err, "closing the machines")
		s.Note("recovery is entered, %d machines are closed", n)
	})
}

// AttestAll vouches for the end of every instance that nothing shows to have ended.
func (s *Stage) AttestAll() {
	r, err := s.ledger.Recovery(s.ctx)
	s.must(err, "reading where the recovery stands")
	for _, i := range r.Running {
		s.must(s.ledger.AttestInstance(s.ctx, s.As(founder, store.RoleRecoveryAdmin), i.ID, "the drill attests it"), "attesting %s", i.ID)
	}
	s.Note("%d instances are attested to have ended", len(r.Running))
}

// SettleMachines reads machines for recovery and waits until the settle time since is over.
func (s *Stage) SettleMachines(machines ...*Machine) {
	for _, m := range machines {
		s.watchRecovery(m)
	}
	s.UntilTime("the settle time is over", s.Now().Add(dispatch.MinimumSettle+time.Second))
	for _, m := range machines {
		s.watchRecovery(m)
	}
}

func (s *Stage) watchRecovery(m *Machine) {
	s.Observe(m, dispatch.Observation{Purpose: dispatch.ForRecovery, Route: dispatch.Direct})
}

// Mark records a recovery-admin's judgement of a machine, and says what the ledger answered.
func (s *Stage) Mark(m *Machine, mark dispatch.RecoveryMark) string {
	_, err := s.ledger.MarkMachine(s.ctx, s.As(founder, store.RoleRecoveryAdmin), m.ID, mark, dispatch.MinimumSettle, "the drill has looked at it")
	return s.answer(err, "marking %s", m.Name())
}

// Release opens a machine's gate, and says what the ledger answered.
func (s *Stage) Release(m *Machine) string {
	_, err := s.ledger.ReleaseMachine(s.ctx, s.As(founder, store.RoleRecoveryAdmin), m.ID, "the drill releases it")
	return s.answer(err, "releasing %s", m.Name())
}

// Leave ends the recovery, and says what the ledger answered.
func (s *Stage) Leave() string {
	return s.answer(s.ledger.LeaveRecovery(s.ctx, s.As(founder, store.RoleRecoveryAdmin), "the drill is through"), "leaving recovery")
}

// answer is "done", or the code of a refusal.
func (s *Stage) answer(err error, format string, args ...any) string {
	if r, refused := refusal.As(err); refused {
		s.Note("refused (%s): %s", r.Code, r.Message)
		return r.Code
	}
	s.must(err, format, args...)
	return "done"
}
