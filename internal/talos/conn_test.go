package talos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
)

func TestAConnectionIsNeverMadeAgain(t *testing.T) {
	n := newRawNode(t, func(*rawStream) {})
	c := n.dial(talosVersion)
	if conns, _ := n.seen(); conns != 1 {
		t.Fatalf("%d connections after dialing", conns)
	}
	_ = n.conns[0].NetConn().Close()
	eventually(t, func() bool { return c.wire.ended() != nil })
	for range 3 {
		if _, _, err := c.Read(within(t)); err == nil || !strings.Contains(err.Error(), "reading the boot id: no answer") {
			t.Fatalf("read: %v", err)
		}
	}
	if conns, _ := n.seen(); conns != 1 {
		t.Fatalf("%d connections", conns)
	}
	if _, err := c.wire.handOut(); err == nil || !strings.Contains(err.Error(), "is not made again") {
		t.Errorf("a second dial: %v", err)
	}
}

func TestAbortResetsTheConnection(t *testing.T) {
	got := make(chan error, 1)
	n := newRawNode(t, func(s *rawStream) {
		for {
			if _, err := s.conn.NetConn().Read(make([]byte, 4096)); err != nil {
				got <- err
				return
			}
		}
	})
	c := n.dial(talosVersion)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if out := c.Apply(ctx, anyConfig, params); out.Response.Class != dispatch.Inconclusive {
		t.Fatalf("%+v", out)
	}
	c.Abort() // may be repeated
	if runtime.GOOS == "linux" {
		local, err := parseAddrPort(c.LocalAddr())
		if err != nil {
			t.Fatal(err)
		}
		r, err := readHop1(local)
		if err != nil || len(r.Hop1) != 0 {
			t.Errorf("the kernel still holds %v, error %v", r.Hop1, err)
		}
	}
	if n, err := c.wire.Write([]byte("late")); n != 0 || !errors.Is(err, errSealed) {
		t.Errorf("a write after the abort: %d %v", n, err)
	}
	select {
	case err := <-got:
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the other side saw %v, want a reset", err)
		}
	case <-within(t).Done():
		t.Fatal("the other side saw no end")
	}
}

func TestDialErrors(t *testing.T) {
	n := newRawNode(t, func(*rawStream) {})
	_, other := credentials(t)
	unused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := unused.Addr().(*net.TCPAddr).Port
	_ = unused.Close()
	cases := []struct {
		name   string
		config *Config
		target Target
		port   int
		want   string
	}{
		{"a port", n.config, Target{Address: "127.0.0.1:50000", Route: dispatch.Direct}, n.port(), "has a port"},
		{"an IPv6 port", n.config, Target{Address: "[::1]:50000", Route: dispatch.Direct}, n.port(), "has a port"},
		{"nothing", n.config, Target{Route: dispatch.Direct}, n.port(), "no address"},
		{"a newline", n.config, Target{Address: "a\nb", Route: dispatch.Direct}, n.port(), `"a\nb"`},
		{"a URL", n.config, Target{Address: "https://x", Route: dispatch.Direct}, n.port(), "neither"},
		{"no route", n.config, Target{Address: "127.0.0.1"}, n.port(), "use direct or via:"},
		{"a route with a port", n.config, Target{Address: "10.5.0.3", Route: "via:127.0.0.1:50000"}, n.port(), "has a port"},
		{"nobody there", n.config, Target{Address: "127.0.0.1", Route: dispatch.Direct}, free, "refused"},
		{"another cluster", other, Target{Address: "127.0.0.1", Route: dispatch.Direct}, n.port(), "certificate"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			conn, err := Dial(within(t), c.config, c.target, Options{port: c.port})
			if err == nil {
				_ = conn.Close()
				t.Fatal("it connected")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "BEGIN") {
				t.Errorf("error %q, want %q in it", err, c.want)
			}
		})
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	_, config := credentials(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Dial(ctx, config, Target{Address: "127.0.0.1", Route: dispatch.Direct}, Options{port: silent.Addr().(*net.TCPAddr).Port})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v", err)
	}
}

func TestTheConnectionIsUnderItsOwnName(t *testing.T) {
	n := newRawNode(t, func(*rawStream) {})
	c := n.dialTo(Target{Address: "10.5.0.3", Route: dispatch.Via("127.0.0.1")}, "", Options{})
	if c.RemoteAddr() != fmt.Sprintf("127.0.0.1:%d", n.port()) {
		t.Errorf("remote %s is not the endpoint", c.RemoteAddr())
	}
	if c.LocalAddr() != n.conns[0].RemoteAddr().String() {
		t.Errorf("local %s, the other side sees %s", c.LocalAddr(), n.conns[0].RemoteAddr())
	}
}
