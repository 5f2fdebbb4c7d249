package talos

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	sidero "github.com/siderolabs/crypto/x509"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/clewops/clew/internal/dispatch"
)

// rawNode is a TLS server that answers every stream frame by frame, so that a test can put anything on the wire that a
// peer could.
type rawNode struct {
	t        *testing.T
	listener net.Listener
	answer   func(*rawStream)
	config   *Config

	mu      sync.Mutex
	conns   []*tls.Conn
	streams []*rawStream
}

// rawStream is one request, complete.
type rawStream struct {
	framer  *http2.Framer
	conn    *tls.Conn
	id      uint32
	headers map[string][]string
	body    bytes.Buffer
}

// newRawNode serves on a loopback address; answer runs for every complete request, one at a time per connection.
func newRawNode(t *testing.T, answer func(*rawStream)) *rawNode {
	t.Helper()
	server, config := credentials(t)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &rawNode{t: t, listener: tls.NewListener(plain, server), answer: answer, config: config}
	var serving sync.WaitGroup
	serving.Go(func() { n.accept(&serving) })
	t.Cleanup(func() {
		_ = n.listener.Close()
		n.mu.Lock()
		for _, c := range n.conns {
			_ = c.NetConn().Close()
		}
		n.mu.Unlock()
		serving.Wait()
	})
	return n
}

// credentials makes a CA, a server that demands a client certificate of it, and a loaded talosconfig with one.
func credentials(t *testing.T) (*tls.Config, *Config) {
	t.Helper()
	ca, err := sidero.NewSelfSignedCertificateAuthority(sidero.ECDSA(true))
	if err != nil {
		t.Fatal(err)
	}
	pair := func(o ...sidero.Option) *sidero.PEMEncodedCertificateAndKey {
		k, err := sidero.NewKeyPair(ca, append(o, sidero.NotAfter(time.Now().Add(time.Hour)))...)
		if err != nil {
			t.Fatal(err)
		}
		return sidero.NewCertificateAndKeyFromKeyPair(k)
	}
	server := pair(sidero.IPAddresses([]net.IP{net.IPv4(127, 0, 0, 1)}), sidero.ExtKeyUsage([]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}))
	admin := pair(sidero.Organization("os:admin"), sidero.ExtKeyUsage([]x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}))
	own, err := tls.X509KeyPair(server.Crt, server.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.CrtPEM)
	path := filepath.Join(t.TempDir(), "talosconfig")
	if err := clientconfig.NewConfig("raw", nil, ca.CrtPEM, admin).Save(path); err != nil {
		t.Fatal(err)
	}
	config, err := LoadConfig(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{own}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
	}, config
}

func (n *rawNode) accept(serving *sync.WaitGroup) {
	for {
		c, err := n.listener.Accept()
		if err != nil {
			return
		}
		conn := c.(*tls.Conn)
		n.mu.Lock()
		n.conns = append(n.conns, conn)
		n.mu.Unlock()
		serving.Go(func() {
			defer func() { _ = conn.Close() }()
			if err := n.serve(conn); err != nil && !errors.Is(err, io.EOF) {
				n.t.Logf("raw node: %v", err)
			}
		})
	}
}

func (n *rawNode) serve(conn *tls.Conn) error {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return err
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := framer.WriteSettings(); err != nil {
		return err
	}
	open := map[uint32]*rawStream{}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = framer.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				err = framer.WritePing(true, f.Data)
			}
		case *http2.MetaHeadersFrame:
			s := &rawStream{framer: framer, conn: conn, id: f.StreamID, headers: map[string][]string{}}
			for _, h := range f.Fields {
				s.headers[h.Name] = append(s.headers[h.Name], h.Value)
			}
			open[f.StreamID] = s
			n.mu.Lock()
			n.streams = append(n.streams, s)
			n.mu.Unlock()
		case *http2.DataFrame:
			s := open[f.StreamID]
			s.body.Write(f.Data())
			if f.StreamEnded() {
				n.answer(s)
			}
		}
		if err != nil {
			return err
		}
	}
}

// seen is how many connections and streams there were.
func (n *rawNode) seen() (conns, streams int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns), len(n.streams)
}

func (n *rawNode) port() int { return n.listener.Addr().(*net.TCPAddr).Port }

// dial connects, with a Talos version as if it had been read.
func (n *rawNode) dial(version string) *Conn {
	n.t.Helper()
	return n.dialTo(Target{Address: "127.0.0.1", Route: dispatch.Direct}, version, Options{})
}

func (n *rawNode) dialTo(t Target, version string, o Options) *Conn {
	n.t.Helper()
	o.port = n.port()
	c, err := Dial(n.t.Context(), n.config, t, o)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = c.Close() })
	if version != "" {
		c.version.Store(version)
	}
	return c
}

// message decodes the request.
func (s *rawStream) message(t *testing.T, into proto.Message) {
	t.Helper()
	b := s.body.Bytes()
	if len(b) < 5 || int(binary.BigEndian.Uint32(b[1:5])) != len(b)-5 {
		t.Errorf("a body of %d bytes is not one message", len(b))
		return
	}
	if err := proto.Unmarshal(b[5:], into); err != nil {
		t.Error(err)
	}
}

// write sends one HEADERS frame with pairs of name and value.
func (s *rawStream) write(end bool, pairs ...string) {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	e.SetMaxDynamicTableSizeLimit(0) // every block stands alone
	for i := 0; i+1 < len(pairs); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	_ = s.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: s.id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end,
	})
}

func (s *rawStream) headersGRPC(pairs ...string) {
	s.write(false, append([]string{":status", "200", "content-type", "application/grpc"}, pairs...)...)
}

// data sends one gRPC message.
func (s *rawStream) data(m proto.Message, compressed, end bool) {
	b, _ := proto.Marshal(m)
	framed := make([]byte, 5, 5+len(b))
	if compressed {
		framed[0] = 1
	}
	binary.BigEndian.PutUint32(framed[1:], uint32(len(b)))
	_ = s.framer.WriteData(s.id, end, append(framed, b...))
}

// trailersOnly answers with nothing but a status.
func (s *rawStream) trailersOnly(code int, text string) {
	s.write(true, ":status", "200", "content-type", "application/grpc",
		"grpc-status", strconv.Itoa(code), "grpc-message", text)
}

// reply answers with a message and a status after it.
func (s *rawStream) reply(m proto.Message, code int) {
	s.headersGRPC()
	s.data(m, false, false)
	s.write(true, "grpc-status", strconv.Itoa(code))
}

// keyOf is the private key of a talosconfig, to look for in what must not show it.
func keyOf(t *testing.T, c *Config) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(c.context.Key)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
