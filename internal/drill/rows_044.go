package drill

import (
	"fmt"
	"slices"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

func init() {
	register(Row{
		ID:   "044",
		Case: "zero, absent or any other mode; a plan that changes nothing; an unknown machine: refused at planning, nothing written",
		Expect: "modes=refused 8 of 8; no-op=refused; unknown=refused; written=0; plan-no-op.exit=3; plan-unknown.exit=3; " +
			"answered=none; landings=0; runs=before",
		Script: refusedAtPlanning,
	})
	register(Row{
		ID:   "045",
		Case: "the node applies and loses its address before it answers: unresolved, then settled over its new address",
		Expect: "before.operation=unresolved; before.responses=inconclusive; before.accounted=none; a.exit=4; unaccounted.exit=4; " +
			"operation=completed; attempts=1; accounted=decision; accepted=0; landings=1; answered=OK 1; runs=planned; settled.exit=0",
		Needs: Needs{Faults: true}, OwnLab: true, Takes: dispatch.MinimumSettle + 10*time.Second,
		Script: movedAway,
	})
}

// refusedAtPlanning offers plans of which each is a sound one but for what must be refused.
func refusedAtPlanning(s *Stage) {
	m := s.Machine(0)
	author := s.Person("author", store.RoleAuthor)
	sound := s.Propose(m, "sound", nil)
	o := s.Observe(m, dispatch.Observation{Purpose: dispatch.ForPlanning, Route: dispatch.Direct})
	written := s.written()
	offer := func(change Terms) bool {
		p := s.terms(m, o, sound.config)
		change(&p)
		_, _, err := s.ledger.CreatePlan(s.ctx, s.As(founder, store.RoleAuthor), p, o)
		r, refused := refusal.As(err)
		if !refused && err != nil {
			s.must(err, "offering a plan")
		}
		s.Note("offered mode %q for %s: %v", p.Mode, p.Machine, r)
		return refused
	}
	refused := 0
	modes := []string{"", "0", "reboot", "auto", "staged", "try", "maintenance", "NO_REBOOT"}
	for _, mode := range modes {
		if offer(func(p *dispatch.Plan) { p.Mode = mode }) {
			refused++
		}
	}
	s.Set("modes", "refused "+fmt.Sprintf("%d of %d", refused, len(modes)))
	word := map[bool]string{true: "refused", false: "recorded"}
	s.Set("no-op", word[offer(func(p *dispatch.Plan) { p.Artifact, p.Post.Digest = p.Expected, p.Expected })])
	s.Set("unknown", word[offer(func(p *dispatch.Plan) { p.Machine = "m-unknown" })])
	for name, args := range map[string][]string{
		"plan-no-op":   {"-n", m.Name(), "-p", "machine: {}"},
		"plan-unknown": {"-n", "nobody", "-p", "machine: {nodeLabels: {drill: planned}}"},
	} {
		s.Clew(name, nil, slices.Concat([]string{"plan", "create"}, args), By(author)).Ends()
	}
	s.Set("written", s.written()-written)
}

// movedAway has the node leave its address between the change and the answer.
func movedAway(s *Stage) {
	m := s.Machine(0)
	p := s.Plan("", Deadlines(3*time.Second, time.Minute))
	s.Fault(lab.Order{Target: m.Name(), Kind: "move-after", Times: 1})
	s.Dispatch("a", p).Ends()
	found := s.Query("plan.sql", "plan", p.ID)
	for _, name := range []string{"operation", "responses", "accounted"} {
		s.Set("before."+name, found[name])
	}
	s.Settle("unaccounted", p, nil, []string{"--address", m.Address()}).Ends()
	s.UntilTime("the settle time is over", s.StartSettling(p))
	s.DecideLost(p)
	s.Settle("settled", p, nil, []string{"--address", m.Address()}).Ends()
}
