package sim

import (
	"fmt"
	"slices"

	"github.com/clewops/clew/internal/dispatch"
)

// directOne asks the store for something past the executor, as a process would that keeps no order.
func (w *walk) directOne() string {
	if op, ok := recent(w, w.operations(dispatch.Rejected, dispatch.Cancelled, dispatch.Failed)); ok && w.chance(30) {
		return w.onceMore(op)
	}
	plans := w.plans(dispatch.PlanApproved)
	if w.chance(50) {
		plans = w.plans(dispatch.PlanCommitted)
	}
	if plan, ok := recent(w, plans); ok && w.chance(25) {
		p, alive := pick(w, w.procsThat(func(*proc) bool { return true }))
		if !alive {
			return ""
		}
		if got, rec := w.plan(w.ids[plan]); rec != nil && w.chance(60) {
			w.soon(fmt.Sprintf("commit %s %s", p.name, plan))
			return fmt.Sprintf("read %s %s plan=%s", p.name, w.nodeOf(got.Machine).name, plan)
		}
		return fmt.Sprintf("commit %s %s", p.name, plan)
	}
	op, ok := recent(w, w.operations(holding...))
	if !ok {
		return ""
	}
	p := w.someProc(op)
	if p == "" {
		return ""
	}
	return w.direct(p, op)
}

// onceMore asks for another commitment of a plan whose operation has ended.
func (w *walk) onceMore(op string) string {
	p, ok := pick(w, w.procsThat(func(*proc) bool { return true }))
	if !ok {
		return ""
	}
	got, _ := w.operation(w.ids[op])
	w.soon(fmt.Sprintf("commit %s %s", p.name, w.names[got.Plan]))
	return fmt.Sprintf("read %s %s plan=%s", p.name, w.nodeOf(got.Machine).name, w.names[got.Plan])
}

func (w *walk) direct(p, op string) string {
	got, _ := w.operation(w.ids[op])
	m, target := w.nodeOf(got.Machine).name, p+" "+op
	gen := w.maybe(10, fmt.Sprintf(" gen=%d", w.between(1, 3)))
	back := w.maybe(20, fmt.Sprintf(" back=%d", w.between(1, 3)))
	attempt := w.maybe(20, " attempt=1")
	reading := func(purpose string) string {
		return fmt.Sprintf("read %s %s for=%s plan=%s op=%s", p, m, purpose, w.names[got.Plan], op)
	}
	switch w.rng.IntN(13) {
	case 0, 1:
		if any, ok := pick(w, w.procsThat(func(*proc) bool { return true })); ok && w.chance(50) {
			return "attempt " + any.name + " " + op + gen
		}
		w.disturbed(op, p, "not-sent "+target, reading("evidence"), "classify "+target)
		return "attempt " + target + gen
	case 2:
		w.disturbed(op, p)
		return reading("evidence")
	case 3:
		w.disturbed(op, p, "classify "+target)
		return reading("evidence")
	case 4:
		return "classify " + target + gen + back
	case 5:
		w.soon("finish " + target)
		return reading("completion")
	case 6:
		return "finish " + target + gen + back
	case 7:
		return "respond " + target + " " + w.oneOf("accepted", "rejected", "inconclusive", "inconclusive") + gen + attempt
	case 8:
		return "not-sent " + target + gen + attempt
	case 9:
		w.soon("clock 6s", reading("accounting"), "account "+target+" evidence"+attempt)
		return reading("accounting")
	case 10:
		w.soon("clock 140s", reading("recovery"), "account "+target+" decision"+attempt)
		return reading("recovery")
	case 11:
		return "take-over " + target + gen
	}
	return w.oneOf("overdue "+target, "late-reject "+target, "cancel-operation "+target, "cancel-operation "+target+" judge="+admin,
		"account "+target+" evidence", "account "+target+" decision")
}

// restoreOne takes a backup, or puts one back; people then mostly do what there is to do.
func (w *walk) restoreOne() string {
	if w.saved == "" || w.chance(25) {
		return "snapshot"
	}
	if w.stale || w.restores > 0 && w.chance(50) {
		return w.oneOf("enter", "leave", "release "+w.machine(), "mark "+w.machine()+" ready")
	}
	next := fmt.Sprintf("x%d", len(w.procs)+1)
	w.soon("step " + w.oneOf("x1", "x2") + " 2")
	w.later("enter", "start "+next, "close "+next)
	if w.chance(70) {
		for _, p := range w.procs {
			if p.alive && w.chance(80) {
				w.later(w.oneOf("crash ", "attest ") + p.name)
			} else {
				w.later("attest " + p.name)
			}
		}
		m := w.machine()
		read := "read " + next + " " + m + " for=recovery"
		w.later(read, read+" via=10.5.9.9", "clock 140s", read, "mark "+m+" "+w.oneOf("ready", "ready", "blocked", "unresolved"), "release "+m)
		if w.chance(40) {
			w.later("mark "+m+" ready", "release "+m)
		}
	}
	return "restore"
}

// disturbed lets what leads to an attempt happen, then what it has to notice, and then the attempt.
func (w *walk) disturbed(op, p string, before ...string) {
	disturb := func() string {
		got, rec := w.operation(w.ids[op])
		if rec == nil {
			return ""
		}
		return w.disturbance(got, p)
	}
	w.queue = slices.Concat(then(before...), []func() string{disturb}, then("attempt "+p+" "+op), w.queue)
}

// interfere picks a process that is about to do what comparisons stand before, and changes what they compare.
func (w *walk) interfere() string {
	p, ok := pick(w, w.procsThat(func(p *proc) bool {
		switch p.at {
		case "commit", "attempt", "the send guard", "sync the head", "look at the attempt", "classify", "adopt":
			return p.job != ""
		}
		return false
	}))
	if !ok {
		return ""
	}
	w.queue = append([]func() string{w.on(p.name, w.between(1, 6))}, w.queue...)
	if op, rec := w.operation(w.ids[p.job]); rec != nil {
		return w.disturbance(op, p.name)
	}
	plan, rec := w.plan(w.ids[p.job])
	if rec == nil {
		return ""
	}
	for _, op := range rec.Operations {
		if op.Plan == plan.ID {
			return w.disturbance(op, p.name)
		}
	}
	return w.disturbance(dispatch.Operation{Plan: plan.ID, Machine: plan.Machine}, p.name)
}

// disturbance is something that a comparison of the plan, or of its operation when it has one, has to notice.
func (w *walk) disturbance(op dispatch.Operation, owner string) string {
	plan, m := w.names[op.Plan], w.nodeOf(op.Machine).name
	other, ok := pick(w, w.procsThat(func(*proc) bool { return true }))
	if !ok {
		return ""
	}
	id := w.names[op.ID]
	switch {
	case op.Retry != nil && w.chance(50):
		return "respond " + owner + " " + id + " inconclusive"
	case op.State == dispatch.Committed && w.chance(20):
		w.soon("attempt " + other.name + " " + id)
		return fmt.Sprintf("read %s %s plan=%s op=%s", other.name, m, plan, id)
	case op.ID != "" && w.chance(50):
		return w.oneOf("respond "+owner+" "+id+" inconclusive", "take-over "+other.name+" "+id, "take-over "+owner+" "+id,
			"not-sent "+owner+" "+id, "attempt "+other.name+" "+id, "classify "+owner+" "+id)
	}
	switch w.rng.IntN(10) {
	case 0:
		return "revoke " + plan
	case 1:
		return "cancel " + plan
	case 2:
		w.later("unfreeze " + m)
		return "freeze " + m
	case 3:
		return "assign " + m
	case 4:
		w.soon("read " + other.name + " " + m + " for=drift")
		return "edit " + m + " " + w.config()
	case 5:
		return "revoke-identity " + w.oneOf(approver, second)
	case 6:
		return "clock " + w.duration()
	case 7:
		return fmt.Sprintf("commit %s %s", other.name, plan)
	case 8:
		return "crash " + owner
	}
	return w.oneOf("snapshot", "attest "+owner, "down "+m, "clock 3s")
}
