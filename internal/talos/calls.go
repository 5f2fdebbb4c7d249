package talos

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// call is what the transport itself reported of one RPC.
type call struct {
	mu       sync.Mutex
	begun    bool // the stream was handed to the transport: its frames may have been written
	trailers int  // gRPC trailers that arrived
	encoded  bool // the response declared a compression, which this client never asks for
	message  bool // a response message arrived
}

type callKey struct{}

// in makes the transport report to k. The context carries nothing else that the call depends on.
func (k *call) in(ctx context.Context) context.Context { return context.WithValue(ctx, callKey{}, k) }

// answeredBy says whether the status code really is what the other side wrote into the grpc-status of this call's
// trailers. The library also makes codes itself: of an HTTP status, of a reset stream, of a missing decompressor. Only
// a HEADERS frame that ends the stream in gRPC form is reported as a trailer; without a grpc-status in it the code is
// Unknown, which proves nothing. What the library could still make after the trailers is excluded here: for an error
// status no message may have come, and for any no compression may have been declared.
func (k *call) answeredBy(code codes.Code) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trailers != 1 || k.encoded {
		return false
	}
	return (code == codes.OK) == k.message
}

// answered says whether err, nil included, is what the other side answered to the call made with ctx. A code that the
// end of ctx explains is not taken for an answer, even when the answer's trailers came at the same moment.
func (k *call) answered(ctx context.Context, err error) bool {
	code := status.Code(err)
	if ctx.Err() != nil && (code == codes.DeadlineExceeded || code == codes.Canceled) {
		return false
	}
	return k.answeredBy(code)
}

func (k *call) wasBegun() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.begun
}

// callEvents hands the transport's events to the call they belong to.
type callEvents struct{}

var _ stats.Handler = callEvents{}

// HandleRPC notes the events that prove something.
func (callEvents) HandleRPC(ctx context.Context, event stats.RPCStats) {
	k, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch e := event.(type) {
	case *stats.OutHeader: // reported by the calling goroutine as it queues the stream, before the call returns
		k.begun = true
	case *stats.InHeader:
		k.encoded = k.encoded || (e.Compression != "" && e.Compression != "identity")
	case *stats.InPayload:
		k.message = true
	case *stats.InTrailer:
		k.trailers++
	}
}

// TagRPC keeps the context as it is.
func (callEvents) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn keeps the context as it is.
func (callEvents) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn ignores connections: wire knows more of the one there is.
func (callEvents) HandleConn(context.Context, stats.ConnStats) {}

// oneStream refuses the second stream of a call. The library starts one by itself when a peer refused the first as
// unprocessed; a request that may change a node is sent by a recorded attempt or not at all.
type oneStream struct {
	mu   sync.Mutex
	used bool
}

// GetRequestMetadata is asked once for every stream, before anything of it is queued.
func (o *oneStream) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.used {
		return nil, errors.New("the request is not sent a second time")
	}
	o.used = true
	return nil, nil
}

// RequireTransportSecurity is true: there is no other transport here.
func (*oneStream) RequireTransportSecurity() bool { return true }

// CallError is a call that failed. Its text holds nothing that the other side wrote but what ResponseText lets through.
type CallError struct {
	What     string     // what was done, e.g. "reading the boot id"
	Answered bool       // the other side answered with Code; otherwise Code is the library's own
	Code     codes.Code // of the failure
	Text     string     // of an answer, through ResponseText
	Withheld bool       // the answer said more than Text
	Err      error      // without an answer: what ended the call, where that is known
}

// Error says what failed, and how.
func (e *CallError) Error() string {
	switch {
	case e.Answered && e.Text != "" && e.Withheld:
		return fmt.Sprintf("%s: answered %s: %s (the rest of the answer is withheld)", e.What, e.Code, e.Text)
	case e.Answered && e.Text != "":
		return fmt.Sprintf("%s: answered %s: %s", e.What, e.Code, e.Text)
	case e.Answered:
		return fmt.Sprintf("%s: answered %s (its text is withheld)", e.What, e.Code)
	case e.Err != nil:
		return fmt.Sprintf("%s: no answer (%s): %v", e.What, e.Code, e.Err)
	}
	return fmt.Sprintf("%s: no answer that is gRPC (%s)", e.What, e.Code)
}

// Unwrap is what ended a call without an answer.
func (e *CallError) Unwrap() error { return e.Err }

// callError describes a call that failed with err: nil for nil.
func (c *Conn) callError(ctx context.Context, k *call, what string, err error) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok { // this package's own
		return fmt.Errorf("%s: %w", what, err)
	}
	e := &CallError{What: what, Code: st.Code(), Answered: k.answered(ctx, err)}
	if e.Answered {
		e.Text, e.Withheld = ResponseText(st.Message())
		return e
	}
	if e.Err = ctx.Err(); e.Err == nil {
		e.Err = c.wire.ended()
	}
	return e
}

// do makes a read-only call to the node, or to the next hop itself when ctx has no routing metadata.
func (c *Conn) do(ctx context.Context, what string, f func(context.Context) error) error {
	k := new(call)
	return c.callError(ctx, k, what, f(k.in(ctx)))
}

// answered says whether err is an answer of the other side with one of the codes.
func answered(err error, of ...codes.Code) bool {
	var e *CallError
	if !errors.As(err, &e) || !e.Answered {
		return false
	}
	for _, code := range of {
		if e.Code == code {
			return true
		}
	}
	return false
}
