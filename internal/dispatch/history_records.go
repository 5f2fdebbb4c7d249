package dispatch

import (
	"crypto/sha256"
	"fmt"
)

// Records is what one machine's timeline says at its end: of each record the last body. A store's projected tables must
// say the same.
type Records struct {
	Machine    *Machine // nil when the timeline registers none
	Drifts     map[string]Drift
	Plans      map[string]Plan
	Standings  map[string]Standing // by plan
	Asked      map[string]string   // by plan: the hash of what was asked for
	Approvals  map[string]Approval
	Operations map[string]Operation
	Attempts   map[AttemptKey]Attempt

	// Tokens of the commitment and attempt transactions.
	OperationTokens map[string]string
	AttemptTokens   map[AttemptKey]string

	// Observations holds the SHA-256 of each recorded observation's JSON, as its entry has it, by basis. Started holds
	// the reads that began and were neither recorded nor failed, Failed those that failed, by basis.
	Observations map[int64][sha256.Size]byte
	Started      map[int64]Observation
	Failed       map[int64]FailedRead
}

// AttemptKey names an attempt.
type AttemptKey struct {
	Operation string
	Number    int
}

// String names the attempt for people.
func (k AttemptKey) String() string { return fmt.Sprintf("%s attempt %d", k.Operation, k.Number) }

// FailedRead is a read that began and showed nothing.
type FailedRead struct {
	Observation Observation
	Reason      string
}

func newRecords() Records {
	return Records{
		Drifts:          map[string]Drift{},
		Plans:           map[string]Plan{},
		Standings:       map[string]Standing{},
		Asked:           map[string]string{},
		Approvals:       map[string]Approval{},
		Operations:      map[string]Operation{},
		Attempts:        map[AttemptKey]Attempt{},
		OperationTokens: map[string]string{},
		AttemptTokens:   map[AttemptKey]string{},
		Observations:    map[int64][sha256.Size]byte{},
		Started:         map[int64]Observation{},
		Failed:          map[int64]FailedRead{},
	}
}
