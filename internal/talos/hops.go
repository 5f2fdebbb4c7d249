package talos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/clewops/clew/internal/dispatch"
)

// tables are the hops' views of the way of an attempt's bytes, each reduced to the sockets that matter.
type tables struct {
	NextHopNode string   `json:"next_hop_node"`      // Talos' identity of the next hop
	NextHop     []Socket `json:"next_hop"`           // the next hop's, with the attempt's address as peer
	Endpoint    []Socket `json:"endpoint,omitempty"` // the endpoint's, with the node's API as peer
	Node        []Socket `json:"node,omitempty"`     // the node's, with that connection of the endpoint as peer
	HopTwo      bool     `json:"hop_2"`              // there is an endpoint
}

// baseline is what the hops showed before the send, kept with the attempt.
type baseline struct {
	tables
	Unavailable string `json:"unavailable,omitempty"` // why this attempt can never be accounted for by evidence
}

// Baseline reads, before a send on this connection, what accounting by evidence will compare with. It is recorded with
// the attempt. Where such evidence cannot be had the record says why, which is no error; an unreadable hop is. Through an
// endpoint it comes after a Read, which makes the endpoint connect to the node.
func (c *Conn) Baseline(ctx context.Context) (json.RawMessage, error) {
	b, err := c.baseline(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(b)
}

func (c *Conn) baseline(ctx context.Context) (baseline, error) {
	if socketTables != "" {
		return baseline{Unavailable: socketTables}, nil
	}
	if _, err := netip.ParseAddr(c.target.Address); err != nil && c.target.Route != dispatch.Direct {
		return baseline{Unavailable: errNoIP.Error()}, nil
	}
	local, err := parseAddrPort(c.LocalAddr())
	if err != nil {
		return baseline{}, err
	}
	var b baseline
	for n := range rounds {
		if n > 0 {
			if err := pause(ctx, roundPause); err != nil {
				return baseline{}, err
			}
		}
		if b.tables, err = c.readTables(ctx, local); err != nil {
			return baseline{}, err
		}
		// An acknowledgement may be under way; a connection that is not listed will not appear by waiting.
		if failing(b.hopChecks()) == "" || len(b.NextHop) != 1 {
			break
		}
	}
	return b, nil
}

// readTables reads the hops, upstream first. Requests to the endpoint itself carry no routing metadata; those to the
// node behind it go over the endpoint's one connection to it, the very one that is looked at.
func (c *Conn) readTables(ctx context.Context, sender netip.AddrPort) (tables, error) {
	var t tables
	var err error
	t.HopTwo = c.target.Route != dispatch.Direct
	whose := "the node"
	if t.HopTwo {
		whose = "the endpoint"
	}
	if t.NextHopNode, err = c.nodeID(ctx); err != nil {
		return tables{}, err
	}
	all, err := c.netstat(ctx, whose)
	if err != nil {
		return tables{}, err
	}
	api := uint16(c.port)
	t.NextHop = filterSockets(all, func(s Socket) bool {
		return s.Remote == sender && s.Local.Port() == api && s.State != timeWait
	})
	if !t.HopTwo {
		return t, nil
	}
	node, err := netip.ParseAddr(c.target.Address)
	if err != nil {
		return tables{}, errNoIP
	}
	peer := netip.AddrPortFrom(node.Unmap(), api)
	t.Endpoint = filterSockets(all, func(s Socket) bool { return s.Remote == peer && s.State != timeWait })
	t.Node = []Socket{}
	if len(t.Endpoint) != 1 || (t.Endpoint[0].Tx != 0 && c.options.withoutCheck != checkEndpointTx) {
		return t, nil // a question to the node would only queue up behind what the endpoint still holds
	}
	all, err = c.netstat(client.WithNode(ctx, c.target.Address), "the node")
	if err != nil {
		return tables{}, err
	}
	t.Node = filterSockets(all, func(s Socket) bool {
		return s.Remote == t.Endpoint[0].Local && s.Local.Port() == api && s.State != timeWait
	})
	return t, nil
}

// checkEndpointTx is the check that decides whether the node behind an endpoint is asked at all.
const checkEndpointTx = "hop 2: its transmit queue is empty"

// hopChecks are what must hold of the hops at any time.
func (t tables) hopChecks() []Check {
	checks := []Check{{
		Name:    "hop 1: the next hop's receive queue from the attempt's address is empty",
		Holds:   emptyRx(t.NextHop),
		Reading: describe(t.NextHop),
	}}
	if !t.HopTwo {
		return checks
	}
	one := len(t.Endpoint) == 1 && t.Endpoint[0].State == established
	atNode := describe(t.Node)
	if !one || (t.Endpoint[0].Tx != 0 && len(t.Node) == 0) {
		atNode = "not asked"
	}
	return append(checks,
		Check{"hop 2: the endpoint has exactly one connection to the node's API", one, describe(t.Endpoint)},
		Check{checkEndpointTx, one && t.Endpoint[0].Tx == 0, describe(t.Endpoint)},
		Check{
			"hop 2: the node lists exactly that connection", len(t.Node) == 1 && t.Node[0].State == established,
			atNode,
		},
		Check{"hop 2: the node's receive queue from it is empty", len(t.Node) == 1 && emptyRx(t.Node), atNode},
	)
}

// checks compare the hops now with those before the send.
func (t tables) checks(before baseline) []Check {
	checks := append(t.hopChecks(), Check{
		"hop 1: the next hop is the same node", t.NextHopNode == before.NextHopNode, t.NextHopNode,
	})
	if !t.HopTwo {
		return checks
	}
	same := len(t.Endpoint) == 1 && len(before.Endpoint) == 1 && t.Endpoint[0].Local == before.Endpoint[0].Local
	return append(checks, Check{
		"hop 2: it is the connection of before the send", same,
		describe(t.Endpoint) + "; before: " + describe(before.Endpoint),
	})
}

// checks say whether the record made before the send can bear evidence at all.
func (b baseline) checks(attempt dispatch.Attempt) []Check {
	if b.Unavailable != "" {
		return []Check{{"before: socket tables were readable", false, b.Unavailable}}
	}
	checks := []Check{
		{"before: the record is of the attempt's route", b.HopTwo == (attempt.Route != dispatch.Direct), string(attempt.Route)},
		{
			"before: the next hop listed exactly the attempt's address as its peer, so nothing terminates TCP in between",
			len(b.NextHop) == 1 && b.NextHop[0].State == established && attemptPeer(attempt, b.NextHop[0]), describe(b.NextHop),
		},
	}
	if b.HopTwo {
		for _, c := range b.hopChecks()[1:] {
			c.Name = "before: " + c.Name
			checks = append(checks, c)
		}
	}
	return checks
}

func attemptPeer(attempt dispatch.Attempt, s Socket) bool {
	local, err := parseAddrPort(attempt.LocalAddr)
	return err == nil && s.Remote == local
}

// parseBaseline reads an attempt's record; one that is missing or of another shape bears no evidence.
func parseBaseline(raw json.RawMessage) baseline {
	var b baseline
	if len(raw) == 0 {
		return baseline{Unavailable: "no sockets were recorded before the send"}
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return baseline{Unavailable: fmt.Sprintf("the recorded sockets cannot be read: %v", err)}
	}
	return b
}

func emptyRx(sockets []Socket) bool {
	for _, s := range sockets {
		if s.Rx != 0 {
			return false
		}
	}
	return true
}
