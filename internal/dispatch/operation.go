package dispatch

import (
	"encoding/json"
	"time"
)

// State is where an operation stands.
type State string

// Operation states. The first four hold the machine's scope and the rollout slot.
const (
	Absent     State = "" // before the commitment
	Committed  State = "committed"
	Sending    State = "sending"
	Verifying  State = "verifying"
	Unresolved State = "unresolved"
	Completed  State = "completed"
	Rejected   State = "rejected"
	Failed     State = "failed"
	Cancelled  State = "cancelled"
)

// States lists all operation states in the order of the table.
var States = []State{Absent, Committed, Sending, Verifying, Unresolved, Completed, Rejected, Failed, Cancelled}

// Holding says whether the state holds the machine's scope and the rollout slot.
func (s State) Holding() bool {
	return s == Committed || s == Sending || s == Verifying || s == Unresolved
}

// Terminal says whether the state is an end.
func (s State) Terminal() bool {
	return s == Completed || s == Rejected || s == Failed || s == Cancelled
}

// Owner is the only one who may move an operation: an instance (128 random bits per process start) at a generation, in
// a recovery epoch.
type Owner struct {
	Instance   string `json:"instance"`
	Generation int64  `json:"generation"`
	Epoch      string `json:"epoch"`
}

// Operation is the uncertain thing: one dispatch of one plan, from the commitment to its end.
type Operation struct {
	ID       string   `json:"id"`
	Plan     string   `json:"plan"`
	Machine  string   `json:"machine"`
	Kind     PlanKind `json:"kind"`
	State    State    `json:"state"`
	Owner    Owner    `json:"owner"`
	Revision int64    `json:"revision"` // of the commitment
	EndedRev int64    `json:"ended_revision,omitempty"`

	Rollout string `json:"rollout,omitempty"`

	// Retry is the safe-to-retry classification in force, nil without one.
	Retry *Classification `json:"retry,omitempty"`

	// SendBoot is the node's boot id in the evidence of the latest attempt: persistent may be absent in a completion
	// observation only after a newer boot than this.
	SendBoot string `json:"send_boot,omitempty"`

	VerifyUntil time.Time `json:"verify_until,omitzero"` // the verification deadline, from the acceptance on

	// PreRestore marks an operation that a restore rewound: it never retries.
	PreRestore bool `json:"pre_restore,omitempty"`

	Reason string `json:"reason,omitempty"` // why it stands where it stands, for people
}

// Classification says that the owner found the operation safe to retry, at a revision.
type Classification struct {
	Revision int64 `json:"revision"`
	By       Owner `json:"by"`
	Basis    int64 `json:"basis"` // of the observation it rests on
}

// Attempt is one recorded send. It exists before the first byte of the request.
type Attempt struct {
	Operation string    `json:"operation"`
	Number    int       `json:"number"` // from 1
	By        Owner     `json:"by"`
	Revision  int64     `json:"revision"`
	StartedAt time.Time `json:"started_at"` // the attempt transaction's time
	Route     Route     `json:"route"`
	Evidence  int64     `json:"evidence"` // basis of the observation it rests on

	LocalAddr  string          `json:"local_addr,omitempty"`  // of the connection that sends, host:port
	RemoteAddr string          `json:"remote_addr,omitempty"` // its next hop
	Host       Host            `json:"host"`                  // where it was sent from
	Sockets    json.RawMessage `json:"sockets,omitempty"`     // what the hops' socket tables showed before the send; shaped by the Talos adapter

	// The revisions that comparison 1 read: approvals by id, identities by name, and the installation's.
	Approvals    map[string]int64 `json:"approvals,omitempty"`
	Identities   map[string]int64 `json:"identities,omitempty"`
	Installation int64            `json:"installation"`

	Response   *Response   `json:"response,omitempty"`
	Accounting *Accounting `json:"accounting,omitempty"`
}

// Host is where a process runs: evidence on sockets can only be gathered on the same host, boot and network namespace.
type Host struct {
	Name   string `json:"name"`
	ID     string `json:"id"` // machine-id or its like
	BootID string `json:"boot_id"`
	NetNS  string `json:"net_ns"` // identity of the network namespace
}

// ResponseClass is what a response proves.
type ResponseClass string

// Classes of responses. Only accepted and rejected come provably from the target.
const (
	Accepted     ResponseClass = "accepted"
	RejectedDef  ResponseClass = "rejected"     // a definitive rejection: this call changed no configuration
	Inconclusive ResponseClass = "inconclusive" // lost, transport error, deadline, any other code
)

// Response is what the sender saw. It is recorded once per attempt, in any state.
type Response struct {
	Class    ResponseClass `json:"class"`
	Code     string        `json:"code"`           // gRPC code name, "OK", or "" when none was seen
	Text     string        `json:"text,omitempty"` // through the allow-list
	Withheld bool          `json:"withheld,omitempty"`
	Late     bool          `json:"late,omitempty"` // recorded when it could no longer move the state
	Revision int64         `json:"revision"`
	At       time.Time     `json:"at"`
}

// AccountingKind says on what grounds a lost attempt counts as accounted for.
type AccountingKind string

// Grounds of accounting.
const (
	NeverLeft     AccountingKind = "never-left" // nothing of the request was written
	CannotArrive  AccountingKind = "cannot-arrive"
	ByDecision    AccountingKind = "decision"
	PreRestoreEnd AccountingKind = "pre-restore" // by the accounting of a machine after a restore
)

// Accounting says that an attempt without a response can no longer land, and why.
type Accounting struct {
	Kind     AccountingKind  `json:"kind"`
	Revision int64           `json:"revision"`
	At       time.Time       `json:"at"`
	By       string          `json:"by"` // instance, or the identity that decided
	Reason   string          `json:"reason,omitempty"`
	Basis    int64           `json:"basis,omitempty"` // of the observation that frames it
	Evidence json.RawMessage `json:"evidence,omitempty"`
}

// Accounted says whether the attempt is accounted for, and the revision since which it is.
func (a Attempt) Accounted() (int64, bool) {
	if a.Response.FromTarget() {
		return a.Response.Revision, true
	}
	if a.Accounting != nil {
		return a.Accounting.Revision, true
	}
	return 0, false // I6
}

// FromTarget says whether the response provably came from the target. A class that is not known proves nothing.
func (r *Response) FromTarget() bool {
	return r != nil && (r.Class == Accepted || r.Class == RejectedDef) // I6
}

// AllAccounted says whether every attempt is accounted for, and the highest revision of a response or an accounting.
func AllAccounted(attempts []Attempt) (int64, bool) {
	var last int64
	for _, a := range attempts {
		rev, ok := a.Accounted()
		if !ok {
			return 0, false
		}
		last = max(last, rev)
		if a.Response != nil {
			last = max(last, a.Response.Revision)
		}
		if a.Accounting != nil {
			last = max(last, a.Accounting.Revision)
		}
	}
	return last, true
}
