package executor

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

// TestTheFirstSettlingStartsTheClock: the settle time of a decision runs from the first reading on the attempt's route, so
// a settling that finds no evidence makes that reading, says that a decision is the way on, and the first decision after
// the settle time is admitted.
func TestTheFirstSettlingStartsTheClock(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{lostAfter}
		res := r.dispatched(r.m.Approved(r.w.Config("new")))
		r.node.verdict = SocketVerdict{Missing: "TCP ends in between"}
		r.proc.End()
		r.Instance = r.w.Process().ID
		r.w.Pass(2 * time.Second) // the transport deadline
		judging := "clew settle " + res.Operation + " --judge REASON"

		before := r.node.dials()
		res = r.settle(res.Operation, SettleOptions{})
		r.want(res, dispatch.Unresolved, 1, 1)
		if res.Next != judging {
			t.Errorf("next is %q, want %q: no evidence can come", res.Next, judging)
		}
		if got := r.node.dials() - before; got != 1 {
			t.Errorf("the machine was read %d times, want once, for the clock", got)
		}
		r.w.Pass(dispatch.MaximumSettle + time.Second)
		judge := SettleOptions{Judge: &Judge{
			Who:    ledger.Actor{Identity: r.w.Admin.Identity, Role: store.RoleRecoveryAdmin, Assurance: ledger.Asserted},
			Reason: "the link was cut by hand",
		}}
		r.want(r.settle(res.Operation, judge), dispatch.Completed, 1, 1)
	})
}

// TestAnEarlyDecisionSaysToDecideAgain: nothing but a decision will come of it.
func TestAnEarlyDecisionSaysToDecideAgain(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{lostAfter}
		res := r.dispatched(r.m.Approved(r.w.Config("new")))
		r.node.verdict = SocketVerdict{Available: true, Missing: "bytes are queued"}
		judge := SettleOptions{Judge: &Judge{
			Who:    ledger.Actor{Identity: r.w.Admin.Identity, Role: store.RoleRecoveryAdmin, Assurance: ledger.Asserted},
			Reason: "the link was cut by hand",
		}}
		sender := r.Instance
		_, err := r.Settle(context.Background(), res.Operation, judge)
		if got, ok := refusal.As(err); !ok || got.Code != "sender-running" || !strings.HasPrefix(got.Remedy, "clew admin recovery attest "+sender) {
			t.Errorf("the sender runs: %v", err)
		}
		r.proc.End()
		r.Instance = r.w.Process().ID
		r.w.Pass(2 * time.Second)
		if res = r.settle(res.Operation, SettleOptions{}); res.Next != "clew settle "+res.Operation+"\nclew settle "+res.Operation+" --judge REASON" {
			t.Errorf("evidence may still come, or a decision: next is %q", res.Next)
		}
		res = r.settle(res.Operation, judge)
		r.want(res, dispatch.Unresolved, 1, 1)
		if res.Next != "clew settle "+res.Operation+" --judge REASON" {
			t.Errorf("next is %q", res.Next)
		}
	})
}

// TestAWaitingSettlingReadsForTheClockOnce: each round would write the same into the ledger.
func TestAWaitingSettlingReadsForTheClockOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{lostAfter}
		res := r.dispatched(r.m.Approved(r.w.Config("new")))
		r.node.verdict = SocketVerdict{Missing: "TCP ends in between"}
		r.w.Pass(2 * time.Second)
		r.node.failing = 1 // the first reading does not count
		before := r.node.dials()
		r.want(r.settle(res.Operation, SettleOptions{Wait: time.Minute}), dispatch.Unresolved, 1, 1)
		if got := r.node.dials() - before; got != 2 {
			t.Errorf("the machine was read %d times, want one that failed and one that did not", got)
		}
	})
}

func (n *node) dials() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.dialed)
}
