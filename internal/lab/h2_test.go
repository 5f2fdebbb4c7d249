package lab_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/clewops/clew/internal/lab"
)

// rawConn is an HTTP/2 connection that sends exactly what it is told: no RST_STREAM, no GOAWAY, no second thoughts.
type rawConn struct {
	tcp    *net.TCPConn
	framer *http2.Framer
}

// dialRaw connects to a node as an admin, and waits until both sides have exchanged settings.
func (r *rig) dialRaw(t *testing.T, n *lab.Node) *rawConn {
	t.Helper()

	cfg, err := clientconfig.Open(r.Talosconfig())
	if err != nil {
		t.Fatal(err)
	}

	cert, err := client.CertificateFromConfigContext(cfg.Contexts[lab.ClusterName])
	if err != nil {
		t.Fatal(err)
	}

	conn, err := net.Dial("tcp", net.JoinHostPort(n.Address(), "50000"))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { conn.Close() })

	secured := tls.Client(conn, &tls.Config{
		Certificates: []tls.Certificate{*cert}, InsecureSkipVerify: true, NextProtos: []string{"h2"},
	})

	c := &rawConn{tcp: conn.(*net.TCPConn), framer: http2.NewFramer(secured, secured)}

	if _, err := secured.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}

	if err := c.framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}

	for acked := false; !acked; {
		f, err := c.framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}

		if s, ok := f.(*http2.SettingsFrame); ok {
			if s.IsAck() {
				acked = true
			} else if err := c.framer.WriteSettingsAck(); err != nil {
				t.Fatal(err)
			}
		}
	}

	return c
}

// sendApply writes one complete ApplyConfiguration call with the given remaining time, and reads nothing.
func (c *rawConn) sendApply(t *testing.T, req *machine.ApplyConfigurationRequest, timeout string) {
	t.Helper()

	body, err := proto.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}

	var block bytes.Buffer

	enc := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "POST"},
		{":scheme", "https"},
		{":authority", "node"},
		{":path", machine.MachineService_ApplyConfiguration_FullMethodName},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
		{"grpc-timeout", timeout},
	} {
		if err := enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			t.Fatal(err)
		}
	}

	if err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
		t.Fatal(err)
	}

	message := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))
	message = append(message, body...)

	for len(message) > 0 {
		n := min(len(message), 16<<10)
		if err := c.framer.WriteData(1, n == len(message), message[:n]); err != nil {
			t.Fatal(err)
		}

		message = message[n:]
	}
}

// abort resets the connection: what its kernel has not delivered is gone.
func (c *rawConn) abort(t *testing.T) {
	t.Helper()

	if err := c.tcp.SetLinger(0); err != nil {
		t.Fatal(err)
	}

	must(t, c.tcp.Close())
}

// entered is when a node's newest call came in.
func entered(t *testing.T, n *lab.Node) time.Time {
	t.Helper()

	all, err := n.Applies()
	if err != nil {
		t.Fatal(err)
	}

	var at time.Time

	for _, a := range all {
		if a.Entry == "entered" {
			at = a.Time
		}
	}

	return at
}

// gone says whether a path has been removed.
func gone(path ...string) bool {
	_, err := os.Lstat(filepath.Join(path...))

	return os.IsNotExist(err)
}
