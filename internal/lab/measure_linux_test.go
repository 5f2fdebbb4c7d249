package lab_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/clewops/clew/internal/lab"
)

// The split of every measurement, and when callers give up within it.
const (
	measuredSplit  = 16 * time.Second
	measuredGiveUp = 15 * time.Second
)

// TestMeasureLateLanding measures how often, and how late, a request lands that was sent into a network split. Its
// numbers are in docs/lab.md. They depend on luck, so it asserts only what does not: a caller that never gives up
// always gets through, and one with TCP_USER_TIMEOUT never does.
func TestMeasureLateLanding(t *testing.T) {
	if os.Getenv("CLEW_LAB_MEASURE") == "" {
		t.Skip("a measurement of some minutes; set CLEW_LAB_MEASURE=1 to run it")
	}

	needRoot(t)

	for _, m := range []measurement{
		{name: "through the endpoint, never giving up", send: throughEndpoint(0), all: true},
		{name: "through the endpoint, deadline 15 s", send: throughEndpoint(measuredGiveUp)},
		{name: "through the endpoint, deadline 15 s, 1 Mbit/s", rate: "1mbit", send: throughEndpoint(measuredGiveUp)},
		{name: "direct, deadline 15 s", send: direct(measuredGiveUp, nil)},
		{name: "direct, client killed after 15 s", send: killed},
		{name: "direct, TCP_USER_TIMEOUT 5 s", send: direct(0, userTimeout(5*time.Second)), none: true},
	} {
		t.Run(m.name, m.run)
	}
}

type measurement struct {
	name, rate string
	// send warms up and returns what sends one request and blocks until the caller has given up.
	send      func(t *testing.T, r *rig, n *lab.Node) func() error
	all, none bool
}

func (m measurement) run(t *testing.T) {
	const workers = 8

	r := newRig(t, lab.Config{Links: lab.LinksNetns, Workers: workers, Rate: m.rate})
	nodes := r.Nodes()[1:]
	sends := make([]func() error, workers)
	links := make([]*lab.Link, workers)

	for i, n := range nodes {
		sends[i], links[i] = m.send(t, r, n), r.link(t, lab.Client, n)
	}

	for _, k := range links {
		must(t, k.Cut(t.Context()))
	}

	start := time.Now()

	var calls sync.WaitGroup
	for i, send := range sends {
		calls.Go(func() {
			err := send()
			t.Logf("%s: %v after %v", nodes[i].Name(), err, time.Since(start).Round(10*time.Millisecond))
		})
	}

	time.Sleep(time.Until(start.Add(measuredSplit)))

	for _, k := range links {
		must(t, k.Heal(t.Context()))
	}

	healed := time.Now()

	// The next attempt comes at most about as long after the heal as the split lasted.
	time.Sleep(measuredSplit + 4*time.Second)
	calls.Wait()

	var late []string

	for _, n := range nodes {
		if c := counters(t, n); len(c.Landings) > 0 {
			late = append(late, c.Landings[0].Time.Sub(healed).Round(10*time.Millisecond).String())
		}
	}

	t.Logf("RESULT %s: %d of %d landed, after the heal by %s", m.name, len(late), workers, strings.Join(late, " "))

	if m.all && len(late) != workers || m.none && len(late) != 0 {
		t.Errorf("%d of %d landed", len(late), workers)
	}
}

// small is a configuration without its comments, and so of a size that fits into few segments.
func small(t *testing.T, data []byte) []byte {
	t.Helper()

	cfg, err := configloader.NewFromBytes(data)
	must(t, err)

	b, err := cfg.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	must(t, err)
	t.Logf("%d bytes", len(b))

	return b
}

func throughEndpoint(deadline time.Duration) func(*testing.T, *rig, *lab.Node) func() error {
	return func(t *testing.T, r *rig, n *lab.Node) func() error {
		data := small(t, r.current(t, n))

		return func() error {
			ctx, cancel := withDeadline(on(t, n), deadline)
			defer cancel()

			_, err := apply(ctx, r.admin, applyRequest(noReboot, data))

			return err
		}
	}
}

func withDeadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return ctx, func() {}
	}

	return context.WithTimeout(ctx, d)
}

func direct(deadline time.Duration, dial client.OptionFunc) func(*testing.T, *rig, *lab.Node) func() error {
	return func(t *testing.T, r *rig, n *lab.Node) func() error {
		opts := []client.OptionFunc{client.WithConfigFromFile(r.Talosconfig()), client.WithEndpoints(n.Address())}
		if dial != nil {
			opts = append(opts, dial)
		}

		c, err := client.New(t.Context(), opts...)
		must(t, err)
		t.Cleanup(func() { must(t, c.Close()) })

		cfg, err := get(t.Context(), c, configres.ActiveID)
		must(t, err)

		data := small(t, bytesOf(t, cfg))

		return func() error {
			ctx, cancel := withDeadline(t.Context(), deadline)
			defer cancel()

			_, err := apply(ctx, c, applyRequest(noReboot, data))

			return err
		}
	}
}

func userTimeout(limit time.Duration) client.OptionFunc {
	return client.WithGRPCDialOptions(grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
			var set error

			err := raw.Control(func(fd uintptr) {
				set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
			})
			if err != nil {
				return err
			}

			return set
		}}

		return d.DialContext(ctx, "tcp", addr)
	}))
}

// killed sends from a process of its own, which is killed after a while.
func killed(t *testing.T, r *rig, n *lab.Node) func() error {
	must(t, os.WriteFile(filepath.Join(n.Dir(), "small.yaml"), small(t, r.current(t, n)), 0o600))

	cmd := exec.Command(testBinary(t))
	cmd.Env = append(os.Environ(), helperVariable+"=send "+n.Name()+" "+r.Dir())

	in, err := cmd.StdinPipe()
	must(t, err)

	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })

	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the sender said %q, %v", line, err)
	}

	return func() error {
		if _, err := io.WriteString(in, "go\n"); err != nil {
			return err
		}

		time.Sleep(measuredGiveUp)
		_ = cmd.Process.Kill()

		return cmd.Wait()
	}
}
