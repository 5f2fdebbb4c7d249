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

// LinkReport is a link's faults as the lab sees them; see link.Report.
type LinkReport = link.Report

func (k *Link) fault(ctx context.Context, f link.Fault) error {
	if k.lab.rec.Links == LinksNetns {
		return k.lab.faultNetns(ctx, k.to, f)
	}

	return link.NewControl(k.lab.linkSocket()).Fault(ctx, k.from, k.to, f)
}

// Faulty reports every link that carries a fault now.
func (l *Lab) Faulty(ctx context.Context) ([]LinkReport, error) {
	var faulty []LinkReport

	switch l.rec.Links {
	case LinksNone:
	case LinksUserland:
		all, err := link.NewControl(l.linkSocket()).Links(ctx)
		if err != nil {
			return nil, err
		}

		for _, r := range all {
			if r.Faulty() {
				faulty = append(faulty, r)
			}
		}
	case LinksNetns:
		for _, n := range l.rec.Nodes {
			ok, err := l.portForwards(ctx, n.Name)
			if err != nil {
				return nil, err
			}

			if !ok {
				faulty = append(faulty, link.CutReport("any", n.Name))
			}
		}
	}

	return faulty, nil
}
