package executor

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest"
	"github.com/clewops/clew/internal/store/storetest/world"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// rig is an executor with a machine behind a node that a test breaks.
type rig struct {
	*Executor
	t     *testing.T
	w     *world.World
	m     *world.Machine
	node  *node
	clock *clock
	store *faulty
	proc  *world.Process
	said  []Progress
}

func newRig(t *testing.T, w *world.World) *rig {
	m := w.Machine("worker-1")
	r := &rig{
		t: t, w: w, m: m, clock: &clock{}, proc: w.Process(),
		node:  &node{m: m, verdict: SocketVerdict{Available: true, Holds: true, Evidence: json.RawMessage(`{"hop1":"gone"}`)}},
		store: &faulty{Store: w.Store, before: map[string]func() error{}, after: map[string]func() error{}},
	}
	r.Executor = &Executor{
		Store: r.store, Nodes: r.node, Keeper: keeper{}, Instance: r.proc.ID, Host: r.proc.Host, Elapsed: r.clock.elapsed,
		Token: world.Token, SettleFloor: dispatch.MinimumSettle,
		Pause:    r.pass,
		Progress: func(p Progress) { r.said = append(r.said, p) },
	}
	return r
}

// pass lets a pause be over at once. The store must see that the two late reads are as far apart as they should be.
func (r *rig) pass(ctx context.Context, d time.Duration) error {
	r.clock.advance(d)
	if d == lateReadsApart {
		r.w.Pass(d)
	}
	return ctx.Err()
}

// each runs a test in a rig on every engine.
func each(t *testing.T, test func(t *testing.T, r *rig), adjust ...func(*store.Config)) {
	world.Each(t, func(t *testing.T, w *world.World) { test(t, newRig(t, w)) }, adjust...)
}

func (r *rig) dispatch(p dispatch.Plan) (Result, error) {
	r.t.Helper()
	return r.Dispatch(context.Background(), p.ID, 0)
}

func (r *rig) settle(op string, o SettleOptions) Result {
	r.t.Helper()
	res, err := r.Settle(context.Background(), op, o)
	if err != nil {
		r.t.Fatalf("settle: %v", err)
	}
	return res
}

// dispatched runs a plan that must end without an error.
func (r *rig) dispatched(p dispatch.Plan) Result {
	r.t.Helper()
	res, err := r.dispatch(p)
	if err != nil {
		r.t.Fatalf("dispatch: %v", err)
	}
	return res
}

func (r *rig) want(res Result, state dispatch.State, sends, landings int) {
	r.t.Helper()
	if res.State != state || r.node.sends != sends || r.node.landings != landings {
		r.t.Fatalf("%s with %d sends and %d landings (%s; missing %q), want %s with %d and %d",
			res.State, r.node.sends, r.node.landings, res.Reason, res.Missing, state, sends, landings)
	}
}

// at makes the executor run f once when it comes to a gate.
func (r *rig) at(name string, f func()) {
	done := false
	r.Gate = func(_ context.Context, got string) error {
		if got == name && !done {
			done = true
			f()
		}
		return nil
	}
}

func (r *rig) wantRefusal(err error, comparison int) {
	r.t.Helper()
	got, ok := refusal.As(err)
	if !ok || got.Comparison != comparison {
		r.t.Fatalf("error %v, want a refusal by comparison %d", err, comparison)
	}
}

func TestDispatchCompletes(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		plan := r.m.Approved(r.w.Config("new"))
		r.want(r.dispatched(plan), dispatch.Completed, 1, 1)
		if got := r.m.Record().Applied; got != plan.Artifact {
			t.Fatalf("Applied is %s, want the plan's artifact", got)
		}
	})
}

// The connection that sends is as patient as the plan's transport deadline, also on a retry.
func TestPatienceIsThePlansTransportDeadline(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{lostIn}
		plan := r.m.Approved(r.w.Config("new"), func(p *dispatch.Plan) { p.TransportDeadline = 25 * time.Second })
		res := r.dispatched(plan)
		r.want(r.settle(res.Operation, SettleOptions{}), dispatch.Unresolved, 1, 0)
		r.want(r.settle(res.Operation, SettleOptions{Retry: true}), dispatch.Completed, 2, 1)
		for name, dialed := range map[string]Target{"first send": r.node.dialed[0], "retry": r.node.dialed[len(r.node.dialed)-1]} {
			if dialed.Patience != plan.TransportDeadline {
				t.Errorf("the %s's connection waits %s, want %s", name, dialed.Patience, plan.TransportDeadline)
			}
		}
	})
}

func TestNodeRejects(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{refused}
		r.want(r.dispatched(r.m.Approved(r.w.Config("new"))), dispatch.Rejected, 1, 0)
	})
}

func TestLostAnswerIsSettledOnEvidence(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{lostAfter}
		res := r.dispatched(r.m.Approved(r.w.Config("new")))
		r.want(res, dispatch.Unresolved, 1, 1)
		if res.Next != "clew settle "+res.Operation {
			t.Errorf("next is %q", res.Next)
		}
		r.want(r.settle(res.Operation, SettleOptions{}), dispatch.Completed, 1, 1)
	})
}

func TestLostRequestIsRetriedOnlyWhenAskedTo(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{lostIn}
		res := r.dispatched(r.m.Approved(r.w.Config("new")))
		r.want(res, dispatch.Unresolved, 1, 0)
		res = r.settle(res.Operation, SettleOptions{Wait: time.Minute})
		r.want(res, dispatch.Unresolved, 1, 0)
		if res.Next != "clew settle "+res.Operation+" --retry" {
			t.Errorf("next is %q, want the retry", res.Next)
		}
		r.want(r.settle(res.Operation, SettleOptions{Retry: true}), dispatch.Completed, 2, 1)
	})
}

func TestNothingLeft(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{unsent}
		res := r.dispatched(r.m.Approved(r.w.Config("new")))
		r.want(res, dispatch.Unresolved, 0, 0)
		r.node.verdict = SocketVerdict{Missing: "not asked"} // never left needs no other evidence
		r.want(r.settle(res.Operation, SettleOptions{Retry: true}), dispatch.Completed, 1, 1)
	})
}

func TestRevokedBetweenCommitmentAndAttempt(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		plan := r.m.Approved(r.w.Config("new"))
		r.at("committed", func() {
			if err := r.w.Store.RevokeApproval(context.Background(), r.w.Approver, plan.ID, "second thoughts"); err != nil {
				t.Error(err)
			}
		})
		res, err := r.dispatch(plan)
		r.wantRefusal(err, 1)
		r.want(res, dispatch.Cancelled, 0, 0)
	})
}

func TestRevokedBeforeAnythingIsDecrypted(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		plan := r.m.Approved(r.w.Config("new"))
		if err := r.w.Store.RevokeApproval(context.Background(), r.w.Approver, plan.ID, "no"); err != nil {
			t.Fatal(err)
		}
		r.Keeper, r.Nodes = nil, nil // touching either would panic
		_, err := r.dispatch(plan)
		r.wantRefusal(err, 1)
	})
}

// A machine that is held is said to be held, also while it cannot be reached.
func TestI1HeldMachineThatCannotBeReached(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		plan, newer := r.m.Approved(r.w.Config("new")), r.m.Approved(r.w.Config("newer"))
		r.node.fates = []fate{lostIn}
		r.want(r.dispatched(plan), dispatch.Unresolved, 1, 0)
		r.node.dead = true
		_, err := r.dispatch(newer)
		r.wantRefusal(err, 4)
	})
}

func TestArtifactThatIsNotTheBoundOne(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		plan := r.m.Approved(r.w.Config("new"))
		r.Keeper = wrongKeeper{}
		_, err := r.dispatch(plan)
		r.wantRefusal(err, 2)
		if r.node.sends != 0 {
			t.Fatal("sent")
		}
	})
}

// TestI2SendGuard: what makes the guard refuse, and that without the guard the same is sent.
func TestI2SendGuard(t *testing.T) {
	cases := map[string]func(r *rig, op string){
		"too long since the attempt": func(r *rig, _ string) { r.clock.advance(dispatch.SendWindow) },
		"taken over meanwhile": func(r *rig, op string) {
			if _, err := r.w.Store.TakeOver(context.Background(), op, 1, r.w.Process().ID, "an operator says so"); err != nil {
				r.t.Error(err)
			}
		},
		"the head cannot be made durable": func(r *rig, _ string) {
			r.store.before["SyncHead"] = func() error { return errors.New("disk full") }
		},
		"ownership cannot be read": func(r *rig, _ string) {
			r.store.before["StillMine"] = func() error { return errors.New("connection refused") }
		},
	}
	for name, disturb := range cases {
		for _, guarded := range []bool{true, false} {
			t.Run(name+map[bool]string{true: "", false: ", without the guard"}[guarded], func(t *testing.T) {
				each(t, func(t *testing.T, r *rig) {
					plan := r.m.Approved(r.w.Config("new"))
					r.at("guard", func() { disturb(r, r.theOperation(plan)) })
					want := 0
					if !guarded {
						want = 1
						r.Without = dispatch.Without{dispatch.GuardSend}
						r.w.Unchecked("a control took the send guard away")
					}
					_, _ = r.dispatch(plan)
					if r.node.sends != want {
						t.Fatalf("%d sends, want %d", r.node.sends, want)
					}
					if guarded {
						r.wantNeverLeft(r.theOperation(plan))
					}
				})
			})
		}
	}
}

// TestI2ShowingProgressCannotDelayTheSend: whoever shows "sending" takes longer than the send window. What is then sent is
// judged by the guard; and nothing is shown between the guard and the request, nor between the answer and its record.
func TestI2ShowingProgressCannotDelayTheSend(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		plan := r.m.Approved(r.w.Config("new"))
		r.Progress = func(p Progress) {
			if p.Step == "send" {
				r.clock.advance(dispatch.SendWindow)
			}
		}
		_, _ = r.dispatch(plan)
		if r.node.sends != 0 {
			t.Fatalf("%d sends, want none", r.node.sends)
		}
		r.wantNeverLeft(r.theOperation(plan))
	})
	each(t, func(t *testing.T, r *rig) {
		plan := r.m.Approved(r.w.Config("new"))
		var quiet bool
		r.at("send", func() { quiet = true })
		r.Progress = func(p Progress) {
			if !quiet {
				return
			}
			v, err := r.w.Store.Operation(context.Background(), r.theOperation(plan))
			if err != nil {
				t.Fatal(err)
			}
			if v.Operation.State == dispatch.Sending {
				t.Errorf("%q is said while the answer is not on record", p.Text)
			}
		}
		if _, err := r.dispatch(plan); err != nil || !quiet {
			t.Fatal(err, quiet)
		}
	})
}

func (r *rig) theOperation(plan dispatch.Plan) string {
	r.t.Helper()
	v, err := r.w.Store.Plan(context.Background(), plan.ID)
	if err != nil || v.Operation == nil {
		r.t.Fatalf("the plan has no operation: %v", err)
	}
	return v.Operation.ID
}

func (r *rig) wantNeverLeft(op string) {
	r.t.Helper()
	v, err := r.w.Store.Operation(context.Background(), op)
	if err != nil {
		r.t.Fatal(err)
	}
	a := v.Attempts[0]
	if v.Operation.State != dispatch.Unresolved || a.Accounting == nil || a.Accounting.Kind != dispatch.NeverLeft {
		r.t.Fatalf("operation is %s, its attempt accounted %+v; want unresolved and never left", v.Operation.State, a.Accounting)
	}
}

func TestLostCommitIsLookedUp(t *testing.T) {
	lost := func() error { return &refusal.Unknown{What: "it committed", Err: errors.New("connection lost")} }
	for _, method := range []string{"Commit", "Attempt"} {
		t.Run(method+" took effect", func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.store.after[method] = lost
				r.want(r.dispatched(r.m.Approved(r.w.Config("new"))), dispatch.Completed, 1, 1)
			})
		})
		t.Run(method+" did not", func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.store.before[method] = lost
				_, err := r.dispatch(r.m.Approved(r.w.Config("new")))
				if _, refused := refusal.As(err); err == nil || refused {
					t.Fatalf("error %v, want a failure", err)
				}
				if _, unknown := refusal.AsUnknown(err); unknown {
					t.Fatalf("error %v is still unknown, though it was looked up", err)
				}
				if r.node.sends != 0 {
					t.Fatal("sent")
				}
			})
		})
	}
}

func TestAttemptFoundButTakenOverIsNotSent(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		plan := r.m.Approved(r.w.Config("new"))
		r.store.after["Attempt"] = func() error {
			if _, err := r.w.Store.TakeOver(context.Background(), r.theOperation(plan), 1, r.w.Process().ID, "an operator says so"); err != nil {
				t.Error(err)
			}
			return &refusal.Unknown{What: "it committed", Err: errors.New("connection lost")}
		}
		_, _ = r.dispatch(plan)
		if r.node.sends != 0 {
			t.Fatal("sent by an executor that lost ownership")
		}
	})
}

func TestRecordingIsRetriedWhileTheStoreIsAway(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		left := 3
		r.store.before["RecordResponse"] = func() error {
			if left--; left >= 0 {
				return errors.New("connection refused")
			}
			return nil
		}
		r.want(r.dispatched(r.m.Approved(r.w.Config("new"))), dispatch.Completed, 1, 1)
	})
}

func TestOutcomeIsRecordedWhenTheCallerHasGone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r.node.onSend = cancel
		res, _ := r.Dispatch(ctx, r.m.Approved(r.w.Config("new")).ID, 0)
		v, err := r.w.Store.Operation(context.Background(), res.Operation)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Attempts[0].Response; got == nil || got.Class != dispatch.Accepted {
			t.Fatalf("the response on record is %+v, want the acceptance", got)
		}
	})
}

func TestVerification(t *testing.T) {
	t.Run("a failed read decides nothing", func(t *testing.T) {
		each(t, func(t *testing.T, r *rig) {
			r.at("verify", func() { r.node.failing = 3 })
			r.want(r.dispatched(r.m.Approved(r.w.Config("new"))), dispatch.Completed, 1, 1)
		})
	})
	t.Run("a contradiction fails at the deadline", func(t *testing.T) {
		each(t, func(t *testing.T, r *rig) {
			r.at("verify", func() { r.m.Runs(r.w.Config("foreign")) })
			plan := r.m.Approved(r.w.Config("new"), func(p *dispatch.Plan) { p.VerifyDeadline, p.TransportDeadline = time.Second, time.Second })
			r.want(r.dispatched(plan), dispatch.Failed, 1, 1)
			if r.m.Record().Drift == nil {
				t.Fatal("no drift record was opened for what runs instead")
			}
		})
	})
	t.Run("no reading leaves it unresolved at the deadline", func(t *testing.T) {
		each(t, func(t *testing.T, r *rig) {
			r.at("verify", func() { r.node.dead = true })
			plan := r.m.Approved(r.w.Config("new"), func(p *dispatch.Plan) { p.VerifyDeadline, p.TransportDeadline = time.Second, time.Second })
			res := r.dispatched(plan)
			r.want(res, dispatch.Unresolved, 1, 1)
			r.node.dead = false
			r.want(r.settle(res.Operation, SettleOptions{}), dispatch.Completed, 1, 1)
		})
	})
}

func TestEvidenceThatIsNotThere(t *testing.T) {
	cases := map[string]func(r *rig){
		"another host":           func(r *rig) { r.Host.BootID = "another boot" },
		"not available":          func(r *rig) { r.node.verdict = SocketVerdict{Missing: "TCP ends in between"} },
		"does not hold":          func(r *rig) { r.node.verdict = SocketVerdict{Available: true, Missing: "bytes are queued"} },
		"the node is not read":   func(r *rig) { r.node.dead = true },
		"two readings disagree":  func(r *rig) { r.moveBetweenReads() },
		"the sender still lives": func(r *rig) { r.Instance = r.w.Process().ID },
	}
	for name, disturb := range cases {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.node.fates = []fate{lostAfter}
				res := r.dispatched(r.m.Approved(r.w.Config("new")))
				disturb(r)
				res = r.settle(res.Operation, SettleOptions{Takeover: true})
				r.want(res, dispatch.Unresolved, 1, 1)
				if len(res.Missing) == 0 || !strings.Contains(res.Missing[0], "attempt 1 is not accounted for") {
					t.Fatalf("missing is %q", res.Missing)
				}
			})
		})
	}
}

// moveBetweenReads lets an identical configuration land between the two late reads.
func (r *rig) moveBetweenReads() {
	r.Pause = func(ctx context.Context, d time.Duration) error {
		if d == lateReadsApart {
			r.m.Runs(r.m.Node.Active.Digest)
		}
		return r.pass(ctx, d)
	}
}

func TestSettlingIsTheOwners(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{lostAfter}
		res := r.dispatched(r.m.Approved(r.w.Config("new")))
		first := r.proc
		r.Instance = r.w.Process().ID
		_, err := r.Settle(context.Background(), res.Operation, SettleOptions{})
		if got, ok := refusal.As(err); !ok || got.Code != "owner-running" {
			t.Fatalf("error %v, want a refusal: the owner is running", err)
		}
		first.End()
		r.want(r.settle(res.Operation, SettleOptions{}), dispatch.Completed, 1, 1)
	})
}

func TestRecoverTakesOverOnlyFromTheStopped(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		plan := r.m.Approved(r.w.Config("new"))
		r.Gate = func(_ context.Context, name string) error {
			if name == "response" {
				return errors.New("this process ends here")
			}
			return nil
		}
		_, _ = r.dispatch(plan)
		op := r.theOperation(plan)
		first := r.proc
		r.Instance = r.w.Process().ID
		taken, err := r.Recover(context.Background())
		if err != nil || len(taken) != 0 {
			t.Fatalf("took %v (%v) over from a process that runs", taken, err)
		}
		first.End()
		taken, err = r.Recover(context.Background())
		if err != nil || !slices.Equal(taken, []string{op}) {
			t.Fatalf("took %v (%v), want the operation of the stopped process", taken, err)
		}
	})
}

// TestRecoverLeavesTheUnresolvedToWhoSettles: owning it without working on it would only keep that person waiting.
func TestRecoverLeavesTheUnresolvedToWhoSettles(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{lostAfter}
		res := r.dispatched(r.m.Approved(r.w.Config("new")))
		r.proc.End()
		r.Instance = r.w.Process().ID
		taken, err := r.Recover(context.Background())
		if err != nil || len(taken) != 0 {
			t.Fatalf("took %v (%v), want nothing", taken, err)
		}
		r.Instance = r.w.Process().ID // the one that started first still runs
		r.want(r.settle(res.Operation, SettleOptions{}), dispatch.Completed, 1, 1)
	})
}

func TestDecisionWaitsForTheSettleTime(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{lostAfter}
		res := r.dispatched(r.m.Approved(r.w.Config("new")))
		r.node.verdict = SocketVerdict{Missing: "TCP ends in between"}
		r.proc.End()
		r.Instance = r.w.Process().ID
		r.w.Pass(2 * time.Second) // the transport deadline
		judge := SettleOptions{Judge: &Judge{
			Who:    ledger.Actor{Identity: r.w.Admin.Identity, Role: store.RoleRecoveryAdmin, Assurance: ledger.Asserted},
			Reason: "the link was cut by hand",
		}}
		res = r.settle(res.Operation, judge)
		r.want(res, dispatch.Unresolved, 1, 1)
		r.w.Pass(dispatch.MaximumSettle + time.Second)
		r.want(r.settle(res.Operation, judge), dispatch.Completed, 1, 1)
	})
}

func TestRetryThatFindsTheArtifactCompletesWithoutSending(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{lostIn}
		plan := r.m.Approved(r.w.Config("new"))
		res := r.dispatched(plan)
		r.want(r.settle(res.Operation, SettleOptions{}), dispatch.Unresolved, 1, 0)
		r.m.Runs(plan.Artifact) // by whatever hand
		r.want(r.settle(res.Operation, SettleOptions{Retry: true}), dispatch.Completed, 1, 0)
	})
}

func TestTheConnectionIsAbortedAfterALostAnswer(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.node.fates = []fate{lostIn}
		before := r.node.aborted
		r.at("response", func() { before = r.node.aborted })
		r.dispatched(r.m.Approved(r.w.Config("new")))
		if r.node.aborted <= before {
			t.Fatal("the attempt's connection was not aborted")
		}
	})
}

// TestAnswerToAnOperationThatIsGone: after a restore the store may not hold the operation; the answer stays a fact.
func TestAnswerToAnOperationThatIsGone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.store.before["RecordResponse"] = func() error {
			return refusal.New("response", "unknown-operation", "no such operation", "")
		}
		_, err := r.dispatch(r.m.Approved(r.w.Config("new")))
		if _, refused := refusal.As(err); !refused {
			t.Fatalf("error %v, want the refusal", err)
		}
		entries := r.w.Entries(r.m.ID, dispatch.EntryResponse)
		var b dispatch.Body
		if len(entries) != 1 || json.Unmarshal(entries[0].Body, &b) != nil || !b.Orphan {
			t.Fatalf("%d entries, the last %+v; want one orphan response", len(entries), b)
		}
	})
}
