package talos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// errSealed is what a write gets after an abort: it never reaches the kernel.
var errSealed = errors.New("the connection was aborted")

// wire is the one TCP connection under a Conn. It lies below TLS, so it sees exactly what the kernel was given: how
// many bytes it took, and that after an abort it can take no more.
type wire struct {
	net.Conn // reads, addresses and deadlines are TCP's own
	tcp      *net.TCPConn

	mu      sync.Mutex
	quiet   *sync.Cond // writing is 0
	writing int        // writes under way in the kernel
	sealed  bool
	handed  bool
	taken   int64 // bytes that the kernel took
	cause   error // what ended the connection, as first seen
}

// dialWire makes the TCP connection. userTimeout is Linux' TCP_USER_TIMEOUT, 0 for none.
func dialWire(ctx context.Context, hostPort string, userTimeout time.Duration) (*wire, error) {
	d := net.Dialer{Control: controlUserTimeout(userTimeout)}
	conn, err := d.DialContext(ctx, "tcp", hostPort)
	if err != nil {
		return nil, err
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("the connection is not TCP but %T", conn)
	}
	w := &wire{Conn: tcp, tcp: tcp}
	w.quiet = sync.NewCond(&w.mu)
	return w, nil
}

// handOut gives the connection to its first caller. Every later call is an attempt to dial again, and refused: bytes
// that a new connection carried would be outside everything that is known of this one.
func (w *wire) handOut() (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.handed {
		return nil, w.goneLocked()
	}
	w.handed = true
	return w, nil
}

func (w *wire) goneLocked() error {
	if w.cause != nil {
		return fmt.Errorf("the connection ended (%w) and is not made again", w.cause)
	}
	return errors.New("the connection ended and is not made again")
}

// ended is what ended the connection, nil while nothing is known to have.
func (w *wire) ended() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cause
}

// Read notes what ended the connection.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.tcp.Read(p)
	if err != nil {
		w.mu.Lock()
		w.noteLocked(err)
		w.mu.Unlock()
	}
	return n, err
}

// Write counts what the kernel took.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	if w.sealed {
		w.mu.Unlock()
		return 0, errSealed
	}
	w.writing++
	w.mu.Unlock()

	n, err := w.tcp.Write(p)

	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing--
	w.taken += int64(n)
	if err != nil {
		w.noteLocked(err)
	}
	if w.writing == 0 {
		w.quiet.Broadcast()
	}
	return n, err
}

// Close ends the connection in order, or under guard as an abort.
func (w *wire) Close() error {
	w.mu.Lock()
	w.noteLocked(net.ErrClosed)
	w.mu.Unlock()
	return w.tcp.Close()
}

func (w *wire) noteLocked(err error) {
	switch {
	case w.cause != nil:
	case w.sealed:
		w.cause = errSealed
	case errors.Is(err, io.EOF):
		w.cause = errors.New("closed by the other side")
	case errors.Is(err, net.ErrClosed): // TLS or HTTP/2 said goodbye
		w.cause = errors.New("closed")
	default:
		w.cause = err
	}
}

// bytesTaken is how many bytes the kernel took so far.
func (w *wire) bytesTaken() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken
}

// guard makes every end of the connection from now on an abort, even the end of the process by SIGKILL: with a linger
// time of zero the kernel discards what is queued and sends a reset, instead of retransmitting for minutes.
func (w *wire) guard() error { return w.tcp.SetLinger(0) }

// release undoes guard, once nothing queued matters any more.
func (w *wire) release() { _ = w.tcp.SetLinger(-1) }

// abort ends the connection so that nothing queued can still be sent. When it returns, no byte can reach the kernel
// any more and bytesTaken is final.
func (w *wire) abort() {
	w.mu.Lock()
	w.sealed = true
	if w.cause == nil {
		w.cause = errSealed
	}
	w.mu.Unlock()

	// An error here means that the socket is closed already: under guard that close was an abort too.
	_ = w.tcp.SetLinger(0)
	_ = w.tcp.Close()

	w.mu.Lock()
	defer w.mu.Unlock()
	for w.writing > 0 {
		w.quiet.Wait()
	}
}
