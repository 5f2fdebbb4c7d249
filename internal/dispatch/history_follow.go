package dispatch

import (
	"maps"
	"slices"

	"github.com/clewops/clew/internal/ledger"
)

// Follower checks what History checks, of a store that is being written to: entries of all scopes come mixed, in the
// order in which they were committed, and the invariants are asked for at any time. It holds every machine's records.
type Follower struct {
	world    *world
	report   func(Problem)
	machines map[string]*timeline
}

// NewFollower begins to follow a store from its first entry. report is called for every problem, in the order of
// discovery.
func NewFollower(report func(Problem)) *Follower {
	return &Follower{world: newWorld(), report: report, machines: map[string]*timeline{}}
}

// Add reads the next entry. Of what one transaction wrote, the entries of a machine come after those of other scopes.
func (f *Follower) Add(e ledger.Entry) {
	switch e.Scope.Kind {
	case ledger.Rollout:
		f.world.slots(e.Scope.ID).add(e, f.report)
	case ledger.Machine:
		if f.machines[e.Scope.ID] == nil {
			f.machines[e.Scope.ID] = newTimeline(f.world, e.Scope, f.report)
		}
		f.machines[e.Scope.ID].add(e)
	case ledger.Installation, ledger.Identity, ledger.Instance:
		f.world.add(e, f.report)
	}
}

// Records is what a machine's timeline says so far, nil before its first entry. It must not be changed, and changes with
// the next entry.
func (f *Follower) Records(machine string) *Records {
	if t := f.machines[machine]; t != nil {
		return &t.rec
	}
	return nil
}

// Stand runs the checks that need whole transactions and all scopes, as they stand now.
func (f *Follower) Stand() {
	taken := map[string]map[string]int64{}
	for id, s := range f.world.rollouts {
		taken[id] = maps.Clone(s.taken) // asking for a slot takes it off the list
	}
	for _, id := range slices.Sorted(maps.Keys(f.machines)) {
		f.machines[id].end()
	}
	f.world.end(f.report)
	for id, slots := range taken {
		f.world.rollouts[id].taken = slots
	}
}
