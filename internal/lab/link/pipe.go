package link

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// queueLimit bounds what one direction of a held connection keeps; beyond it the sender waits, as on a full window.
const queueLimit = 64 << 20

// chunk is some bytes and when they came.
type chunk struct {
	data []byte
	at   time.Time
}

// queue is what has been read from one side and not yet been written to the other.
type queue struct {
	mu      sync.Mutex
	chunks  []chunk
	size    int
	ended   bool // the sender has closed its half
	aborted bool // the sender has reset the connection: what it left behind is gone
	changed chan struct{}
}

func newQueue() *queue { return &queue{changed: make(chan struct{})} }

func (q *queue) update(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()

	f()
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *queue) put(data []byte) {
	q.update(func() {
		q.chunks = append(q.chunks, chunk{data, time.Now()})
		q.size += len(data)
	})
}

func (q *queue) pop() {
	q.update(func() {
		q.size -= len(q.chunks[0].data)
		q.chunks = q.chunks[1:]
	})
}

// view is a consistent look at a queue.
type view struct {
	first          *chunk
	full           bool
	ended, aborted bool
	changed        <-chan struct{}
}

func (q *queue) look() view {
	q.mu.Lock()
	defer q.mu.Unlock()

	v := view{full: q.size >= queueLimit, ended: q.ended, aborted: q.aborted, changed: q.changed}
	if len(q.chunks) > 0 {
		v.first = &q.chunks[0]
	}

	return v
}

// fill reads src until it ends. It goes on while the link holds, so that a sender's abort is noticed at once.
func (q *queue) fill(src net.Conn, stop <-chan struct{}) {
	buf := make([]byte, 64<<10)

	for {
		for v := q.look(); v.full; v = q.look() {
			select {
			case <-v.changed:
			case <-stop:
				return
			}
		}

		n, err := src.Read(buf)
		if n > 0 {
			q.put(append([]byte(nil), buf[:n]...))
		}

		if err != nil {
			q.update(func() { q.ended, q.aborted = true, !errors.Is(err, io.EOF) })

			return
		}
	}
}

// abort resets a connection, so that its peer knows that bytes may be missing.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) //lint:ignore errcheck the connection is closed next, whatever this did
	}

	conn.Close()
}
