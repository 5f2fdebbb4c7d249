package dispatch

import (
	"fmt"
	"slices"

	"github.com/clewops/clew/internal/ledger"
)

// Problem is one place where a history does not hold. Invariant is its number in the package documentation, or 0 for a
// rule of the contract without one. Record names what the entry says wrongly, e.g. "op-4fz attempt 2"; it may be empty.
type Problem struct {
	Scope     ledger.Scope `json:"scope"`
	Revision  int64        `json:"revision,omitempty"`
	Record    string       `json:"record,omitempty"`
	Invariant int          `json:"invariant,omitempty"`
	Text      string       `json:"text"`
}

// String names the entry, the record and the invariant before what was found.
func (p Problem) String() string {
	s := p.Scope.String()
	if p.Revision != 0 {
		s += fmt.Sprintf(" revision %d", p.Revision)
	}
	if p.Record != "" {
		s += " (" + p.Record + ")"
	}
	if p.Invariant != 0 {
		s += fmt.Sprintf(": I%d", p.Invariant)
	}
	return s + ": " + p.Text
}

// HistoryOrder is the order in which History wants the kinds of scopes: what machines' timelines refer to comes first.
// Scopes of other kinds say nothing about the contract and may come at any time.
var HistoryOrder = []string{ledger.Installation, ledger.Identity, ledger.Instance, ledger.Rollout, ledger.Machine}

// History follows the entries of a whole store and checks the invariants entry by entry. It is a second opinion: it
// decides by the recorded history alone, never by Step or the comparisons, so that a mistake in those shows here.
//
// It holds one machine's records at a time, and of the other scopes what machines refer to: epochs, revocations,
// instances' hosts, and the operations that took slots of rollouts.
type History struct {
	world   *world
	report  func(Problem)
	current ledger.Scope
	stage   int // index into HistoryOrder
	machine *timeline
	rollout *slots
}

// NewHistory begins a check. report is called for every problem, in the order of discovery.
func NewHistory(report func(Problem)) *History {
	return &History{world: newWorld(), report: report}
}

// Add reads the next entry. Entries of one scope come together and in revision order, scopes in HistoryOrder by kind;
// anything else is the caller's mistake and an error, not a problem of the history.
func (h *History) Add(e ledger.Entry) error {
	stage := slices.Index(HistoryOrder, e.Scope.Kind)
	if stage < 0 {
		return nil
	}
	if stage < h.stage {
		return fmt.Errorf("history out of order: %s after a scope of kind %s", e.Scope, HistoryOrder[h.stage])
	}
	h.stage = stage
	if e.Scope != h.current {
		h.EndScope()
		h.current = e.Scope
	}
	switch e.Scope.Kind {
	case ledger.Rollout:
		if h.rollout == nil {
			h.rollout = h.world.slots(e.Scope.ID)
		}
		h.rollout.add(e, h.report)
	case ledger.Machine:
		if h.machine == nil {
			h.machine = newTimeline(h.world, e.Scope, h.report)
		}
		h.machine.add(e)
	default:
		h.world.add(e, h.report)
	}
	return nil
}

// EndScope says that the current scope's last entry was read, and returns the records of a machine's timeline, nil for
// other scopes. History keeps no reference to them. Adding an entry of another scope does the same and drops them.
func (h *History) EndScope() *Records {
	h.rollout, h.current = nil, ledger.Scope{}
	if h.machine == nil {
		return nil
	}
	m := h.machine
	h.machine = nil
	m.end()
	return &m.rec
}

// End says that the last entry was read, and runs the checks that need all scopes.
func (h *History) End() {
	h.EndScope()
	h.world.end(h.report)
}
