package executor

import (
	"context"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
)

// Adopter records adoptions. A refusal is final for the reading that was offered; nothing is ever sent.
type Adopter interface {
	Adopt(ctx context.Context, plan string, by dispatch.Owner, basis int64) (dispatch.Operation, error)
}

// Adopt runs one approved plan of kind adopt: it reads the machine anew, after the approval, and has what it runs accepted
// as the baseline. It sends nothing.
func (e *Executor) Adopt(ctx context.Context, store Adopter, planID string) (Result, error) {
	plan, machine, err := e.Store.PlanAndMachine(ctx, planID)
	res := Result{Plan: planID, Machine: machine.Name}
	if err != nil {
		return res, err
	}
	by, err := e.owner(ctx)
	if err != nil {
		return res, err
	}
	t := Target{Machine: machine, Address: plan.Address, Route: plan.Route}
	readCtx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	e.say(Progress{Plan: planID, Machine: machine.Name, Step: "evidence", Text: "reading the machine"})
	o, err := e.observeAnew(readCtx, t, link{purpose: dispatch.ForAdoption, plan: planID})
	if err != nil {
		return res, fmt.Errorf("an adoption rests on a reading after the approval: %w", err)
	}
	op, err := store.Adopt(ctx, planID, by, o.Basis)
	return e.result(res, op), err
}
