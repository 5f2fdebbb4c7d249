package drill

import (
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
)

// settledOnce is what must be read of a send that was lost: unresolved until it is accounted for, then completed by its
// late landing or by one retry, and one landing in either case.
const settledOnce = "operation=completed; landings=1; landings-before-heal=0; runs=planned; persistent=planned; drift=none; " +
	"responses=inconclusive|inconclusive, accepted; accounted=decision|cannot-arrive; " +
	"a.exit=4; early.exit=4; undecided.exit=4|not asked; settled.exit=0; seen:landed-after-heal; "

func init() {
	register(Row{
		ID:     "012",
		Case:   "partition at send, through the endpoint, longer than the transport deadline",
		Expect: settledOnce + "attempts=1|2",
		Needs:  Needs{Faults: true}, Takes: 60 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("", lossy(s.Via())...)
			link := s.EndpointLink(p.Machine)
			s.loseAtSend(p, lab.Order{Target: link, Kind: "cut"})
			s.settleAfter(p, lab.Order{Target: link, Kind: "heal"})
		},
	})
	register(Row{
		ID: "013",
		Case: "as 012, accounted the moment the executor exits: the request has come in at the node, which is still at it when " +
			"the partition begins and ends",
		Expect: "decided=settle-time; operation=unresolved; states=committed, sending, unresolved; accounted=none; " +
			"landings-when-decided=0; landings=1; runs=planned; a.exit=4; early.exit=4; ended.exit=not asked",
		Needs: Needs{Faults: true}, Takes: 20 * time.Second,
		Script: accountedAtOnce,
	})
	register(Row{
		ID: "013C", Control: true, Without: dispatch.Without{dispatch.GuardAccounting},
		Case: "as 013, without the conditions of accounting: a terminal state on untrue evidence",
		Expect: "decided=accounted; operation=failed; accounted=decision; landings-when-decided=0; landings=1; runs=planned; " +
			"a.exit=4; early.exit=4; ended.exit=5",
		Needs: Needs{Faults: true}, Takes: 20 * time.Second,
		Script: accountedAtOnce,
	})
	register(Row{
		ID:     "014",
		Case:   "node paused and resumed around the send",
		Expect: settledOnce + "attempts=1|2",
		Needs:  Needs{Faults: true, Crash: true}, Takes: 60 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("", lossy(dispatch.Direct)...)
			s.loseAtSend(p, lab.Order{Target: p.Machine.Name(), Kind: "pause"})
			s.settleAfter(p, lab.Order{Target: p.Machine.Name(), Kind: "continue"})
		},
	})
	register(Row{
		ID:     "015",
		Case:   "partition at send, direct route, with the abort of each attempt: nothing arrives late",
		Expect: settledOnce + "attempts=2",
		Needs:  Needs{Faults: true}, Takes: 60 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("", lossy(dispatch.Direct)...)
			link := s.ClientLink(p.Machine)
			s.loseAtSend(p, lab.Order{Target: link, Kind: "cut"})
			s.settleAfter(p, lab.Order{Target: link, Kind: "heal"})
		},
	})
	register(Row{
		ID: "015C", Control: true, Without: dispatch.Without{dispatch.GuardAbort},
		Case: "as 015, without the abort, and a client that never cancels: it lands after the transport deadline",
		Expect: "landings-before-heal=0; landings=1; runs=planned; operation=unresolved; attempts=1; responses=inconclusive; " +
			"accounted=none; a.exit=4; seen:landed-after-heal",
		Needs: Needs{Faults: true}, Takes: 15 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("", lossy(dispatch.Direct)...)
			link := s.ClientLink(p.Machine)
			a := s.Dispatch("a", p, GateSend, GateResponse)
			a.Reaches(GateSend)
			s.Fault(lab.Order{Target: link, Kind: "cut"})
			a.Opens(GateSend)
			a.Reaches(GateResponse) // its deadline is over, and its connection is left as it is
			s.Set("landings-before-heal", s.Landings(p.Machine, p))
			healed := time.Now()
			s.Fault(lab.Order{Target: link, Kind: "heal"})
			s.Until("the request lands late", func() bool { return s.Landings(p.Machine, p) > 0 })
			s.setLate(p, healed)
			a.Opens(GateResponse)
			a.Ends()
		},
	})
}

// accountedAtOnce loses an answer through the endpoint while the node is still at the request, decides about the attempt
// as soon as the executor has ended, has the operation settled if that was admitted, and only then lets the node go on.
func accountedAtOnce(s *Stage) {
	p := s.Plan("", lossy(s.Via(), Attempts(1))...)
	m, link := p.Machine, s.EndpointLink(s.Machine(0))
	s.Fault(lab.Order{Target: m.Name(), Kind: "delay-before", Arg: "10m"}) // until it is healed
	a := s.Dispatch("a", p, GateSend)
	a.Reaches(GateSend)
	a.Opens(GateSend)
	s.Until("the request has come in at the node", func() bool { return s.entries(m, journalEntered, false) > 0 })
	s.Fault(lab.Order{Target: link, Kind: "cut"})
	a.Ends()
	s.Settle("early", p, nil, nil).Ends()
	s.Fault(lab.Order{Target: link, Kind: "heal"})
	decided := s.decideAtOnce(p)
	s.Set("decided", decided)
	if decided == "accounted" {
		s.Settle("ended", p, nil, nil).Ends()
	} else {
		s.Set("ended.exit", "not asked")
	}
	s.Set("landings-when-decided", s.Landings(m, p))
	s.Fault(lab.Order{Target: m.Name(), Kind: "heal"})
	s.Until("the node has gone on", func() bool { return s.Landings(m, p) > 0 })
}
