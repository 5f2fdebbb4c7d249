package drill

import "github.com/clewops/clew/internal/dispatch"

func init() {
	register(Row{
		ID:   "007",
		Case: "taken over between commitment and attempt: the owner stopped, then continued",
		Expect: "operation=completed; generation=2; stale-attempts=0; attempts=1; accepted=1; refused=attempt 7; landings=1; " +
			"runs=planned; a.exit=3; b.exit=0",
		Needs:  Needs{Crash: true},
		Script: takenOver,
	})
	register(Row{
		ID: "008", Control: true, Without: dispatch.Without{dispatch.GuardOwnership, dispatch.GuardSend}, // the send guard compares ownership, too
		Case:   "no ownership comparison at all",
		Expect: "stale-attempts=1; attempts>=1; landings>=1; seen:operation; seen:responses; seen:a.exit; seen:b.exit",
		Needs:  Needs{Crash: true},
		Script: takenOver,
	})
	register(Row{
		ID: "008a", Control: true, Without: dispatch.Without{dispatch.GuardOwner},
		Case:   "without the comparison of owner and generation, with that of the state: the state alone keeps a stale owner out",
		Expect: "stale-attempts=0; refused=attempt 7; attempts=1; landings=1; operation=completed; seen:a.exit; b.exit=0",
		Needs:  Needs{Crash: true},
		Script: takenOver,
	})
	register(Row{
		ID: "008b", Control: true, Without: dispatch.Without{dispatch.GuardOwnedState},
		Case:   "without the comparison of the state, with that of owner and generation: the owner alone keeps a stale one out",
		Expect: "stale-attempts=0; refused=attempt 7; attempts=1; landings=1; operation=completed; seen:a.exit; b.exit=0",
		Needs:  Needs{Crash: true},
		Script: takenOver,
	})
	register(Row{
		ID:   "009",
		Case: "a second executor dispatches the same plan while the first holds its commitment",
		Expect: "waited=yes; held-by-the-first=true; refused=commitment 0; operation=completed; attempts=1; landings=1; runs=planned; " +
			"a.exit=0; b.exit=3",
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateCommit)
			a.Reaches(GateCommit)
			b := s.Dispatch("b", p)
			s.Until("the second executor waits", func() bool { return s.Waiting() > 0 })
			s.Set("waited", "yes")
			s.Set("held-by-the-first", s.HeldBy(a))
			a.Opens(GateCommit)
			a.Ends()
			b.Ends()
		},
	})
	register(Row{
		ID:   "010",
		Case: "B on the same machine while A is held at its send; then B after A; then B planned afresh",
		Expect: "A.operation=completed; A.landings=1; B.operation=none; B.refused=precheck 4, commitment 2; B.landings=0; " +
			"fresh.operation=completed; fresh.landings=1; landings=2; runs=fresh; a.exit=0; b-during.exit=3; b-after.exit=3; b-fresh.exit=0",
		Script: func(s *Stage) {
			planA, planB := s.Plan("A"), s.Plan("B")
			a := s.Dispatch("a", planA, GateSend)
			a.Reaches(GateSend)
			s.Dispatch("b-during", planB).Ends()
			a.Opens(GateSend)
			a.Ends()
			s.Dispatch("b-after", planB).Ends()
			s.Dispatch("b-fresh", s.Plan("fresh")).Ends()
		},
	})
	register(Row{
		ID: "011", Control: true, Without: dispatch.Without{dispatch.GuardScope},
		Case:   "no scope index, no comparison 4: B is dispatched while A is held at its send",
		Expect: "B.operation=completed; A.operation=completed; A.landings=1; B.landings=1; landings=2; runs=A; a.exit=0; b.exit=0",
		Script: func(s *Stage) {
			planA, planB := s.Plan("A"), s.Plan("B")
			a := s.Dispatch("a", planA, GateSend)
			a.Reaches(GateSend)
			s.Dispatch("b", planB).Ends()
			a.Opens(GateSend)
			a.Ends()
		},
	})
}

// takenOver stops the owner between its two transactions, has another executor take the operation over, lets the old
// owner go on to its attempt, and then the new one to classify and send.
func takenOver(s *Stage) {
	p := s.Plan("")
	a := s.Dispatch("a", p, GateCommitted)
	a.Reaches(GateCommitted)
	a.Pause()
	b := s.Settle("b", p, []Gate{GateEvidence}, []string{"--takeover", "--retry"})
	b.Reaches(GateEvidence)
	a.Opens(GateCommitted)
	a.Continue()
	a.Ends()
	b.Opens(GateEvidence)
	b.Ends()
}
