package notice

import (
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
)

// EntryKind says what an entry records.
type EntryKind string

// Kinds of entries.
const (
	Opened    EntryKind = "notice-opened"
	Updated   EntryKind = "notice-updated"
	Closed    EntryKind = "notice-closed"
	Judged    EntryKind = "judged"    // a first verdict, or one that revises an earlier one
	Escalated EntryKind = "escalated" // somebody has to be told
	Folded    EntryKind = "folded"    // another bout of the same escalation; nobody is told again
	Revised   EntryKind = "revised"   // an escalation has another cause or verdict now
	Retracted EntryKind = "retracted" // an escalation was explained after all
	Measured  EntryKind = "measured"  // an act is over; what it did goes into the history
)

// Entry is one thing to record, and to deliver where it says to whom.
type Entry struct {
	Kind       EntryKind
	At         time.Time
	Notice     *Notice
	Verdict    *Verdict
	Escalation *Escalation
	Past       *Past
}

// Notice is the projection of one act onto one session.
type Notice struct {
	Act     string
	Session string
	Who     string
	Doing   string
	Since   time.Time
	Phase   string
	Purpose string // claimed
	Path    []graph.Name
	Expect  []Expected
	Until   time.Time // when it should be over at the latest; zero: cannot be said
	Ended   bool
	Outcome act.Outcome
	Graph   graph.Digest
	Links   []string
}

// Expected is a symptom that the reader may meet.
type Expected struct {
	Symptom graph.Symptom
	At      graph.Name
	For     time.Duration
	Source  string // on whose word
}

// VerdictKind is one of the five verdicts.
type VerdictKind string

// Verdicts.
const (
	Explained   VerdictKind = "explained"
	Own         VerdictKind = "own"
	Exceeded    VerdictKind = "exceeded"
	Unexplained VerdictKind = "unexplained"
	Unknown     VerdictKind = "unknown"
)

// Breach says in what way something exceeds.
type Breach string

// Breaches, the weightiest first.
const (
	Aborts   Breach = "abort"    // an abort condition holds
	Stronger Breach = "stronger" // more instances than expected
	Outlasts Breach = "outlasts" // longer altogether than allowed
	Late     Breach = "late"     // still there after the act and its tails
	Differs  Breach = "differs"  // another symptom of the same family than expected
)

// Verdict is the answer on one bout of a symptom.
type Verdict struct {
	Kind        VerdictKind
	Node        graph.Name
	Symptom     graph.Symptom
	From        time.Time
	To          time.Time // zero: still there
	At          time.Time // when it was judged
	Cause       string    // id of the act; of an unclaimed act where the verdict is unexplained
	Who         string
	Doing       string
	Breach      Breach
	Measured    time.Duration // cumulative, of the cause at this node
	Allowed     time.Duration
	AllowedFrom string
	Strength    int // seen
	Expected    int // strength that was expected; 0: not counted
	Path        []graph.Name
	Over        time.Time  // explained: when it has to be over
	Root        graph.Name // unexplained: a disturbed node above that carries it here
	Near        []Near     // unexplained: what changed nearby
	Detail      string     // what the last report saw
	Authors     bool       // own: it is the asking session's own work that may do this
	Revises     bool
	Graph       graph.Digest
	Alerted     bool // Alertmanager had told people already
}

// Near is something that changed near a symptom.
type Near struct {
	At       time.Time
	Node     graph.Name
	Distance int
	Text     string
	ID       string
}

// Escalation is what people are told, once, about all that one cause disturbs.
type Escalation struct {
	Key       string // stable: the same facts give the same
	Verdict   Verdict
	Members   int // bouts that it stands for
	Opened    time.Time
	Last      time.Time // when the last member came
	To        []string  // sessions concerned: the act's and those with an interest in the node
	Receivers []string  // who was really told; see Delivered
	Retracted bool
	Suspect   graph.Name // unexplained: a node above all members that could do it
}
