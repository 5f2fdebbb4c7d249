package lab_test

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"google.golang.org/grpc/codes"

	"github.com/clewops/clew/internal/lab"
)

// netstat asks one node for its sockets the way Clew does.
func netstat(ctx context.Context, c *client.Client) ([]*machine.ConnectRecord, error) {
	resp, err := c.Netstat(ctx, &machine.NetstatRequest{
		Feature: &machine.NetstatRequest_Feature{Pid: true}, Netns: &machine.NetstatRequest_NetNS{Hostnetwork: true},
		L4Proto: &machine.NetstatRequest_L4Proto{Tcp: true, Tcp6: true},
	})
	if err != nil {
		return nil, err
	}

	return resp.GetMessages()[0].GetConnectrecord(), nil
}

// hop is the endpoint's established connection to a node, as the endpoint's kernel sees it; nil without one.
func hop(t *testing.T, c *client.Client, to *lab.Node) *machine.ConnectRecord {
	t.Helper()

	records, err := netstat(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}

	for _, s := range records {
		if s.GetRemoteip() == to.Address() && s.GetRemoteport() == 50000 && s.GetState() == machine.ConnectRecord_ESTABLISHED {
			return s
		}
	}

	return nil
}

// TestNetns needs the kernel's own TCP: queues, retransmission and silence.
func TestNetns(t *testing.T) {
	needRoot(t)
	t.Parallel()

	r := newRig(t, lab.Config{Links: lab.LinksNetns, Workers: 3})
	cp := r.node("cp-1")

	t.Run("sockets", func(t *testing.T) { netnsSockets(t, r, cp) })
	t.Run("late", func(t *testing.T) { netnsLate(t, r, cp, r.node("worker-1")) })
	t.Run("no connection", func(t *testing.T) { netnsNoConnection(t, r, cp, r.node("worker-2")) })
	t.Run("user timeout", func(t *testing.T) { netnsUserTimeout(t, r, r.node("worker-3")) })
	t.Run("move", func(t *testing.T) { netnsMove(t, r, r.node("worker-2")) })
	t.Run("faults", func(t *testing.T) {
		k := r.link(t, lab.Client, r.node("worker-1"))

		if err := k.Hold(t.Context(), lab.ToNode); err == nil {
			t.Error("a bridge port cannot hold bytes, but took the order")
		}
	})
}

func netnsSockets(t *testing.T, r *rig, cp *lab.Node) {
	fact(t, "N1", "Netstat shows nothing that was not asked for: no protocol, or not the host's network", func(t *testing.T) {
		for _, req := range []*machine.NetstatRequest{
			{},
			{Netns: &machine.NetstatRequest_NetNS{Hostnetwork: true}},
			{L4Proto: &machine.NetstatRequest_L4Proto{Tcp: true, Tcp6: true}},
		} {
			resp, err := r.admin.Netstat(on(t, cp), req)
			if err != nil {
				t.Fatal(err)
			}

			if n := len(resp.GetMessages()[0].GetConnectrecord()); n != 0 {
				t.Errorf("%v: %d sockets", req, n)
			}
		}
	})
	fact(t, "N2", "a reader sees the sockets, with their process; a client's connection is there under its own ports", func(t *testing.T) {
		c := r.dialRaw(t, cp)
		local, remote := c.tcp.LocalAddr().(*net.TCPAddr), c.tcp.RemoteAddr().(*net.TCPAddr)

		records, err := netstat(t.Context(), r.reader)
		if err != nil {
			t.Fatal(err)
		}

		listens, found := false, false

		for _, s := range records {
			listens = listens || s.GetState() == machine.ConnectRecord_LISTEN && s.GetLocalport() == 50000 && s.GetProcess().GetName() == "apid"
			found = found || s.GetRemoteip() == local.IP.String() && s.GetRemoteport() == uint32(local.Port) &&
				s.GetLocalip() == remote.IP.String() && s.GetState() == machine.ConnectRecord_ESTABLISHED
		}

		if !listens || !found {
			t.Errorf("listening %t, the connection %t, in %v", listens, found, records)
		}
	})
}

// netnsLate: a request that was on its way when the network broke.
func netnsLate(t *testing.T, r *rig, cp, w *lab.Node) {
	landings := func() int { return len(counters(t, w).Landings) }
	r.reachable(t, w)

	data, before := r.current(t, w), landings()
	k := r.link(t, "cp-1", w)
	must(t, k.Cut(t.Context()))

	sent := time.Now()
	done := r.applyLater(on(t, w), r.admin, marked(data, "late"))

	fact(t, "N3", "while cut off the request is in the sender's kernel: bytes queued, the timer on, retransmissions counted", func(t *testing.T) {
		eventually(t, "the fourth retransmission", func() bool {
			s := hop(t, r.admin, w)

			return s != nil && s.GetTxqueue() > 0 && s.GetTr() == machine.ConnectRecord_ON && s.GetRetrnsmt() >= 4
		})

		if landings() != before {
			t.Error("it landed over a cut link")
		}
	})

	var due time.Duration

	fact(t, "N4", "a heal triggers nothing: the request lands with the kernel's next attempt, whose time the socket shows", func(t *testing.T) {
		s := hop(t, r.admin, w)
		if s == nil {
			t.Fatal("the connection is gone")
		}

		due = time.Duration(s.GetTimerwhen()) * 10 * time.Millisecond
		healed := time.Now()
		must(t, k.Heal(t.Context()))

		fact(t, "N5", "a read over another connection says nothing of the request that is still coming", func(t *testing.T) {
			cfg, err := get(t.Context(), r.direct(w), configres.ActiveID)
			if err != nil {
				t.Fatal(err)
			}

			if time.Since(healed) < due/2 && string(bytesOf(t, cfg)) != string(data) {
				t.Error("the request has landed already")
			}
		})
		fact(t, "N6", "a read over the same connection is answered with the retransmission, no sooner", func(t *testing.T) {
			if _, err := r.admin.Version(on(t, w)); err != nil {
				t.Fatal(err)
			}

			if held := time.Since(healed); held < due/2 {
				t.Errorf("answered %v after the heal; the next attempt was due after %v", held, due)
			}
		})

		got := finished(t, done)
		must(t, got.err)

		if late := entered(t, w).Sub(healed); late < due/2 || landings() != before+1 {
			t.Errorf("landed %v after the heal, %d landings; the next attempt was due after %v", late, landings()-before, due)
		}

		t.Logf("sent at 0, healed at %v, answered at %v", healed.Sub(sent), got.took)
	})
}

func netnsNoConnection(t *testing.T, r *rig, cp, w *lab.Node) {
	fact(t, "N7", "without a connection at the time of the split nothing is queued: the dial fails and nothing ever lands", func(t *testing.T) {
		data := r.current(t, w)

		// A new endpoint process has no connection yet.
		must(t, cp.Restart(t.Context(), lab.RestartOptions{}))
		eventually(t, "the endpoint", func() bool { _, err := r.admin.Version(t.Context()); return err == nil })

		k, before := r.link(t, "cp-1", w), counters(t, w).Entered
		must(t, k.Cut(t.Context()))

		// A kernel that still knows the neighbour sends into the void for longer than a test wants to wait.
		ns := strings.Replace(filepath.Base(r.RunDir()), "clew-lab-", "clew-", 1) + "-" + cp.Name()
		if out, err := exec.Command("ip", "-n", ns, "neigh", "flush", "all").CombinedOutput(); err != nil {
			t.Fatalf("forgetting the neighbours: %v: %s", err, out)
		}

		_, err := apply(on(t, w), r.admin, applyRequest(noReboot, data))
		wantCode(t, err, codes.Unavailable)
		wantText(t, err, "no route to host")
		must(t, k.Heal(t.Context()))
		r.reachable(t, w)

		if got := counters(t, w).Entered; got != before {
			t.Errorf("%d calls entered, want %d", got, before)
		}
	})
}

func netnsUserTimeout(t *testing.T, r *rig, w *lab.Node) {
	fact(t, "N8", "TCP_USER_TIMEOUT on a direct connection bounds it: the call fails in that time and nothing lands afterwards", func(t *testing.T) {
		const limit = 1500 * time.Millisecond

		c, err := client.New(t.Context(), client.WithConfigFromFile(r.Talosconfig()), client.WithEndpoints(w.Address()), userTimeout(limit))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()

		cfg, err := get(t.Context(), c, configres.ActiveID)
		if err != nil {
			t.Fatal(err)
		}

		k, before := r.link(t, lab.Client, w), counters(t, w).Entered
		must(t, k.Cut(t.Context()))

		got := finished(t, r.applyLater(t.Context(), c, bytesOf(t, cfg)))
		wantCode(t, got.err, codes.Unavailable)
		t.Logf("failed after %v: %v", got.took, got.err)

		if got.took < limit/2 || got.took > 20*limit {
			t.Errorf("failed after %v", got.took)
		}

		must(t, k.Heal(t.Context()))

		if _, err := r.direct(w).Version(t.Context()); err != nil {
			t.Fatal(err)
		}

		if now := counters(t, w).Entered; now != before {
			t.Errorf("%d calls entered, want %d", now, before)
		}
	})
}

func netnsMove(t *testing.T, r *rig, w *lab.Node) {
	c := r.direct(w)
	if _, err := c.Version(t.Context()); err != nil {
		t.Fatal(err)
	}

	if _, err := w.Move(t.Context()); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()

	_, err := c.Version(ctx)
	wantCode(t, err, codes.DeadlineExceeded)

	if got, err := hostname(t.Context(), r.direct(w)); err != nil || got != w.Name() {
		t.Errorf("at the new address %q answers: %v", got, err)
	}
}
