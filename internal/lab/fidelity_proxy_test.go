package lab_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-multierror"
	"github.com/siderolabs/talos/pkg/machinery/client"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/lab/node"
)

// TestFidelityRouting compares the endpoint's routing with what real ones were seen to do.
func TestFidelityRouting(t *testing.T) {
	t.Parallel()

	r := newRig(t, lab.Config{})
	cp, w1, w2 := r.node("cp-1"), r.node("worker-1"), r.node("worker-2")

	t.Run("targets", func(t *testing.T) { routingTargets(t, r, cp, w1) })
	t.Run("many", func(t *testing.T) { routingMany(t, r, w1, w2) })
	t.Run("tls", func(t *testing.T) { routingTLS(t, cp, w1) })
	t.Run("what the client sees", func(t *testing.T) { clientSees(t, r, cp, w1) })
}

func hostname(ctx context.Context, c *client.Client) (string, error) {
	resp, err := c.MachineClient.Hostname(ctx, nil)
	if err != nil {
		return "", err
	}

	return resp.GetMessages()[0].GetHostname(), nil
}

func routingTargets(t *testing.T, r *rig, cp, w *lab.Node) {
	wantHost := func(t *testing.T, ctx context.Context, c *client.Client, want string) {
		t.Helper()

		if got, err := hostname(ctx, c); err != nil || got != want {
			t.Errorf("%s answered (%v), want %s", got, err, want)
		}
	}

	fact(t, "P1", "without a target the endpoint answers for itself; node goes to that node", func(t *testing.T) {
		wantHost(t, t.Context(), r.admin, "cp-1")
		wantHost(t, on(t, w), r.admin, "worker-1")
		wantHost(t, on(t, cp), r.admin, "cp-1")
	})
	fact(t, "P2", "a worker forwards nothing, but answers for its own address and name", func(t *testing.T) {
		direct := r.direct(w)
		wantHost(t, t.Context(), direct, "worker-1")
		wantHost(t, on(t, w), direct, "worker-1")
		wantHost(t, client.WithNode(t.Context(), "worker-1"), direct, "worker-1")
		wantHost(t, client.WithNodes(t.Context(), w.Address()), direct, "worker-1")

		_, err := hostname(on(t, cp), direct)
		wantCode(t, err, codes.PermissionDenied)
		wantText(t, err, "no request forwarding")
	})
	fact(t, "P3", "a target with a port is Internal, two values of node are InvalidArgument", func(t *testing.T) {
		_, err := hostname(client.WithNode(t.Context(), w.Address()+":50000"), r.admin)
		wantCode(t, err, codes.Internal)

		two := metadata.AppendToOutgoingContext(t.Context(), "node", w.Address(), "node", cp.Address())
		_, err = hostname(two, r.admin)
		wantCode(t, err, codes.InvalidArgument)
		wantText(t, err, "node metadata must be single-valued")
	})
	fact(t, "P4", "with both, nodes wins over node", func(t *testing.T) {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "node", cp.Address(), "nodes", w.Address())
		wantHost(t, ctx, r.admin, "worker-1")
	})
	fact(t, "P5", "roles travel with the call: a reader stays a reader behind the endpoint", func(t *testing.T) {
		_, err := get(on(t, w), r.reader, configres.ActiveID)
		wantCode(t, err, codes.PermissionDenied)
		wantHost(t, on(t, w), r.reader, "worker-1")
	})
}

func routingMany(t *testing.T, r *rig, w1, w2 *lab.Node) {
	fact(t, "P6", "nodes answers with the target as the caller wrote it in metadata.hostname", func(t *testing.T) {
		resp, err := r.admin.Version(client.WithNodes(t.Context(), w1.Address(), w2.Address()))
		if err != nil {
			t.Fatal(err)
		}

		got := map[string]bool{}
		for _, m := range resp.GetMessages() {
			got[m.GetMetadata().GetHostname()] = true
		}

		if len(got) != 2 || !got[w1.Address()] || !got[w2.Address()] {
			t.Errorf("answers from %v", got)
		}
	})
	fact(t, "P7", "when one of many fails there are answers and an error; when all do there is only an error", func(t *testing.T) {
		nobody := "127.255.255.253"

		resp, err := r.admin.Version(client.WithNodes(t.Context(), w1.Address(), nobody))
		if len(resp.GetMessages()) != 1 || err == nil {
			t.Errorf("some failed: %d answers, %v", len(resp.GetMessages()), err)
		}

		resp, err = r.admin.Version(client.WithNodes(t.Context(), nobody))
		if resp != nil || err == nil {
			t.Errorf("all failed: answer %v, %v", resp, err)
		}

		var all *multierror.Error
		var one *client.NodeError
		if !errors.As(err, &all) || !errors.As(err, &one) || one.Node != nobody {
			t.Errorf("the error is %T %v", err, err)
		}

		wantCode(t, err, codes.Unavailable)
	})
	fact(t, "P8", "a node's own refusal keeps its code in a call to many", func(t *testing.T) {
		_, err := r.admin.ApplyConfiguration(client.WithNodes(t.Context(), w1.Address()), applyRequest(noReboot, []byte("a: [")))
		wantCode(t, err, codes.InvalidArgument)
	})
}

// routingTLS checks who gets in at all.
func routingTLS(t *testing.T, cp, w *lab.Node) {
	pair := func(cert, key string) tls.Certificate {
		c, err := tls.LoadX509KeyPair(filepath.Join(cp.Dir(), cert), filepath.Join(cp.Dir(), key))
		if err != nil {
			t.Fatal(err)
		}

		return c
	}
	try := func(certs ...tls.Certificate) error {
		c, err := client.New(t.Context(), client.WithEndpoints(w.Address()), client.WithTLSConfig(&tls.Config{
			Certificates: certs, InsecureSkipVerify: true,
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()

		_, err = c.Version(t.Context())

		return err
	}

	fact(t, "P9", "without a client certificate, or with a server's of the same CA, there is no handshake: Unavailable", func(t *testing.T) {
		wantCode(t, try(), codes.Unavailable)
		wantCode(t, try(pair(node.ServerCertFile, node.ServerKeyFile)), codes.Unavailable)
	})
	fact(t, "P10", "an impersonator that names no role has none that opens anything", func(t *testing.T) {
		wantCode(t, try(pair(node.ClientCertFile, node.ClientKeyFile)), codes.PermissionDenied)
	})
}

// clientSees: the table of what a client learns when something breaks, and whether the node applied.
func clientSees(t *testing.T, r *rig, cp, w *lab.Node) {
	restart := func(t *testing.T, n *lab.Node) {
		t.Helper()

		if err := n.Restart(t.Context(), lab.RestartOptions{}); err != nil {
			t.Fatal(err)
		}

		r.reachable(t, w)
	}
	landings := func() int { return len(counters(t, w).Landings) }

	fact(t, "P11", "a node that dies before the change: Unavailable, not applied", func(t *testing.T) {
		for _, ctx := range []context.Context{on(t, w), client.WithNodes(t.Context(), w.Address())} {
			before := landings()
			fault(t, w, lab.Faults{DieBefore: true})

			_, err := r.admin.ApplyConfiguration(ctx, applyRequest(noReboot, r.current(t, w)))
			wantCode(t, err, codes.Unavailable)
			restart(t, w)

			if landings() != before {
				t.Error("it was applied")
			}
		}
	})
	fact(t, "P12", "an endpoint that dies while the node works gives the very same answer, and it was applied", func(t *testing.T) {
		before, entered := landings(), counters(t, w).Entered
		fault(t, w, lab.Faults{DelayBefore: time.Hour})

		failed := make(chan error, 1)

		data := r.current(t, w)
		go func() {
			_, err := apply(on(t, w), r.admin, applyRequest(noReboot, data))
			failed <- err
		}()

		eventually(t, "the call to enter", func() bool { return counters(t, w).Entered > entered })

		if err := cp.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}

		wantCode(t, <-failed, codes.Unavailable)
		fault(t, w, lab.Faults{}) // ends the delay
		eventually(t, "the change to land", func() bool { return landings() == before+1 })
		restart(t, cp)
	})
	fact(t, "P13", "a call whose deadline passes while the node works: DeadlineExceeded, and it was applied", func(t *testing.T) {
		before, data := landings(), r.current(t, w)
		fault(t, w, lab.Faults{DelayBefore: time.Hour, Times: 1})

		ctx, cancel := context.WithTimeout(on(t, w), 3*time.Second)
		defer cancel()

		_, err := apply(ctx, r.admin, applyRequest(noReboot, data))
		wantCode(t, err, codes.DeadlineExceeded)
		fault(t, w, lab.Faults{}) // ends the delay
		eventually(t, "the change to land", func() bool { return landings() == before+1 })
	})
	fact(t, "P14", "nothing listens on the node: Unavailable while dialing, nothing was sent", func(t *testing.T) {
		data := r.current(t, w)
		if err := w.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}

		_, err := apply(t.Context(), r.direct(w), applyRequest(noReboot, data))
		wantCode(t, err, codes.Unavailable)
		wantText(t, err, "connection refused")
		restart(t, w)
	})
	fact(t, "P15", "an error after the change is Unknown, and it was applied; a lost answer is only a deadline", func(t *testing.T) {
		before, data := landings(), r.current(t, w)
		fault(t, w, lab.Faults{ErrorAfter: true, Times: 1})

		_, err := apply(on(t, w), r.admin, applyRequest(noReboot, data))
		wantCode(t, err, codes.Unknown)
		fault(t, w, lab.Faults{DropResponse: true, Times: 1})

		ctx, cancel := context.WithTimeout(on(t, w), 3*time.Second)
		defer cancel()

		_, err = apply(ctx, r.admin, applyRequest(noReboot, data))
		wantCode(t, err, codes.DeadlineExceeded)

		if got := landings(); got != before+2 {
			t.Errorf("%d landings, want %d", got, before+2)
		}
	})
	fact(t, "P16", "a node that loses its address before it answers: silence there, the change and the node at the new one", func(t *testing.T) {
		before, data, old := landings(), r.current(t, w), w.Address()
		fault(t, w, lab.Faults{MoveAfter: true, Times: 1})

		ctx, cancel := context.WithTimeout(on(t, w), 3*time.Second)
		defer cancel()

		_, err := apply(ctx, r.admin, applyRequest(noReboot, data))
		wantCode(t, err, codes.DeadlineExceeded)

		if w.Address() == old || landings() != before+1 {
			t.Errorf("address %s, %d landings", w.Address(), landings())
		}

		if got, err := hostname(on(t, w), r.admin); err != nil || got != "worker-1" {
			t.Errorf("at the new address %q answers: %v", got, err)
		}

		conn, err := net.DialTimeout("tcp", net.JoinHostPort(old, "50000"), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		conn.SetDeadline(time.Now().Add(200 * time.Millisecond)) //lint:ignore errcheck the read below fails either way

		if n, err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).Read(make([]byte, 1)); err == nil || n > 0 || !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
			t.Errorf("the old address answered: %v", err)
		}
	})
}

func isTimeout(err error) bool {
	var timeout net.Error

	return errors.As(err, &timeout) && timeout.Timeout()
}

func fault(t *testing.T, n *lab.Node, f lab.Faults) {
	t.Helper()

	if err := n.Fault(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}
