package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
)

// queue lets one writer at a time onto an SQLite file, in the order in which they came, so that none starves: SQLite's
// own wait is a poll, which a busy neighbour wins again and again.
//
// Within the process a channel keeps the order. Between processes two file locks do: the turnstile, and the lock itself.
// Whoever is next waits for the lock while it holds the turnstile, so a process that has just let the lock go cannot
// take it again before the one that waits.
type queue struct {
	turn      chan struct{} // holds one token while nobody in this process has or awaits the file locks
	turnstile *os.File
	lock      *os.File
	waiting   atomic.Int64
}

func openQueue(path string) (*queue, error) {
	q := &queue{turn: make(chan struct{}, 1)}
	var err error
	if q.lock, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if q.turnstile, err = os.OpenFile(path+"-next", os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, errors.Join(err, q.lock.Close())
	}
	q.turn <- struct{}{}
	return q, nil
}

// acquire waits for this writer's turn and returns the function that ends it. It gives up when ctx ends.
func (q *queue) acquire(ctx context.Context) (release func(), err error) {
	q.waiting.Add(1)
	defer q.waiting.Add(-1)
	select {
	case <-q.turn:
	default:
		select {
		case <-q.turn:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the store's other writers: %w", ctx.Err())
		}
	}
	if q.tryBoth() {
		return q.release, nil
	}
	got := make(chan error, 1)
	go func() { got <- q.takeBoth() }()
	select {
	case err := <-got:
		if err != nil {
			q.turn <- struct{}{}
			return nil, fmt.Errorf("lock %s: %w", q.lock.Name(), err)
		}
		return q.release, nil
	case <-ctx.Done():
		// A lock call that waits cannot be called off. It keeps this process's turn, and gives both back at once when
		// it comes through: at most one of these waits in a process, and nobody here could have written before it.
		go func() {
			if <-got == nil {
				q.release()
				return
			}
			q.turn <- struct{}{}
		}()
		return nil, fmt.Errorf("wait for another process that writes to the store: %w", ctx.Err())
	}
}

// WaitingWriters is how many writers of this process await their turn on an SQLite store: what shows, beside the
// lock's holder, that a revoker waits. PostgreSQL has its own view of locks, and the number is 0 there.
func (s *Store) WaitingWriters() int64 {
	if e, ok := s.engine.(*sqliteEngine); ok {
		return e.queue.waiting.Load()
	}
	return 0
}

// tryBoth takes the lock if nobody has it and nobody waits.
func (q *queue) tryBoth() bool {
	if flock(q.turnstile, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return false
	}
	err := flock(q.lock, syscall.LOCK_EX|syscall.LOCK_NB)
	_ = flock(q.turnstile, syscall.LOCK_UN)
	return err == nil
}

func (q *queue) takeBoth() error {
	if err := flock(q.turnstile, syscall.LOCK_EX); err != nil {
		return err
	}
	err := flock(q.lock, syscall.LOCK_EX)
	_ = flock(q.turnstile, syscall.LOCK_UN)
	return err
}

func (q *queue) release() {
	_ = flock(q.lock, syscall.LOCK_UN)
	q.turn <- struct{}{}
}

func (q *queue) close() error { return errors.Join(q.turnstile.Close(), q.lock.Close()) }

// flock repeats a call that a signal interrupted.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
