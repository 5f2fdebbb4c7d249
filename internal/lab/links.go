package lab

import (
	"context"
	"time"

	"github.com/clewops/clew/internal/lab/link"
)

// Link is a handle on the way from a client or an endpoint to a node.
type Link struct {
	lab      *Lab
	from, to string
}

// Direction of bytes on a link.
type Direction = link.Direction

// The directions: towards the node, back from it, or both.
const (
	Both     = link.Both
	ToNode   = link.ToNode
	FromNode = link.FromNode
)

// Cut makes the link silent both ways, without closing anything, until Heal. In netns mode it disables the node's
// bridge port. In userland mode bytes are kept; after the heal they arrive, unless their sender has reset its
// connection meanwhile.
func (k *Link) Cut(ctx context.Context) error { return k.fault(ctx, link.Fault{Kind: link.Cut}) }

// Hold keeps the bytes of one direction, in order, until Heal delivers them. Userland only.
func (k *Link) Hold(ctx context.Context, d Direction) error {
	return k.fault(ctx, link.Fault{Kind: link.Hold, Direction: d})
}

// Drop swallows the bytes of one direction. They never arrive: a connection that lost any is reset at Heal. Userland
// only.
func (k *Link) Drop(ctx context.Context, d Direction) error {
	return k.fault(ctx, link.Fault{Kind: link.Drop, Direction: d})
}

// Delay delivers every byte d later, in order, both ways. Userland only.
func (k *Link) Delay(ctx context.Context, d time.Duration) error {
	return k.fault(ctx, link.Fault{Kind: link.Delay, Delay: d})
}

// Heal ends every fault of the link.
func (k *Link) Heal(ctx context.Context) error { return k.fault(ctx, link.Fault{Kind: link.Heal}) }
