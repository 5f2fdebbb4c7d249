package dispatch

import (
	"fmt"

	"github.com/clewops/clew/internal/refusal"
)

// Ending says how an observation would end an operation, as the event to offer to Step, or what is missing. later are
// the recorded readings that began after it.
func Ending(c Case, o *Observation, later []Observation) (Event, *refusal.Refusal) {
	no := func(code, why string) (Event, *refusal.Refusal) { return Event{}, settling(c.Op.ID, code, why) }
	if o == nil {
		return no("no-observation", "no reading of the machine is recorded that could end it")
	}
	judge := func(o Observation) (Judgement, string) {
		return JudgePostconditions(c.Plan, c.Machine, c.Op.SendBoot, o.Reading)
	}
	got, why := judge(*o)
	switch got {
	case Shows:
		e := Event{Kind: Complete, Observation: o, Reason: "the node shows the planned configuration"}
		for _, l := range later {
			if j, _ := judge(l); j != Shows {
				e.Conflict = true
			}
		}
		return e, nil
	case Contradicts:
		for _, l := range later {
			if j, _ := judge(l); j != Contradicts {
				return no("newer-reading", "a later reading says otherwise")
			}
		}
		return Event{Kind: Contradict, Observation: o, Reason: why}, nil
	case NotComplete:
	}
	return no("not-complete", why)
}

// Classify is the owner's classification of an unresolved operation as safe to retry, recorded at revision, or why it is
// not. later are the recorded readings that began after o: each must admit a retry too.
func Classify(c Case, by Owner, o *Observation, later []Observation, revision int64) (Operation, *refusal.Refusal) {
	op := c.Op
	if op.State != Unresolved {
		return op, stepRefusal(op, "no-transition", fmt.Sprintf("it is %s: only an unresolved operation is classified", orAbsent(op.State)))
	}
	if r := OwnedBy(c, by); r != nil {
		return op, r
	}
	if o == nil {
		return op, settling(op.ID, "no-observation", "no reading of the machine is recorded that shows it")
	}
	for _, l := range append([]Observation{*o}, later...) {
		if r := SafeToRetry(c, l); r != nil {
			return op, r
		}
	}
	op.Retry = &Classification{Revision: revision, By: by, Basis: o.Basis}
	op.Reason = "safe to retry: nothing can arrive any more, and the machine is as the plan expects"
	return op, nil
}
