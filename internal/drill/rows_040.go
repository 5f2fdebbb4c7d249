package drill

func init() {
	register(Row{
		ID: "040a",
		Case: "the request lands after its attempt was accounted for by decision, with a plan B completed in between (its sender was " +
			"stopped between the send guard and the socket): detected as drift, linked to its operation",
		Expect: "A.operation=failed; A.accounted=decision; A.responses=none; B.operation=completed; landings-before=1; A.landings=1; B.landings=1; " +
			"landings=2; runs=A; B.drift=open; late=drift.opened; accounting-linked=yes; taken.exit=4; settled.exit=5; b.exit=0|4; a.exit=killed",
		Needs: Needs{Crash: true}, Takes: decided,
		Script: func(s *Stage) { s.landsLate(false) },
	})
	register(Row{
		ID:   "040b",
		Case: "the same where B carried identical bytes: recorded as a version move only, linked to its operation",
		Expect: "A.operation=failed; A.accounted=decision; A.responses=none; B.operation=completed; landings-before=1; landings=2; runs=A; " +
			"B.drift=none; late=operation.version-moved; accounting-linked=yes; taken.exit=4; settled.exit=5; b.exit=0|4; a.exit=killed",
		Needs: Needs{Crash: true}, Takes: decided,
		Script: func(s *Stage) { s.landsLate(true) },
	})
}

// landsLate lets a request go out that was accounted for long ago, and has the machine read after it has landed. The
// sender is killed before it can record the answer: then only the machine tells.
func (s *Stage) landsLate(identical bool) {
	a, first := s.suspendedAndSuperseded(GateSend, identical, GateResponse)
	s.Set("landings-before", s.Landings(first.Machine, nil))
	a.Opens(GateSend)
	a.Continue()
	a.Reaches(GateResponse)
	a.Kill()
	s.Watch(first.Machine)
	found := s.Query("landed_late.sql", "plan", first.ID)
	s.Set("late", found["late"])
	s.Set("accounting-linked", found["accounting-linked"])
}
