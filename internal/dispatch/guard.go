package dispatch

import (
	"fmt"
	"slices"
	"strings"
)

// Guard names one guard of the contract. Controls (drill rows, simulations) take a guard away in all its layers and must
// then see the failure that it prevents; nothing else may.
type Guard string

// The guards that a control can take away.
const (
	GuardOneOperation   Guard = "comparison-0" // with the plan-state check of 1
	GuardApproval       Guard = "comparison-1" // in the attempt: the approval is read once, at the commitment
	GuardBinding        Guard = "comparison-2"
	GuardEvidence       Guard = "comparison-3"
	GuardScope          Guard = "comparison-4" // with the unique index
	GuardRollout        Guard = "comparison-5"
	GuardGate           Guard = "comparison-6"
	GuardOwnership      Guard = "comparison-7" // with the ownership check of every transition
	GuardOwner          Guard = "comparison-7-owner"
	GuardOwnedState     Guard = "comparison-7-state"
	GuardClassification Guard = "comparison-8"
	GuardAttempts       Guard = "comparison-9"
	GuardExpiry         Guard = "expiry"
	GuardSend           Guard = "send-guard"
	GuardAccounting     Guard = "accounting"
	GuardAbort          Guard = "abort"
	GuardBasisLock      Guard = "basis-lock"
)

var guards = []Guard{
	GuardOneOperation, GuardApproval, GuardBinding, GuardEvidence, GuardScope, GuardRollout, GuardGate,
	GuardOwnership, GuardOwner, GuardOwnedState, GuardClassification, GuardAttempts, GuardExpiry, GuardSend,
	GuardAccounting, GuardAbort, GuardBasisLock,
}

// Guards lists every guard that a control can take away.
func Guards() []Guard { return slices.Clone(guards) }

// Without is the set of guards taken away; the zero value takes none away.
type Without []Guard

// Has says whether g was taken away.
func (w Without) Has(g Guard) bool { return slices.Contains(w, g) }

// ParseWithout reads a comma-separated list of guards. An unknown name is an error, so that a misspelt control cannot
// pass for one that found nothing.
func ParseWithout(list string) (Without, error) {
	var w Without
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if !slices.Contains(guards, Guard(name)) {
			return nil, fmt.Errorf("no guard is called %q", name)
		}
		w = append(w, Guard(name))
	}
	return w, nil
}
