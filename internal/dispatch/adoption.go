package dispatch

import (
	"fmt"

	"github.com/clewops/clew/internal/refusal"
)

var adoption = []comparison{
	{0, GuardOneOperation, compare0},
	{1, "", compare1},
	{2, GuardBinding, compare2},
	{2, GuardBinding, selected},
	{3, GuardEvidence, adoptable},
	{4, GuardScope, compare4},
	{6, GuardGate, recovered},
	{6, GuardGate, boundDrift},
}

// Adoption runs the comparisons of an adoption record and returns the first refusal, nil when all hold. f.Evidence is the
// reading offered, f.Newer what was read since. A freeze does not stop an adoption: it sends nothing.
func Adoption(f Facts) *refusal.Refusal {
	if f.Plan.Kind != KindAdopt {
		return refusal.New("adoption", "plan-kind", fmt.Sprintf("plan %s is not for adoption", f.Plan.ID), "clew dispatch "+f.Plan.ID)
	}
	return run("adoption", adoption, f, false)
}

func recovered(f Facts, _ bool) (string, string) {
	if f.InRecovery && f.Machine.ReleasedEpoch != f.Epoch {
		return "gate-closed", "recovery after a restore is under way and the machine is not released"
	}
	return "", ""
}

func boundDrift(f Facts, _ bool) (string, string) {
	switch d := f.Machine.Drift; {
	case d == nil && f.Plan.Drift != "":
		return "drift-closed", "the drift record that the plan binds is closed"
	case d != nil && d.ID != f.Plan.Drift:
		return "drift-open", "an open drift record is not the one the plan binds"
	}
	return "", ""
}

func selected(f Facts, _ bool) (string, string) {
	if f.Machine.DesiredRevision != f.Plan.DesiredRevision {
		return "selection-changed", "another configuration was selected for the machine since the plan was made"
	}
	return "", ""
}

// adoptable: the newest observation, begun after the approval and inside the bound age, shows the adopted digest. I3
func adoptable(f Facts, _ bool) (string, string) {
	e := f.Evidence
	if e == nil || e.Instance != f.By.Instance || e.Plan != f.Plan.ID {
		return "no-evidence", "this process recorded no reading of the machine for this plan"
	}
	if len(f.Newer) > 0 {
		return "not-newest", "a newer reading is recorded"
	}
	for _, a := range f.Approvals {
		if a.RevokedRevision == 0 && a.Revision >= e.Basis {
			return "before-approval", "the reading began before the approval"
		}
	}
	return freshAndFit(f, *e)
}
