package drill

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/clewops/clew/internal/lab"
)

// sharedWorkers is how many workers a shared lab has, and with it how many rows play on it at once.
const sharedWorkers = 6

// quick keeps the nodes' sequences short.
var quick = lab.Timing{Stop: 300 * time.Millisecond, Gap: 500 * time.Millisecond, Boot: 100 * time.Millisecond}

// pool lends the workers of one lab.
type pool struct {
	lab *lab.Lab

	mu   sync.Mutex
	cond *sync.Cond
	free []*lab.Node
	all  int
}

func newPool(l *lab.Lab) *pool {
	p := &pool{lab: l}
	p.cond = sync.NewCond(&p.mu)
	for _, n := range l.Nodes() {
		if n.Worker() {
			p.free = append(p.free, n)
		}
	}
	p.all = len(p.free)
	return p
}

// take lends n workers together, so that two rows never wait for each other.
func (p *pool) take(ctx context.Context, n int) ([]*lab.Node, error) {
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock() // so that nobody is between looking and waiting
		defer p.mu.Unlock()
		p.cond.Broadcast()
	})
	defer stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.free) < n {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if p.all < n {
			return nil, fmt.Errorf("%d machines are wanted, and %d are in order", n, p.all)
		}
		p.cond.Wait()
	}
	lent := p.free[:n:n]
	p.free = p.free[n:]
	return lent, nil
}

// give takes a worker back; one that is not in order is not lent again.
func (p *pool) give(n *lab.Node, inOrder bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if inOrder {
		p.free = append(p.free, n)
	} else {
		p.all--
	}
	p.cond.Broadcast()
}

// mend heals everything that a row may have broken of a worker.
func mend(ctx context.Context, l *lab.Lab, n *lab.Node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	var errs error
	if l.Links() != lab.LinksNone {
		for _, from := range []string{lab.Client, l.Nodes()[0].Name()} {
			k, err := l.Link(from, n.Name())
			if err == nil {
				err = k.Heal(ctx)
			}
			errs = errors.Join(errs, err)
		}
	}
	if !n.Alive() {
		return errors.Join(errs, n.Restart(ctx, lab.RestartOptions{}))
	}
	return errors.Join(errs, n.Continue(), n.WaitReady(ctx), n.Fault(ctx, lab.Faults{}))
}

// labUp makes a lab that ends with the drill's process, whatever happens to it.
func (r *run) labUp(ctx context.Context, name string, net lab.LinkMode, workers int) (*lab.Lab, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	return lab.Up(ctx, lab.Config{
		Dir: filepath.Join(r.work, name), Links: net, Workers: workers, Exe: r.o.Exe, Timing: quick, Tied: true,
	})
}
