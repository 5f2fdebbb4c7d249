package dispatch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

// change is one deviation from facts under which every comparison holds; code "" says that it still holds.
type change struct {
	name   string
	change func(*Facts)
	number int
	code   string
}

const holds = refusal.None

// shared are changes that matter to the commitment and to every attempt alike.
var shared = []change{
	{"as it is", func(*Facts) {}, holds, ""},

	{"expires now", func(f *Facts) { f.Plan.ExpiresAt = f.Now }, 1, "plan-expired"},
	{"expires a moment later", func(f *Facts) { f.Plan.ExpiresAt = f.Now.Add(1) }, holds, ""},
	{"expired long ago", func(f *Facts) { f.Plan.ExpiresAt = f.Now.Add(-time.Hour) }, 1, "plan-expired"},
	{"expiry is recorded", func(f *Facts) { f.Standing.ExpiredRev = 15 }, 1, "plan-expired"},
	{"cancelled", func(f *Facts) { f.Standing.CancelledRev = 15 }, 1, "plan-cancelled"},
	{"revoked", func(f *Facts) { f.Standing.RevokedRev = 15 }, 1, "plan-revoked"},
	{"an approval is revoked", func(f *Facts) { f.Approvals[1].RevokedRevision = 15 }, 1, "approvals-missing"},
	{"an approver is revoked", func(f *Facts) { f.Approvals[0].IdentityRevoked = true }, 1, "approvals-missing"},
	{"an approval of another epoch", func(f *Facts) { f.Approvals[0].Epoch = epoch2 }, 1, "approvals-missing"},
	{"one person twice", func(f *Facts) { f.Approvals[1].Approver = f.Approvals[0].Approver }, 1, "approvals-missing"},
	{"no approval", func(f *Facts) { f.Approvals = nil }, 1, "approvals-missing"},
	{"one more than needed", func(f *Facts) {
		f.Approvals = append(f.Approvals, Approval{ID: "a-3", Approver: "dan", Epoch: epoch1})
		f.Approvals[0].RevokedRevision = 15
	}, holds, ""},
	{"a self-approval that the policy refuses", func(f *Facts) { f.Approvals[0].Self = true }, 1, "approvals-missing"},
	{"a self-approval that the policy allows", func(f *Facts) { f.Approvals[0].Self, f.Plan.Policy.SelfApproval = true, true }, holds, ""},
	{"broken glass", func(f *Facts) {
		f.Approvals = []Approval{{Approver: "ben", Epoch: epoch1, BreakGlass: "the site is down"}}
	}, holds, ""},
	{"revoked broken glass", func(f *Facts) {
		f.Approvals = []Approval{{Approver: "ben", Epoch: epoch1, BreakGlass: "the site is down", RevokedRevision: 15}}
	}, 1, "approvals-missing"},

	{"the baseline moved", func(f *Facts) { f.Machine.BaselineRevision++ }, 2, "baseline-moved"},
	{"the baseline is an older one", func(f *Facts) { f.Machine.BaselineRevision-- }, 2, "baseline-moved"},
	{"the assignment changed", func(f *Facts) { f.Machine.AssignmentRevision++ }, 2, "assignment-changed"},
	{"another node", func(f *Facts) { f.Machine.NodeID = "n-2" }, 2, "other-machine"},
	{"another cluster", func(f *Facts) { f.Machine.ClusterID = "c-2" }, 2, "other-machine"},
	{"another artifact", func(f *Facts) { f.Request.Artifact = strange }, 2, "artifact-changed"},
	{"another operation", func(f *Facts) { f.Request.Operation = "reboot" }, 2, "parameters-changed"},
	{"another mode", func(f *Facts) { f.Request.Mode = "" }, 2, "parameters-changed"},
	{"another route", func(f *Facts) { f.Request.Route = Direct }, 2, "parameters-changed"},
	{"another address", func(f *Facts) { f.Request.Address = "10.0.0.3" }, 2, "parameters-changed"},

	{"no evidence", func(f *Facts) { f.Evidence = nil }, 3, "no-evidence"},
	{"evidence of another process", func(f *Facts) { f.Evidence.Instance = "x2" }, 3, "no-evidence"},
	{"as old as allowed", func(f *Facts) { f.Evidence.StartedAt = f.Now.Add(-f.Plan.MaxAge) }, holds, ""},
	{"older than allowed", func(f *Facts) { f.Evidence.StartedAt = f.Now.Add(-f.Plan.MaxAge - 1) }, 3, "evidence-old"},
	{"a second ahead", func(f *Facts) { f.Evidence.StartedAt = f.Now.Add(time.Second) }, holds, ""},
	{"more than a second ahead", func(f *Facts) { f.Evidence.StartedAt = f.Now.Add(time.Second + 1) }, 3, "evidence-future"},
	{"another node answers", func(f *Facts) { f.Evidence.Reading.NodeID = "n-2" }, 3, "other-machine"},
	{"a node of another cluster answers", func(f *Facts) { f.Evidence.Reading.ClusterID = "c-2" }, 3, "other-machine"},
	{"it became a control plane", func(f *Facts) { f.Evidence.Reading.Role = ControlPlane }, 3, "other-role"},
	{"rebooting", func(f *Facts) { f.Evidence.Reading.Stage = "rebooting" }, 3, "in-transition"},
	{"upgrading", func(f *Facts) { f.Evidence.Reading.Stage = "upgrading" }, 3, "in-transition"},
	{"shutting down", func(f *Facts) { f.Evidence.Reading.Stage = "shutting down" }, 3, "in-transition"},
	{"resetting", func(f *Facts) { f.Evidence.Reading.Stage = "resetting" }, 3, "in-transition"},
	{"booting", func(f *Facts) { f.Evidence.Reading.Stage = "booting" }, 3, "stage"},
	{"booting, and no stage is demanded", func(f *Facts) { f.Evidence.Reading.Stage, f.Plan.Pre.Stage = "booting", "" }, holds, ""},
	{"not ready", func(f *Facts) { f.Evidence.Reading.Ready = false }, 3, "not-ready"},
	{"not ready, and that is not demanded", func(f *Facts) { f.Evidence.Reading.Ready, f.Plan.Pre.Ready = false, false }, holds, ""},
	{"no configuration", func(f *Facts) { f.Evidence.Reading.Active = Resource{} }, 3, "no-configuration"},
	{"a staged change", func(f *Facts) { f.Evidence.Reading.Persistent.Digest = strange }, 3, "not-quiescent"},
	{"a change on trial", func(f *Facts) { f.Evidence.Reading.Active.Digest = strange }, 3, "not-quiescent"},
	{"booted from disk", func(f *Facts) { f.Evidence.Reading.Persistent = Resource{} }, holds, ""},
	{"something else runs", func(f *Facts) {
		f.Evidence.Reading.Active.Digest, f.Evidence.Reading.Persistent.Digest = strange, strange
	}, 3, "other-digest"},
	{"the artifact runs already", func(f *Facts) { f.Evidence.Reading = shows(f.Evidence.Reading) }, 3, "already-there"},
	{"a newer reading says the same", func(f *Facts) { f.Newer = []Observation{*someEvidence()} }, holds, ""},
	{"a newer reading differs", func(f *Facts) {
		n := *someEvidence()
		n.Reading = shows(n.Reading)
		f.Newer = []Observation{*someEvidence(), n}
	}, 3, "contradicted"},
	{"a newer reading finds it rebooting", func(f *Facts) {
		n := *someEvidence()
		n.Reading.Stage = "rebooting"
		f.Newer = []Observation{n}
	}, 3, "contradicted"},

	{"frozen", func(f *Facts) { f.Machine.Frozen, f.Machine.FrozenBy = true, "cas" }, 6, "gate-closed"},
	{"drifted", func(f *Facts) { f.Machine.Drift = &Drift{ID: "d-1", Digest: strange} }, 6, "gate-closed"},
	{"another drift record is open", func(f *Facts) {
		f.Machine.Drift, f.Plan.Drift = &Drift{ID: "d-1", Digest: strange}, "d-0"
	}, 6, "gate-closed"},
	{"the bound drift record is closed", func(f *Facts) { f.Plan.Drift = "d-0" }, 6, "gate-closed"},
	{"the bound drift record is open", func(f *Facts) {
		f.Machine.Drift, f.Plan.Drift = &Drift{ID: "d-1", Digest: oldDigest}, "d-1"
	}, holds, ""},
	{"in recovery", func(f *Facts) { f.InRecovery = true }, 6, "gate-closed"},
	{"in recovery, released before", func(f *Facts) { f.InRecovery, f.Machine.ReleasedEpoch = true, "e0" }, 6, "gate-closed"},
	{"in recovery, released now", func(f *Facts) { f.InRecovery, f.Machine.ReleasedEpoch = true, epoch1 }, holds, ""},
}

// onlyCommitment are changes that matter to the commitment.
var onlyCommitment = []change{
	{"committed already", func(f *Facts) { op := someOperation(Completed); f.Existing = &op }, 0, "operation-exists"},
	{"not approved", func(f *Facts) { f.Standing.State = PlanProposed }, 1, "plan-not-approved"},
	{"committed in its standing only", func(f *Facts) { f.Standing.State = PlanCommitted }, 1, "plan-not-approved"},
	{"evidence for another plan", func(f *Facts) { f.Evidence.Plan = "p-2" }, 3, "no-evidence"},
	{"another operation holds the machine", func(f *Facts) { op := someOperation(Unresolved); f.Other = &op }, 4, "scope-held"},
	{"room in the rollout", rollout(1, 2, 0, 0), holds, ""},
	{"the rollout is full", rollout(2, 2, 0, 0), 5, "rollout-full"},
	{"the rollout is fuller than full", rollout(3, 2, 0, 0), 5, "rollout-full"},
	{"as many failures as may be", rollout(0, 2, 1, 1), holds, ""},
	{"more failures than may be", rollout(0, 2, 2, 1), 5, "rollout-closed"},
	{"one failure where none may be", rollout(0, 2, 1, 0), 5, "rollout-closed"},
	{"another rollout is full", func(f *Facts) { f.RolloutOpen, f.RolloutLimit = 9, 1 }, holds, ""},
}

func rollout(open, limit, failed, maxFailed int) func(*Facts) {
	return func(f *Facts) {
		f.Plan.Rollout = &Rollout{ID: "weekly", Limit: limit, MaxFailed: maxFailed}
		f.RolloutOpen, f.RolloutLimit, f.RolloutFailed, f.RolloutMaxFailed = open, limit, failed, maxFailed
	}
}

// onlyAttempt are changes that matter to every attempt.
var onlyAttempt = []change{
	{"the plan is not committed", func(f *Facts) { f.Standing.State = PlanApproved }, 1, "plan-not-committed"},
	{"the plan is committed to another operation", func(f *Facts) { f.Standing.Operation = "op-2" }, 1, "plan-not-committed"},
	{"there is no operation", func(f *Facts) { f.Existing = nil }, 1, "plan-not-committed"},
	{"another connection", func(f *Facts) { f.LocalAddr = "10.0.0.9:40001" }, 3, "other-connection"},
	{"a connection without an address", func(f *Facts) { f.LocalAddr = "" }, holds, ""},
	{"another instance asks", func(f *Facts) { f.By.Instance, f.Evidence.Instance = "x2", "x2"; forRetry(f) }, 7, "not-owner"},
	{"the former owner asks", func(f *Facts) { f.Existing.Owner.Generation++; f.Existing.Owner.Instance = "x2" }, 7, "not-owner"},
	{"the owner of an older generation asks", func(f *Facts) { f.Existing.Owner.Generation++ }, 7, "not-owner"},
	{"the epoch changed", func(f *Facts) {
		f.Epoch = epoch2
		for i := range f.Approvals {
			f.Approvals[i].Epoch = epoch2
		}
	}, 7, "other-epoch"},
	{"sending", func(f *Facts) { f.Existing.State, f.Existing.Retry = Sending, nil }, 7, "wrong-state"},
	{"verifying", func(f *Facts) { f.Existing.State, f.Existing.Retry = Verifying, nil }, 7, "wrong-state"},
	{"ended", func(f *Facts) { f.Existing.State, f.Existing.Retry = Completed, nil }, 7, "wrong-state"},
	{"unresolved and not classified", func(f *Facts) { f.Existing.State, f.Existing.Retry = Unresolved, nil; forRetry(f) }, 7, "wrong-state"},
}

// forRetry makes the evidence the operation's, so that comparison 3 holds whatever counts as a retry.
func forRetry(f *Facts) { f.Evidence.Operation = "op-1" }

// onlyRetry are changes that matter to a retry.
var onlyRetry = []change{
	{"evidence of the plan, not of the operation", func(f *Facts) { f.Evidence.Operation = "" }, 3, "no-evidence"},
	{"evidence of the operation, not of the plan", func(f *Facts) { f.Evidence.Plan = "" }, holds, ""},
	{"evidence of another operation", func(f *Facts) { f.Evidence.Operation = "op-2" }, 3, "no-evidence"},
	{"classified by a former owner", func(f *Facts) { f.Existing.Retry.By.Instance = "x2" }, 7, "wrong-state"},
	{"classified in a former generation", func(f *Facts) { f.Existing.Retry.By.Generation-- }, 7, "wrong-state"},
	{"a response since", func(f *Facts) { f.Attempts[0].Response.Revision = 43 }, 8, "response-since"},
	{"a response in the classification's own revision", func(f *Facts) { f.Attempts[0].Response.Revision = 42 }, holds, ""},
	{"attempts are used up", func(f *Facts) { f.Plan.MaxAttempts = 1 }, 9, "attempts-used"},
	{"more attempts than may be", func(f *Facts) {
		f.Attempts = append(f.Attempts, accountedAttempt(2, 36, 37), accountedAttempt(3, 38, 39))
	}, 9, "attempts-used"},
}

func runChanges(t *testing.T, good func() Facts, ask func(Facts) *refusal.Refusal, lists ...[]change) {
	for _, list := range lists {
		for _, c := range list {
			t.Run(c.name, func(t *testing.T) {
				f := good()
				c.change(&f)
				before := asText(t, f.Plan)
				r := ask(f)
				wantRefused(t, r, c.number, c.code)
				if r != nil && r.Remedy == "" {
					t.Error("the refusal does not say what to do next")
				}
				if asText(t, f.Plan) != before { // I4
					t.Error("the plan changed")
				}
			})
		}
	}
}

func TestComparisonsOfTheCommitment(t *testing.T) {
	runChanges(t, toCommit, Commitment, shared, onlyCommitment)
}

func TestComparisonsOfTheFirstAttempt(t *testing.T) {
	runChanges(t, toAttempt, AttemptAllowed, shared, onlyAttempt)
}

func TestComparisonsOfARetry(t *testing.T) {
	runChanges(t, toRetry, AttemptAllowed, shared, onlyAttempt, onlyRetry)
}

// Before anything is decrypted only comparisons 1 and 6 are asked, as for the commitment or as for the next attempt, and
// 4 for a plan without an operation.
func TestPrecheck(t *testing.T) {
	for name, good := range map[string]func() Facts{"to commit": toCommit, "committed": toAttempt} {
		for _, c := range shared {
			if c.number != 1 && c.number != 6 {
				c.number, c.code = holds, ""
			}
			t.Run(name+": "+c.name, func(t *testing.T) {
				f := good()
				c.change(&f)
				wantRefused(t, Precheck(f), c.number, c.code)
			})
		}
	}
	f := toCommit()
	f.Evidence, f.Request = nil, Request{}
	wantRefused(t, Precheck(f), holds, "")
	f.Other = &Operation{ID: "op-other", State: Unresolved}
	wantRefused(t, Precheck(f), 4, "scope-held")
	f.Without = Without{GuardScope}
	wantRefused(t, Precheck(f), holds, "")
}

// What breaks several comparisons is refused by the lowest, and each that is set right shows the next.
func TestComparisonsAreAskedInOrder(t *testing.T) {
	broken := []struct {
		number      int
		spoil, mend func(*Facts)
	}{
		{0, func(f *Facts) { op := someOperation(Completed); f.Existing = &op }, func(f *Facts) { f.Existing = nil }},
		{1, func(f *Facts) { f.Approvals = nil }, func(f *Facts) { f.Approvals = someApprovals() }},
		{2, func(f *Facts) { f.Request.Artifact = strange }, func(f *Facts) { f.Request.Artifact = newDigest }},
		{3, func(f *Facts) { f.Evidence = nil }, func(f *Facts) { f.Evidence = someEvidence() }},
		{4, func(f *Facts) { op := someOperation(Sending); f.Other = &op }, func(f *Facts) { f.Other = nil }},
		{5, rollout(1, 1, 0, 0), rollout(0, 1, 0, 0)},
		{6, func(f *Facts) { f.Machine.Frozen = true }, func(f *Facts) { f.Machine.Frozen = false }},
	}
	f := toCommit()
	for _, b := range broken {
		b.spoil(&f)
	}
	for _, b := range broken {
		if r := Commitment(f); r == nil || r.Comparison != b.number || r.Transaction != "commitment" {
			t.Errorf("got %v, want comparison %d", r, b.number)
		}
		b.mend(&f)
	}
	wantRefused(t, Commitment(f), holds, "")
}

// A refusal says what to type next, and that fits what was refused.
func TestRemedies(t *testing.T) {
	for want, f := range map[string]Facts{
		"clew approve p-1":            with(toCommit(), func(f *Facts) { f.Standing.State = PlanProposed }),
		"clew plan create -n worker":  with(toCommit(), func(f *Facts) { f.Standing.CancelledRev = 15 }),
		"clew show p-1":               with(toCommit(), func(f *Facts) { op := someOperation(Failed); f.Existing = &op }),
		"clew settle op-1":            with(toCommit(), func(f *Facts) { op := someOperation(Sending); f.Other = &op }),
		"clew plan rollout open week": with(toCommit(), rollout(0, 1, 1, 0)),
		"clew machine show worker-1":  with(toCommit(), func(f *Facts) { f.Machine.Frozen = true }),
	} {
		if r := Commitment(f); r == nil || !strings.Contains(r.Remedy, want) {
			t.Errorf("got %+v, want %q", r, want)
		}
	}
	if r := AttemptAllowed(with(toAttempt(), func(f *Facts) { f.Machine.Frozen = true })); r == nil || r.Remedy != "clew settle op-1" {
		t.Errorf("got %+v", r)
	}
}

func with(f Facts, change func(*Facts)) Facts {
	change(&f)
	return f
}

func TestGuardsAreNamed(t *testing.T) {
	for _, g := range Guards() {
		w, err := ParseWithout(fmt.Sprintf(" %s , ", g))
		if err != nil || !w.Has(g) || len(w) != 1 {
			t.Errorf("%s: %v, %v", g, w, err)
		}
	}
	if _, err := ParseWithout("comparison-1,comparison-10"); err == nil || !strings.Contains(err.Error(), "comparison-10") {
		t.Errorf("a name that is none: %v", err)
	}
	if w, err := ParseWithout(""); err != nil || len(w) != 0 {
		t.Errorf("none: %v, %v", w, err)
	}
}
