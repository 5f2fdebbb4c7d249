package talos

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
)

func TestTableLines(t *testing.T) {
	for _, c := range []struct {
		line string
		want Socket
	}{
		{
			"   0: 0100007F:C350 0200007F:9C40 01 00000AC4:00000010 01:00000014 00000003     0        0 31337 2 0000000000000000 20 4 30 10 -1",
			Socket{netip.MustParseAddrPort("127.0.0.1:50000"), netip.MustParseAddrPort("127.0.0.2:40000"), established, 0xac4, 0x10},
		},
		{
			"  11: 0000000000000000FFFF00000A05000A:C350 0000000000000000FFFF00000100000A:0016 04 00000000:00000000 00:0 0 0 0 0",
			Socket{netip.MustParseAddrPort("10.0.5.10:50000"), netip.MustParseAddrPort("10.0.0.1:22"), "FIN_WAIT1", 0, 0},
		},
		{
			"   2: B80D01200000000000000000EF000000:C350 00000000000000000000000001000000:0001 06 00000000:00000000",
			Socket{netip.MustParseAddrPort("[2001:db8::ef]:50000"), netip.MustParseAddrPort("[::1]:1"), timeWait, 0, 0},
		},
		{
			"   3: 00000000:C350 00000000:0000 0A 00000000:00000005",
			Socket{netip.MustParseAddrPort("0.0.0.0:50000"), netip.MustParseAddrPort("0.0.0.0:0"), "LISTEN", 0, 5},
		},
	} {
		got, err := parseTableLine(c.line)
		if err != nil || got != c.want {
			t.Errorf("%q: %+v %v, want %+v", c.line, got, err, c.want)
		}
	}
	for _, line := range []string{
		"", "0: 0100007F:C350", "0: 0100007F 0200007F:9C40 01 0:0", "0: 01007F:C350 0200007F:9C40 01 0:0",
		"0: 0100007F:XXXX 0200007F:9C40 01 0:0", "0: 0100007F:C350 0200007F:9C40 zz 0:0", "0: 0100007F:C350 0200007F:9C40 01 0",
	} {
		if s, err := parseTableLine(line); err == nil {
			t.Errorf("%q was read as %+v", line, s)
		}
	}
}

// The kernel's own table shows a connection from both ends, over IPv4 and IPv6, with what is queued on it.
func TestLocalSockets(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"} {
		t.Run(address, func(t *testing.T) {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Skipf("not here: %v", err)
			}
			defer func() { _ = l.Close() }()
			near, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = near.Close() }()
			far, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = far.Close() }()
			if _, err := near.Write([]byte("five!")); err != nil {
				t.Fatal(err)
			}
			local, err := parseAddrPort(near.LocalAddr().String())
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool {
				all, err := localSockets()
				if err != nil {
					t.Fatal(err)
				}
				here := filterSockets(all, func(s Socket) bool { return s.Local == local })
				there := filterSockets(all, func(s Socket) bool { return s.Remote == local })
				return len(here) == 1 && here[0].State == established && here[0].Tx == 0 &&
					len(there) == 1 && there[0].State == established && there[0].Rx == 5
			})
		})
	}
}

func TestNetstatRecords(t *testing.T) {
	s, err := socketOf(&machine.ConnectRecord{
		L4Proto: "tcp6", Localip: "::ffff:10.5.0.2", Localport: 50000, Remoteip: "10.5.0.1", Remoteport: 40000,
		State: machine.ConnectRecord_CLOSEWAIT, Txqueue: 1, Rxqueue: 2,
	})
	want := Socket{netip.MustParseAddrPort("10.5.0.2:50000"), netip.MustParseAddrPort("10.5.0.1:40000"), "CLOSEWAIT", 1, 2}
	if err != nil || s != want {
		t.Errorf("%+v %v", s, err)
	}
	for _, r := range []*machine.ConnectRecord{{}, {Localip: "10.5.0.2", Remoteip: "x"}, {Localip: "10.5.0.2", Localport: 1 << 20, Remoteip: "::"}} {
		if s, err := socketOf(r); err == nil {
			t.Errorf("%v was read as %+v", r, s)
		}
	}
}

func TestLocalHost(t *testing.T) {
	h, err := LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	if h.Name == "" || len(h.BootID) != 36 || !strings.HasPrefix(h.NetNS, "net:[") {
		t.Errorf("%+v", h)
	}
	if again, err := LocalHost(); err != nil || again != h {
		t.Errorf("then %+v %v", again, err)
	}
}
