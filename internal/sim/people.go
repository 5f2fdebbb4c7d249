package sim

import (
	"strconv"
	"strings"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

// peopleCommands are what people decide, beside what they have executors do.
var peopleCommands = map[string]command{
	// plan MACHINE CONFIG
	"plan": {least: 2, most: 2, options: []string{"by", "approvals", "attempts", "age", "expires", "rollout", "kind", "verify", "via", "self"}, do: plan},
	// approve PLAN PERSON
	"approve": {least: 2, most: 2, options: []string{"break-glass"}, do: func(s *Sim, a args) (string, error) {
		id, err := a.record(0)
		if err != nil {
			return "", err
		}
		_, st, err := s.store(home).Approve(background(), who(a.words[1]), id, store.ApproveOptions{BreakGlass: a.text("break-glass", "")})
		return string(st.State), err
	}},
	// revoke PLAN [PERSON]: all approvals of the plan, or the person's
	"revoke": {least: 1, most: 2, do: func(s *Sim, a args) (string, error) {
		id, err := a.record(0)
		if err != nil {
			return "", err
		}
		if name := a.word(1); name != "" {
			_, rec := s.plan(id)
			if rec == nil {
				return "", misuse("the store holds no %s", a.words[0])
			}
			found := ""
			for _, x := range rec.Approvals {
				if x.Plan == id && x.Approver == name {
					found = x.ID
				}
			}
			if found == "" {
				return "", misuse("%s did not approve %s", name, a.words[0])
			}
			id = found
		}
		return "revoked", s.store(home).RevokeApproval(background(), who(admin), id, "no more")
	}},
	// revoke-identity PERSON
	"revoke-identity": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		_, err := s.store(home).RevokeIdentity(background(), who(admin), a.words[0], "left")
		return "revoked", err
	}},
	"record-revocations": {do: func(s *Sim, _ args) (string, error) {
		n, err := s.store(home).RecordRevocations(background())
		return strconv.Itoa(n) + " plans", err
	}},
	"record-expiries": {do: func(s *Sim, _ args) (string, error) {
		n, err := s.store(home).ExpirePlans(background())
		return strconv.Itoa(n) + " plans", err
	}},
	"cancel": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		id, err := a.record(0)
		if err != nil {
			return "", err
		}
		return "ok", s.store(home).CancelPlan(background(), who(author), id, "not any more")
	}},
	"freeze": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		id, err := a.machine(0)
		if err != nil {
			return "", err
		}
		_, err = s.store(home).Freeze(background(), who(author), id, "stop")
		return "frozen", err
	}},
	"unfreeze": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		id, err := a.machine(0)
		if err != nil {
			return "", err
		}
		_, err = s.store(home).Unfreeze(background(), who(approver), id, "")
		return "unfrozen", err
	}},
	// assign MACHINE: gives the machine one address more, or takes it away again
	"assign": {least: 1, most: 1, do: assign},
	// open ROLLOUT
	"open": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		_, err := s.store(home).OpenRollout(background(), who(admin), a.words[0], "looked at")
		return "open", err
	}},
	// attest PROCESS: a person vouches that it has ended, rightly or not
	"attest": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		p, err := a.proc(0)
		if err != nil {
			return "", err
		}
		return "attested", s.store(home).AttestInstance(background(), who(admin), p.id, "looked at the screen")
	}},
	"anchor": {do: func(s *Sim, _ args) (string, error) {
		_, err := s.store(home).Anchor(background())
		return "ok", err
	}},
}

// plan reads the machine and makes a plan of it as it is.
func plan(s *Sim, a args) (string, error) {
	machine, err := a.machine(0)
	if err != nil {
		return "", err
	}
	n, _ := a.node(0)
	st := s.store(home)
	o := dispatch.Observation{Machine: machine, Purpose: dispatch.ForPlanning, Instance: s.place.names.clerk, Route: dispatch.Direct}
	if n.down {
		return "", errDown
	}
	if o.Basis, err = st.StartRead(background(), o); err != nil {
		return "", err
	}
	o.Reading = n.reading
	if o, _, err = st.RecordRead(background(), o); err != nil {
		return "", err
	}
	p, err := s.draft(a, machine, n)
	if err != nil {
		return "", err
	}
	made, _, err := st.CreatePlan(background(), who(a.text("by", author)), p, o)
	if err != nil {
		return "", err
	}
	s.wrote = true
	return s.name("p", made.ID), nil
}

// draft is a plan as a command asks for it. While the machine drifts, it is a revert of what drifted.
func (s *Sim) draft(a args, machine string, n *node) (dispatch.Plan, error) {
	m, err := s.store(home).Machine(background(), machine)
	if err != nil {
		return dispatch.Plan{}, err
	}
	p := dispatch.Plan{
		Machine: machine, Kind: dispatch.KindApply, Artifact: digestOf(a.words[1]), Expected: m.Applied,
		Operation: dispatch.OperationApplyConfig, Mode: dispatch.ModeNoReboot, Route: dispatch.Direct, Address: n.address,
		MaxAge: a.duration("age", time.Hour), Pre: dispatch.Preconditions{Stage: "running"},
		Post:              dispatch.Postconditions{Stage: "running", Digest: digestOf(a.words[1])},
		TransportDeadline: time.Second, VerifyDeadline: a.duration("verify", 4*time.Second), MaxAttempts: a.number("attempts", 2),
		ExpiresAt: s.place.clock.Add(a.duration("expires", 24*time.Hour)),
		Policy:    dispatch.Policy{Approvals: a.number("approvals", 1), SelfApproval: a.has("self")},
	}
	if via := a.text("via", ""); via != "" {
		p.Route = dispatch.Via(via)
	}
	if m.Drift != nil {
		p.Drift, p.Expected = m.Drift.ID, m.Drift.Digest
	}
	if a.text("kind", "") == string(dispatch.KindAdopt) {
		p.Kind, p.Operation, p.Mode, p.Post = dispatch.KindAdopt, "", "", dispatch.Postconditions{}
		p.Artifact = n.reading.Active.Digest
		p.Expected = p.Artifact
	}
	if r := a.text("rollout", ""); r != "" {
		parts := strings.Split(r, ":")
		if len(parts) != 3 {
			return p, misuse("rollout=NAME:LIMIT:FAILED")
		}
		limit, err1 := strconv.Atoi(parts[1])
		failed, err2 := strconv.Atoi(parts[2])
		if err1 != nil || err2 != nil {
			return p, misuse("rollout=NAME:LIMIT:FAILED")
		}
		p.Rollout = &dispatch.Rollout{ID: parts[0], Limit: limit, MaxFailed: failed}
	}
	return p, nil
}

func assign(s *Sim, a args) (string, error) {
	machine, err := a.machine(0)
	if err != nil {
		return "", err
	}
	n, _ := a.node(0)
	m, err := s.store(home).Machine(background(), machine)
	if err != nil {
		return "", err
	}
	to := m.Assignment
	to.Addresses = []string{n.address}
	if len(m.Assignment.Addresses) == 1 {
		to.Addresses = append(to.Addresses, "10.9.0.9")
	}
	_, err = s.store(home).ChangeAssignment(background(), who(author), machine, to, store.MachineUpdate{})
	return strconv.Itoa(len(to.Addresses)) + " addresses", err
}
