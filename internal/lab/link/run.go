package link

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/clewops/clew/internal/lab/control"
)

type orderMessage struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Fault Fault  `json:"fault"`
}

type moveMessage struct {
	Node    string `json:"node"`
	Address string `json:"address"`
}

// Run is the link process; settings is the path of its settings. It returns when ctx ends.
func Run(ctx context.Context, settings string) error {
	b, err := os.ReadFile(settings)
	if err != nil {
		return err
	}

	var s Settings
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}

	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)

	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	p, err := newProxy(ctx, s)
	if err != nil {
		return err
	}

	l, err := control.Listen(s.Socket)
	if err != nil {
		return err
	}

	srv := &http.Server{Handler: p.handler(), ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { srv.Close() })()

	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}

	return nil
}

func (p *proxy) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /links", func(w http.ResponseWriter, _ *http.Request) {
		control.Answer(w, p.report(), nil)
	})
	mux.HandleFunc("POST /fault", func(w http.ResponseWriter, r *http.Request) {
		var m orderMessage

		err := json.NewDecoder(r.Body).Decode(&m)
		if err == nil {
			err = p.order(m.From, m.To, m.Fault)
		}

		control.Answer(w, nil, err)
	})
	mux.HandleFunc("POST /move", func(w http.ResponseWriter, r *http.Request) {
		var m moveMessage

		err := json.NewDecoder(r.Body).Decode(&m)
		if err == nil {
			err = p.move(m.Node, m.Address)
		}

		control.Answer(w, nil, err)
	})

	return mux
}

// Control talks to the link process.
type Control struct{ client *control.Client }

// NewControl talks to the link process that listens on socket.
func NewControl(socket string) *Control { return &Control{client: control.NewClient(socket)} }

// Fault orders a fault, or its end, for the link from one name (a node's or Client) to a node.
func (c *Control) Fault(ctx context.Context, from, to string, f Fault) error {
	return c.client.Call(ctx, http.MethodPost, "/fault", orderMessage{from, to, f}, nil)
}

// Move gives a node another public address.
func (c *Control) Move(ctx context.Context, node, addr string) error {
	return c.client.Call(ctx, http.MethodPost, "/move", moveMessage{node, addr}, nil)
}

// Links answers the faults of every link that was used or ordered something.
func (c *Control) Links(ctx context.Context) ([]Report, error) {
	var reports []Report

	err := c.client.Call(ctx, http.MethodGet, "/links", nil, &reports)

	return reports, err
}
