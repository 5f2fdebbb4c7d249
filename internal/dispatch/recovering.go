package dispatch

import (
	"fmt"
	"strings"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

// RecoveryFacts is what a decision about one machine after a restore rests on, as read in the transaction that records
// it. What the restore lost is not in the store: a send may be under way of which no row tells.
type RecoveryFacts struct {
	Machine    Machine
	Epoch      string
	InRecovery bool
	Reason     string // the decision's, in words

	Running     []string            // known instances of earlier epochs that are not shown to have stopped
	LastBefore  time.Time           // of the last entry before the recovery was entered: what was lost, was sent after it
	Marked      int64               // revision of the machine's mark in this epoch; 0 before it
	Unaccounted []Attempt           // of the machine's open operations
	Open        []Operation         // that hold the machine's scope
	FirstRead   time.Time           // the record of the first successful read begun after the mark, on any route
	FirstReads  map[Route]time.Time // the same, of each route
	Frame       *Observation        // the machine's newest recorded reading
	SettleFloor time.Duration       // deployment setting outside the database, at least MinimumSettle
}

func recovering(m Machine, code, why, remedy string) *refusal.Refusal {
	return refusal.New("recovery", code, fmt.Sprintf("%s: %s", m.Name, why), remedy)
}

// CheckMark refuses a mark of a machine after a restore. The first mark says that what was sent before the restore is
// accounted for: every known instance has stopped, the settle time has passed since the machine was first read, and a
// recovery observation begun after it shows the machine. "settle-time" passes by waiting and reading again. I6 I11
func CheckMark(f RecoveryFacts, to RecoveryMark) *refusal.Refusal {
	m := f.Machine
	if !f.InRecovery || f.Marked == 0 {
		return recovering(m, "not-entered", "no recovery is under way for it", "clew admin recovery enter --reason TEXT")
	}
	if f.Reason == "" {
		return recovering(m, "no-reason", "a decision needs a reason", "")
	}
	switch to {
	case RecoveryReady:
		if len(f.Open) > 0 {
			return recovering(m, "operation-open", fmt.Sprintf("operation %s is %s", f.Open[0].ID, f.Open[0].State),
				"clew settle "+f.Open[0].ID+"\n"+marking(m, RecoveryUnresolved))
		}
	case RecoveryBlocked, RecoveryUnresolved:
	default:
		return recovering(m, "mark", fmt.Sprintf("%q is no mark: use ready, blocked or unresolved", to), "")
	}
	if m.Recovery != PreRestore {
		if len(f.Unaccounted) > 0 {
			return recovering(m, "unaccounted", fmt.Sprintf("attempt %d of %s is not accounted for", f.Unaccounted[0].Number,
				f.Unaccounted[0].Operation), "clew settle "+f.Unaccounted[0].Operation)
		}
		return nil
	}
	return accountsForAll(f, to)
}

// accountsForAll: nothing that was sent before the restore, recorded or lost with it, can still arrive.
func accountsForAll(f RecoveryFacts, to RecoveryMark) *refusal.Refusal {
	m := f.Machine
	if r := allStopped(f); r != nil {
		return r
	}
	if f.SettleFloor < MinimumSettle {
		return recovering(m, "settle-floor", fmt.Sprintf("the settle floor is %s, at least %s is needed", f.SettleFloor, MinimumSettle), "")
	}
	if f.FirstRead.IsZero() {
		return recovering(m, "settle-time", "it was not read since the recovery was entered", marking(m, to))
	}
	end := f.FirstRead.Add(SettleTime(f.SettleFloor, f.LastBefore, f.FirstRead))
	for _, a := range f.Unaccounted {
		first := f.FirstReads[a.Route]
		if first.IsZero() {
			return recovering(m, "settle-time", fmt.Sprintf("it was not read on %s, the route of attempt %d of %s, since the recovery was entered",
				a.Route, a.Number, a.Operation), marking(m, to))
		}
		if e := first.Add(SettleTime(f.SettleFloor, a.StartedAt, first)); e.After(end) {
			end = e
		}
	}
	if o := f.Frame; o == nil || o.Purpose != ForRecovery || o.Basis <= f.Marked || o.StartedAt.Before(end) {
		return recovering(m, "settle-time", fmt.Sprintf("its newest reading is no recovery observation begun after the settle time ended (%s)",
			end.UTC().Format(time.RFC3339)), marking(m, to))
	}
	return nil
}

// marking is the command of a mark.
func marking(m Machine, to RecoveryMark) string {
	return fmt.Sprintf("clew admin recovery mark %s %s --reason TEXT", m.Name, to)
}

func allStopped(f RecoveryFacts) *refusal.Refusal {
	if len(f.Running) == 0 {
		return nil
	}
	var attest []string
	for _, id := range f.Running {
		attest = append(attest, "clew admin recovery attest "+id+" --reason TEXT")
	}
	return recovering(f.Machine, "instances-running",
		fmt.Sprintf("processes that may still send are not shown to have stopped: %s. Stop them, or attest that they have ended", strings.Join(f.Running, ", ")),
		strings.Join(attest, "\n"))
}

// CheckRelease refuses to open the gate of a machine that is not accounted for and ready. I8 I11
func CheckRelease(f RecoveryFacts) *refusal.Refusal {
	m := f.Machine
	switch {
	case !f.InRecovery || f.Marked == 0:
		return recovering(m, "not-entered", "no recovery is under way for it", "clew admin recovery enter --reason TEXT")
	case m.ReleasedEpoch == f.Epoch:
		return recovering(m, "released", "it is released already", "clew admin recovery status")
	case m.Recovery != RecoveryReady:
		return recovering(m, "not-ready", fmt.Sprintf("it is marked %s, not ready", m.Recovery), marking(m, RecoveryReady))
	case len(f.Open) > 0:
		return recovering(m, "operation-open", fmt.Sprintf("operation %s is %s", f.Open[0].ID, f.Open[0].State), "clew settle "+f.Open[0].ID)
	}
	return allStopped(f)
}

// CheckLeave refuses to end a recovery while a machine is not released: the end would open its gate. A machine that is
// blocked and frozen may stay behind, and a control plane is never a target. I8
func CheckLeave(machines []Machine, epoch string, inRecovery bool) *refusal.Refusal {
	if !inRecovery {
		return refusal.New("recovery", "not-entered", "no recovery is under way", "clew admin recovery status")
	}
	for _, m := range machines {
		if m.Assignment.Role == ControlPlane || m.ReleasedEpoch == epoch || m.Recovery == RecoveryBlocked && m.Frozen {
			continue
		}
		return recovering(m, "not-released", "it is not released, nor blocked and frozen", "clew admin recovery release "+m.Name+
			" --reason TEXT\n"+marking(m, RecoveryBlocked)+"\nclew machine freeze "+m.Name+" --reason TEXT")
	}
	return nil
}
