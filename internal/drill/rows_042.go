package drill

import (
	"context"
	"time"

	"github.com/clewops/clew/internal/lab"
)

func init() {
	register(Row{
		ID:   "042a",
		Case: "Talos answers that another apply is in progress, which is one indeed: a definitive rejection",
		Expect: "plan=committed; operation=rejected; states=committed, sending, rejected; attempts=1; responses=rejected; " +
			"answered=FailedPrecondition 1; landings=0; moved=no; runs=before; persistent=before; a.exit=5",
		Needs: Needs{Faults: true},
		Script: func(s *Stage) {
			m := s.Machine(0)
			p := s.Plan("")
			before := s.ReadNode(m)
			s.Fault(lab.Order{Target: m.Name(), Kind: "delay-before", Arg: "10m", Times: 1})
			other := s.Background("somebody's dry run", func(ctx context.Context) error { return s.foreignDryRun(ctx, m, p.config) })
			s.Until("the other apply is in progress", func() bool { return s.entries(m, journalEntered, true) == 1 })
			s.Dispatch("a", p).Ends()
			s.Fault(lab.Order{Target: m.Name(), Kind: "heal"})
			s.must(other(), "somebody's dry run")
			s.setMoved(m, before)
		},
	})
	register(Row{
		ID:   "042b",
		Case: "Talos answers that the node is rebooting: a definitive rejection",
		Expect: "P.plan=committed; P.operation=rejected; P.states=committed, sending, rejected; P.attempts=1; P.responses=rejected; " +
			"P.landings=0; answered=FailedPrecondition 1, OK 1; landings=1; runs=before; a.exit=5",
		Needs:  Needs{Crash: true},
		Script: sentToRebooting,
	})
	register(Row{
		ID:   "042c",
		Case: "Talos answers with an error after the mutation (code Unknown): unresolved, although the change is there",
		Expect: "plan=committed; operation=unresolved; states=committed, sending, unresolved; attempts=1; responses=inconclusive; accepted=0; " +
			"accounted=none; answered=Unknown 1; landings=1; runs=planned; a.exit=4",
		Needs: Needs{Faults: true},
		Script: func(s *Stage) {
			p := s.Plan("")
			s.Fault(lab.Order{Target: s.Machine(0).Name(), Kind: "error-after", Times: 1})
			s.Dispatch("a", p).Ends()
		},
	})
	register(Row{
		ID: "043",
		Case: "a try is pending, so the machine is not quiescent: planning, dry run, adoption and dispatch refuse and send " +
			"nothing, and the try still rolls back",
		Machines: 2, Takes: trying,
		Expect: "pending=yes; plan.exit=3; dry-run.exit=3; plan-adoption.exit=3; dispatch.exit=3; adopt.exit=3; " +
			"P.operation=none; P.refused=commitment 3; P.attempts=0; A.operation=none; A.refused=adoption 3; written=0; " +
			"dry-runs=0; answered=OK 1; machine-2.answered=OK 1; rolled-back=1; machine-2.rolled-back=1; " +
			"runs=before; persistent=before; machine-2.runs=before; machine-2.persistent=before",
		Script: notQuiescent,
	})
}

// setMoved says whether bytes or versions of either resource moved since.
func (s *Stage) setMoved(m *Machine, before NodeReading) {
	moved := "no"
	if s.ReadNode(m) != before {
		moved = "yes"
	}
	s.Set("moved", moved)
}

// sentToRebooting reboots the node between the evidence and the send, and holds it where it still answers.
func sentToRebooting(s *Stage) {
	m := s.Machine(0)
	p := s.Plan("P")
	a := s.Dispatch("a", p, GateSend)
	a.Reaches(GateSend)
	held := quick
	held.Stop = time.Hour
	s.must(m.SetTiming(s.ctx, held), "holding the reboot of %s", m.Name())
	was, err := m.Status(s.ctx)
	s.must(err, "asking %s", m.Name())
	s.ForeignReboot(m)
	a.Opens(GateSend)
	a.Ends()
	s.must(m.SetTiming(s.ctx, quick), "letting %s go on", m.Name())
	s.Fault(lab.Order{Target: m.Name(), Kind: "reboot"})
	s.Until("the node is up again", func() bool {
		now, err := m.Status(s.ctx)
		return err == nil && now.Up && now.Ready && now.BootID != was.BootID
	})
}

// trying is how long the pending try lasts: long enough for every command on a loaded machine.
const trying = 40 * time.Second

func notQuiescent(s *Stage) {
	m, other := s.Machine(0), s.Machine(1)
	p := s.PlanOn(m, "P")
	adoption := s.ProposeAdoption(other, "A")
	s.Approve(adoption, approver)
	author := s.Person("author", "author")
	written := s.written()
	s.ForeignTry(m, trying)
	s.ForeignTry(other, trying)
	patch := "machine: {nodeLabels: {drill: planned}}"
	planning := []*Process{
		s.Clew("plan", nil, []string{"plan", "create", "-n", m.Name(), "-p", patch}, By(author)),
		s.Clew("dry-run", nil, []string{"apply", "--dry-run", "-n", m.Name(), "-p", patch}, By(author)),
		s.Clew("plan-adoption", nil, []string{"plan", "create", "-n", m.Name(), "--adopt"}, By(author)),
	}
	adopting := s.Dispatch("adopt", adoption)
	for _, e := range planning {
		e.Ends()
	}
	s.Set("written", s.written()-written)
	s.Dispatch("dispatch", p).Ends()
	adopting.Ends()
	pending := "yes"
	for _, x := range []*Machine{m, other} {
		if r := s.ReadNode(x); r.Active == r.Persistent {
			pending = "no"
		}
	}
	s.Set("pending", pending) // through all of that
	for _, x := range []*Machine{m, other} {
		s.Until("the try is rolled back", func() bool { return s.ReadNode(x).Active == x.before })
	}
	s.Set("rolled-back", s.entries(m, journalRolledBack, false))
	s.Set("machine-2.rolled-back", s.entries(other, journalRolledBack, false))
	s.Set("dry-runs", s.entries(m, journalEntered, true)+s.entries(other, journalEntered, true))
}
