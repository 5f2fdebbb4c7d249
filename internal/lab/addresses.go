package lab

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"

	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// How the last byte of a node's addresses is chosen from its place in the list of nodes.
const (
	publicBase  = 10
	spareBase   = 40
	sparePer    = 4
	backingBase = 110
	// maxNodes keeps the three ranges apart.
	maxNodes = 16
)

// assign gives every node its addresses in a network of 256.
func assign(nodes []nodeRecord, network netip.Prefix, behindLinks bool) {
	base := network.Addr().As4()
	at := func(last int) string {
		a := base
		a[3] = byte(last)

		return netip.AddrFrom4(a).String()
	}

	for i := range nodes {
		n := &nodes[i]
		n.Public = at(publicBase + i)

		for k := range sparePer {
			n.Spare = append(n.Spare, at(spareBase+sparePer*i+k))
		}

		if behindLinks {
			n.Backing = at(backingBase + i)
		}
	}
}

// loopbackNetwork finds a block of loopback addresses on which nothing listens on Talos' port. Whoever takes the same
// block in the meantime makes a node fail to bind, and Up with it.
func loopbackNetwork(nodes []nodeRecord, behindLinks bool) (netip.Prefix, error) {
	var last error

	for range 20 {
		network := netip.PrefixFrom(netip.AddrFrom4([4]byte{127, byte(64 + rand.IntN(128)), byte(rand.IntN(256)), 0}), 24)
		probe := append([]nodeRecord(nil), nodes...)
		assign(probe, network, behindLinks)

		if last = allFree(probe); last == nil {
			return network, nil
		}
	}

	return netip.Prefix{}, &NotOfferedError{Reason: fmt.Sprintf(
		"no free loopback addresses for a lab (Linux answers on all of 127.0.0.0/8, other systems do not): %v", last)}
}

func allFree(nodes []nodeRecord) error {
	for _, n := range nodes {
		addrs := append([]string{n.Public}, n.Spare...)
		if n.Backing != "" {
			addrs = append(addrs, n.Backing)
		}

		for _, a := range addrs {
			l, err := net.Listen("tcp", net.JoinHostPort(a, strconv.Itoa(constants.ApidPort)))
			if err != nil {
				return err
			}

			l.Close()
		}
	}

	return nil
}

// privateNetwork picks a block for a bridge that overlaps no address of this machine and no route but the default one.
func privateNetwork(inUse []netip.Prefix) (netip.Prefix, error) {
	for range 100 {
		network := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(200 + rand.IntN(50)), byte(rand.IntN(256)), 0}), 24)
		free := true

		for _, p := range inUse {
			free = free && !p.Overlaps(network)
		}

		if free {
			return network, nil
		}
	}

	return netip.Prefix{}, &NotOfferedError{Reason: "no unused private network for a bridge: 10.200.0.0/16 to 10.249.0.0/16 are in use"}
}
