package drift

import "slices"

// Class is what a difference is.
type Class string

// Classes, in the order in which they are tried. The first that fits counts.
const (
	Unknown      Class = "unknown"       // it could not be determined, and why
	InSync       Class = "in-sync"       // no difference, or one that spec.ignore or a known mutator owns
	Pending      Class = "pending"       // live is what was applied, head is newer, and Flux has time left
	Stale        Class = "stale"         // the same, and Flux has had its time, or cannot
	Ahead        Class = "ahead"         // a record or an act says that it is deliberate
	AheadExpired Class = "ahead-expired" // the same, past its end
	NotLive      Class = "missing"       // in git, not in the cluster
	Extra        Class = "extra"         // in the cluster and the inventory, not in git
	Orphan       Class = "orphan"        // labelled as Flux', in no inventory
	Unclaimed    Class = "unclaimed"     // nobody claims it
)

// weights order classes by how much they ask of somebody.
var weights = []Class{
	InSync, Pending, Ahead, Unknown, Stale, AheadExpired, Orphan, Extra, NotLive, Unclaimed,
}

// worse is the one of two classes that asks more.
func worse(a, b Class) Class {
	if slices.Index(weights, b) > slices.Index(weights, a) {
		return b
	}
	return a
}

// Calls says whether the class needs somebody: exit code 2.
func (c Class) Calls() bool {
	switch c {
	case Stale, AheadExpired, NotLive, Extra, Orphan, Unclaimed:
		return true
	case Unknown, InSync, Pending, Ahead:
	}
	return false
}

// ExitCode is 2 when a class needs somebody, 1 when something could not be determined and nothing does, and 0 otherwise.
func ExitCode(classes []Class) int {
	switch {
	case slices.ContainsFunc(classes, Class.Calls):
		return 2
	case slices.Contains(classes, Unknown):
		return 1
	}
	return 0
}
