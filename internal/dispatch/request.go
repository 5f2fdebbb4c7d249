package dispatch

import (
	"encoding/json"
	"time"

	"github.com/clewops/clew/internal/ledger"
)

// CommitRequest asks for the commitment of an approved plan. By is the asking executor at generation 1.
type CommitRequest struct {
	Plan    string
	By      Owner
	Who     ledger.Actor // the operator who dispatches; recorded, and checked for the role, where one is named
	Request Request
	Token   string // random; a COMMIT whose answer was lost is looked up by it
}

// AttemptRequest asks for the record of one attempt, right before its send, on the connection that made its evidence.
type AttemptRequest struct {
	Operation  string
	By         Owner
	Request    Request
	Token      string
	LocalAddr  string // host:port of the connection
	RemoteAddr string // of its next hop
	Host       Host
	Sockets    json.RawMessage // what the hops' socket tables showed before the send
}

// AttemptResult is a recorded attempt.
type AttemptResult struct {
	Operation Operation
	Attempt   Attempt
}

// Found is what a look-up by token saw under the scope lock.
type Found struct {
	Found     bool
	Operation *Operation
	Attempt   *Attempt // nil when the token was a commitment's
	// Sendable says that, in the same locked transaction, the operation was sending, the asker its owner in the current
	// epoch, and the attempt unaccounted.
	Sendable bool
}

// OperationView is an operation with everything that its next step depends on, as read in one transaction.
type OperationView struct {
	Operation Operation
	Attempts  []Attempt
	Plan      Plan
	Standing  Standing
	Approvals []Approval
	Machine   Machine
	// OwnerStopped says why the owner counts as stopped ("recorded its end", "its lock file is free", ...), "" when it is
	// not shown to be.
	OwnerStopped string
}

// Decision is a judgement that accounts for a lost attempt.
type Decision struct {
	Reason      string
	RouteGone   string        // attestation that the attempt's endpoint restarted or is gone, "" without
	Basis       int64         // of the recovery observation that frames it
	SettleFloor time.Duration // deployment setting outside the database, at least MinimumSettle
}
