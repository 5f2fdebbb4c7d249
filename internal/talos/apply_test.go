package talos

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/secret"
)

const (
	talosVersion = "v1.13.6"
	marker       = "marker-of-a-secret"
	grpcUnknown  = 2
	grpcInvalid  = 3
	grpcDenied   = 7
	grpcPrecond  = 9
	grpcUnimpl   = 12
)

var (
	anyConfig = secret.Of([]byte("token: " + marker + "\n"))
	params    = ApplyParams{Mode: dispatch.ModeNoReboot}
)

// accepted is the answer of a node that applied the configuration.
func acceptedAnswer() *machine.ApplyConfigurationResponse {
	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{{
		Mode: machine.ApplyConfigurationRequest_NO_REBOOT, ModeDetails: "Applied configuration without a reboot",
	}}}
}

func altered(change func(*machine.ApplyConfigurationResponse)) proto.Message {
	r := acceptedAnswer()
	change(r)
	return r
}

// within is a context that ends only when something hangs.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestAnswersAreClassifiedByWhatCameOverTheWire(t *testing.T) {
	type want struct {
		class    dispatch.ResponseClass
		code     string
		text     string
		withheld bool
	}
	lost := want{class: dispatch.Inconclusive}
	cases := []struct {
		name    string
		version string // talosVersion when empty, none read when "-"
		answer  func(s *rawStream)
		want    want
	}{
		{
			name: "accepted", answer: func(s *rawStream) { s.reply(acceptedAnswer(), 0) },
			want: want{class: dispatch.Accepted, code: "OK", text: "Applied configuration without a reboot"},
		},
		{
			name: "accepted by a minor without a list", version: "v1.99.0", answer: func(s *rawStream) { s.reply(acceptedAnswer(), 0) },
			want: want{class: dispatch.Accepted, code: "OK", text: "Applied configuration without a reboot"},
		},
		{
			name: "rejected in trailers only", answer: func(s *rawStream) { s.trailersOnly(grpcInvalid, marker) },
			want: want{class: dispatch.RejectedDef, code: "InvalidArgument", withheld: true},
		},
		{name: "rejected in trailers after headers", answer: func(s *rawStream) {
			s.headersGRPC()
			s.write(true, "grpc-status", "9", "grpc-message", "another apply configuration is already in progress")
		}, want: want{class: dispatch.RejectedDef, code: "FailedPrecondition", text: "another apply configuration is already in progress"}},
		{
			name: "denied", answer: func(s *rawStream) { s.trailersOnly(grpcDenied, "not authorized") },
			want: want{class: dispatch.RejectedDef, code: "PermissionDenied", text: "not authorized"},
		},
		{
			name: "unimplemented", answer: func(s *rawStream) { s.trailersOnly(grpcUnimpl, "") },
			want: want{class: dispatch.RejectedDef, code: "Unimplemented"},
		},
		{
			name: "a code outside the list", answer: func(s *rawStream) { s.trailersOnly(grpcUnknown, marker) },
			want: want{class: dispatch.Inconclusive, code: "Unknown", withheld: true},
		},
		{
			name: "rejected by a minor without a list", version: "v1.12.3", answer: func(s *rawStream) { s.trailersOnly(grpcInvalid, "") },
			want: want{class: dispatch.Inconclusive, code: "InvalidArgument"},
		},
		{
			name: "rejected before any version was read", version: "-", answer: func(s *rawStream) { s.trailersOnly(grpcInvalid, "") },
			want: want{class: dispatch.Inconclusive, code: "InvalidArgument"},
		},
		{name: "OK in another mode", answer: func(s *rawStream) {
			s.reply(altered(func(r *machine.ApplyConfigurationResponse) {
				r.Messages[0].Mode = machine.ApplyConfigurationRequest_REBOOT
			}), 0)
		}, want: want{class: dispatch.Inconclusive, code: "OK", text: "Applied configuration without a reboot"}},
		{name: "OK without a message of a node", answer: func(s *rawStream) {
			s.reply(&machine.ApplyConfigurationResponse{}, 0)
		}, want: want{class: dispatch.Inconclusive, code: "OK"}},
		{name: "OK of two nodes", answer: func(s *rawStream) {
			s.reply(altered(func(r *machine.ApplyConfigurationResponse) { r.Messages = append(r.Messages, r.Messages[0]) }), 0)
		}, want: want{class: dispatch.Inconclusive, code: "OK"}},
		{name: "OK around an error", answer: func(s *rawStream) {
			s.reply(altered(func(r *machine.ApplyConfigurationResponse) {
				r.Messages[0].Metadata = &common.Metadata{Hostname: "n", Error: marker}
			}), 0)
		}, want: want{class: dispatch.Inconclusive, code: "OK"}},
		{name: "HTTP 403", answer: func(s *rawStream) {
			s.write(false, ":status", "403", "content-type", "text/plain")
			_ = s.framer.WriteData(s.id, true, []byte("forbidden "+marker))
		}, want: lost},
		{name: "HTTP 404 without a body", answer: func(s *rawStream) { s.write(true, ":status", "404") }, want: lost},
		{name: "HTTP 403 that calls itself gRPC, without a status", answer: func(s *rawStream) {
			s.write(true, ":status", "403", "content-type", "application/grpc")
		}, want: want{class: dispatch.Inconclusive, code: "Unknown"}},
		{name: "a status that is no number", answer: func(s *rawStream) {
			s.write(true, ":status", "200", "content-type", "application/grpc", "grpc-status", "three")
		}, want: lost},
		{name: "a message and an end without trailers", answer: func(s *rawStream) {
			s.headersGRPC()
			s.data(acceptedAnswer(), false, true)
		}, want: lost},
		{name: "a message whose compression nobody asked for", answer: func(s *rawStream) {
			s.headersGRPC("grpc-encoding", "zstd")
			s.data(acceptedAnswer(), true, false)
			s.write(true, "grpc-status", "0")
		}, want: lost},
		{name: "a rejection after a message", answer: func(s *rawStream) {
			s.headersGRPC()
			s.data(acceptedAnswer(), false, false)
			s.write(true, "grpc-status", "3")
		}, want: lost},
		{name: "the stream reset for inadequate security", answer: func(s *rawStream) {
			_ = s.framer.WriteRSTStream(s.id, http2.ErrCodeInadequateSecurity)
		}, want: lost},
		{name: "the stream refused", answer: func(s *rawStream) {
			_ = s.framer.WriteRSTStream(s.id, http2.ErrCodeRefusedStream)
		}, want: lost},
		{name: "going away before the stream", answer: func(s *rawStream) {
			_ = s.framer.WriteGoAway(0, http2.ErrCodeNo, nil)
		}, want: lost},
		{name: "the connection closed", answer: func(s *rawStream) { _ = s.conn.Close() }, want: lost},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := newRawNode(t, c.answer)
			version := c.version
			switch version {
			case "":
				version = talosVersion
			case "-":
				version = ""
			}
			conn := n.dial(version)
			out := conn.Apply(within(t), anyConfig, params)
			r := out.Response
			if r.Class != c.want.class || r.Code != c.want.code || r.Text != c.want.text || r.Withheld != c.want.withheld {
				t.Errorf("got %+v, want %+v", r, c.want)
			}
			if out.NeverLeft {
				t.Error("the node got the request, so it left")
			}
			if (out.Err == nil) != (c.want.code != "") {
				t.Errorf("error %v with code %q", out.Err, c.want.code)
			}
			if out.Err != nil && strings.Contains(out.Err.Error(), marker) {
				t.Errorf("the error shows what the peer wrote: %v", out.Err)
			}
			if conns, streams := n.seen(); conns != 1 || streams != 1 {
				t.Errorf("%d connections and %d requests, want one of each", conns, streams)
			}
		})
	}
}

func TestTheRequestOnTheWire(t *testing.T) {
	for _, target := range []Target{
		{Address: "10.5.0.3", Route: dispatch.Via("127.0.0.1")},
		{Address: "127.0.0.1", Route: dispatch.Direct},
	} {
		t.Run(string(target.Route), func(t *testing.T) {
			n := newRawNode(t, func(s *rawStream) { s.reply(acceptedAnswer(), 0) })
			c := n.dialTo(target, talosVersion, Options{})
			if out := c.Apply(within(t), anyConfig, params); out.Response.Class != dispatch.Accepted {
				t.Fatalf("%+v", out)
			}
			if _, err := c.DryRun(within(t), anyConfig); err != nil {
				t.Fatal(err)
			}
			if len(n.streams) != 2 {
				t.Fatalf("%d requests", len(n.streams))
			}
			for i, s := range n.streams {
				var req machine.ApplyConfigurationRequest
				s.message(t, &req)
				if req.GetMode() != machine.ApplyConfigurationRequest_NO_REBOOT || req.GetTryModeTimeout() != nil {
					t.Errorf("mode %s: the zero mode reboots", req.GetMode())
				}
				if string(req.GetData()) != string(anyConfig.Reveal()) {
					t.Error("other bytes were sent than given")
				}
				if req.GetDryRun() != (i == 1) {
					t.Errorf("request %d: dry run %v", i, req.GetDryRun())
				}
				if len(s.headers["nodes"]) != 0 {
					t.Errorf("nodes %v: the answer of one of many nodes proves nothing", s.headers["nodes"])
				}
				want := ""
				if target.Route != dispatch.Direct {
					want = target.Address
				}
				if got := strings.Join(s.headers["node"], ","); got != want {
					t.Errorf("node %q, want %q", got, want)
				}
			}
		})
	}
}

func TestNothingButNoRebootIsSent(t *testing.T) {
	n := newRawNode(t, func(s *rawStream) { s.reply(acceptedAnswer(), 0) })
	c := n.dial(talosVersion)
	for _, mode := range []string{"", "reboot", "auto", "staged", "try", "NO_REBOOT"} {
		out := c.Apply(within(t), anyConfig, ApplyParams{Mode: mode})
		if !out.NeverLeft || out.Err == nil || out.Response.Class != dispatch.Inconclusive || out.Response.Code != "" {
			t.Errorf("mode %q: %+v", mode, out)
		}
	}
	if out := c.Apply(within(t), secret.Bytes{}, params); !out.NeverLeft || out.Err == nil {
		t.Errorf("an empty configuration: %+v", out)
	}
	if _, err := c.DryRun(within(t), secret.Bytes{}); err == nil {
		t.Error("an empty configuration was checked")
	}
	if _, streams := n.seen(); streams != 0 {
		t.Fatalf("%d requests were sent", streams)
	}
	if out := c.Apply(within(t), anyConfig, params); out.Response.Class != dispatch.Accepted {
		t.Errorf("a refusal spoilt the connection: %+v", out)
	}
}

func TestNeverLeft(t *testing.T) {
	silent := func(*rawStream) {}
	t.Run("the context had ended", func(t *testing.T) {
		n := newRawNode(t, silent)
		c := n.dial(talosVersion)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		out := c.Apply(ctx, anyConfig, params)
		if !out.NeverLeft || !errors.Is(out.Err, context.Canceled) {
			t.Fatalf("%+v", out)
		}
		if _, streams := n.seen(); streams != 0 {
			t.Fatal("it left")
		}
	})
	t.Run("the other side had closed", func(t *testing.T) {
		n := newRawNode(t, silent)
		c := n.dial(talosVersion)
		_ = n.conns[0].Close()
		eventually(t, func() bool { return c.wire.ended() != nil })
		out := c.Apply(within(t), anyConfig, params)
		if out.Response.Class != dispatch.Inconclusive || out.Err == nil {
			t.Fatalf("%+v", out)
		}
		// The library may still have been saying goodbye: then nothing is claimed. What is claimed must be true.
		if _, streams := n.seen(); streams != 0 {
			t.Fatal("it left")
		}
		again := c.Apply(within(t), anyConfig, params)
		if !again.NeverLeft || again.Err == nil {
			t.Fatalf("%+v", again)
		}
		if conns, _ := n.seen(); conns != 1 {
			t.Fatalf("it dialed %d times", conns)
		}
	})
	t.Run("the kernel took nothing", func(t *testing.T) {
		n := newRawNode(t, silent)
		c := n.dial(talosVersion)
		c.wire.mu.Lock()
		c.wire.sealed = true // every write fails with no byte taken, while the library still holds the connection good
		c.wire.mu.Unlock()
		before := c.wire.bytesTaken()
		k := new(call)
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		go func() {
			for !k.wasBegun() && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		_, err := c.send(ctx, k, request(anyConfig, false))
		if out := c.lost(ctx, k, before, err); !out.NeverLeft || !k.wasBegun() {
			t.Fatalf("begun %v: %+v", k.wasBegun(), out)
		}
		if _, streams := n.seen(); streams != 0 {
			t.Fatal("it left")
		}
	})
	t.Run("lost after it left", func(t *testing.T) {
		n := newRawNode(t, silent)
		c := n.dial(talosVersion)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for _, streams := n.seen(); streams == 0 && ctx.Err() == nil; _, streams = n.seen() {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		out := c.Apply(ctx, anyConfig, params)
		if out.NeverLeft || out.Response.Class != dispatch.Inconclusive || out.Response.Code != "" || !errors.Is(out.Err, context.Canceled) {
			t.Fatalf("%+v", out)
		}
	})
}

func TestDryRunErrors(t *testing.T) {
	n := newRawNode(t, func(s *rawStream) {
		s.trailersOnly(grpcInvalid, "this config change can't be applied in immediate mode%0Adiff:%0A-"+marker)
	})
	_, err := n.dial(talosVersion).DryRun(within(t), anyConfig)
	var e *CallError
	if !errors.As(err, &e) || !e.Answered || !e.Withheld || strings.Contains(err.Error(), marker) {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), "can't be applied in immediate mode") {
		t.Errorf("the known part is not shown: %v", err)
	}
	n = newRawNode(t, func(s *rawStream) {
		s.reply(altered(func(r *machine.ApplyConfigurationResponse) {
			r.Messages[0].Mode = machine.ApplyConfigurationRequest_REBOOT
			r.Messages[0].Warnings = []string{marker}
		}), 0)
	})
	if _, err := n.dial(talosVersion).DryRun(within(t), anyConfig); err == nil || !strings.Contains(err.Error(), "REBOOT") {
		t.Errorf("a node that would reboot: %v", err)
	}
	n = newRawNode(t, func(s *rawStream) {
		s.reply(altered(func(r *machine.ApplyConfigurationResponse) { r.Messages[0].Warnings = []string{marker} }), 0)
	})
	warnings, err := n.dial(talosVersion).DryRun(within(t), anyConfig)
	if err != nil || len(warnings) != 1 || strings.Contains(warnings[0], marker) {
		t.Errorf("warnings %q, error %v", warnings, err)
	}
}

// eventually waits for a condition that must come to hold.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	ctx := within(t)
	for !holds() {
		if ctx.Err() != nil {
			t.Fatal("it did not come to hold")
		}
		time.Sleep(time.Millisecond)
	}
}
