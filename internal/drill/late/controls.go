package late

import (
	"time"

	"github.com/clewops/clew/internal/lab"
)

// Control is a set of trials in which one condition is taken away.
type Control struct {
	Name  string
	trial Trial
}

// The conditions of hop 1 that more than one control names.
const hop1Socket = "hop 1: this host holds no socket with the attempt's address and port"

// controls are one for a client that never cancels, and one for each condition of the evidence. A partition of 14 s is
// healed shortly after a retransmission, so that the next one is far off.
func controls() []Control {
	const split = 14 * time.Second
	all := []Control{{
		"a client that never cancels, whose socket is not looked for",
		Trial{Route: Direct, Split: split, Client: Leave, Without: hop1Socket},
	}}
	for _, check := range []string{
		hop1Socket,
		"hop 1: the next hop's receive queue from the attempt's address is empty",
		"hop 1: the next hop is the same node",
	} {
		all = append(all, Control{check, Trial{Route: Direct, Split: split, Client: Abort, Without: check}})
	}
	const listed = "before: the next hop listed exactly the attempt's address as its peer, so nothing terminates TCP in between"
	all = append(all, Control{listed, Trial{Route: Direct, Split: split, Client: Abort, Links: lab.LinksUserland, Without: listed}})
	for _, check := range []string{
		"hop 2: the endpoint has exactly one connection to the node's API",
		"hop 2: its transmit queue is empty",
		"hop 2: the node lists exactly that connection",
		"hop 2: the node's receive queue from it is empty",
		"hop 2: it is the connection of before the send",
	} {
		all = append(all, Control{check, Trial{Route: Endpoint, Split: split, Client: Abort, Without: check}})
	}
	for _, route := range []string{Direct, Endpoint} {
		all = append(all, Control{
			LateReads + " (" + route + "; the request came in before the partition, at a slow node)",
			Trial{Route: route, Split: 3 * time.Second, Client: Abort, Without: LateReads, Entered: true},
		})
	}
	for i := range all {
		all[i].trial.Account = true
	}
	return all
}
