package talos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
)

// Socket is one TCP socket as a kernel's socket table shows it. Mapped IPv4 addresses are shown as IPv4.
type Socket struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	State  string         `json:"state"` // as Talos spells it: ESTABLISHED, FIN_WAIT1, ...
	Tx     uint64         `json:"tx"`    // bytes sent or queued and not yet acknowledged
	Rx     uint64         `json:"rx"`    // bytes received and not yet read by the process
}

// States of sockets that matter here.
const (
	established = "ESTABLISHED"
	timeWait    = "TIME_WAIT" // holds no data and sends none
)

// stateName is a state in Talos' spelling; Talos numbers states as the kernel does.
func stateName(kernel uint8) string {
	if name, ok := machine.ConnectRecord_State_name[int32(kernel)]; ok && kernel != 0 {
		return name
	}
	return fmt.Sprintf("STATE_%d", kernel)
}

// unmapped makes IPv4 of an IPv4 address that is written as IPv6.
func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// parseAddrPort reads host:port of an IP address.
func parseAddrPort(s string) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(s)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is not an IP address and port", s)
	}
	return unmapped(a), nil
}

// filterSockets keeps the sockets that keep wants. The result is never nil, so that JSON shows an empty table.
func filterSockets(all []Socket, keep func(Socket) bool) []Socket {
	kept := []Socket{}
	for _, s := range all {
		if keep(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// netstat reads the TCP sockets of the host network of a node: of the next hop itself, or of the node behind it when
// ctx has routing metadata.
func (c *Conn) netstat(ctx context.Context, whose string) ([]Socket, error) {
	what := "reading the socket table of " + whose
	var resp *machine.NetstatResponse
	err := c.do(ctx, what, func(ctx context.Context) (err error) {
		resp, err = c.client.MachineClient.Netstat(ctx, &machine.NetstatRequest{
			Filter:  machine.NetstatRequest_ALL,
			Feature: &machine.NetstatRequest_Feature{},
			L4Proto: &machine.NetstatRequest_L4Proto{Tcp: true, Tcp6: true},
			Netns:   &machine.NetstatRequest_NetNS{Hostnetwork: true},
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(resp.GetMessages()) != 1 || resp.GetMessages()[0].GetMetadata().GetError() != "" {
		return nil, errors.New(what + ": the answer is not one of a single node")
	}
	var sockets []Socket
	for _, r := range resp.GetMessages()[0].GetConnectrecord() {
		s, err := socketOf(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		sockets = append(sockets, s)
	}
	if len(sockets) == 0 {
		// The connection that asked must be among them.
		return nil, errors.New(what + ": it is empty, which cannot be")
	}
	return sockets, nil
}

func socketOf(r *machine.ConnectRecord) (Socket, error) {
	local, err := recordAddr(r.GetLocalip(), r.GetLocalport())
	if err != nil {
		return Socket{}, err
	}
	remote, err := recordAddr(r.GetRemoteip(), r.GetRemoteport())
	if err != nil {
		return Socket{}, err
	}
	return Socket{Local: local, Remote: remote, State: r.GetState().String(), Tx: r.GetTxqueue(), Rx: r.GetRxqueue()}, nil
}

func recordAddr(ip string, port uint32) (netip.AddrPort, error) {
	a, err := netip.ParseAddr(strings.Trim(ip, "[]"))
	if err != nil || port > 0xffff {
		return netip.AddrPort{}, errors.New("a record has no IP address and port")
	}
	return unmapped(netip.AddrPortFrom(a, uint16(port))), nil
}
