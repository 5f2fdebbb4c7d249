package drill

import (
	"fmt"
	"os"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

func init() {
	register(Row{
		ID: "035",
		Case: "an executor's start takes over what stopped instances owned (own end recorded; lock file free; boot id changed), " +
			"and leaves alone what a live, a paused or a cut-off one owns",
		Machines: 3,
		Expect: "ended.on-start=unresolved, 2; killed.on-start=unresolved, 2; booted.on-start=unresolved, 2; by-one-executor=true; " +
			"ended.why=it recorded its end; killed.why=its lock file is free; booted.why=its host has booted since; " +
			"ended.attempts=1; ended.operation=completed; killed.operation=completed; booted.operation=completed; " +
			"live.on-start=committed, 1; paused.on-start=committed, 1; cut-off.on-start=committed, 1; " +
			"live.operation=completed; paused.operation=completed; live.generation=1; paused.generation=1; cut-off.generation=1; " +
			"seen:cut-off.operation; live.exit=0; paused.exit=0; bystander-1.exit=0; bystander-2.exit=3; killed.exit=killed; ended.exit=4",
		Needs: Needs{Faults: true, Crash: true},
		Script: func(s *Stage) {
			stopped := s.leaveBehind()
			s.Clew("bystander-1", nil, []string{"settle", s.Operation(stopped[0]), "--retry"}).Ends()
			s.onStart(stopped...)
			by := map[string]bool{}
			for _, p := range stopped {
				found := s.Query("takeovers.sql", "plan", p.ID)
				by[found["by"]] = true
				s.Set(p.Name+".why", found["why"])
			}
			s.Set("by-one-executor", len(by) == 1)
			for _, p := range stopped[1:] {
				s.Settle(p.Name+"-again", p, nil, []string{"--retry"}).Ends()
			}
			s.leaveAlone()
		},
	})
}

// onStart reads how operations stand after another executor's start: the state and generation that it left. One that it
// went on to settle is read from its timeline.
func (s *Stage) onStart(plans ...*Plan) {
	for _, p := range plans {
		found := s.Query("started.sql", "plan", p.ID)
		s.Set(p.Name+".on-start", found["state"]+", "+found["generation"])
	}
}

// leaveBehind makes three operations that stopped instances left committed.
func (s *Stage) leaveBehind() []*Plan {
	ended, killed, booted := s.PlanOn(s.Machine(0), "ended"), s.PlanOn(s.Machine(1), "killed"), s.PlanOn(s.Machine(2), "booted")
	e := s.Dispatch("ended", ended, GateCommitted)
	e.Reaches(GateCommitted)
	k := s.Dispatch("killed", killed, GateCommitted)
	k.Reaches(GateCommitted)
	s.commitBeforeBoot(booted)
	// A gate that cannot be checked is the executor's error: it ends in order, and records that it does.
	s.must(os.RemoveAll(string(e.gates)), "breaking the gates of %s", e.Name)
	e.Ends()
	k.Kill()
	return []*Plan{ended, killed, booted}
}

// commitBeforeBoot has a plan committed by an instance that ran on this host before it booted. There is no such process
// any more, so the drill plays it: it reads the machine and commits, under another boot's id, and records no end.
func (s *Stage) commitBeforeBoot(p *Plan) {
	host, err := talos.LocalHost()
	s.must(err, "finding out which host this is")
	earlier := host
	earlier.BootID = "00000000-0000-4000-8000-000000000000"
	// A store of its own: it remembers where it runs.
	st, err := store.Open(s.ctx, store.Config{Location: s.place.location, StateDir: s.stateDir()})
	s.must(err, "opening the store")
	defer func() { s.must(st.Close(s.ctx), "closing the store") }()
	instance, err := st.StartInstance(s.ctx, earlier, 1, "/nowhere", 0, 0)
	s.must(err, "starting an instance of an earlier boot")
	s.read(instance, p.Machine, dispatch.Observation{Purpose: dispatch.ForEvidence, Route: dispatch.Direct, Plan: p.ID})
	plan, _, err := st.PlanAndMachine(s.ctx, p.ID)
	s.must(err, "reading %s", p.ID)
	epoch, _, err := st.Epoch(s.ctx)
	s.must(err, "reading the epoch")
	_, err = st.Commit(s.ctx, dispatch.CommitRequest{
		Plan: p.ID, By: dispatch.Owner{Instance: instance, Generation: 1, Epoch: epoch},
		Who: ledger.Actor{Identity: operator(0), Role: store.RoleOperator, Assurance: ledger.Asserted},
		Request: dispatch.Request{
			Artifact: plan.Artifact, Operation: plan.Operation, Mode: plan.Mode, Route: plan.Route, Address: plan.Address,
		},
		Token: fmt.Sprintf("drill-%s", p.ID),
	})
	s.must(err, "committing %s before the boot", p.ID)
}

// leaveAlone makes three operations of instances that are not stopped, however much they seem so, and starts another
// executor beside them. It touches none, and is refused when it asks for one.
func (s *Stage) leaveAlone() {
	var plans []*Plan
	var all []*Process
	for i, name := range []string{"live", "paused", "cut-off"} {
		p := s.PlanOn(s.Machine(i), name)
		e := s.Dispatch(name, p, GateCommitted)
		e.Reaches(GateCommitted)
		plans, all = append(plans, p), append(all, e)
	}
	all[1].Pause()
	s.Fault(lab.Order{Target: s.ClientLink(s.Machine(2)), Kind: "cut"})
	if s.Store == config.Postgres {
		s.cutSessions(all[2])
	}
	s.Clew("bystander-2", nil, []string{"settle", s.Operation(plans[0]), "--retry"}).Ends()
	for _, p := range plans {
		found := s.Query("plan.sql", "plan", p.ID)
		s.Set(p.Name+".on-start", found["operation"]+", "+found["generation"])
	}
	all[1].Continue()
	s.Fault(lab.Order{Target: s.ClientLink(s.Machine(2)), Kind: "heal"})
	for _, e := range all {
		e.Opens(GateCommitted)
		e.Ends()
	}
}
