package contention

import (
	"fmt"
	"maps"

	"github.com/anishathalye/porcupine"

	"github.com/clewops/clew/internal/dispatch"
)

// plan is a plan and its operation in the sequential model.
type plan struct {
	seen
	approved bool // an approval stands
	attempts int
	sender   string // who recorded the attempt
	answered bool
}

// machine is the model's state of one machine: its plans by id. It is never changed, only replaced.
type machine map[string]plan

func (m machine) with(id string, p plan) machine {
	next := maps.Clone(m)
	next[id] = p
	return next
}

// held says whether an operation of another plan holds the machine.
func (m machine) held(but string) bool {
	for id, p := range m {
		if id != but && p.State.Holding() {
			return true
		}
	}
	return false
}

// model is one machine as the dispatch contract describes it, one call at a time.
var model = porcupine.Model{
	Init:  func() any { return machine{} },
	Step:  func(s, in, _ any) (bool, any) { return step(s.(machine), in.(call)) },
	Equal: func(a, b any) bool { return maps.Equal(a.(machine), b.(machine)) },
	DescribeOperation: func(in, _ any) string {
		c := in.(call)
		return fmt.Sprintf("%d: %s %s (%d): %t %d %v", c.Process, c.Kind, c.Plan, c.Generation, c.OK, c.Comparison, c.Saw)
	},
}

// step says whether the call can have come back as it did in this state, and which state follows.
func step(m machine, c call) (bool, machine) {
	p, known := m[c.Plan]
	switch c.Kind {
	case create:
		return c.OK && !known, m.with(c.Plan, plan{seen: seen{Plan: dispatch.PlanProposed}})
	case read:
		return p.seen == c.Saw, m
	case approve:
		if !c.OK {
			return p.Plan != dispatch.PlanProposed, m
		}
		ok := p.Plan == dispatch.PlanProposed
		p.Plan, p.approved = dispatch.PlanApproved, true
		return ok, m.with(c.Plan, p)
	case revoke:
		if !c.OK {
			return !p.approved, m
		}
		ok := p.approved
		p.approved = false
		if p.Plan == dispatch.PlanApproved {
			p.Plan = dispatch.PlanRevoked
		}
		return ok, m.with(c.Plan, p)
	case claim:
		return stepClaim(m, c, p)
	case attempt:
		return stepAttempt(m, c, p)
	}
	return stepOutcome(m, c, p)
}

func stepClaim(m machine, c call, p plan) (bool, machine) {
	if c.OK {
		ok := p.Operation == "" && p.Plan == dispatch.PlanApproved && !m.held(c.Plan)
		p.seen = seen{dispatch.PlanCommitted, c.Operation, dispatch.Committed, c.Instance, 1}
		return ok, m.with(c.Plan, p)
	}
	switch c.Comparison {
	case 0:
		return p.Operation != "", m
	case 1:
		return p.Plan != dispatch.PlanApproved, m
	case 4:
		return m.held(c.Plan), m
	}
	return false, m
}

// stepAttempt: a refusal is recorded in a transaction of its own, and that is when it counts: what it said is still so.
func stepAttempt(m machine, c call, p plan) (bool, machine) {
	mine := p.Owner == c.Instance && p.Generation == c.Generation
	if c.OK {
		ok := mine && p.State == dispatch.Committed && p.approved
		p.State, p.attempts, p.sender = dispatch.Sending, 1, c.Instance
		return ok, m.with(c.Plan, p)
	}
	switch c.Comparison {
	case 1:
		ok := !p.approved
		if mine && p.State == dispatch.Committed {
			p.State = dispatch.Unresolved
			return ok, m.with(c.Plan, p)
		}
		return ok, m
	case 3: // who asks made no reading for the plan, or, after the first attempt, none for the operation
		return !c.Evidence || p.attempts > 0, m
	case 7:
		return !mine || p.State != dispatch.Committed, m
	}
	return false, m
}

func stepOutcome(m machine, c call, p plan) (bool, machine) {
	mine := p.Owner == c.Instance && p.Generation == c.Generation
	admitted, to := false, p
	switch c.Kind {
	case takeOver:
		admitted = p.State.Holding() && p.Generation == c.Generation
		to.State, to.Owner, to.Generation = dispatch.Unresolved, c.Instance, c.Generation+1
	case answer:
		admitted = p.sender == c.Instance
		to.answered = true
		if !p.answered && p.State == dispatch.Sending && mine {
			to.State = dispatch.Rejected
		}
	case reject:
		admitted = mine && p.State == dispatch.Unresolved && p.attempts > 0 && p.answered
		to.State = dispatch.Rejected
	case cancel:
		admitted = mine && p.State == dispatch.Unresolved && p.attempts == 0 && !p.approved
		to.State = dispatch.Cancelled
	}
	if !c.OK {
		return !admitted, m
	}
	return admitted, m.with(c.Plan, to)
}
