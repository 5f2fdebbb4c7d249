package dispatch

import (
	"fmt"
	"slices"
)

func (w *walk) holding() int {
	n := 0
	for _, op := range w.ops {
		if slices.Contains([]State{"committed", "sending", "verifying", "unresolved"}, op.op.State) {
			n++
		}
	}
	return n
}

func (w *walk) breaks(invariant int, format string, args ...any) {
	if w.broken[invariant] == "" {
		w.broken[invariant] = fmt.Sprintf(format, args...)
	}
}

func (w *walk) judge(before map[string]Operation, held int) {
	if n := w.holding(); n > 1 && n > held {
		w.breaks(1, "%d operations hold the machine", n)
	}
	for id, p := range w.plans {
		if w.plansAsMade[id] == "" {
			w.plansAsMade[id] = fmt.Sprintf("%+v", p.plan)
		}
	}
	byPlan := map[string]int{}
	for _, op := range w.ops {
		if byPlan[op.op.Plan]++; byPlan[op.op.Plan] > 1 {
			w.breaks(12, "plan %s has two operations", op.op.Plan)
		}
		was, known := before[op.op.ID]
		if !known {
			w.admitted(op, op.op.Owner.Instance, "commitment")
		}
		for n := w.known[op.op.ID]; n < len(op.attempts); n++ {
			w.attempted(op, n, was)
		}
		w.known[op.op.ID] = len(op.attempts)
		w.ended(op)
	}
	if w.machine.Applied != w.applied {
		w.applied = w.machine.Applied
		if len(w.ops) == 0 || !slices.ContainsFunc(w.ops, func(op *simOp) bool { return op.op.ID == w.machine.AppliedSource && op.op.State == "completed" }) {
			w.breaks(3, "applied changed without a completed operation")
		}
	}
}

// admitted judges a commitment or an attempt by what holds at its moment.
func (w *walk) admitted(op *simOp, by, what string) {
	p := w.plans[op.op.Plan]
	enough := false
	for _, a := range p.approvals {
		enough = enough || a.RevokedRevision == 0 && !w.revoked[a.Approver] && a.Epoch == w.epoch
	}
	if !enough {
		w.breaks(13, "%s of %s without an approval that stands", what, op.op.ID)
	}
	if p.standing.CancelledRev != 0 || !w.now.Before(p.plan.ExpiresAt) {
		w.breaks(18, "%s of %s under a plan that is over", what, op.op.ID)
	}
	m := w.machine
	if m.Frozen || m.Drift != nil && m.Drift.ID != p.plan.Drift || w.inRecovery && m.ReleasedEpoch != w.epoch {
		w.breaks(10, "%s of %s through a closed gate", what, op.op.ID)
	}
	if m.BaselineRevision != p.plan.BaselineRevision {
		w.breaks(14, "%s of %s over another baseline", what, op.op.ID)
	}
	seen := slices.ContainsFunc(w.obs, func(o Observation) bool {
		return o.Instance == by && w.now.Sub(o.StartedAt) <= p.plan.MaxAge && o.Reading.Active.Digest == p.plan.Expected
	})
	if !seen {
		w.breaks(14, "%s of %s without fresh evidence", what, op.op.ID)
	}
}

func (w *walk) attempted(op *simOp, n int, was Operation) {
	a := op.attempts[n]
	w.admitted(op, a.By.Instance, "attempt")
	if a.By != was.Owner || a.By.Epoch != w.epoch || was.State != "committed" && (was.State != "unresolved" || was.Retry == nil) {
		w.breaks(2, "attempt %d of %s by %+v, owned by %+v and %s", n+1, op.op.ID, a.By, was.Owner, was.State)
	}
	if n+1 > w.plans[op.op.Plan].plan.MaxAttempts {
		w.breaks(16, "attempt %d of %s", n+1, op.op.ID)
	}
	for _, earlier := range op.attempts[:n] {
		if r := earlier.Response; r != nil && (r.Class == "accepted" || r.Class == "rejected") {
			w.breaks(17, "attempt %d of %s after an answer", n+1, op.op.ID)
		} else if earlier.Accounting == nil {
			w.breaks(6, "attempt %d of %s while an earlier one may arrive", n+1, op.op.ID)
		}
	}
}

func (w *walk) ended(op *simOp) {
	switch end, ended := w.ends[op.op.ID]; {
	case ended && end != op.op:
		w.breaks(5, "%s changed after its end", op.op.ID)
		return
	case ended || op.op.State.Holding():
		return
	}
	w.ends[op.op.ID] = op.op
	last := op.op.Revision
	for _, a := range op.attempts {
		if !(a.Response != nil && a.Response.Class != "inconclusive") && a.Accounting == nil {
			w.breaks(5, "%s is %s with an attempt unaccounted", op.op.ID, op.op.State)
		}
		if a.Response != nil {
			last = max(last, a.Response.Revision)
		}
		if a.Accounting != nil {
			last = max(last, a.Accounting.Revision)
		}
	}
	artifact := w.plans[op.op.Plan].plan.Artifact
	newest := w.latest(func(o Observation) bool { return o.Basis > last })
	switch op.op.State {
	case Completed:
		if newest == nil || newest.Reading.Active.Digest != artifact {
			w.breaks(3, "%s is completed, and the newest reading does not show it", op.op.ID)
		}
	case Failed:
		if newest == nil {
			w.breaks(6, "%s failed, and nothing was read since", op.op.ID)
		}
	case Rejected:
		if slices.ContainsFunc(op.attempts, func(a Attempt) bool { return a.Response == nil || a.Response.Class != "rejected" }) {
			w.breaks(6, "%s is rejected, and not every attempt is", op.op.ID)
		}
	case Cancelled:
		if len(op.attempts) > 0 {
			w.breaks(6, "%s is cancelled after an attempt", op.op.ID)
		}
	case Absent, Committed, Sending, Verifying, Unresolved:
	}
}

// finish judges what can be told at any time.
func (w *walk) finish() {
	for id, p := range w.plans {
		if fmt.Sprintf("%+v", p.plan) != w.plansAsMade[id] {
			w.breaks(4, "plan %s changed", id)
		}
	}
}
