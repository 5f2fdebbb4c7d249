package act

import (
	"fmt"
	"time"
)

// Act is one imperative command in two layers. They are never merged: what was observed is evidence, what was claimed
// is somebody's word.
type Act struct {
	ID       string   `json:"id"` // i-...
	Observed Observed `json:"observed"`
	Claimed  *Claim   `json:"claimed,omitempty"` // nil: the act stands alone
}

// Observed is what the wrapper saw.
type Observed struct {
	Session    string        `json:"session"`
	Tool       string        `json:"tool"`
	Operation  string        `json:"operation"`
	Class      Class         `json:"class"`
	Effect     string        `json:"effect,omitempty"`
	Targets    []Target      `json:"targets,omitempty"`
	Place      Place         `json:"place,omitzero"`
	Recorded   []string      `json:"recorded,omitempty"` // see Recognised.Recorded
	Envelope   []Expectation `json:"envelope,omitempty"` // the recogniser's default, resolved for these targets
	Tail       time.Duration `json:"tail,omitempty"`
	Recogniser string        `json:"recogniser,omitempty"` // name and version of the data that said so
	Start      time.Time     `json:"start"`
	End        time.Time     `json:"end,omitzero"` // zero: runs, or nobody saw it end
	Exit       *Exit         `json:"exit,omitempty"`
	Outcome    Outcome       `json:"outcome,omitzero"`
	Unclaimed  bool          `json:"unclaimed,omitempty"` // seen without a wrapper: there is no session
}

// Claim is what the session had said when the act was recorded.
type Claim struct {
	Work     string    `json:"work"` // w-...
	Purpose  string    `json:"purpose"`
	Phase    string    `json:"phase,omitempty"`
	Envelope Envelope  `json:"envelope"`
	Long     bool      `json:"long,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

// Exit is how the process ended: by status or by signal.
type Exit struct {
	Status int    `json:"status"`
	Signal string `json:"signal,omitempty"` // SIGINT, SIGTERM, ...; Status is -1 then
}

// OutcomeState says what became of an act. It is not the exit status.
type OutcomeState string

// Outcomes. A zero OutcomeState means that nothing was observed yet.
const (
	OutcomeOK         OutcomeState = "ok"
	OutcomeFailed     OutcomeState = "failed"
	OutcomeIncomplete OutcomeState = "incomplete"
	OutcomeUnknown    OutcomeState = "unknown"
)

// Outcome is what was observed after the process had ended.
type Outcome struct {
	State  OutcomeState `json:"state,omitempty"`
	Detail string       `json:"detail,omitempty"` // "cp-2 is still cordoned"
	At     time.Time    `json:"at,omitzero"`      // of the observation
}

// Reading is what an observation gave about one target after the process had ended.
type Reading struct {
	Target Target
	Done   bool   // the wanted state is there
	Left   string // what is left undone, in words: "cp-2 is still cordoned"
	Failed string // what shows that it is not coming: "the rollout exceeded its deadline"
}

// Conclude gives the outcome of an act from what was read of its targets after it. The exit alone proves nothing in
// either direction: without a reading of every target the outcome is unknown, and says what the exit was.
func Conclude(exit *Exit, targets int, readings []Reading, at time.Time) Outcome {
	done, left, failed := 0, "", ""
	for _, r := range readings {
		switch {
		case r.Failed != "" && failed == "":
			failed = r.Failed
		case r.Left != "" && left == "":
			left = r.Left
		case r.Done && r.Failed == "" && r.Left == "":
			done++
		}
	}
	switch {
	case failed != "":
		return Outcome{State: OutcomeFailed, Detail: failed, At: at}
	case left != "":
		return Outcome{State: OutcomeIncomplete, Detail: left, At: at}
	case targets > 0 && done >= targets:
		return Outcome{State: OutcomeOK, At: at}
	}
	return Outcome{State: OutcomeUnknown, Detail: unread(exit), At: at}
}

// unread says why an outcome is not known.
func unread(exit *Exit) string {
	switch {
	case exit == nil:
		return "nobody saw the command end, and its targets were not all read after it"
	case exit.Signal != "":
		return "ended by " + exit.Signal + "; its targets were not all read after it"
	default:
		return fmt.Sprintf("exit status %d; its targets were not all read after it", exit.Status)
	}
}

// Over says whether the act and its tail are over at a moment. One that nobody saw end is not.
func (a Act) Over(now time.Time) bool {
	return !a.Observed.End.IsZero() && !now.Before(a.Observed.End.Add(a.Observed.Tail))
}
