package drill

import (
	"os"
	"strings"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
)

func init() {
	register(Row{
		ID: "039a",
		Case: "restored to before a takeover: the old owner, which still lives, sends nothing, nor does anybody before recovery is entered, " +
			"nor is the restored operation ever retried",
		Expect: "restored-to=committed, 1; operation=unresolved; attempts=0; landings=1; answered=OK 1; runs=planned; " +
			"b.exit=0; a.exit=1|4; noticed.exit=1|4; entered.exit=3",
		Needs: Needs{Crash: true},
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateCommitted)
			a.Reaches(GateCommitted)
			s.Backup()
			s.Settle("b", p, nil, []string{"--takeover", "--retry"}).Ends()
			s.Restore()
			found := s.Query("plan.sql", "plan", p.ID)
			s.Set("restored-to", found["operation"]+", "+found["generation"])
			a.Opens(GateCommitted)
			a.Ends()
			s.Settle("noticed", p, nil, []string{"--retry"}).Ends()
			s.EnterRecovery()
			s.Settle("entered", p, nil, []string{"--retry"}).Ends()
		},
	})
	register(Row{
		ID: "039b",
		Case: "restored to before an approval: what was approved and done is not approved any more, and an approval of the new epoch waits " +
			"for the machine's release",
		Expect: "restored-to=proposed; plan=approved; operation=none; refused=precheck 6|precheck 1, precheck 6; attempts=0; landings=1; " +
			"answered=OK 1; runs=planned; a.exit=0; noticed.exit=1|3; entered.exit=3",
		Needs: Needs{Crash: true},
		Script: func(s *Stage) {
			p := s.Propose(s.Machine(0), "", nil)
			s.Backup()
			s.Approve(p, approver)
			s.Dispatch("a", p).Ends()
			s.Restore()
			s.Set("restored-to", s.Query("plan.sql", "plan", p.ID)["plan"])
			s.Dispatch("noticed", p).Ends()
			s.EnterRecovery()
			s.Approve(p, approver)
			s.Dispatch("entered", p).Ends()
		},
	})
	register(Row{
		ID:   "039c",
		Case: "restored to before a revocation: the approval that is back authorizes nothing, before recovery is entered and after",
		Expect: "restored-to=approved; plan=approved; operation=none; refused=precheck 1; revocation=none; attempts=0; landings=0; " +
			"answered=none; runs=before; noticed.exit=1; entered.exit=3",
		Needs: Needs{Crash: true},
		Script: func(s *Stage) {
			p := s.Plan("")
			s.Backup()
			s.Revoke(p)
			s.Restore()
			s.Set("restored-to", s.Query("plan.sql", "plan", p.ID)["plan"])
			s.Dispatch("noticed", p).Ends()
			s.EnterRecovery()
			s.Dispatch("entered", p).Ends()
		},
	})
	register(Row{
		ID:   "039d",
		Case: "restored to before an attempt: what was sent is not sent again",
		Expect: "restored-to=committed, 0; operation=unresolved; attempts=0; landings=1; answered=OK 1; runs=planned; " +
			"a.exit=0; noticed.exit=1|4; entered.exit=3",
		Needs: Needs{Crash: true},
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateCommitted)
			a.Reaches(GateCommitted)
			s.Backup()
			a.Opens(GateCommitted)
			a.Ends()
			s.Restore()
			found := s.Query("plan.sql", "plan", p.ID)
			s.Set("restored-to", found["operation"]+", "+found["attempts"])
			s.Settle("noticed", p, nil, []string{"--takeover", "--retry"}).Ends() // that its owner has ended is lost, too
			s.EnterRecovery()
			s.Settle("entered", p, nil, []string{"--retry"}).Ends()
		},
	})
	register(Row{
		ID: "039e",
		Case: "an instance of before the restore is missed, attested to have ended although it lives, and goes on in the new epoch: it is refused by epoch " +
			"(comparison 1: its approvals are of another one)",
		Expect: "operation=unresolved; generation=2; refused=attempt 1; attempts=0; stale-attempts=0; landings=0; answered=none; runs=before; " +
			"a.exit=3|4",
		Needs: Needs{Crash: true},
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateCommitted)
			a.Reaches(GateCommitted)
			s.Backup()
			s.Freeze(s.Machine(0))
			a.Pause()
			s.Restore()
			s.EnterRecovery()
			s.AttestAll()
			a.Opens(GateCommitted)
			a.Continue()
			a.Ends()
		},
	})
	register(Row{
		ID: "039f",
		Case: "the SQLite file is swapped for a copy under running executors, one before its attempt (C), one before its send (A): neither " +
			"sends",
		Stores: []config.Engine{config.SQLite}, Machines: 2,
		Expect: "C.attempts=0; C.landings=0; A.landings=0; landings=0; machine-2.landings=0; answered=none; machine-2.answered=none; c.exit=1|4; a.exit=killed",
		Needs:  Needs{Crash: true},
		Script: func(s *Stage) {
			planC, planA := s.PlanOn(s.Machine(0), "C"), s.PlanOn(s.Machine(1), "A")
			c := s.Dispatch("c", planC, GateCommitted)
			c.Reaches(GateCommitted)
			a := s.Dispatch("a", planA, GateGuard)
			a.Reaches(GateGuard)
			s.swapFile()
			a.Opens(GateGuard)
			c.Opens(GateCommitted)
			c.Ends()
			// It goes on trying to write down that nothing left, into a store that is not there any more.
			s.Until("the other one has not sent", func() bool { return strings.Contains(a.output.String(), "the store is away") })
			a.Kill()
		},
	})
	register(Row{
		ID: "039g",
		Case: "machines are released one by one: what is released can be a target while the other cannot, and what the restore brought " +
			"back is closed after the machine's accounting",
		Machines: 2,
		Expect: "early-mark=settle-time; left.operation=cancelled; left.attempts=0; ready-while-open=operation-open; early-release=not-ready; " +
			"release-1=done; leave-early=not-released; one.operation=completed; two-early.refused=yes; release-2=done; two.operation=completed; leave=done; " +
			"one.landings=1; two.landings=1; landings=1; machine-2.landings=1; one.exit=0; closed.exit=3; two-early.exit=3; two.exit=0; left.exit=killed",
		Needs: Needs{Crash: true}, Takes: decided,
		Script: releaseOneByOne,
	})
}

// releaseOneByOne goes through the whole procedure with two machines, one of which a restored operation holds.
func releaseOneByOne(s *Stage) {
	first, second := s.Machine(0), s.Machine(1)
	left := s.PlanOn(second, "left")
	e := s.Dispatch("left", left, GateCommitted)
	e.Reaches(GateCommitted)
	s.Backup()
	e.Kill()
	s.Freeze(first)
	s.Freeze(second)
	s.Restore()
	s.EnterRecovery()
	s.watchRecovery(first)
	s.Set("early-mark", s.Mark(first, dispatch.RecoveryReady))
	s.SettleMachines(first, second)
	s.Set("early-release", s.Release(first))
	s.Set("marked", s.Mark(first, dispatch.RecoveryReady))
	s.Set("ready-while-open", s.Mark(second, dispatch.RecoveryReady))
	s.Set("marked-unresolved", s.Mark(second, dispatch.RecoveryUnresolved))
	s.Settle("closed", left, nil, nil).Ends()
	s.watchRecovery(second)
	s.Set("marked-ready", s.Mark(second, dispatch.RecoveryReady))
	s.Set("release-1", s.Release(first))
	s.Set("leave-early", s.Leave())
	one, two := s.PlanOn(first, "one"), s.PlanOn(second, "two")
	s.Dispatch("one", one).Ends()
	s.Dispatch("two-early", two).Ends()
	s.Set("two-early.refused", yesNo(s.Query("plan.sql", "plan", two.ID)["refused"] == "precheck 6"))
	s.Set("release-2", s.Release(second))
	s.Dispatch("two", two).Ends()
	s.Set("leave", s.Leave())
}

// swapFile puts a copy of the store in the place of its file, which whoever has it open does not see.
func (s *Stage) swapFile() {
	s.closeLedger()
	path := s.place.location.Path
	s.sqliteShell(".backup '" + s.backupFile() + "'")
	done := s.inject("store", "swap", "")
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !os.IsNotExist(err) {
			s.must(err, "removing a log")
		}
	}
	s.must(os.Rename(s.backupFile(), path), "swapping the file")
	done(time.Now().Format(time.RFC3339))
	s.reopenLedger()
}
