package drill

import "strconv"

func init() {
	register(Row{
		ID:   "034",
		Case: "two executors take over one generation at once: both wait for the same lock, and there is one winner",
		Expect: "waited=2; takeovers=1; taken-by-the-winner=true; operation=completed; generation=2; attempts=1; stale-attempts=0; " +
			"landings=1; runs=planned; a.exit=killed; winners=1; winner-exit=0; loser-exit=3",
		Needs: Needs{Crash: true},
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateCommitted)
			a.Reaches(GateCommitted)
			a.Kill()
			release := s.Hold(s.Machine(0))
			b := s.Settle("b", p, []Gate{GateEvidence}, []string{"--retry"})
			c := s.Settle("c", p, []Gate{GateEvidence}, []string{"--retry"})
			waiting := 0
			s.Until("both wait", func() bool { waiting = s.Queued(); return waiting == 2 })
			s.Set("waited", waiting)
			release()
			winners, losers := s.Race(GateEvidence, b, c)
			found := s.Query("takeovers.sql", "plan", p.ID)
			s.Set("winners", len(winners))
			s.Set("takeovers", found["takeovers"])
			s.Set("taken-by-the-winner", len(winners) == 1 && found["by"] == strconv.Itoa(winners[0].PID()))
			for _, w := range winners {
				w.Opens(GateEvidence)
			}
			b.Ends()
			c.Ends()
			s.Set("winner-exit", statuses(winners))
			s.Set("loser-exit", statuses(losers))
		},
	})
}
