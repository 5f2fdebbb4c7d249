package sim

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/store"
)

// directCommands ask the store for one thing each, as a process that keeps no order would: nothing but the store's own
// rules stands between what is asked and what is recorded. Nothing is ever sent by them.
var directCommands = map[string]command{
	// read PROCESS MACHINE [for=evidence] [plan=] [op=] [via=ENDPOINT]
	"read": {least: 2, most: 2, options: []string{"for", "plan", "op", "via"}, do: read},
	// commit PROCESS PLAN
	"commit": {least: 2, most: 2, do: func(s *Sim, a args) (string, error) {
		p, err := a.living(0)
		if err != nil {
			return "", err
		}
		id, err := a.record(1)
		if err != nil {
			return "", err
		}
		plan, rec := s.plan(id)
		if rec == nil {
			return "", misuse("the store holds no %s", a.words[1])
		}
		by, err := p.owner()
		if err != nil {
			return "", err
		}
		_, err = p.store().Commit(background(), dispatch.CommitRequest{Plan: id, By: by, Request: requestOf(plan), Token: store.NewToken()})
		return "ok", err
	}},
	// attempt PROCESS OPERATION [gen=]
	"attempt": {least: 2, most: 2, options: []string{"gen"}, do: byOwner(func(ctx context.Context, p *proc, op dispatch.Operation, by dispatch.Owner, a args) error {
		plan, _ := p.s.plan(op.Plan)
		_, err := p.store().Attempt(ctx, dispatch.AttemptRequest{
			Operation: op.ID, By: by, Request: requestOf(plan), Token: store.NewToken(), RemoteAddr: plan.Address + ":50000", Host: hostFacts(p.host),
		})
		return err
	})},
	// finish PROCESS OPERATION [gen=] [back=0]: by the newest reading, or one that many before it
	"finish": {least: 2, most: 2, options: []string{"gen", "back"}, do: byOwner(func(ctx context.Context, p *proc, op dispatch.Operation, by dispatch.Owner, a args) error {
		_, err := p.store().Finish(ctx, op.ID, by, p.s.basis(op.Machine, a.number("back", 0)))
		return err
	})},
	// classify PROCESS OPERATION [gen=] [back=0]
	"classify": {least: 2, most: 2, options: []string{"gen", "back"}, do: byOwner(func(ctx context.Context, p *proc, op dispatch.Operation, by dispatch.Owner, a args) error {
		_, err := p.store().Classify(ctx, op.ID, by, p.s.basis(op.Machine, a.number("back", 0)))
		return err
	})},
	"overdue": {least: 2, most: 2, options: []string{"gen"}, do: byOwner(func(ctx context.Context, p *proc, op dispatch.Operation, by dispatch.Owner, _ args) error {
		_, err := p.store().Overdue(ctx, op.ID, by)
		return err
	})},
	"late-reject": {least: 2, most: 2, options: []string{"gen"}, do: byOwner(func(ctx context.Context, p *proc, op dispatch.Operation, by dispatch.Owner, _ args) error {
		_, err := p.store().LateReject(ctx, op.ID, by)
		return err
	})},
	// cancel-operation PROCESS OPERATION [judge=ada]
	"cancel-operation": {least: 2, most: 2, options: []string{"gen", "judge"}, do: byOwner(func(ctx context.Context, p *proc, op dispatch.Operation, by dispatch.Owner, a args) error {
		if name := a.text("judge", ""); name != "" {
			decider := actor(name, store.RoleRecoveryAdmin)
			_, err := p.store().CancelOperation(ctx, op.ID, by, &decider, "decided")
			return err
		}
		_, err := p.store().CancelOperation(ctx, op.ID, by, nil, "")
		return err
	})},
	// respond PROCESS OPERATION accepted|rejected|inconclusive [attempt=]
	"respond": {least: 3, most: 3, options: []string{"gen", "attempt"}, do: byOwner(func(ctx context.Context, p *proc, op dispatch.Operation, by dispatch.Owner, a args) error {
		class := dispatch.ResponseClass(a.words[2])
		n := a.number("attempt", len(p.s.attempts(op)))
		if err := p.s.honest(op, n, class); err != nil {
			return err
		}
		_, err := p.store().RecordResponse(ctx, op.ID, n, by, dispatch.Response{Class: class})
		return err
	})},
	// not-sent PROCESS OPERATION [attempt=]
	"not-sent": {least: 2, most: 2, options: []string{"gen", "attempt"}, do: byOwner(func(ctx context.Context, p *proc, op dispatch.Operation, by dispatch.Owner, a args) error {
		n := a.number("attempt", len(p.s.attempts(op)))
		if p.s.flew(op, n) != nil {
			return misuse("it left")
		}
		_, err := p.store().RecordNotSent(ctx, op.ID, n, by, "nothing left")
		return err
	})},
	// account PROCESS OPERATION evidence|decision [attempt=] [back=0]
	"account": {least: 3, most: 3, options: []string{"gen", "attempt", "back"}, do: byOwner(account)},
	// take-over PROCESS OPERATION [gen=]
	"take-over": {least: 2, most: 2, options: []string{"gen"}, do: byOwner(func(ctx context.Context, p *proc, op dispatch.Operation, by dispatch.Owner, _ args) error {
		_, err := p.store().TakeOver(ctx, op.ID, by.Generation, p.id, "an operator says so")
		return err
	})},
	"verify": {do: verify},
}

// owner is a process as the first owner of an operation.
func (p *proc) owner() (dispatch.Owner, error) {
	epoch, _, err := p.store().Epoch(background())
	return dispatch.Owner{Instance: p.id, Generation: 1, Epoch: epoch}, err
}

func requestOf(p dispatch.Plan) dispatch.Request {
	return dispatch.Request{Artifact: p.Artifact, Operation: p.Operation, Mode: p.Mode, Route: p.Route, Address: p.Address}
}

// byOwner is a command of a process that says it owns an operation, at the generation that is the owner's or another.
func byOwner(do func(ctx context.Context, p *proc, op dispatch.Operation, by dispatch.Owner, a args) error) func(s *Sim, a args) (string, error) {
	return func(s *Sim, a args) (string, error) {
		p, err := a.living(0)
		if err != nil {
			return "", err
		}
		op, _, err := a.operation(1)
		if err != nil {
			return "", err
		}
		by, err := p.owner()
		if err != nil {
			return "", err
		}
		by.Generation = int64(a.number("gen", int(op.Owner.Generation)))
		return "ok", do(background(), p, op, by, a)
	}
}

func read(s *Sim, a args) (string, error) {
	p, err := a.living(0)
	if err != nil {
		return "", err
	}
	machine, err := a.machine(1)
	if err != nil {
		return "", err
	}
	n, _ := a.node(1)
	o := dispatch.Observation{
		Machine: machine, Purpose: dispatch.Purpose(a.text("for", string(dispatch.ForEvidence))), Instance: p.id, Route: dispatch.Direct, ReadAddress: n.address,
	}
	if via := a.text("via", ""); via != "" {
		o.Route = dispatch.Via(via)
	}
	if o.Plan, err = a.recorded("plan"); err != nil {
		return "", err
	}
	if o.Operation, err = a.recorded("op"); err != nil {
		return "", err
	}
	if o.Basis, err = p.store().StartRead(background(), o); err != nil {
		return "", err
	}
	if n.down {
		return "nothing read", p.store().FailRead(background(), machine, o.Basis, p.id, "no route to host")
	}
	o.Reading = n.reading
	_, _, err = p.store().RecordRead(background(), o)
	return "read " + s.configOf(n.reading.Active.Digest), err
}

// configOf is the name of the configuration with a digest.
func (s *Sim) configOf(digest string) string {
	for i := range configs {
		if digestOf(configName(i)) == digest {
			return configName(i)
		}
	}
	return "something else"
}

// basis is that of the newest recorded reading of a machine but so many; 0, which means the newest, without one.
func (s *Sim) basis(machine string, back int) int64 {
	if back == 0 {
		return 0
	}
	bases := sortedKeys(s.follow.Records(machine).Observations)
	if back >= len(bases) {
		return 0
	}
	return bases[len(bases)-1-back]
}

// attempts are the operation's recorded attempts, in their order.
func (s *Sim) attempts(op dispatch.Operation) []dispatch.Attempt {
	var out []dispatch.Attempt
	rec := s.follow.Records(op.Machine)
	for n := 1; ; n++ {
		a, ok := rec.Attempts[dispatch.AttemptKey{Operation: op.ID, Number: n}]
		if !ok {
			return out
		}
		out = append(out, a)
	}
}

// flew is the request of an attempt, nil when none left.
func (s *Sim) flew(op dispatch.Operation, n int) *flight {
	for _, f := range s.flights {
		if f.key == (dispatch.AttemptKey{Operation: op.ID, Number: n}) {
			return f
		}
	}
	return nil
}

// honest: an answer can only be recorded as it was given. A node that accepted has the bytes.
func (s *Sim) honest(op dispatch.Operation, n int, class dispatch.ResponseClass) error {
	f := s.flew(op, n)
	switch {
	case class == dispatch.Inconclusive:
		return nil
	case f != nil && class == dispatch.Accepted && f.at == landed, f != nil && class == dispatch.RejectedDef && f.at == rejected:
		return nil
	}
	return misuse("the node did not answer so")
}

// account asks for an accounting; what the sockets show is as it is.
func account(ctx context.Context, p *proc, op dispatch.Operation, by dispatch.Owner, a args) error {
	n := a.number("attempt", len(p.s.attempts(op)))
	basis := p.s.basis(op.Machine, a.number("back", 0))
	if basis == 0 {
		if bases := sortedKeys(p.s.follow.Records(op.Machine).Observations); len(bases) > 0 {
			basis = bases[len(bases)-1]
		}
	}
	if a.words[2] == "decision" {
		_, err := p.store().AccountByDecision(ctx, op.ID, n, actor(admin, store.RoleRecoveryAdmin), dispatch.Decision{
			Reason: "judged", Basis: basis, SettleFloor: dispatch.MinimumSettle,
		})
		return err
	}
	if f := p.s.flew(op, n); f != nil && f.pending() {
		return misuse("a connection still holds bytes")
	}
	_, err := p.store().AccountByEvidence(ctx, op.ID, n, by, dispatch.Accounting{
		Kind: dispatch.CannotArrive, Basis: basis, Evidence: json.RawMessage(`{"sockets":"gone"}`), Reason: "it cannot arrive any more",
	})
	return err
}

// verify runs the shipped check of the whole store. While the store is restored and nobody dealt with it, it has to find
// that, and says nothing else.
func verify(s *Sim, _ args) (string, error) {
	if s.stale {
		return "", misuse("the store was restored, and no recovery was entered")
	}
	r, err := s.store(home).Verify(background(), store.VerifyOptions{})
	if err != nil {
		return "", err
	}
	for _, p := range r.Problems {
		s.problem(p)
	}
	return strconv.Itoa(len(r.Problems)) + " problems", nil
}

var _ executor.Nodes = (*proc)(nil)
