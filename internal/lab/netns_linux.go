package lab

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"github.com/clewops/clew/internal/lab/link"
)

// Interface names inside the lab's own namespaces: a node's only interface, the bridge, and the port of the host.
const (
	nodeInterface = "eth0"
	bridgeName    = "br0"
	hostPort      = "client"
)

// netnsOffered says why network namespaces cannot be used here, if so.
func netnsOffered() error {
	if os.Geteuid() != 0 {
		return &NotOfferedError{Reason: "network namespaces need root"}
	}

	for _, tool := range []string{"ip", "bridge", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return &NotOfferedError{Reason: "network namespaces need the program " + tool + " (package iproute2)"}
		}
	}

	return nil
}

func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}

	return nil
}

// commands runs one command a line, until one fails.
func commands(ctx context.Context, lines ...string) error {
	for _, line := range lines {
		f := strings.Fields(line)
		if err := command(ctx, f[0], f[1:]...); err != nil {
			return err
		}
	}

	return nil
}

// makeNetns builds a namespace with a bridge, one namespace a node with a port on it, and a port for the host.
func (l *Lab) makeNetns(ctx context.Context) error {
	network, err := netip.ParsePrefix(l.rec.Network)
	if err != nil {
		return err
	}

	sw, host := l.rec.Switch, l.rec.HostLink

	lines := []string{
		"ip netns add " + sw,
		"ip -n " + sw + " link add " + bridgeName + " type bridge stp_state 0",
		"ip -n " + sw + " link set " + bridgeName + " up",
		"ip link add " + host + " type veth peer name " + hostPort + " netns " + sw,
		"ip -n " + sw + " link set " + hostPort + " master " + bridgeName + " up",
		"ip addr add " + network.Addr().Next().String() + "/24 dev " + host,
		"ip link set " + host + " up",
	}

	for _, n := range l.rec.Nodes {
		lines = append(lines,
			"ip netns add "+n.Netns,
			"ip -n "+n.Netns+" link add "+nodeInterface+" type veth peer name "+n.Name+" netns "+sw,
			"ip -n "+sw+" link set "+n.Name+" master "+bridgeName+" up",
			"ip -n "+n.Netns+" link set lo up",
			"ip -n "+n.Netns+" addr add "+n.Public+"/24 dev "+nodeInterface,
			"ip -n "+n.Netns+" link set "+nodeInterface+" up",
		)

		if l.rec.Rate != "" {
			limit := " root tbf rate " + l.rec.Rate + " burst 16kb latency 400ms"
			lines = append(lines,
				"tc -n "+n.Netns+" qdisc add dev "+nodeInterface+limit,
				"tc -n "+sw+" qdisc add dev "+n.Name+limit,
			)
		}
	}

	return commands(ctx, lines...)
}

// removeNetns removes the namespaces and with them every interface in them, the host's end included.
func (l *Lab) removeNetns(ctx context.Context) error {
	names := []string{l.rec.Switch}
	for _, n := range l.rec.Nodes {
		names = append(names, n.Netns)
	}

	for _, name := range names {
		if _, err := os.Stat("/run/netns/" + name); os.IsNotExist(err) {
			continue
		}

		if err := command(ctx, "ip", "netns", "del", name); err != nil {
			return err
		}
	}

	// The kernel takes a namespace's interfaces away a moment later; the host's end goes with its peer.
	return waitFor(ctx, "interface "+l.rec.HostLink+" to go", func() bool {
		_, err := net.InterfaceByName(l.rec.HostLink)

		return err != nil
	})
}

// faultNetns orders a fault for the bridge port of a node.
func (l *Lab) faultNetns(ctx context.Context, to string, f link.Fault) error {
	state := ""

	switch f.Kind {
	case link.Cut:
		state = "0" // disabled: frames are dropped, the carrier stays
	case link.Heal:
		state = "3" // forwarding
	default:
		return &NotOfferedError{Reason: fmt.Sprintf("links between network namespaces can be cut and healed; %q needs --links userland", f.Kind)}
	}

	return command(ctx, "bridge", "-n", l.rec.Switch, "link", "set", "dev", to, "state", state)
}

// portForwards says whether the bridge port of a node lets frames through.
func (l *Lab) portForwards(ctx context.Context, name string) (bool, error) {
	out, err := exec.CommandContext(ctx, "bridge", "-n", l.rec.Switch, "link", "show", "dev", name).CombinedOutput()
	if err != nil {
		return false, fmt.Errorf("bridge link show: %w: %s", err, out)
	}

	return strings.Contains(string(out), "state forwarding"), nil
}

// networksInUse are the networks of this machine's interfaces and of its routes, less the default one.
func networksInUse() []netip.Prefix {
	var used []netip.Prefix

	if addrs, err := net.InterfaceAddrs(); err == nil {
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				used = append(used, p.Masked())
			}
		}
	}

	b, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return used
	}

	for _, line := range strings.Split(string(b), "\n")[1:] {
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}

		if p, ok := routePrefix(f[1], f[7]); ok && p.Bits() > 0 {
			used = append(used, p)
		}
	}

	return used
}

// routePrefix reads destination and mask of a line of /proc/net/route: hexadecimal, in the machine's byte order.
func routePrefix(destination, mask string) (netip.Prefix, bool) {
	d, err1 := hex.DecodeString(destination)
	m, err2 := hex.DecodeString(mask)

	if err1 != nil || err2 != nil || len(d) != 4 || len(m) != 4 {
		return netip.Prefix{}, false
	}

	ones, _ := net.IPv4Mask(m[3], m[2], m[1], m[0]).Size()

	var addr [4]byte
	binary.BigEndian.PutUint32(addr[:], binary.LittleEndian.Uint32(d))

	return netip.PrefixFrom(netip.AddrFrom4(addr), ones), true
}
