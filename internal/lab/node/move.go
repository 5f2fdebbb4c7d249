package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"

	"github.com/clewops/clew/internal/lab/link"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
)

// address is the one on which clients reach the node now.
func (b *boot) address() string {
	b.addressMu.Lock()
	defer b.addressMu.Unlock()

	return b.current
}

// ownAddresses are those by which the node's sockets are known: the public one and, behind links, the one it binds.
func (b *boot) ownAddresses() []string {
	own := []string{b.address()}
	if l := b.settings.Listen; l != "" && !slices.Contains(own, l) && b.settings.LinkSocket != "" {
		own = append(own, l)
	}

	return own
}

// isSelf says whether a caller's target means this node.
func (b *boot) isSelf(target string) bool {
	return target == b.settings.Name || slices.Contains(b.ownAddresses(), target)
}

// sourceAddress is where connections to other nodes come from; empty leaves it to the kernel.
func (b *boot) sourceAddress() string {
	if b.settings.Source != "" || b.settings.Interface != "" {
		return b.settings.Source
	}

	return b.address()
}

// move gives up the current address, silently, for the next spare one.
func (b *boot) move(ctx context.Context) (string, error) {
	b.moveMu.Lock()
	defer b.moveMu.Unlock()

	old := b.address()
	all := append([]string{b.settings.Address}, b.settings.Spare...)

	i := slices.Index(all, old)
	if len(all) < 2 {
		return "", errors.New("the node has no spare address")
	}

	next := all[(i+1)%len(all)]
	if err := b.rebind(ctx, old, next); err != nil {
		return "", fmt.Errorf("moving from %s to %s: %w", old, next, err)
	}

	b.addressMu.Lock()
	b.current = next
	b.addressMu.Unlock()

	if err := writeJSON(b.settings.path(addressFile), next); err != nil {
		return "", err
	}

	return next, b.publishAddress()
}

func (b *boot) rebind(ctx context.Context, old, next string) error {
	switch {
	case b.settings.LinkSocket != "":
		return link.NewControl(b.settings.LinkSocket).Move(ctx, b.settings.Name, next)
	case b.settings.Interface != "":
		bits := "/" + strconv.Itoa(b.settings.PrefixBits)

		// The old one goes first: with it the kernel drops every other address of the same network.
		if err := ip(ctx, "addr", "del", old+bits, "dev", b.settings.Interface); err != nil {
			return err
		}

		return ip(ctx, "addr", "add", next+bits, "dev", b.settings.Interface)
	default:
		return b.api.listen(next)
	}
}

func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %v: %w: %s", args, err, out)
	}

	return nil
}

// publishAddress tells the state which addresses the node has.
func (b *boot) publishAddress() error {
	addr, err := netip.ParseAddr(b.address())
	if err != nil {
		return err
	}

	bits := b.settings.PrefixBits
	if bits == 0 {
		bits = 8 // the loopback network
	}

	for _, id := range []string{network.NodeAddressDefaultID, network.NodeAddressCurrentID, network.NodeAddressRoutedID} {
		err := safe.StateModify(b.ctx, b.state, network.NewNodeAddress(network.NamespaceName, id),
			func(r *network.NodeAddress) error {
				r.TypedSpec().Addresses = []netip.Prefix{netip.PrefixFrom(addr, bits)}
				r.TypedSpec().SortAlgorithm = nethelpers.AddressSortAlgorithmV2

				return nil
			})
		if err != nil {
			return err
		}
	}

	return nil
}

// apiAddress joins an address, or none, with Talos' port.
func apiAddress(addr string) string {
	return net.JoinHostPort(addr, strconv.Itoa(constants.ApidPort))
}
