package store

import (
	"context"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

// TakeOver makes instance the owner of an operation at the generation after generation, and the operation unresolved. It
// sends and classifies nothing. why says on what grounds: how the former owner is known to have stopped, or that an
// operator forces it. Of concurrent takeovers of one generation exactly one wins; the others are refused.
func (s *Store) TakeOver(ctx context.Context, operation string, generation int64, instance, why string) (dispatch.Operation, error) {
	return s.change(ctx, operation, "the takeover", func(tx *Tx, c *dispatch.Case, b binding) error {
		if c.Op.Owner.Generation != generation {
			return lostTakeover(operation)
		}
		next := dispatch.Owner{Instance: instance, Generation: generation + 1, Epoch: c.Epoch}
		if err := tx.checkInstance("takeover", next); err != nil {
			return err
		}
		return tx.takeOver(c, b, next, why)
	})
}

func (tx *Tx) takeOver(c *dispatch.Case, b binding, next dispatch.Owner, why string) error {
	before := c.Op.Owner
	s := step{
		event: dispatch.Event{Kind: dispatch.Takeover, NewOwner: next.Instance, Reason: "taken over: " + why},
		entry: dispatch.EntryTakenOver, actor: executorActor(next), links: b.links(), body: dispatch.Body{Takeover: why},
	}
	op, fx, err := tx.judge(c, &s)
	if err != nil {
		return err
	}
	if err := tx.writeStep(c, s, op, fx); err != nil {
		return err
	}
	args := append(operationColumns(op), before.Instance, before.Generation)
	query := updateOperation + fmt.Sprintf(` AND instance = $%d AND generation = $%d AND state IN `, len(args)-1, len(args)) + holding
	n, err := tx.exec(query, args...)
	if err != nil {
		return err
	}
	if n == 0 {
		return lostTakeover(op.ID)
	}
	return tx.effects(c, s, fx)
}

func lostTakeover(operation string) error {
	return &refusal.Refusal{
		Transaction: "takeover", Comparison: 7, Code: "not-owner",
		Message: "another executor took the operation over first", Remedy: "clew show " + operation,
	}
}
