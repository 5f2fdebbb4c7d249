package node

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// The ring of past events: how many are kept, and how many a client can ask for. The rest is slack, so that a reader
// which starts at the oldest one is not overrun at once.
const (
	eventRing = 1000
	eventTail = 990
)

// eventTypePrefix precedes the message's name in the type URL of an event.
const eventTypePrefix = "talos/runtime/"

type event struct {
	id, actor string
	at        time.Time
	payload   proto.Message
}

// eventBus keeps the ring of one boot and wakes its readers.
type eventBus struct {
	mu     sync.Mutex
	events []event // the last of the ring
	first  int64   // the position of events[0] since boot
	wake   chan struct{}
	closed bool
}

func newEventBus() *eventBus { return &eventBus{wake: make(chan struct{})} }

func (b *eventBus) publish(actor string, payload proto.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.closed {
		return // nobody can read it any more
	}

	now := time.Now()
	b.events = append(b.events, event{id: newEventID(now), actor: actor, at: now, payload: payload})

	if n := len(b.events) - eventRing; n > 0 {
		b.events = b.events[n:]
		b.first += int64(n)
	}

	close(b.wake)
	b.wake = make(chan struct{})
}

// close ends every stream, as a server that stops does.
func (b *eventBus) close() {
	b.mu.Lock()
	defer b.mu.Unlock()

	if !b.closed {
		b.closed = true
		close(b.wake)
	}
}

// start returns the position from which a request wants to read.
func (b *eventBus) start(req *machine.EventsRequest) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	end := b.first + int64(len(b.events))
	oldest := max(b.first, end-eventTail)

	switch {
	case req.GetTailEvents() != 0:
		n := int64(req.GetTailEvents())
		if n < 0 {
			return oldest, nil
		}

		return max(oldest, end-n), nil
	case req.GetTailId() != "":
		if len(req.GetTailId()) != 20 || strings.Trim(req.GetTailId(), "0123456789abcdefghijklmnopqrstuv") != "" {
			return 0, fmt.Errorf("error parsing tail_id: invalid ID")
		}

		return b.firstWhere(oldest, func(e event) bool { return e.id > req.GetTailId() }), nil
	case req.GetTailSeconds() != 0:
		since := time.Now().Add(-time.Duration(req.GetTailSeconds()) * time.Second)

		return b.firstWhere(oldest, func(e event) bool { return !e.at.Before(since) }), nil
	}

	return end, nil
}

func (b *eventBus) firstWhere(from int64, match func(event) bool) int64 {
	for pos := from; pos < b.first+int64(len(b.events)); pos++ {
		if match(b.events[pos-b.first]) {
			return pos
		}
	}

	return b.first + int64(len(b.events))
}

// next waits for the event at pos. ok is false when the reader was overrun or the bus is closed.
func (b *eventBus) next(ctx context.Context, pos int64) (e event, ok bool, err error) {
	for {
		b.mu.Lock()
		wake, closed := b.wake, b.closed

		if pos < b.first {
			b.mu.Unlock()

			return event{}, false, nil
		}

		if i := pos - b.first; i < int64(len(b.events)) {
			e = b.events[i]
			b.mu.Unlock()

			return e, true, nil
		}
		b.mu.Unlock()

		if closed {
			return event{}, false, nil
		}

		select {
		case <-wake:
		case <-ctx.Done():
			return event{}, false, ctx.Err()
		}
	}
}

// Events streams an empty greeting, then past events as asked for, then new ones.
func (m *machined) Events(req *machine.EventsRequest, stream grpc.ServerStreamingServer[machine.Event]) error {
	bus := m.boot.events

	pos, err := bus.start(req)
	if err != nil {
		return err
	}

	if err := stream.Send(&machine.Event{}); err != nil {
		return err
	}

	for ; ; pos++ {
		e, ok, err := bus.next(stream.Context(), pos)
		if err != nil || !ok {
			return err
		}

		if req.GetWithActorId() != "" && req.GetWithActorId() != e.actor {
			continue
		}

		value, err := proto.Marshal(e.payload)
		if err != nil {
			return err
		}

		if err := stream.Send(&machine.Event{
			Id:      e.id,
			ActorId: e.actor,
			Data: &anypb.Any{
				TypeUrl: eventTypePrefix + string(e.payload.ProtoReflect().Descriptor().FullName()),
				Value:   value,
			},
		}); err != nil {
			return err
		}
	}
}
