package drill

import (
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
)

// realTCP are the links over which evidence can be had.
var realTCP = []lab.LinkMode{lab.LinksNetns}

func init() {
	register(Row{
		ID: "041a", OwnLab: true, Nets: realTCP,
		Case: "accounted for by evidence, direct: partition at send, the sender gives up, the partition ends",
		Expect: "accounted-while-cut=none; accounted=cannot-arrive; operation=completed; attempts=1|2; landings=1; runs=planned; " +
			"a.exit=4; early.exit=4; settled.exit=0",
		Needs: Needs{Faults: true}, Takes: 30 * time.Second,
		Script: func(s *Stage) { s.lostAndAccounted(dispatch.Direct) },
	})
	register(Row{
		ID: "041b", OwnLab: true, Nets: realTCP,
		Case: "accounted for by evidence, through the endpoint",
		Expect: "accounted-while-cut=none; accounted=cannot-arrive; operation=completed; attempts=1|2; landings=1; runs=planned; " +
			"a.exit=4; early.exit=4; settled.exit=0",
		Needs: Needs{Faults: true}, Takes: 30 * time.Second,
		Script: func(s *Stage) { s.lostAndAccounted(s.Via()) },
	})
	register(Row{
		ID: "041c", OwnLab: true,
		Case: "never left: the node is killed, and with it the connection, while the sender stands between its guard and the send",
		Expect: "operation-meanwhile=unresolved; accounted=never-left; responses=accepted; operation=completed; attempts=2; landings=1; " +
			"answered=OK 1; runs=planned; a.exit=4; settled.exit=0",
		Needs: Needs{Crash: true}, Takes: 10 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, GateSend)
			a.Reaches(GateSend)
			s.Fault(lab.Order{Target: p.Machine.Name(), Kind: "kill"})
			a.Opens(GateSend)
			a.Ends()
			s.Set("operation-meanwhile", s.State(p))
			s.Fault(lab.Order{Target: p.Machine.Name(), Kind: "restart"})
			s.Settle("settled", p, nil, []string{"--retry"}).Ends()
		},
	})
	register(Row{
		ID: "041d", OwnLab: true, Nets: realTCP,
		Case: "refused while hop 1 holds bytes: the sender is attested to have ended, and is only stopped; this host's kernel still has the request; " +
			"accounted for when it has not",
		Expect: "held-before=yes; accounted-while-held=none; held-after=yes; accounted=cannot-arrive; operation=completed; attempts=1|2; landings=1; " +
			"runs=planned; a.exit=killed; early.exit=4; settled.exit=0",
		Needs: Needs{Faults: true, Crash: true}, Takes: 30 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("", Deadlines(30*time.Second, time.Minute))
			a := s.Dispatch("a", p, GateSend)
			a.Reaches(GateSend)
			s.Fault(lab.Order{Target: s.ClientLink(p.Machine), Kind: "cut"})
			a.Opens(GateSend)
			s.Until("the request is in the kernel", seldom(func() bool { n, _ := s.senderHolds(p); return n > 0 }))
			a.Pause()
			s.Attest(p)
			held := func() string { n, there := s.senderHolds(p); return yesNo(there && n > 0) }
			s.Set("held-before", held())
			s.Settle("early", p, nil, []string{"--takeover"}).Ends()
			s.Set("held-after", held())
			s.accountedNow(p, "while-held")
			a.Kill() // its socket goes with it, and what it held
			s.Fault(lab.Order{Target: s.ClientLink(p.Machine), Kind: "heal"})
			s.Settle("settled", p, nil, []string{"--retry", "--wait", settleLong}).Ends()
		},
	})
	register(Row{
		ID: "041e", OwnLab: true, Nets: realTCP,
		Case: "refused while hop 2 holds bytes: the sender has given up, and the endpoint's kernel still has the request; accounted for when it has not",
		Expect: "held-before=yes; accounted-while-held=none; held-after=yes; accounted=cannot-arrive; operation=completed; attempts=1|2; landings=1; " +
			"runs=planned; a.exit=4; early.exit=4; settled.exit=0",
		Needs: Needs{Faults: true}, Takes: 40 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("", lossy(s.Via())...)
			link := s.EndpointLink(p.Machine)
			s.loseAtSend(p, lab.Order{Target: link, Kind: "cut"})
			s.Set("held-before", yesNo(s.endpointHolds() > 0))
			s.Settle("early", p, nil, nil).Ends()
			s.Set("held-after", yesNo(s.endpointHolds() > 0))
			s.accountedNow(p, "while-held")
			s.Fault(lab.Order{Target: link, Kind: "heal"})
			s.Settle("settled", p, nil, []string{"--retry", "--wait", settleLong}).Ends()
		},
	})
	register(Row{
		ID: "041f", OwnLab: true, Nets: realTCP,
		Case:   "refused when the endpoint's connection to the node is another one than before the send: the endpoint was restarted",
		Expect: "accounted-afterwards=none; operation=unresolved; attempts=1; landings=1; runs=planned; a.exit=4; settled.exit=4",
		Needs:  Needs{Faults: true, Crash: true}, Takes: 20 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("", lossy(s.Via(), Attempts(1))...)
			s.loseAtSend(p, lab.Order{Target: p.Machine.Name(), Kind: "drop-response"})
			s.Fault(lab.Order{Target: s.lab.Nodes()[0].Name(), Kind: "restart"})
			s.Settle("settled", p, nil, nil).Ends()
			s.accountedNow(p, "afterwards")
		},
	})
	register(Row{
		ID: "041g", OwnLab: true, Nets: []lab.LinkMode{lab.LinksUserland},
		Case:   "refused when something terminates TCP in between: a userland link",
		Expect: "accounted-afterwards=none; operation=unresolved; attempts=1; landings=1; runs=planned; a.exit=4; settled.exit=4",
		Needs:  Needs{Faults: true}, Takes: 10 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("", lossy(dispatch.Direct, Attempts(1))...)
			s.loseAtSend(p, lab.Order{Target: p.Machine.Name(), Kind: "drop-response"})
			s.Settle("settled", p, nil, nil).Ends()
			s.accountedNow(p, "afterwards")
		},
	})
	register(Row{
		ID: "041h", OwnLab: true, Nets: realTCP,
		Case: "refused while the target does not answer: its process is stopped; accounted for when it goes on",
		Expect: "accounted-while-silent=none; accounted=cannot-arrive; operation=completed; attempts=1; landings=1; runs=planned; " +
			"a.exit=4; early.exit=4; settled.exit=0",
		Needs: Needs{Faults: true, Crash: true}, Takes: 50 * time.Second,
		Script: func(s *Stage) {
			p := s.Plan("", lossy(dispatch.Direct, Attempts(1))...)
			s.loseAtSend(p, lab.Order{Target: p.Machine.Name(), Kind: "drop-response"})
			s.Fault(lab.Order{Target: p.Machine.Name(), Kind: "pause"})
			s.Settle("early", p, nil, nil).Ends()
			s.accountedNow(p, "while-silent")
			s.Fault(lab.Order{Target: p.Machine.Name(), Kind: "continue"})
			s.Settle("settled", p, nil, []string{"--wait", settleLong}).Ends()
		},
	})
}

// lostAndAccounted partitions a machine at the send, lets the sender give up, looks for evidence in vain while the
// partition lasts, ends it, and has the attempt accounted for by evidence.
func (s *Stage) lostAndAccounted(route dispatch.Route) {
	p := s.Plan("", lossy(route)...)
	link := s.EndpointLink(p.Machine)
	s.loseAtSend(p, lab.Order{Target: link, Kind: "cut"})
	s.Settle("early", p, nil, nil).Ends()
	s.accountedNow(p, "while-cut")
	s.Fault(lab.Order{Target: link, Kind: "heal"})
	s.Settle("settled", p, nil, []string{"--retry", "--wait", settleLong}).Ends()
}

// accountedNow reads what accounts for a plan's attempts at this moment.
func (s *Stage) accountedNow(p *Plan, when string) {
	s.Set("accounted-"+when, s.Query("plan.sql", "plan", p.ID)["accounted"])
}
