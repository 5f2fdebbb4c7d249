package lab_test

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/grpc/codes"

	"github.com/clewops/clew/internal/lab"
)

func (r *rig) link(t *testing.T, from string, to *lab.Node) *lab.Link {
	t.Helper()

	k, err := r.Link(from, to.Name())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := k.Heal(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("healing: %v", err)
		}
	})

	return k
}

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// result of a call that runs in the background.
type result struct {
	err  error
	took time.Duration
}

func (r *rig) applyLater(ctx context.Context, c *client.Client, data []byte) <-chan result {
	done := make(chan result, 1)
	start := time.Now()

	go func() {
		_, err := apply(ctx, c, applyRequest(noReboot, data))
		done <- result{err, time.Since(start)}
	}()

	return done
}

// still expects a call to go on for a while. Silence can only be shown by waiting.
func still(t *testing.T, done <-chan result) {
	t.Helper()

	select {
	case got := <-done:
		t.Fatalf("answered already: %v", got.err)
	case <-time.After(300 * time.Millisecond):
	}
}

func finished(t *testing.T, done <-chan result) result {
	t.Helper()

	select {
	case got := <-done:
		return got
	case <-time.After(patience):
		t.Fatal("no answer")

		return result{}
	}
}

// TestUserlandLinks places every fault of a userland link exactly.
func TestUserlandLinks(t *testing.T) {
	t.Parallel()

	r := newRig(t, lab.Config{Links: lab.LinksUserland})
	w := r.node("worker-1")

	t.Run("faults", func(t *testing.T) { userlandFaults(t, r, w) })
	t.Run("late", func(t *testing.T) { userlandLate(t, r, w) })
	t.Run("sockets", func(t *testing.T) { userlandSockets(t, r, w) })
	t.Run("move", func(t *testing.T) { userlandMove(t, r, w) })
}

func userlandFaults(t *testing.T, r *rig, w *lab.Node) {
	landings := func() int { return len(counters(t, w).Landings) }

	t.Run("hold towards the node", func(t *testing.T) {
		k, data, before := r.link(t, "cp-1", w), r.current(t, w), landings()
		must(t, k.Hold(t.Context(), lab.ToNode))

		done := r.applyLater(on(t, w), r.admin, data)
		still(t, done)

		if landings() != before {
			t.Error("it arrived")
		}

		must(t, k.Heal(t.Context()))
		must(t, finished(t, done).err)

		if landings() != before+1 {
			t.Error("it did not land")
		}
	})
	t.Run("hold from the node", func(t *testing.T) {
		k, data, before := r.link(t, "cp-1", w), r.current(t, w), landings()
		must(t, k.Hold(t.Context(), lab.FromNode))

		done := r.applyLater(on(t, w), r.admin, data)
		eventually(t, "the change to land", func() bool { return landings() == before+1 })
		still(t, done)
		must(t, k.Heal(t.Context()))
		must(t, finished(t, done).err)
	})
	t.Run("a fault belongs to one link", func(t *testing.T) {
		data := r.current(t, w)
		k := r.link(t, "cp-1", w)
		must(t, k.Cut(t.Context()))

		done := r.applyLater(on(t, w), r.admin, data)

		direct, before := r.direct(w), landings()
		if _, err := apply(t.Context(), direct, applyRequest(noReboot, data)); err != nil {
			t.Errorf("past the cut: %v", err)
		}

		if landings() != before+1 {
			t.Error("the way past the cut did not work")
		}

		still(t, done)

		faulty, err := r.Faulty(t.Context())
		if err != nil || len(faulty) != 1 || faulty[0].From != "cp-1" || faulty[0].To != "worker-1" {
			t.Errorf("faulty links %v, %v", faulty, err)
		}

		must(t, k.Heal(t.Context()))
		must(t, finished(t, done).err)
	})
	t.Run("drop", func(t *testing.T) {
		k, data, before := r.link(t, "cp-1", w), r.current(t, w), landings()
		must(t, k.Drop(t.Context(), lab.ToNode))

		done := r.applyLater(on(t, w), r.admin, data)
		still(t, done)
		must(t, k.Heal(t.Context()))
		wantCode(t, finished(t, done).err, codes.Unavailable)
		r.reachable(t, w)

		if landings() != before {
			t.Error("dropped bytes landed")
		}
	})
	t.Run("delay", func(t *testing.T) {
		k, data := r.link(t, "cp-1", w), r.current(t, w)
		must(t, k.Delay(t.Context(), 300*time.Millisecond))

		got := finished(t, r.applyLater(on(t, w), r.admin, data))
		must(t, got.err)

		// Both ways are slow. The call itself cannot be faster than that.
		if got.took < 600*time.Millisecond {
			t.Errorf("answered after %v", got.took)
		}
	})
	t.Run("what makes no sense is refused", func(t *testing.T) {
		if _, err := r.Link("nobody", "worker-1"); err == nil {
			t.Error("a link from nobody")
		}

		if err := r.link(t, lab.Client, w).Delay(t.Context(), -1); err == nil {
			t.Error("a negative delay")
		}
	})
}

// userlandLate: what late bytes do, without the luck that real networks add.
func userlandLate(t *testing.T, r *rig, w *lab.Node) {
	landings := func() int { return len(counters(t, w).Landings) }

	fact(t, "L1", "a deadline does not expire a stale request: it counts from the arrival", func(t *testing.T) {
		k, c, before := r.link(t, lab.Client, w), r.dialRaw(t, w), landings()
		data := r.current(t, w)
		must(t, k.Hold(t.Context(), lab.ToNode))

		sent := time.Now()
		c.sendApply(t, applyRequest(noReboot, marked(data, "stale")), "500m")
		time.Sleep(time.Until(sent.Add(800 * time.Millisecond))) // past the deadline: nothing else is waited for

		if landings() != before {
			t.Fatal("it arrived")
		}

		must(t, k.Heal(t.Context()))
		eventually(t, "the stale request to land", func() bool { return landings() == before+1 })

		if late := entered(t, w).Sub(sent); late < 800*time.Millisecond {
			t.Errorf("it entered %v after it was sent", late)
		}
	})
	fact(t, "L2", "there is nothing to fence with: a late copy is applied over whatever came in between", func(t *testing.T) {
		k, c, before := r.link(t, lab.Client, w), r.dialRaw(t, w), landings()
		old := marked(r.current(t, w), "old")
		newer := marked(r.current(t, w), "newer")
		must(t, k.Hold(t.Context(), lab.ToNode))
		c.sendApply(t, applyRequest(noReboot, old), "1M")
		r.mustApply(t, w, newer)

		if !bytes.Equal(r.current(t, w), newer) {
			t.Fatal("the newer change is not active")
		}

		must(t, k.Heal(t.Context()))
		eventually(t, "the late copy to land", func() bool { return landings() == before+2 })

		if !bytes.Equal(r.current(t, w), old) {
			t.Error("the late copy was not applied")
		}
	})
	t.Run("an aborted sender's bytes are gone", func(t *testing.T) {
		k, c, before := r.link(t, lab.Client, w), r.dialRaw(t, w), counters(t, w).Entered
		data := marked(r.current(t, w), "aborted")
		must(t, k.Cut(t.Context()))
		c.sendApply(t, applyRequest(noReboot, data), "1M")
		c.abort(t)
		must(t, k.Heal(t.Context()))

		// A call over the same link shows that whatever was held has been dealt with.
		if _, err := r.direct(w).Version(t.Context()); err != nil {
			t.Fatal(err)
		}

		if got := counters(t, w).Entered; got != before {
			t.Errorf("%d calls entered, want %d", got, before)
		}
	})
}

// userlandSockets: a link that ends TCP must not look like one that passes it on.
func userlandSockets(t *testing.T, r *rig, w *lab.Node) {
	c := r.dialRaw(t, w)
	here := c.tcp.LocalAddr().(*net.TCPAddr)

	resp, err := r.admin.Netstat(on(t, w), &machine.NetstatRequest{
		Feature: &machine.NetstatRequest_Feature{}, Netns: &machine.NetstatRequest_NetNS{Hostnetwork: true},
		L4Proto: &machine.NetstatRequest_L4Proto{Tcp: true, Tcp6: true},
	})
	must(t, err)

	records := resp.GetMessages()[0].GetConnectrecord()
	if len(records) == 0 {
		t.Error("the node has no sockets at all")
	}

	for _, s := range records {
		if s.GetRemoteport() == uint32(here.Port) && s.GetRemoteip() == here.IP.String() {
			t.Errorf("the node sees the client's own connection: %v", s)
		}
	}
}

func userlandMove(t *testing.T, r *rig, w *lab.Node) {
	old, c := w.Address(), r.direct(w)

	if _, err := c.Version(t.Context()); err != nil {
		t.Fatal(err)
	}

	next, err := w.Move(t.Context())
	must(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()

	_, err = c.Version(ctx)
	wantCode(t, err, codes.DeadlineExceeded)

	if next == old || w.Address() != next {
		t.Errorf("moved from %s to %s, now %s", old, next, w.Address())
	}

	if _, err := r.direct(w).Version(t.Context()); err != nil {
		t.Errorf("at the new address: %v", err)
	}
}
