package dispatch

import (
	"testing"

	"github.com/clewops/clew/internal/refusal"
)

// toAdopt is what an adoption record reads when every comparison holds: the machine drifted, and that is accepted.
func toAdopt() Facts {
	f := toCommit()
	f.Plan.Kind, f.Plan.Operation, f.Plan.Mode = KindAdopt, "", ""
	f.Plan.Artifact, f.Plan.Expected, f.Plan.Drift = strange, strange, "d-1"
	f.Machine.Drift = &Drift{ID: "d-1", Digest: strange}
	f.Evidence.Purpose, f.Evidence.Reading = ForAdoption, runs(strange)
	f.Request = Request{}
	return f
}

func TestComparisonsOfAnAdoption(t *testing.T) {
	runChanges(t, toAdopt, func(f Facts) *refusal.Refusal {
		r := Adoption(f)
		if r != nil && r.Transaction != "adoption" {
			t.Errorf("refused in %s", r.Transaction)
		}
		return r
	}, []change{
		{"as it is", func(*Facts) {}, holds, ""},
		{"adopted already", func(f *Facts) { op := someOperation(Completed); f.Existing = &op }, 0, "operation-exists"},
		{"not approved", func(f *Facts) { f.Standing.State = PlanProposed }, 1, "plan-not-approved"},
		{"expired", func(f *Facts) { f.Now = f.Plan.ExpiresAt }, 1, "plan-expired"},
		{"too few approvals", func(f *Facts) { f.Approvals = f.Approvals[:1] }, 1, "approvals-missing"},
		{"the baseline moved", func(f *Facts) { f.Machine.BaselineRevision++ }, 2, "baseline-moved"},
		{"the assignment changed", func(f *Facts) { f.Machine.AssignmentRevision++ }, 2, "assignment-changed"},
		{"another machine", func(f *Facts) { f.Machine.NodeID = "n-2" }, 2, "other-machine"},
		{"another selection", func(f *Facts) { f.Machine.DesiredRevision++ }, 2, "selection-changed"},
		{"nothing read", func(f *Facts) { f.Evidence = nil }, 3, "no-evidence"},
		{"read by another process", func(f *Facts) { f.Evidence.Instance = "x2" }, 3, "no-evidence"},
		{"read for another plan", func(f *Facts) { f.Evidence.Plan = "p-2" }, 3, "no-evidence"},
		{"a newer reading", func(f *Facts) { f.Newer = []Observation{*f.Evidence} }, 3, "not-newest"},
		{"begun with the approval", func(f *Facts) { f.Evidence.Basis = 12 }, 3, "before-approval"},
		{"begun before the last approval", func(f *Facts) { f.Evidence.Basis = 11 }, 3, "before-approval"},
		{"begun right after it", func(f *Facts) { f.Evidence.Basis = 13 }, holds, ""},
		{"older than allowed", func(f *Facts) { f.Evidence.StartedAt = f.Now.Add(-f.Plan.MaxAge - 1) }, 3, "evidence-old"},
		{"something else runs", func(f *Facts) { f.Evidence.Reading = runs(newDigest) }, 3, "other-digest"},
		{"not quiescent", func(f *Facts) { f.Evidence.Reading = shownAt(strange, oldDigest) }, 3, "not-quiescent"},
		{"rebooting", func(f *Facts) { f.Evidence.Reading.Stage = "rebooting" }, 3, "in-transition"},
		{"another operation holds the machine", func(f *Facts) { op := someOperation(Sending); f.Other = &op }, 4, "scope-held"},
		{"frozen", func(f *Facts) { f.Machine.Frozen = true }, holds, ""}, // it sends nothing
		{"in recovery", func(f *Facts) { f.InRecovery = true }, 6, "gate-closed"},
		{"in recovery, released", func(f *Facts) { f.InRecovery, f.Machine.ReleasedEpoch = true, epoch1 }, holds, ""},
		{"the drift record is closed", func(f *Facts) { f.Machine.Drift = nil }, 6, "drift-closed"},
		{"another drift record", func(f *Facts) { f.Machine.Drift.ID = "d-2" }, 6, "drift-open"},
		{"a drift record that is not bound", func(f *Facts) { f.Plan.Drift = "" }, 6, "drift-open"},
		{"no drift", func(f *Facts) { f.Plan.Drift, f.Machine.Drift = "", nil }, holds, ""},
	})
	wantCode(t, "a plan that applies", Adoption(toCommit()), "plan-kind")
}

func TestI3AnAdoptionRestsOnTheNewestReading(t *testing.T) {
	for name, change := range map[string]func(*Facts){
		"a newer one differs":     func(f *Facts) { f.Newer = []Observation{*observed(60, runs(newDigest))} },
		"nothing was read":        func(f *Facts) { f.Evidence = nil },
		"something else runs":     func(f *Facts) { f.Evidence.Reading = runs(newDigest) },
		"begun with the approval": func(f *Facts) { f.Evidence.Basis = 12 },
	} {
		checkKept(t, kept{name, toAdopt, Adoption, change, 3, GuardEvidence})
	}
}
