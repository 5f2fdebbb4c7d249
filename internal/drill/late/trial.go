package late

import (
	"time"

	"github.com/clewops/clew/internal/lab"
)

// Client is how a sender behaves when its deadline has passed.
type Client string

// The clients.
const (
	Abort  Client = "abort"  // Clew's: the connection is aborted, and the kernel discards what it still holds
	Cancel Client = "cancel" // a plain gRPC client: the call is cancelled, the connection stays open
	Leave  Client = "leave"  // a client that never cancels
)

// The routes of a trial.
const (
	Direct   = "direct"
	Endpoint = "endpoint"
)

// Trial is one send into a partition.
type Trial struct {
	Route  string
	Split  time.Duration // how long the partition lasts
	Size   int           // bytes that the configuration is filled up to; 0 leaves it as it is
	Rate   string        // of every link, in tc's notation; "" is unlimited
	Client Client
	Links  lab.LinkMode // "" is network namespaces

	Account bool // evidence is gathered after the heal
	// A control takes one condition away: a check of package talos by its name, or LateReads.
	Without string
	// Entered makes the partition begin when the request has come in at a node that is slow to answer.
	Entered bool
}

// LateReads is the condition that two readings agree, as Without names it.
const LateReads = "two readings on the route, five seconds apart, agree"

// deadline is the sender's: within the partition, and not later than that of a plan where nothing else is said.
func (t Trial) deadline() time.Duration { return min(t.Split-time.Second, 15*time.Second) }

// slow is how long a node takes to answer where the request came in first: it changes its configuration a while after
// the heal, and sooner than two readings take.
func (t Trial) slow() time.Duration {
	if !t.Entered {
		return 0
	}
	return t.Split + 4*time.Second
}

// horizon is how long after the heal a landing is waited for. Retransmissions double their distance, so that the next one
// comes at the latest about as long after the heal as the partition lasted, and within two minutes.
func (t Trial) horizon() time.Duration {
	return min(t.Split+t.Split/5, 125*time.Second) + 5*time.Second
}

// Result is what became of a trial. Times are counted from the heal.
type Result struct {
	Trial
	Bytes     int             // of the configuration that was sent
	Landings  []time.Duration // by the node's journal
	Accounted time.Duration   // when the evidence was complete; 0 when it was not
	NotMet    bool            // the condition that a control took away did not hold then
	Missing   string          // what the evidence still lacked at the end
	Err       error           // the trial could not be carried out
}

// After is how many landings came after the accounting.
func (r Result) After() (n int) {
	for _, at := range r.Landings {
		if r.Accounted > 0 && at > r.Accounted {
			n++
		}
	}
	return n
}

// matrix is every combination that the table of landings shows, repeat times.
func matrix(repeat int, splits []time.Duration) []Trial {
	var all []Trial
	for range repeat {
		for _, rate := range []string{"", "1mbit"} {
			for _, route := range []string{Direct, Endpoint} {
				for _, split := range splits {
					for _, size := range []int{0, 64 << 10} {
						for _, client := range []Client{Abort, Cancel, Leave} {
							all = append(all, Trial{Route: route, Split: split, Size: size, Rate: rate, Client: client})
						}
					}
				}
			}
		}
	}
	return all
}

// The shortest and the longest partition of what is to be shown sound.
const (
	shortest = 5 * time.Second
	longest  = time.Minute
)

// sound are n sends on each route, with partitions evenly from the shortest to the longest.
func sound(n int) []Trial {
	var all []Trial
	for i := range n {
		split := shortest
		if n > 1 {
			split += time.Duration(i) * (longest - shortest) / time.Duration(n-1)
		}
		for _, route := range []string{Direct, Endpoint} {
			all = append(all, Trial{Route: route, Split: split.Round(time.Millisecond), Client: Abort, Account: true})
		}
	}
	return all
}
