package talos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/secret"
)

// ApplyParams is everything of a request besides the configuration.
type ApplyParams struct {
	Mode string // dispatch.ModeNoReboot; there are no rules for any other, and Talos takes an absent one for reboot
}

// Outcome is what came of one send.
type Outcome struct {
	// Response is what the other side answered. Without an answer its class is inconclusive and its code empty. Its
	// revision and time are the store's to set.
	Response dispatch.Response
	// NeverLeft says that the connection itself shows that the kernel took no byte of the request.
	NeverLeft bool
	// Err is what went wrong without an answer, for the log; it holds nothing of the configuration.
	Err error
}

// Apply sends the configuration once and waits for the answer until ctx ends. Nothing is ever sent twice. While the
// answer is out, every end of the connection, that of this process included, makes the kernel discard what is queued;
// without an answer Apply returns with the connection aborted. After an answer the connection can be used further.
//
// A rejection is definitive only by dispatch.DefinitiveRejections of the Talos version that was read on this
// connection, so Read comes first.
func (c *Conn) Apply(ctx context.Context, config secret.Bytes, p ApplyParams) Outcome {
	out := Outcome{Response: dispatch.Response{Class: dispatch.Inconclusive}}
	switch {
	case p.Mode != dispatch.ModeNoReboot:
		out.NeverLeft, out.Err = true, fmt.Errorf("mode %q: nothing but %s is ever sent", p.Mode, dispatch.ModeNoReboot)
		return out
	case config.Len() == 0:
		out.NeverLeft, out.Err = true, errors.New("the configuration is empty: it is not sent")
		return out
	}
	k := new(call)
	before := c.wire.bytesTaken()
	resp, err := c.send(ctx, k, request(config, false))
	if k.answered(ctx, err) {
		out.Response = c.classify(resp, err)
		return out
	}
	return c.lost(ctx, k, before, err)
}

// lost is the outcome of a send without an answer; before is how much the kernel had taken when it began.
func (c *Conn) lost(ctx context.Context, k *call, before int64, err error) Outcome {
	out := Outcome{Response: dispatch.Response{Class: dispatch.Inconclusive}}
	if out.Err = c.callError(ctx, k, "applying the configuration", err); out.Err == nil {
		out.Err = errors.New("applying the configuration: the answer is not one that gRPC allows")
	}
	if c.options.WithoutAbort {
		return out // the request may still be on its way
	}
	// The connection is aborted, so both facts are final.
	out.NeverLeft = !k.wasBegun() || c.wire.bytesTaken() == before
	return out
}

// request is the one place where the mode of a request is set: its zero value would reboot the node.
func request(config secret.Bytes, dryRun bool) *machine.ApplyConfigurationRequest {
	return &machine.ApplyConfigurationRequest{
		Data:   config.Reveal(),
		Mode:   machine.ApplyConfigurationRequest_NO_REBOOT,
		DryRun: dryRun,
	}
}

// send makes the call, under guard. Without an answer it aborts the connection before it returns.
func (c *Conn) send(ctx context.Context, k *call, req *machine.ApplyConfigurationRequest) (
	*machine.ApplyConfigurationResponse, error,
) {
	if c.options.WithoutAbort {
		return c.sendUnguarded(ctx, k, req)
	}
	if err := ctx.Err(); err != nil {
		c.Abort()
		return nil, err
	}
	if err := c.wire.guard(); err != nil {
		c.Abort()
		return nil, status.Errorf(codes.Unavailable, "the connection is gone: %v", err)
	}
	stop := context.AfterFunc(ctx, c.wire.abort)
	resp, err := c.client.MachineClient.ApplyConfiguration(c.toNode(k.in(ctx)), req,
		grpc.WaitForReady(false), grpc.PerRPCCredentials(new(oneStream)))
	stop()
	if k.answered(ctx, err) {
		c.wire.release()
		return resp, err
	}
	c.Abort()
	return resp, err
}

// sendUnguarded is a client that leaves its request alone when its time is over: it neither cancels nor aborts.
func (c *Conn) sendUnguarded(ctx context.Context, k *call, req *machine.ApplyConfigurationRequest) (
	*machine.ApplyConfigurationResponse, error,
) {
	type result struct {
		resp *machine.ApplyConfigurationResponse
		err  error
	}
	done := make(chan result, 1)
	go func() {
		resp, err := c.client.MachineClient.ApplyConfiguration(c.toNode(k.in(context.WithoutCancel(ctx))), req,
			grpc.WaitForReady(false), grpc.PerRPCCredentials(new(oneStream)))
		done <- result{resp, err}
	}()
	select {
	case r := <-done:
		return r.resp, r.err
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// classify says what an answer proves.
func (c *Conn) classify(resp *machine.ApplyConfigurationResponse, err error) dispatch.Response {
	code := status.Code(err)
	out := dispatch.Response{Class: dispatch.Inconclusive, Code: code.String()}
	if code != codes.OK {
		out.Text, out.Withheld = ResponseText(status.Convert(err).Message())
		if slices.Contains(dispatch.DefinitiveRejections[c.minor()], out.Code) {
			out.Class = dispatch.RejectedDef
		}
		return out
	}
	message := single(resp)
	if message == nil {
		return out
	}
	out.Text, out.Withheld = ResponseText(message.GetModeDetails())
	if message.GetMode() == machine.ApplyConfigurationRequest_NO_REBOOT {
		out.Class = dispatch.Accepted
	}
	return out
}

// single is the one message of a well-formed answer, nil of any other: an endpoint that asked several nodes reports
// their errors inside messages under an overall OK.
func single(resp *machine.ApplyConfigurationResponse) *machine.ApplyConfiguration {
	if len(resp.GetMessages()) != 1 {
		return nil
	}
	message := resp.GetMessages()[0]
	if m := message.GetMetadata(); m.GetError() != "" || m.GetStatus().GetCode() != 0 {
		return nil
	}
	return message
}

// DryRun asks the node to check the configuration without applying it, and returns its warnings. A nil error means that
// the node would apply it without a reboot. The caller makes sure that no try change is pending: a dry run cancels its
// rollback. An answer that refuses is a *CallError with Answered set.
func (c *Conn) DryRun(ctx context.Context, config secret.Bytes) ([]string, error) {
	const what = "checking the configuration on the node"
	if config.Len() == 0 {
		return nil, errors.New("the configuration is empty: it is not sent")
	}
	k := new(call)
	resp, err := c.send(ctx, k, request(config, true))
	if err != nil {
		return nil, c.callError(ctx, k, what, err)
	}
	message := single(resp)
	if message == nil || !k.answered(ctx, nil) {
		return nil, errors.New(what + ": the answer is not one of a single node")
	}
	if message.GetMode() != machine.ApplyConfigurationRequest_NO_REBOOT {
		return nil, fmt.Errorf("%s: it would use mode %s", what, message.GetMode())
	}
	var warnings []string
	for _, w := range message.GetWarnings() {
		text, withheld := ResponseText(w)
		if text == "" && withheld {
			text = "a warning whose text is withheld"
		}
		warnings = append(warnings, text)
	}
	return warnings, nil
}

// minor is the minor version of the Talos that was read on this connection, "" before that.
func (c *Conn) minor() string {
	v, _ := c.version.Load().(string)
	return Minor(v)
}
