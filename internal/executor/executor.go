package executor

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/secret"
)

// Reads records reads of nodes. Every method is durable on return and may be retried; a retried StartRead leaves a
// started entry without a reading behind, which says nothing.
type Reads interface {
	// StartRead writes the observation-started entry and returns its revision, the basis of the reading.
	StartRead(ctx context.Context, o dispatch.Observation) (basis int64, err error)
	// RecordRead records the reading of a started read.
	RecordRead(ctx context.Context, o dispatch.Observation) (dispatch.Observation, dispatch.DriftChange, error)
	// FailRead records that a started read showed nothing.
	FailRead(ctx context.Context, machine string, basis int64, instance, reason string) error
}

// Transactions are the two transactions of the contract and what surrounds them. Refusals are *refusal.Refusal, a lost
// COMMIT is *refusal.Unknown, anything else is a failure. Neither Commit nor Attempt is ever repeated with the same
// token: a lost one is looked up.
type Transactions interface {
	// Precheck runs the comparisons that need no reading as they stand now, before anything is decrypted or any
	// credential used.
	Precheck(ctx context.Context, plan string, who ledger.Actor) error
	Commit(ctx context.Context, r dispatch.CommitRequest) (dispatch.Operation, error)
	Attempt(ctx context.Context, r dispatch.AttemptRequest) (dispatch.AttemptResult, error)
	// FindToken waits, under the machine's scope lock, for a COMMIT in flight and says whether it took effect.
	FindToken(ctx context.Context, machine, token string, by dispatch.Owner) (dispatch.Found, error)
	// StillMine is an unlocked read: the operation is sending, owned by by, and the attempt unaccounted.
	StillMine(ctx context.Context, operation string, attempt int, by dispatch.Owner) (bool, error)
}

// Outcomes records what became of an attempt. Every method may be retried with the same arguments.
type Outcomes interface {
	RecordResponse(ctx context.Context, operation string, attempt int, by dispatch.Owner, r dispatch.Response) (dispatch.Operation, error)
	// RecordOrphan records a response to an attempt that the store does not hold any more, as a fact on the machine's
	// timeline: a restore may have taken the operation away.
	RecordOrphan(ctx context.Context, machine, operation string, attempt int, by dispatch.Owner, r dispatch.Response) error
	RecordNotSent(ctx context.Context, operation string, attempt int, by dispatch.Owner, reason string) (dispatch.Operation, error)
	AccountByEvidence(ctx context.Context, operation string, attempt int, by dispatch.Owner, a dispatch.Accounting) (dispatch.Operation, error)
	AccountByDecision(ctx context.Context, operation string, attempt int, who ledger.Actor, d dispatch.Decision) (dispatch.Operation, error)
}

// Endings moves an operation on recorded facts. A refusal says what is missing.
type Endings interface {
	Classify(ctx context.Context, operation string, by dispatch.Owner, basis int64) (dispatch.Operation, error)
	Finish(ctx context.Context, operation string, by dispatch.Owner, basis int64) (dispatch.Operation, error)
	Overdue(ctx context.Context, operation string, by dispatch.Owner) (dispatch.Operation, error)
	LateReject(ctx context.Context, operation string, by dispatch.Owner) (dispatch.Operation, error)
	CancelOperation(ctx context.Context, operation string, by dispatch.Owner, who *ledger.Actor, reason string) (dispatch.Operation, error)
}

// Ownership reads operations and takes them over.
type Ownership interface {
	Operation(ctx context.Context, id string) (dispatch.OperationView, error)
	OpenOperations(ctx context.Context) ([]dispatch.OperationView, error)
	// TakeOver is one conditional UPDATE: of concurrent takeovers of one generation exactly one wins.
	TakeOver(ctx context.Context, operation string, generation int64, instance, why string) (dispatch.Operation, error)
	// InstanceStopped says why the instance counts as stopped, "" when it is not shown to be.
	InstanceStopped(ctx context.Context, instance string) (string, error)
}

// Plans reads what is to be dispatched.
type Plans interface {
	PlanAndMachine(ctx context.Context, plan string) (dispatch.Plan, dispatch.Machine, error)
	// Artifact returns the encrypted artifact of a digest.
	Artifact(ctx context.Context, digest string) (string, error)
	// Epoch is the current recovery epoch, and whether a recovery is under way.
	Epoch(ctx context.Context) (epoch string, inRecovery bool, err error)
	// Now is the store's time.
	Now(ctx context.Context) (time.Time, error)
	// SyncHead makes the local record of the store's heads durable; what it cannot make durable must not be sent.
	SyncHead(ctx context.Context) error
}

// Store is everything that the executor asks of the ledger's store.
type Store interface {
	Reads
	Transactions
	Outcomes
	Endings
	Ownership
	Plans
}

// Target is where to reach a machine.
type Target struct {
	Machine dispatch.Machine
	Address string
	Route   dispatch.Route
	// Patience is how long bytes may stay unacknowledged before the connection gives up: the transport deadline of what
	// will be sent on it. 0 leaves it to the implementation.
	Patience time.Duration
}

// Conn is one connection to a node that never redials: when it is gone, every call fails.
type Conn interface {
	Addrs() (local, remote string)
	// Read shows the node and its active configuration, all on this connection.
	Read(ctx context.Context) (dispatch.Reading, secret.Bytes, error)
	// Baseline is what the hops' socket tables show before the send.
	Baseline(ctx context.Context) (json.RawMessage, error)
	// Apply sends the configuration once. It is never retried by anybody.
	Apply(ctx context.Context, config secret.Bytes, mode string) Outcome
	// Abort discards what the kernel still holds for the peer and closes.
	Abort()
}

// Outcome is what the sender saw of one send.
type Outcome struct {
	Response  dispatch.Response
	NeverLeft bool  // the connection itself shows that nothing of the request was written
	Err       error // the transport's error, for the log
}

// SocketVerdict is the socket part of accounting by evidence.
type SocketVerdict struct {
	Available bool   // evidence can be had from here at all
	Holds     bool   // every condition holds
	Missing   string // what does not hold, or why it is not available
	Evidence  json.RawMessage
}

// Nodes reaches machines. Implementations classify what they see; they never retry a send.
type Nodes interface {
	Dial(ctx context.Context, t Target) (Conn, error)
	CannotArrive(ctx context.Context, t Target, a dispatch.Attempt) (SocketVerdict, error)
}

// Keeper decrypts artifacts.
type Keeper interface {
	Unseal(armored string) (secret.Bytes, error)
}

// Executor drives operations as one instance. All fields but Pause, Gate, Progress, Log and Without are required; it is safe for
// concurrent use by several dispatches.
type Executor struct {
	Store    Store
	Nodes    Nodes
	Keeper   Keeper
	Instance string
	Host     dispatch.Host

	// Who is the operator who asks; a commitment records it and checks the role. Zero where nobody is named.
	Who ledger.Actor

	// Elapsed is a clock that counts suspend, for the send guard.
	Elapsed func() time.Duration
	// Pause waits, or ends with the context's error; nil waits in real time.
	Pause func(ctx context.Context, d time.Duration) error
	// Token makes a random transaction token.
	Token func() string
	// SettleFloor is the least settle time of a decision; at least dispatch.MinimumSettle.
	SettleFloor time.Duration

	// Gate stops at a named step and returns when it may go on; the drill's. An error ends the dispatch as a crash would.
	Gate func(ctx context.Context, name string) error
	// Progress tells a person what is happening.
	Progress func(Progress)
	Log      *slog.Logger
	Without  dispatch.Without // controls only
}

// Progress is one line of what is happening.
type Progress struct {
	Plan      string
	Operation string
	Machine   string
	Step      string // "evidence", "commit", "attempt", "send", "response", "verify", "settle", "wait"
	Text      string
}

// Result is where a dispatch or a settling ended.
type Result struct {
	Plan      string         `json:"plan"`
	Operation string         `json:"operation,omitempty"`
	Machine   string         `json:"machine"`
	State     dispatch.State `json:"state,omitempty"`
	Attempts  int            `json:"attempts"`
	Reason    string         `json:"reason,omitempty"`
	Missing   []string       `json:"missing,omitempty"` // what an unresolved operation still lacks
	Next      string         `json:"next,omitempty"`    // the next command to type; where there are several ways, one a line
}

func (e *Executor) gate(ctx context.Context, name string) error {
	if e.Gate == nil {
		return nil
	}
	return e.Gate(ctx, name)
}

func (e *Executor) say(p Progress) {
	if e.Progress != nil {
		e.Progress(p)
	}
}

func (e *Executor) log() *slog.Logger {
	if e.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return e.Log
}

// owner is this executor as the owner of a new operation.
func (e *Executor) owner(ctx context.Context) (dispatch.Owner, error) {
	epoch, _, err := e.Store.Epoch(ctx)
	return dispatch.Owner{Instance: e.Instance, Generation: 1, Epoch: epoch}, err
}
