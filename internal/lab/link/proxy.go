package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// Client is the name of everybody who is no node.
const Client = "client"

// Node is where one node is reached from outside, and where it listens.
type Node struct {
	Name    string `json:"name"`
	Public  string `json:"public"`
	Backing string `json:"backing"`
}

// Settings are what the link process is told once.
type Settings struct {
	Socket string `json:"socket"`
	Nodes  []Node `json:"nodes"`
}

type key struct{ from, to string }

// proxy is the running link process.
type proxy struct {
	ctx   context.Context // the life of the process
	names map[netip.Addr]string

	mu    sync.Mutex
	links map[key]*state
	nodes map[string]*target
}

// target is one node's public side.
type target struct {
	node     Node
	listener net.Listener
	conns    map[*conn]bool
	// silent are listeners on addresses that the node has lost: they accept and never answer.
	silent map[string]net.Listener
}

func newProxy(ctx context.Context, s Settings) (*proxy, error) {
	p := &proxy{ctx: ctx, names: map[netip.Addr]string{}, links: map[key]*state{}, nodes: map[string]*target{}}

	for _, n := range s.Nodes {
		addr, err := netip.ParseAddr(n.Backing)
		if err != nil {
			return nil, err
		}

		p.names[addr] = n.Name
		p.nodes[n.Name] = &target{node: n, conns: map[*conn]bool{}, silent: map[string]net.Listener{}}
	}

	for _, t := range p.nodes {
		if err := p.listen(t, t.node.Public); err != nil {
			return nil, err
		}
	}

	return p, nil
}

func withPort(addr string) string { return net.JoinHostPort(addr, strconv.Itoa(constants.ApidPort)) }

// listen opens a node's public address and serves it in the background.
func (p *proxy) listen(t *target, addr string) error {
	l, err := net.Listen("tcp", withPort(addr))
	if err != nil {
		return err
	}

	t.listener = l

	go p.accept(t, l)

	return nil
}

func (p *proxy) accept(t *target, l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}

		c := newConn(p.link(p.fromOf(client), t.node.Name), client, withPort(t.node.Backing))

		p.mu.Lock()
		if t.listener != l {
			c.mute() // this address is lost
		}
		t.conns[c] = true
		p.mu.Unlock()

		go func() {
			c.run(p.ctx)

			if c.isMuted() {
				return // kept, so that its sockets stay open
			}

			p.mu.Lock()
			delete(t.conns, c)
			p.mu.Unlock()
		}()
	}
}

func (p *proxy) fromOf(conn net.Conn) string {
	addr, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return Client
	}

	return cmp.Or(p.names[addr.Addr().Unmap()], Client)
}

func (p *proxy) link(from, to string) *state {
	p.mu.Lock()
	defer p.mu.Unlock()

	k := key{from, to}
	if p.links[k] == nil {
		p.links[k] = newState()
	}

	return p.links[k]
}

func (p *proxy) order(from, to string, f Fault) error {
	if err := f.Validate(); err != nil {
		return err
	}

	if p.nodes[to] == nil || from != Client && p.nodes[from] == nil {
		return fmt.Errorf("there is no link from %q to %q", from, to)
	}

	p.link(from, to).order(f)

	return nil
}

// move gives a node another public address. Connections over the old one fall silent, and so does the old address.
func (p *proxy) move(name, addr string) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	t := p.nodes[name]
	if t == nil {
		return errors.New("no such node")
	}

	if l := t.silent[addr]; l != nil {
		l.Close()
		delete(t.silent, addr)
	}

	old, public := t.listener, t.node.Public
	if err := p.listen(t, addr); err != nil {
		return err
	}

	t.silent[public], t.node.Public = old, addr

	for c := range t.conns {
		c.mute()
	}

	return nil
}

func (p *proxy) report() []Report {
	p.mu.Lock()
	links := make(map[key]*state, len(p.links))
	for k, s := range p.links {
		links[k] = s
	}
	p.mu.Unlock()

	reports := make([]Report, 0, len(links))
	for k, s := range links {
		reports = append(reports, s.report(k))
	}

	slices.SortFunc(reports, func(a, b Report) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From))
	})

	return reports
}
