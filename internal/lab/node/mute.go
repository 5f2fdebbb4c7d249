package node

import (
	"io"
	"net"
	"sync"
)

// muteListener can fall silent: its connections, and those that it still accepts, then neither answer nor end, which
// is what a client sees of an address that a node has lost.
type muteListener struct {
	net.Listener

	muted chan struct{} // closed when the address is lost
	freed chan struct{} // closed when the boot ends and the sockets go
}

func newMuteListener(l net.Listener) *muteListener {
	return &muteListener{Listener: l, muted: make(chan struct{}), freed: make(chan struct{})}
}

func (l *muteListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}

	return &muteConn{Conn: conn, listener: l, closed: make(chan struct{})}, nil
}

type muteConn struct {
	net.Conn

	listener *muteListener
	once     sync.Once
	closed   chan struct{}
}

func (c *muteConn) silent() bool {
	select {
	case <-c.listener.muted:
		return true
	default:
		return false
	}
}

// Read gives nothing once the connection is muted, not even an end, until this side closes it.
func (c *muteConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.silent() {
		select {
		case <-c.closed:
		case <-c.listener.freed:
		}

		return 0, io.ErrClosedPipe
	}

	return n, err
}

// Write pretends, once the connection is muted.
func (c *muteConn) Write(p []byte) (int, error) {
	if c.silent() {
		return len(p), nil
	}

	return c.Conn.Write(p)
}

// Close of a muted connection keeps the socket, because closing it would tell the peer; the next boot frees it.
func (c *muteConn) Close() error {
	c.once.Do(func() { close(c.closed) })

	if c.silent() {
		return nil
	}

	return c.Conn.Close()
}
