package node

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"

	"github.com/clewops/clew/internal/lab/control"
)

// Status is what a node says of itself over its control socket.
type Status struct {
	Name    string `json:"name"`
	Worker  bool   `json:"worker"`
	Address string `json:"address"`
	PID     int    `json:"pid"`
	// Up says whether the API is there; without it everything below is empty.
	Up      bool      `json:"up"`
	BootID  string    `json:"boot_id,omitempty"`
	Booted  time.Time `json:"booted,omitzero"`
	Stage   string    `json:"stage,omitempty"`
	Ready   bool      `json:"ready"`
	Version string    `json:"version,omitempty"`
	NodeID  string    `json:"node_id,omitempty"`
	// Active and Persistent are versions of the MachineConfig resources, 0 when there is none; the digests are of
	// their bytes, SHA-256 in hex.
	Active           uint64 `json:"active"`
	ActiveDigest     string `json:"active_digest,omitempty"`
	Persistent       uint64 `json:"persistent"`
	PersistentDigest string `json:"persistent_digest,omitempty"`
	Faults           Faults `json:"faults"`
}

// RebootOrder asks for a reboot.
type RebootOrder struct {
	// Stop and Gap replace, when positive, the configured times: how long the API still answers, and how long it is
	// away.
	Stop time.Duration `json:"stop,omitempty"`
	Gap  time.Duration `json:"gap,omitempty"`
	// Version, when set, is installed by an upgrade sequence.
	Version string `json:"version,omitempty"`
}

var errNotUp = errors.New("the node is between two boots")

// controlServer serves the socket for orders that no real node takes.
type controlServer struct {
	settings Settings
	log      *slog.Logger
	knobs    *knobs
	boot     atomic.Pointer[boot]
	server   *http.Server
}

func (c *controlServer) listen() error {
	l, err := control.Listen(c.settings.ControlSocket())
	if err != nil {
		return err
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", c.status)
	mux.HandleFunc("PUT /faults", c.setFaults)
	mux.HandleFunc("PUT /timing", c.setTiming)
	mux.HandleFunc("POST /reboot", c.reboot)
	mux.HandleFunc("POST /move", c.move)

	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}

	go c.serve(l)

	return nil
}

func (c *controlServer) serve(l net.Listener) {
	if err := c.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		c.log.Error("the control socket ended", "error", err)
	}
}

func (c *controlServer) close() { c.server.Close() }

func (c *controlServer) status(w http.ResponseWriter, r *http.Request) {
	s := Status{Name: c.settings.Name, Worker: c.settings.Worker, PID: os.Getpid(), Faults: c.knobs.get()}

	b := c.boot.Load()
	if b == nil {
		s.Address, _ = CurrentAddress(c.settings.dir)
		control.Answer(w, s, nil)

		return
	}

	s.Up, s.Address, s.BootID, s.Booted, s.Version, s.NodeID = true, b.address(), b.id, b.since, b.version, b.nodeID
	s.Stage, s.Ready = b.currentStage().String(), len(b.unmet()) == 0

	var active, persistent []byte

	s.Active, active = b.configVersion(r.Context(), configres.ActiveID)
	s.Persistent, persistent = b.configVersion(r.Context(), configres.PersistentID)
	s.ActiveDigest = digest(active)

	if s.Persistent > 0 {
		s.PersistentDigest = digest(persistent)
	}

	control.Answer(w, s, nil)
}

func (c *controlServer) setFaults(w http.ResponseWriter, r *http.Request) {
	var f Faults

	err := json.NewDecoder(r.Body).Decode(&f)
	if err == nil {
		err = f.Validate()
	}

	if err == nil {
		c.knobs.set(f)
	}

	control.Answer(w, nil, err)
}

func (c *controlServer) setTiming(w http.ResponseWriter, r *http.Request) {
	var t Timing

	err := json.NewDecoder(r.Body).Decode(&t)

	switch b := c.boot.Load(); {
	case err != nil:
	case b == nil:
		err = errNotUp
	case t.Stop <= 0 || t.Gap <= 0 || t.Boot <= 0:
		err = errors.New("every time is longer than nothing")
	default:
		b.timing.Store(&t)
	}

	control.Answer(w, nil, err)
}

func (c *controlServer) reboot(w http.ResponseWriter, r *http.Request) {
	var order RebootOrder
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		control.Answer(w, nil, err)

		return
	}

	b := c.boot.Load()
	if b == nil {
		control.Answer(w, nil, errNotUp)

		return
	}

	if order.Version != "" && !ValidVersion(order.Version) {
		control.Answer(w, nil, errors.New("a version looks like v1.13.7"))

		return
	}

	s := b.rebootSequence()
	if order.Version != "" {
		s = b.upgradeSequence(order.Version)
	}

	s.stop, s.gap = order.Stop, order.Gap

	b.sequences.start(s, newUUID())
	control.Answer(w, nil, nil)
}

func (c *controlServer) move(w http.ResponseWriter, r *http.Request) {
	b := c.boot.Load()
	if b == nil {
		control.Answer(w, nil, errNotUp)

		return
	}

	addr, err := b.move(r.Context())
	control.Answer(w, addr, err)
}

// Control talks to a node's control socket.
type Control struct{ client *control.Client }

// NewControl talks to the node that listens on socket.
func NewControl(socket string) *Control { return &Control{client: control.NewClient(socket)} }

// Status asks how the node is.
func (c *Control) Status(ctx context.Context) (s Status, err error) {
	err = c.client.Call(ctx, http.MethodGet, "/status", nil, &s)

	return s, err
}

// SetFaults replaces the node's knobs.
func (c *Control) SetFaults(ctx context.Context, f Faults) error {
	return c.client.Call(ctx, http.MethodPut, "/faults", f, nil)
}

// SetTiming replaces the times of the sequences until the next boot.
func (c *Control) SetTiming(ctx context.Context, t Timing) error {
	return c.client.Call(ctx, http.MethodPut, "/timing", t, nil)
}

// Reboot starts a reboot or upgrade sequence.
func (c *Control) Reboot(ctx context.Context, order RebootOrder) error {
	return c.client.Call(ctx, http.MethodPost, "/reboot", order, nil)
}

// Move makes the node lose its address and answers the new one.
func (c *Control) Move(ctx context.Context) (addr string, err error) {
	err = c.client.Call(ctx, http.MethodPost, "/move", nil, &addr)

	return addr, err
}

// newNodeID returns 32 random bytes in base 62, the shape of a node's identity.
func newNodeID() string {
	var b [32]byte

	rand.Read(b[:]) // never fails

	return new(big.Int).SetBytes(b[:]).Text(62)
}
