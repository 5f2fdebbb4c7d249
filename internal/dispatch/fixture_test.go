package dispatch

import (
	"slices"
	"testing"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

// A machine whose plan is approved, as every test of the core begins with it. Each call gives records of its own.

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	epoch1 = "e1"
	epoch2 = "e2"
)

var executor1 = Owner{Instance: "x1", Generation: 1, Epoch: epoch1}

func someMachine() Machine {
	return Machine{
		ID: "m-1", Name: "worker-1", Cluster: "lab", ClusterID: "c-1", NodeID: "n-1",
		Assignment: Assignment{Role: Worker, Addresses: []string{"10.0.0.2"}}, AssignmentRevision: 2,
		Applied: oldDigest, AppliedSource: "op-0", BaselineRevision: 5, Desired: newDigest, DesiredRevision: 9,
	}
}

func somePlan() Plan {
	return Plan{
		ID: "p-1", Machine: "m-1", Kind: KindApply, ClusterID: "c-1", NodeID: "n-1", Artifact: newDigest,
		AssignmentRevision: 2, BaselineRevision: 5, DesiredRevision: 9, Expected: oldDigest,
		Operation: OperationApplyConfig, Mode: ModeNoReboot, Route: Via("10.0.0.1"), Address: "10.0.0.2",
		MaxAge: 30 * time.Second, Pre: Preconditions{Stage: "running", Ready: true}, Post: Postconditions{Stage: "running", Digest: newDigest},
		TransportDeadline: 15 * time.Second, VerifyDeadline: time.Minute, MaxAttempts: 2, ExpiresAt: noon.Add(time.Hour),
		Policy: Policy{Approvals: 2}, Creator: "ann", CreatorRole: "author", Authors: []string{"ann", "art"}, Revision: 10, CreatedAt: noon.Add(-time.Hour),
	}
}

func someApprovals() []Approval {
	return []Approval{
		{ID: "a-1", Plan: "p-1", PlanRevision: 10, Approver: "ben", Role: "approver", Epoch: epoch1, Revision: 11},
		{ID: "a-2", Plan: "p-1", PlanRevision: 10, Approver: "cas", Role: "approver", Epoch: epoch1, Revision: 12},
	}
}

// someReading shows the machine before its plan is dispatched.
func someReading() Reading {
	return Reading{
		ClusterID: "c-1", NodeID: "n-1", HostName: "worker-1", Role: Worker, Addresses: []string{"10.0.0.2"}, TalosVersion: "v1.13.6",
		Stage: "running", Ready: true, BootID: "b1",
		Active:     Resource{Present: true, Digest: oldDigest, Version: 2, Created: noon.Add(-time.Hour)},
		Persistent: Resource{Present: true, Digest: oldDigest, Version: 1, Created: noon.Add(-time.Hour)},
	}
}

// shows is a reading after the plan took effect.
func shows(r Reading) Reading {
	r.Active.Digest, r.Persistent.Digest = newDigest, newDigest
	return r
}

func someEvidence() *Observation {
	return &Observation{
		Machine: "m-1", Basis: 20, Revision: 21, StartedAt: noon.Add(-10 * time.Second), Purpose: ForEvidence, Plan: "p-1", Instance: "x1",
		Route: Via("10.0.0.1"), LocalAddr: "10.0.0.9:40000", RemoteAddr: "10.0.0.1:50000", Reading: someReading(),
	}
}

// toCommit is what a commitment reads when every comparison holds.
func toCommit() Facts {
	return Facts{
		Now: noon, Epoch: epoch1, Machine: someMachine(), Plan: somePlan(), Standing: Standing{State: PlanApproved}, Approvals: someApprovals(),
		Evidence: someEvidence(), By: executor1,
		Request: Request{Artifact: newDigest, Operation: OperationApplyConfig, Mode: ModeNoReboot, Route: Via("10.0.0.1"), Address: "10.0.0.2"},
	}
}

func someOperation(s State) Operation {
	return Operation{ID: "op-1", Plan: "p-1", Machine: "m-1", Kind: KindApply, State: s, Owner: executor1, Revision: 22}
}

// toAttempt is what the first attempt reads when every comparison holds.
func toAttempt() Facts {
	f := toCommit()
	op := someOperation(Committed)
	f.Standing, f.Existing, f.LocalAddr = Standing{State: PlanCommitted, Operation: "op-1"}, &op, "10.0.0.9:40000"
	return f
}

// lostAttempt was sent and never answered.
func lostAttempt(n int, revision int64) Attempt {
	return Attempt{
		Operation: "op-1", Number: n, By: executor1, Revision: revision, StartedAt: noon.Add(-time.Minute), Route: Via("10.0.0.1"),
		Host: Host{Name: "desk", ID: "h1", BootID: "hb1", NetNS: "ns1"}, LocalAddr: "10.0.0.9:40000",
		Response: &Response{Class: Inconclusive, Revision: revision + 1},
	}
}

func accountedAttempt(n int, revision, accounted int64) Attempt {
	a := lostAttempt(n, revision)
	a.Accounting = &Accounting{Kind: CannotArrive, Revision: accounted, By: "x1"}
	return a
}

func answered(n int, revision int64, class ResponseClass) Attempt {
	a := lostAttempt(n, revision)
	a.Response = &Response{Class: class, Code: "OK", Revision: revision + 1}
	return a
}

// toRetry is what a second attempt reads when every comparison holds.
func toRetry() Facts {
	f := toAttempt()
	f.Existing.State, f.Existing.Retry = Unresolved, &Classification{Revision: 42, By: executor1, Basis: 40}
	f.Attempts = []Attempt{accountedAttempt(1, 30, 35)}
	f.Evidence.Operation, f.Evidence.Basis, f.Evidence.Revision = "op-1", 40, 41
	return f
}

// wantRefused checks the comparison and the code of a refusal; number refusal.None and code "" say that all holds.
func wantRefused(t *testing.T, r *refusal.Refusal, number int, code string) {
	t.Helper()
	switch {
	case r == nil && code == "":
	case r == nil:
		t.Errorf("not refused, want %d %s", number, code)
	case code == "":
		t.Errorf("refused: %v", r)
	case r.Comparison != number || r.Code != code:
		t.Errorf("got %d %s (%s), want %d %s", r.Comparison, r.Code, r.Message, number, code)
	case r.Message == "":
		t.Error("the refusal does not say why")
	}
}

// someCase is an operation in a state with its attempts, when nothing stands against its next step.
func someCase(s State, attempts ...Attempt) Case {
	op := someOperation(s)
	op.SendBoot = "b1"
	op.VerifyUntil = noon
	return Case{
		Op: op, Plan: somePlan(), Standing: Standing{State: PlanCommitted, Operation: "op-1"}, Approvals: someApprovals(),
		Attempts: slices.Clone(attempts), Machine: someMachine(), Epoch: epoch1, Now: noon,
	}
}

// observed is an observation that began at basis.
func observed(basis int64, r Reading) *Observation {
	o := someEvidence()
	o.Purpose, o.Operation, o.Basis, o.Revision, o.Reading = ForCompletion, "op-1", basis, basis+1, r
	return o
}
