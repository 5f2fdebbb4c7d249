package notice

import (
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
)

// Session is who may be told.
type Session struct {
	ID       string
	Aliases  []string // other ids of the same session
	Name     string   // for people: claude@bob/3f
	Identity string
	Work     string // the work it is at now, or empty
}

// Interest is a node that a session's own work touches, until it expires.
type Interest struct {
	Session string
	Node    graph.Name
	Until   time.Time
}

// Expectation is a symptom with its longest duration; an empty At means wherever the graph carries it.
type Expectation struct {
	Symptom graph.Symptom
	At      graph.Name
	For     time.Duration
}

// Condition is a symptom at which an act's work is to be stopped; an empty At means wherever the act reaches.
type Condition struct {
	Symptom graph.Symptom
	At      graph.Name
}

// Act is what is known of one act. What was observed and what was claimed keep apart in it as they do in act.Act.
type Act struct {
	ID        string
	Session   string
	Who       string // for people: alice
	Doing     string // what is done, to follow Who: "upgrades cp-2"
	Kind      string // tool and operation; acts of one kind on one cluster are compared
	Class     act.Class
	Targets   []graph.Target
	Default   []Expectation // the recogniser's
	Start     time.Time
	End       time.Time // zero: it runs
	Tail      time.Duration
	Outcome   act.Outcome
	Unclaimed bool // seen without a wrapper: nobody stands for it
	Links     []string

	// Claimed.
	Work    string
	Purpose string
	Phase   string
	Claimed []Expectation
	AbortIf []Condition
	Long    bool
	Until   time.Time
}

// cluster is the cluster of the act's first target.
func (a Act) cluster() string {
	if len(a.Targets) == 0 {
		return ""
	}
	return a.Targets[0].Node.Cluster()
}

// Source says who reported a symptom.
type Source string

// Sources of reports.
const (
	Probe Source = "probe"
	Alert Source = "alert" // Alertmanager has told people already
	Said  Source = "said"  // a person or an agent
)

// Report is one sighting of a symptom at a node. The same ID again corrects it: that is how it ends.
type Report struct {
	ID       string
	Node     graph.Name
	Symptom  graph.Symptom
	From     time.Time
	To       time.Time // zero: still there
	Source   Source
	Session  string // whose probe, if a session's
	Strength int    // how many instances are disturbed; 0: not counted
	Detail   string // what was seen: refused, timeout, 503
}

// Event is something that changed, for the list of what changed nearby: an applied revision, an unclaimed write.
type Event struct {
	At   time.Time
	Node graph.Name
	Text string // "Flux applied infra@9f3c"
	ID   string // of the record
}

// Past is what an earlier act did: how long one symptom showed altogether. Acts that were not seen to disturb anything
// give none: nobody may have looked.
type Past struct {
	Act      string
	Kind     string
	Cluster  string
	Symptom  graph.Symptom
	At       graph.Kind
	Measured time.Duration
	Ended    time.Time
	OK       bool // the outcome was observed to be ok
	Exceeded bool
}
