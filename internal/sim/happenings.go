package sim

import (
	"fmt"
	"slices"

	"github.com/clewops/clew/internal/dispatch"
)

// happening is one kind of thing that a walk may let happen.
type happening struct {
	weight int
	always bool                 // in every history, at this weight
	make   func(w *walk) string // "" when it cannot happen now
}

var happenings []happening

func init() {
	happenings = []happening{
		{90, true, (*walk).stepOne},
		{40, true, (*walk).requestMoves},
		{6, true, (*walk).planOne},
		{4, true, (*walk).approveOne},
		{30, true, (*walk).dispatchOne},
		{24, true, (*walk).settleOne},
		{4, true, (*walk).newProcess},
		{1, false, (*walk).adoptOne},
		{6, false, (*walk).faultOne},
		{3, false, (*walk).crashOne},
		{5, false, (*walk).suspendOne},
		{4, false, func(w *walk) string { return "clock " + w.duration() }},
		{3, false, (*walk).nodeChanges},
		{4, false, (*walk).readOne},
		{14, false, (*walk).directOne},
		{3, false, (*walk).revokeOne},
		{2, false, (*walk).gateOne},
		{2, false, (*walk).bookkeeping},
		{1, false, (*walk).restoreOne},
		{1, false, (*walk).assignOne},
	}
}

func (w *walk) stepOne() string {
	p, ok := pick(w, w.busy())
	if !ok {
		return ""
	}
	return fmt.Sprintf("step %s %d", p.name, []int{1, 1, 2, 3, 5, 8}[w.rng.IntN(6)])
}

// requestMoves decides what becomes of a request that is on its way.
func (w *walk) requestMoves() string {
	var pending []*flight
	for _, f := range w.flights {
		if f.pending() && !f.machine.down {
			pending = append(pending, f)
		}
	}
	f, ok := pick(w, pending)
	if !ok {
		return ""
	}
	sender := f.conn.p
	waits := sender.alive && sender.job != "" && !f.conn.closed
	if !waits {
		return w.oneOf("land ", "drop ", "forward ", "forward ") + f.name
	}
	switch w.rng.IntN(10) {
	case 0, 1, 2:
		return "deliver " + f.name
	case 3:
		return "reject " + f.name
	case 4:
		w.soon("give-up " + sender.name)
		return w.oneOf("land ", "refuse ", "drop ") + f.name
	case 5, 6:
		w.soon("give-up "+sender.name, "step "+sender.name+" 2")
		return "forward " + f.name
	}
	w.soon(fmt.Sprintf("step %s %d", sender.name, w.between(6, 14)))
	return "give-up " + sender.name
}

func (w *walk) planOne() string {
	if len(w.plans(dispatch.PlanProposed, dispatch.PlanApproved)) > 3 {
		return ""
	}
	m := w.machine()
	line := fmt.Sprintf("plan %s %s", m, w.config())
	if w.chance(5) {
		line += " kind=adopt"
	} else if w.chance(40) {
		line += " rollout=" + w.oneOf("r1:1:0", "r1:1:0", "r1:2:1", "r2:1:1")
	}
	line += w.maybe(25, " attempts="+w.oneOf("1", "3")) + w.maybe(15, " approvals=2") + w.maybe(15, " age="+w.oneOf("5s", "1m")) +
		w.maybe(15, " expires="+w.oneOf("5s", "1m")) + w.maybe(25, " via=10.5.9.9")
	if w.chance(90) {
		w.carryOut(fmt.Sprintf("p%d", len(w.order["p"])+1))
	}
	return line
}

// carryOut has a plan approved and dispatched, sometimes by two processes at once.
func (w *walk) carryOut(plan string) {
	approve := func(by string) func() string {
		return func() string {
			if w.ids[plan] == "" {
				return "" // it was refused
			}
			return "approve " + plan + " " + by
		}
	}
	w.queue = append(w.queue, approve(w.oneOf(approver, approver, second)))
	if w.chance(20) {
		w.queue = append(w.queue, approve(second))
	}
	for range w.rng.IntN(3) {
		w.queue = append(w.queue, func() string {
			p, ok := pick(w, w.idle())
			if !ok {
				return ""
			}
			w.queue = append(w.queue, w.on(p.name, w.between(2, 8)), w.on(p.name, w.between(2, 8)))
			return w.carry(p, plan)
		})
	}
}

// carry is the command by which a process carries out a plan, "" when the store holds none of that name.
func (w *walk) carry(p *proc, plan string) string {
	got, rec := w.plan(w.ids[plan])
	switch {
	case rec == nil || rec.Standings[got.ID].State == dispatch.PlanProposed && w.chance(90):
		return ""
	case got.Kind == dispatch.KindAdopt:
		return fmt.Sprintf("adopt %s %s", p.name, plan)
	}
	return fmt.Sprintf("dispatch %s %s", p.name, plan) + w.maybe(30, " wait=12s")
}

func (w *walk) approveOne() string {
	p, ok := recent(w, w.plans(dispatch.PlanProposed))
	if !ok {
		return ""
	}
	return "approve " + p + " " + w.oneOf(approver, second, second, admin) + w.maybe(5, " break-glass=urgent")
}

func (w *walk) dispatchOne() string {
	plans := w.plans(dispatch.PlanApproved)
	if w.chance(10) {
		plans = w.plans(dispatch.PlanApproved, dispatch.PlanCommitted, dispatch.PlanProposed)
	}
	plan, ok := recent(w, plans)
	p, idle := pick(w, w.idle())
	if !ok || !idle {
		return ""
	}
	return w.carry(p, plan)
}

func (w *walk) adoptOne() string {
	plan, ok := recent(w, w.plans(dispatch.PlanApproved))
	p, idle := pick(w, w.idle())
	if !ok || !idle {
		return ""
	}
	if got, _ := w.plan(w.ids[plan]); got.Kind != dispatch.KindAdopt {
		w.carryOut(fmt.Sprintf("p%d", len(w.order["p"])+1))
		return fmt.Sprintf("plan %s c0 kind=adopt", w.machine())
	}
	return fmt.Sprintf("adopt %s %s", p.name, plan)
}

func (w *walk) settleOne() string {
	op, ok := recent(w, w.operations(holding...))
	p, idle := pick(w, w.idle())
	if !ok || !idle {
		return ""
	}
	if w.chance(10) {
		return "recover " + p.name
	}
	line := fmt.Sprintf("settle %s %s", p.name, op) + w.maybe(50, " retry=yes") + w.maybe(40, " takeover=yes") + w.maybe(10, " wait=12s")
	if w.chance(20) {
		w.soon("step "+p.name+" 6", "clock 140s", fmt.Sprintf("settle %s %s judge=%s", p.name, op, admin), "step "+p.name+" 6")
		line += " judge=" + admin + w.maybe(20, " route-gone=restarted")
	}
	return line
}

func (w *walk) newProcess() string {
	if len(w.procs) >= 6 || len(w.idle()) > 1 {
		return ""
	}
	return w.startOne()
}

// faultOne spoils the next call of a process to the store; most often that is its very next step.
func (w *walk) faultOne() string {
	p, ok := pick(w, w.busy())
	if !ok {
		return ""
	}
	w.soon("step " + p.name)
	return w.oneOf("lose "+p.name+" kept", "lose "+p.name+" gone", "fail "+p.name, "break "+p.name)
}

func (w *walk) crashOne() string {
	if w.chance(15) {
		return "reopen " + w.oneOf(desk, laptop)
	}
	p, ok := pick(w, w.procsThat(func(*proc) bool { return true }))
	if !ok || len(w.procs) > 8 {
		return ""
	}
	next := fmt.Sprintf("x%d", len(w.procs)+1)
	w.soon(fmt.Sprintf("start %s %s", next, p.host), "recover "+next)
	w.queue = slices.Insert(w.queue, 2, w.on(next, 3))
	if p.job == "" && w.chance(50) {
		return "end " + p.name
	}
	return "crash " + p.name
}

func (w *walk) suspendOne() string {
	if p, ok := pick(w, w.procsThat(func(p *proc) bool { return p.stopped })); ok && w.chance(60) {
		return "resume " + p.name
	}
	p, ok := pick(w, w.busy())
	if !ok {
		return ""
	}
	w.later("resume " + p.name)
	w.queue = append(w.queue, w.on(p.name, 3))
	return "suspend " + p.name
}

func (w *walk) nodeChanges() string {
	m := w.machine()
	switch w.rng.IntN(8) {
	case 0:
		return "boot " + m
	case 1:
		w.later("up " + m)
		return "down " + m
	case 2:
		return "stage " + m + " " + w.config()
	case 3:
		w.later("shows " + m + " running")
		return "shows " + m + " rebooting"
	}
	return "edit " + m + " " + w.config()
}

func (w *walk) readOne() string {
	p, ok := pick(w, w.procsThat(func(*proc) bool { return true }))
	if !ok {
		return ""
	}
	m := w.machine()
	line := fmt.Sprintf("read %s %s for=%s", p.name, m, w.oneOf("drift", "evidence", "completion", "recovery", "accounting"))
	if op, ok := recent(w, w.operations()); ok && w.chance(60) {
		got, _ := w.operation(w.ids[op])
		line = fmt.Sprintf("read %s %s for=%s plan=%s op=%s", w.someProc(op), w.nodeOf(got.Machine).name,
			w.oneOf("evidence", "completion", "accounting", "recovery"), w.names[got.Plan], op)
	} else if p, ok := recent(w, w.plans(dispatch.PlanApproved)); ok && w.chance(50) {
		line += " plan=" + p
	}
	return line + w.maybe(20, " via=10.5.9.9")
}

func (w *walk) revokeOne() string {
	if w.chance(20) {
		w.later("record-revocations")
		return "revoke-identity " + w.oneOf(approver, approver, second, second, author)
	}
	p, ok := recent(w, w.plans(dispatch.PlanApproved, dispatch.PlanCommitted, dispatch.PlanProposed))
	if !ok {
		return ""
	}
	if w.chance(35) {
		return "cancel " + p
	}
	return "revoke " + p + w.maybe(30, " "+approver)
}

func (w *walk) gateOne() string {
	m := w.machine()
	if w.chance(60) {
		w.later("unfreeze " + m)
		return "freeze " + m
	}
	return w.oneOf("unfreeze "+m, "open r1", "open r2")
}

func (w *walk) bookkeeping() string {
	p, ok := pick(w, w.procs)
	if ok && w.chance(25) {
		return "attest " + p.name
	}
	return w.oneOf("anchor", "record-revocations", "record-expiries", "clock-step", "verify")
}

func (w *walk) assignOne() string { return "assign " + w.machine() }
