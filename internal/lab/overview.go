package lab

import (
	"context"
	"sync"
	"time"
)

// Overview is a lab as "clew lab status" shows it.
type Overview struct {
	Dir         string       `json:"dir"`
	Links       LinkMode     `json:"links"`
	Network     string       `json:"network"`
	Talosconfig string       `json:"talosconfig"`
	Created     time.Time    `json:"created"`
	Nodes       []NodeView   `json:"nodes"`
	FaultyLinks []LinkReport `json:"faulty_links"`
}

// NodeView is one node in an overview.
type NodeView struct {
	// Process is "running", "paused" or "dead".
	Process string `json:"process"`
	// Status is what the node says of itself. Of a node that cannot answer only name, role, address and pid are filled.
	Status
	// Landings counts the applies that changed the node's configuration, since the lab was made.
	Landings int `json:"landings"`
}

// statusPatience is how long an overview waits for one node.
const statusPatience = 2 * time.Second

// Overview asks every node at once. A node that cannot answer is shown so; it is no error.
func (l *Lab) Overview(ctx context.Context) (Overview, error) {
	o := Overview{
		Dir: l.dir, Links: l.rec.Links, Network: l.rec.Network, Talosconfig: l.Talosconfig(), Created: l.rec.Created.UTC(),
		Nodes: make([]NodeView, len(l.rec.Nodes)), FaultyLinks: []LinkReport{},
	}

	var asked sync.WaitGroup

	for i, n := range l.Nodes() {
		asked.Go(func() { o.Nodes[i] = n.view(ctx) })
	}

	asked.Wait()

	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()

	faulty, err := l.Faulty(ctx)
	if len(faulty) > 0 {
		o.FaultyLinks = faulty
	}

	return o, err
}

func (n *Node) view(ctx context.Context) NodeView {
	p := n.current()
	v := NodeView{Process: p.state()}

	if v.Process == "running" {
		ctx, cancel := context.WithTimeout(ctx, statusPatience)
		defer cancel()

		// A node that does not answer is shown as far as it is known from outside.
		v.Status, _ = n.Status(ctx)
	}

	v.Name, v.Worker, v.Address, v.PID = n.Name(), n.Worker(), n.Address(), p.PID

	if c, err := n.Counters(); err == nil {
		v.Landings = len(c.Landings)
	}

	return v
}
