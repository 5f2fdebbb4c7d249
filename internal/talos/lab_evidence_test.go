package talos_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/talos"
)

// recorded is an attempt on the connection, as it is recorded before a send.
func recorded(t *testing.T, c *talos.Conn, target talos.Target) dispatch.Attempt {
	t.Helper()
	host, err := talos.LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := c.Baseline(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return dispatch.Attempt{
		Number: 1, Route: target.Route, LocalAddr: c.LocalAddr(), RemoteAddr: c.RemoteAddr(), Host: host, Sockets: sockets,
	}
}

// verdict asks once; the question itself must not fail.
func (r rig) verdict(t *testing.T, target talos.Target, attempt dispatch.Attempt) talos.Verdict {
	t.Helper()
	v, err := talos.CannotArrive(within(t), r.config, target, attempt)
	if err != nil {
		t.Fatalf("%v\n%s", err, v.Evidence)
	}
	if !json.Valid(v.Evidence) {
		t.Fatalf("evidence is not JSON: %s", v.Evidence)
	}
	return v
}

func needsLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("accounting by evidence is offered on Linux only")
	}
}

func TestLabEvidence(t *testing.T) {
	needsLinux(t)
	r := newRig(t, lab.LinksNone)
	r.both(t, func(t *testing.T, target talos.Target) {
		c := r.dial(t, target, talos.Options{})
		read(t, c)
		attempt := recorded(t, c, target)
		v := r.verdict(t, target, attempt)
		if !v.Available || v.Holds || !strings.Contains(v.Missing, "hop 1: this host holds no socket") {
			t.Fatalf("with the connection open: %+v\n%s", v, v.Evidence)
		}
		c.Abort()
		v = r.verdict(t, target, attempt)
		if !v.Available || !v.Holds || v.Missing != "" {
			t.Fatalf("after the abort: %+v\n%s", v, v.Evidence)
		}
		var e struct {
			Rounds []struct {
				Checks []talos.Check `json:"checks"`
			} `json:"rounds"`
		}
		if err := json.Unmarshal(v.Evidence, &e); err != nil || len(e.Rounds) < 2 {
			t.Fatalf("fewer than two rounds: %v\n%s", err, v.Evidence)
		}
		t.Logf("%s", v.Evidence)

		elsewhere := attempt
		elsewhere.Host.BootID = "another"
		if v := r.verdict(t, target, elsewhere); v.Available || v.Holds {
			t.Errorf("from another boot: %+v", v)
		}
		elsewhere = attempt
		elsewhere.Host.NetNS = "net:[1]"
		if v := r.verdict(t, target, elsewhere); v.Available || v.Holds {
			t.Errorf("from another network namespace: %+v", v)
		}
		elsewhere = attempt
		elsewhere.Sockets = nil
		if v := r.verdict(t, target, elsewhere); v.Available || v.Holds {
			t.Errorf("without a record of before the send: %+v", v)
		}
	})
	t.Run("another route", func(t *testing.T) {
		c := r.dial(t, r.via(), talos.Options{})
		read(t, c)
		attempt := recorded(t, c, r.via())
		c.Abort()
		if v := r.verdict(t, r.direct(), attempt); v.Available || v.Holds {
			t.Errorf("asked over another route: %+v", v)
		}
	})
	t.Run("the endpoint has another connection", func(t *testing.T) {
		c := r.dial(t, r.via(), talos.Options{})
		read(t, c)
		attempt := recorded(t, c, r.via())
		if err := r.endpoint.Restart(within(t), lab.RestartOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Abort()
		warm := r.dial(t, r.via(), talos.Options{})
		read(t, warm)
		if v := r.verdict(t, r.via(), attempt); !v.Available || v.Holds || !strings.Contains(v.Missing, "it is the connection of before the send") {
			t.Errorf("after a restart of the endpoint: %+v\n%s", v, v.Evidence)
		}
	})
}

// A node that applied and never answered: the evidence accounts for the attempt, and says nothing about its effect.
func TestLabLostAnswer(t *testing.T) {
	needsLinux(t)
	r := newRig(t, lab.LinksNone)
	if err := r.worker.Fault(within(t), lab.Faults{DropResponse: true}); err != nil {
		t.Fatal(err)
	}
	r.both(t, func(t *testing.T, target talos.Target) {
		c := r.dial(t, target, talos.Options{})
		_, config := read(t, c)
		attempt := recorded(t, c, target)
		landed := r.landings(t)
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		go func() {
			defer cancel()
			for ctx.Err() == nil {
				if c, err := r.worker.Counters(); err == nil && len(c.Landings) > landed {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		wanted := changed(config, "not answered over "+string(target.Route))
		out := c.Apply(ctx, wanted, noReboot())
		if out.Response.Class != dispatch.Inconclusive || out.NeverLeft || !errors.Is(out.Err, context.Canceled) {
			t.Fatalf("%+v", out)
		}
		if v := r.verdict(t, target, attempt); !v.Holds {
			t.Fatalf("%s\n%s", v.Missing, v.Evidence)
		}
		after, _ := read(t, r.dial(t, target, talos.Options{}))
		if after.Active.Digest != dispatch.Digest(wanted.Reveal()) {
			t.Errorf("the node shows %s", after.Active.Digest)
		}
	})
}

// Where something terminates TCP, the next hop does not list the sender and nothing follows from queues.
func TestLabEvidenceBehindALink(t *testing.T) {
	needsLinux(t)
	r := newRig(t, lab.LinksUserland)
	r.both(t, func(t *testing.T, target talos.Target) {
		c := r.dial(t, target, talos.Options{})
		read(t, c)
		attempt := recorded(t, c, target)
		c.Abort()
		v := r.verdict(t, target, attempt)
		if v.Available || v.Holds || !strings.Contains(v.Missing, "nothing terminates TCP in between") {
			t.Fatalf("%s\n%s", v.Missing, v.Evidence)
		}
	})
}

// lose cuts the worker off, sends over c and returns the outcome of the deadline.
func (r rig) lose(t *testing.T, c *talos.Conn, comment string, deadline time.Duration) (talos.Outcome, *lab.Link) {
	t.Helper()
	_, config := read(t, c)
	link, err := r.lab.Link(lab.Client, r.worker.Name())
	if err != nil {
		t.Fatal(err)
	}
	if err := link.Cut(within(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	return c.Apply(ctx, changed(config, comment), noReboot()), link
}

// landings is how many requests changed the worker, by its own count.
func (r rig) landings(t *testing.T) int {
	t.Helper()
	c, err := r.worker.Counters()
	if err != nil {
		t.Fatal(err)
	}
	return len(c.Landings)
}

func heal(t *testing.T, link *lab.Link) {
	t.Helper()
	if err := link.Heal(within(t)); err != nil {
		t.Fatal(err)
	}
}

func TestLabPartitionDirect(t *testing.T) {
	r := newRig(t, lab.LinksNetns)
	c := r.dial(t, r.direct(), talos.Options{})
	read(t, c)
	attempt := recorded(t, c, r.direct())
	out, link := r.lose(t, c, "lost", 2*time.Second)
	if out.Response.Class != dispatch.Inconclusive || out.Response.Code != "" || out.NeverLeft || out.Err == nil {
		t.Fatalf("apply: %+v", out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if v, err := talos.CannotArrive(ctx, r.config, r.direct(), attempt); err == nil || v.Holds {
		t.Fatalf("while the node is cut off: %+v %v", v, err)
	}
	heal(t, link)
	if v := r.verdict(t, r.direct(), attempt); !v.Holds {
		t.Fatalf("after the heal: %+v\n%s", v, v.Evidence)
	}
	if n := r.landings(t); n != 0 {
		t.Fatalf("%d requests landed", n)
	}
}

// The kernel gives the connection up by itself, long before the context would end.
func TestLabUserTimeout(t *testing.T) {
	needsLinux(t)
	r := newRig(t, lab.LinksNetns)
	c := r.dial(t, r.direct(), talos.Options{TCPUserTimeout: 2 * time.Second})
	read(t, c)
	attempt := recorded(t, c, r.direct())
	out, link := r.lose(t, c, "given up", limit)
	if out.NeverLeft || !errors.Is(out.Err, syscall.ETIMEDOUT) {
		t.Fatalf("apply: %+v", out)
	}
	heal(t, link)
	if v := r.verdict(t, r.direct(), attempt); !v.Holds {
		t.Fatalf("%s\n%s", v.Missing, v.Evidence)
	}
	if n := r.landings(t); n != 0 {
		t.Fatalf("%d requests landed", n)
	}
}

// The control of the abort: a client that leaves its request alone has it land when the partition heals.
func TestLabPartitionDirectWithoutAbort(t *testing.T) {
	r := newRig(t, lab.LinksNetns)
	c := r.dial(t, r.direct(), talos.Options{WithoutAbort: true})
	read(t, c)
	attempt := recorded(t, c, r.direct())
	out, link := r.lose(t, c, "late", 2*time.Second)
	if out.Response.Class != dispatch.Inconclusive || out.NeverLeft {
		t.Fatalf("apply: %+v", out)
	}
	if v := r.verdict(t, r.direct(), attempt); v.Holds || !strings.Contains(v.Missing, "hop 1: this host holds no socket") {
		t.Fatalf("with bytes queued here: %+v", v)
	}
	heal(t, link)
	for r.landings(t) == 0 {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // between two looks at the journal
	}
}

// Through the endpoint the abort reaches only hop 1: what the endpoint holds is seen there, and nothing holds until it
// is gone.
func TestLabPartitionVia(t *testing.T) {
	r := newRig(t, lab.LinksNetns)
	c := r.dial(t, r.via(), talos.Options{})
	read(t, c)
	attempt := recorded(t, c, r.via())
	out, link := r.lose(t, c, "held by the endpoint", 2*time.Second)
	if out.Response.Class != dispatch.Inconclusive || out.NeverLeft {
		t.Fatalf("apply: %+v", out)
	}
	v := r.verdict(t, r.via(), attempt)
	if !v.Available || v.Holds || !strings.Contains(v.Missing, "hop 2: its transmit queue is empty") {
		t.Fatalf("while the endpoint holds bytes: %s\n%s", v.Missing, v.Evidence)
	}
	heal(t, link)
	for {
		v := r.verdict(t, r.via(), attempt)
		if v.Holds {
			break
		}
		t.Log(v.Missing)
		if !v.Available {
			t.Fatalf("%s\n%s", v.Missing, v.Evidence)
		}
	}
	// What was delivered was delivered before the verdict; nothing comes after it.
	landed := r.landings(t)
	again := r.dial(t, r.via(), talos.Options{})
	first, _ := read(t, again)
	second, _ := read(t, again)
	if first.Active != second.Active || r.landings(t) != landed {
		t.Fatalf("something landed after the verdict: %d then %d", landed, r.landings(t))
	}
	t.Logf("%d landed", landed)
}
