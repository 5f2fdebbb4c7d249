package link

import (
	"context"
	"net"
	"sync"
	"time"
)

// conn is one connection through a link.
type conn struct {
	link    *state
	client  net.Conn
	backing string

	mu   sync.Mutex
	node net.Conn // nil until the link let the connection through
	lost bool     // bytes were dropped: the stream cannot go on

	once  sync.Once
	done  chan struct{} // closed when the connection is over
	muted chan struct{} // closed when the node has lost this address: nothing moves or ends any more
}

func newConn(link *state, client net.Conn, backing string) *conn {
	return &conn{link: link, client: client, backing: backing, done: make(chan struct{}), muted: make(chan struct{})}
}

// run moves bytes until the connection is over.
func (c *conn) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, c.reset)
	defer stop()

	up := newQueue()

	go up.fill(c.client, c.done)

	node, ok := c.connect(ctx, up)
	if !ok {
		return
	}

	down := newQueue()

	go down.fill(node, c.done)

	var halves sync.WaitGroup

	halves.Go(func() { c.drain(up, node, ToNode) })
	halves.Go(func() { c.drain(down, c.client, FromNode) })
	halves.Wait()
	c.close()
}

// connect dials the node as soon as the link lets anything through to it; a connection that is refused is reset.
func (c *conn) connect(ctx context.Context, up *queue) (net.Conn, bool) {
	for {
		m, delay, changed := c.link.look(ToNode)
		v := up.look()

		if m == drop && v.first != nil {
			c.lose()
		}

		if v.aborted || m == pass && c.hasLost() {
			c.reset()

			return nil, false
		}

		if m == pass {
			if !c.sleep(delay) {
				return nil, false
			}

			break
		}

		select {
		case <-changed:
		case <-v.changed:
		case <-c.done:
			return nil, false
		case <-c.muted:
			return nil, false
		}
	}

	node, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.backing)
	if err != nil {
		c.reset()

		return nil, false
	}

	c.mu.Lock()
	c.node = node
	c.mu.Unlock()

	return node, true
}

// drain writes what a queue holds to dst, as the link's fault for that direction allows.
func (c *conn) drain(q *queue, dst net.Conn, d Direction) {
	for {
		m, delay, changed := c.link.look(d)
		v := q.look()

		var due <-chan time.Time

		switch {
		case c.over():
			return
		case m == drop && v.first != nil:
			c.lose()
			q.pop()

			continue
		case m != pass:
		case c.hasLost() || v.aborted:
			c.reset()

			return
		case v.first == nil && v.ended:
			closeWrite(dst)

			return
		case v.first != nil:
			if wait := time.Until(v.first.at.Add(delay)); delay > 0 && wait > 0 {
				due = time.After(wait)

				break
			}

			if _, err := dst.Write(v.first.data); err != nil {
				c.reset()

				return
			}

			q.pop()

			continue
		}

		select {
		case <-changed:
		case <-v.changed:
		case <-due:
		case <-c.done:
			return
		case <-c.muted:
			return
		}
	}
}

func (c *conn) sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}

	select {
	case <-time.After(d):
		return true
	case <-c.done:
		return false
	case <-c.muted:
		return false
	}
}

func (c *conn) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.lost = true
}

func (c *conn) hasLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.lost
}

func (c *conn) over() bool {
	select {
	case <-c.done:
		return true
	case <-c.muted:
		return true
	default:
		return false
	}
}

func (c *conn) mute() {
	c.mu.Lock()
	defer c.mu.Unlock()

	select {
	case <-c.muted:
	default:
		close(c.muted)
	}
}

func (c *conn) isMuted() bool {
	select {
	case <-c.muted:
		return true
	default:
		return false
	}
}

// reset ends both sides abruptly.
func (c *conn) reset() { c.end(abort) }

// close ends both sides after everything was passed on. A muted connection stays as it is: its peers must not notice.
func (c *conn) close() {
	if !c.isMuted() {
		c.end(func(conn net.Conn) { conn.Close() })
	}
}

func (c *conn) end(how func(net.Conn)) {
	c.once.Do(func() {
		close(c.done)

		c.mu.Lock()
		defer c.mu.Unlock()

		how(c.client)

		if c.node != nil {
			how(c.node)
		}
	})
}

func closeWrite(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.CloseWrite() //lint:ignore errcheck the other side has gone already
	}
}
