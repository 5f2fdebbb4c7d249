package contention

import (
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

// Kinds of calls.
const (
	create   = "create"   // a plan
	approve  = "approve"  // it
	revoke   = "revoke"   // its approval
	claim    = "claim"    // commit it: the operation is the caller's
	attempt  = "attempt"  // to send
	takeOver = "takeover" // the operation, at a generation
	answer   = "answer"   // record the node's rejection of the caller's attempt
	reject   = "reject"   // end an operation of which every attempt was rejected
	cancel   = "cancel"   // end an operation of which nothing was attempted
	read     = "read"     // the plan and its operation

	// What is timed only: the model does not depend on it.
	beginRead = "begin a read of the machine"
	endRead   = "end a read of the machine"
	admit     = "admit a person"
	dismiss   = "revoke a person"
)

var modelled = []string{create, approve, revoke, claim, attempt, takeOver, answer, reject, cancel, read}

// call is one call of one process: what was asked, what came back, and when, in nanoseconds of the host's clock.
type call struct {
	Process    int    `json:"process"`
	Kind       string `json:"kind"`
	Machine    int    `json:"machine"`
	Plan       string `json:"plan"`
	Instance   string `json:"instance"`
	Generation int64  `json:"generation,omitempty"`

	Evidence bool `json:"evidence,omitempty"` // the caller made a reading for the plan before

	OK         bool   `json:"ok"`
	Comparison int    `json:"comparison,omitempty"` // that refused it
	Code       string `json:"code,omitempty"`
	Saw        seen   `json:"saw,omitzero"`
	Operation  string `json:"operation,omitempty"`

	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// seen is what a read shows.
type seen struct {
	Plan       dispatch.PlanState `json:"plan"`
	Operation  string             `json:"operation,omitempty"`
	State      dispatch.State     `json:"state,omitempty"`
	Owner      string             `json:"owner,omitempty"`
	Generation int64              `json:"generation,omitempty"`
}

func shown(v store.PlanView) seen {
	s := seen{Plan: v.Standing.State}
	if v.Operation != nil {
		s.Operation, s.State = v.Operation.ID, v.Operation.State
		s.Owner, s.Generation = v.Operation.Owner.Instance, v.Operation.Owner.Generation
	}
	return s
}
