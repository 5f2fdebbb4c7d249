package dispatch

import (
	"testing"

	"github.com/clewops/clew/internal/refusal"
)

// Each invariant that comparisons hold, by the deviation that would break it, and the control: with its guard taken away
// the same deviation passes.
type kept struct {
	deviation string
	good      func() Facts
	ask       func(Facts) *refusal.Refusal
	change    func(*Facts)
	number    int
	guard     Guard // "" where no control may take it away
}

func checkKept(t *testing.T, list ...kept) {
	t.Helper()
	for _, k := range list {
		t.Run(k.deviation, func(t *testing.T) {
			f := k.good()
			if r := k.ask(f); r != nil {
				t.Fatalf("refused without the deviation: %v", r)
			}
			k.change(&f)
			if r := k.ask(f); r == nil || r.Comparison != k.number {
				t.Errorf("got %v, want comparison %d", r, k.number)
			}
			if k.guard == "" {
				return
			}
			f.Without = Without{k.guard}
			if r := k.ask(f); r != nil {
				t.Errorf("control: without %s still refused: %v", k.guard, r)
			}
		})
	}
}

func TestI1OneOperationHoldsTheMachine(t *testing.T) {
	checkKept(t, kept{"a second operation", toCommit, Commitment, func(f *Facts) { op := someOperation(Unresolved); f.Other = &op }, 4, GuardScope})
}

func TestI2OnlyTheOwnerOfAnOpenOperationAttempts(t *testing.T) {
	stale := func(f *Facts) { f.Existing.Owner = Owner{Instance: "x2", Generation: 2, Epoch: epoch1} }
	checkKept(t,
		kept{"a stale owner", toAttempt, AttemptAllowed, stale, 7, GuardOwnership},
		kept{"a stale owner, by the owner alone", toAttempt, AttemptAllowed, stale, 7, GuardOwner},
		kept{"a state that admits none", toAttempt, AttemptAllowed, func(f *Facts) { f.Existing.State = Sending }, 7, GuardOwnedState},
		kept{"no commitment", toAttempt, AttemptAllowed, func(f *Facts) { f.Standing = Standing{State: PlanApproved} }, 1, GuardApproval},
	)
	f := toAttempt()
	f.Existing, f.Without = nil, Without{GuardApproval}
	wantRefused(t, AttemptAllowed(f), 7, "no-operation")
}

func TestI4TheRequestIsThePlans(t *testing.T) {
	for _, c := range shared {
		if c.number == 2 {
			checkKept(t, kept{c.name, toCommit, Commitment, c.change, 2, GuardBinding}, kept{c.name, toAttempt, AttemptAllowed, c.change, 2, GuardBinding})
		}
	}
}

func TestI8NothingFromAnotherEpochAuthorizes(t *testing.T) {
	checkKept(t,
		kept{"approvals of another epoch", toCommit, Commitment, func(f *Facts) { f.Epoch = epoch2 }, 1, ""},
		kept{"approvals of another epoch, at the attempt", toRetry, AttemptAllowed, func(f *Facts) { f.Approvals[0].Epoch = epoch2 }, 1, GuardApproval},
		kept{
			"an owner of another epoch", toAttempt, func(f Facts) *refusal.Refusal { f.Without = append(f.Without, GuardApproval); return AttemptAllowed(f) },
			func(f *Facts) { f.Epoch = epoch2 }, 7, GuardOwnership,
		},
	)
}

func TestI9TheAssignmentIsTheBoundOne(t *testing.T) {
	moved := func(f *Facts) { f.Machine.AssignmentRevision = 50 }
	checkKept(t,
		kept{"before the commitment", toCommit, Commitment, moved, 2, GuardBinding},
		kept{"while the machine is held", toAttempt, AttemptAllowed, moved, 2, GuardBinding},
	)
}

func TestI10NothingPassesAClosedGate(t *testing.T) {
	for _, c := range shared {
		if c.number == 6 {
			checkKept(t,
				kept{c.name, toCommit, Commitment, c.change, 6, GuardGate}, kept{c.name, toAttempt, AttemptAllowed, c.change, 6, GuardGate},
				kept{c.name, toRetry, AttemptAllowed, c.change, 6, GuardGate},
			)
		}
	}
}

func TestI12OneOperationForEachPlan(t *testing.T) {
	checkKept(t, kept{"a second commitment", toCommit, Commitment, func(f *Facts) {
		op := someOperation(Completed)
		f.Existing, f.Standing = &op, Standing{State: PlanCommitted, Operation: "op-1"}
	}, 0, GuardOneOperation})
}

func TestI13NoAttemptAfterARevocation(t *testing.T) {
	for name, change := range map[string]func(*Facts){
		"of an approval":               func(f *Facts) { f.Approvals[1].RevokedRevision = 25 },
		"of an identity":               func(f *Facts) { f.Approvals[1].IdentityRevoked = true },
		"that ended the plan's rights": func(f *Facts) { f.Standing.RevokedRev = 25 },
	} {
		checkKept(t, kept{name, toAttempt, AttemptAllowed, change, 1, GuardApproval}, kept{name + ", on a retry", toRetry, AttemptAllowed, change, 1, GuardApproval})
	}
}

func TestI14EvidenceIsFreshAndFits(t *testing.T) {
	for _, c := range shared {
		if c.number == 3 {
			checkKept(t, kept{c.name, toCommit, Commitment, c.change, 3, GuardEvidence}, kept{c.name, toRetry, AttemptAllowed, c.change, 3, GuardEvidence})
		}
	}
}

func TestI15ARolloutKeepsItsLimits(t *testing.T) {
	checkKept(t,
		kept{"it is full", toCommit, Commitment, rollout(2, 2, 0, 0), 5, GuardRollout},
		kept{"too many failed", toCommit, Commitment, rollout(0, 2, 1, 0), 5, GuardRollout},
	)
}

func TestI16AttemptsAreBounded(t *testing.T) {
	checkKept(t, kept{"one more", toRetry, AttemptAllowed, func(f *Facts) { f.Plan.MaxAttempts = 1 }, 9, GuardAttempts})
}

func TestI17NoRetryAfterAnAnswer(t *testing.T) {
	checkKept(t, kept{"a response since the classification", toRetry, AttemptAllowed, func(f *Facts) { f.Attempts[0].Response.Revision = 43 }, 8, GuardClassification})
}

func TestI18NoAttemptOfAnExpiredOrCancelledPlan(t *testing.T) {
	checkKept(t,
		kept{"expired", toAttempt, AttemptAllowed, func(f *Facts) { f.Now = f.Plan.ExpiresAt; f.Evidence.StartedAt = f.Now }, 1, GuardExpiry},
		kept{"expired by a record", toRetry, AttemptAllowed, func(f *Facts) { f.Standing.ExpiredRev = 25 }, 1, GuardExpiry},
		kept{"expired, at the commitment", toCommit, Commitment, func(f *Facts) { f.Now = f.Plan.ExpiresAt; f.Evidence.StartedAt = f.Now }, 1, GuardExpiry},
		kept{"cancelled", toAttempt, AttemptAllowed, func(f *Facts) { f.Standing.CancelledRev = 25 }, 1, GuardApproval},
	)
}
