package talos

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/dispatch"
)

func TestUserTimeoutAndGuardReachTheSocket(t *testing.T) {
	n := newRawNode(t, func(s *rawStream) { s.reply(acceptedAnswer(), 0) })
	c := n.dialTo(Target{Address: "127.0.0.1", Route: dispatch.Direct}, talosVersion, Options{TCPUserTimeout: 7 * time.Second})
	unguarded := n.dialTo(Target{Address: "127.0.0.1", Route: dispatch.Direct}, talosVersion,
		Options{TCPUserTimeout: 7 * time.Second, WithoutAbort: true})
	optionOf := func(c *Conn, get func(fd int) (int, error)) int {
		t.Helper()
		raw, err := c.wire.tcp.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var v int
		var got error
		if err := raw.Control(func(fd uintptr) { v, got = get(int(fd)) }); err != nil || got != nil {
			t.Fatal(err, got)
		}
		return v
	}
	userTimeout := func(fd int) (int, error) { return unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) }
	if got := optionOf(c, userTimeout); got != 7000 {
		t.Errorf("TCP_USER_TIMEOUT is %d ms", got)
	}
	if got := optionOf(unguarded, userTimeout); got != 0 {
		t.Errorf("without the abort, TCP_USER_TIMEOUT is %d ms: the kernel would still give up", got)
	}
	lingers := func() int {
		return optionOf(c, func(fd int) (int, error) {
			l, err := unix.GetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER)
			if err != nil {
				return 0, err
			}
			return int(l.Onoff), nil
		})
	}
	if err := c.wire.guard(); err != nil || lingers() == 0 {
		t.Errorf("under guard: %v, linger %d", err, lingers())
	}
	if out := c.Apply(within(t), anyConfig, params); out.Response.Class != dispatch.Accepted {
		t.Fatalf("%+v", out)
	}
	if lingers() != 0 {
		t.Error("an answered request left the connection under guard")
	}
}
