// Package control is how the processes of a lab take orders: JSON over HTTP on a unix socket in a private directory.
// It knows nothing of what is ordered.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// Listen opens the socket afresh; an earlier process image may have left the file.
func Listen(socket string) (net.Listener, error) {
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return nil, err
	}

	return net.Listen("unix", socket)
}

type answer struct {
	Error string          `json:"error,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Answer writes v, or the error.
func Answer(w http.ResponseWriter, v any, err error) {
	var a answer

	if err == nil && v != nil {
		a.Value, err = json.Marshal(v)
	}

	w.Header().Set("Content-Type", "application/json")

	if err != nil {
		a = answer{Error: err.Error()}

		w.WriteHeader(http.StatusUnprocessableEntity)
	}

	json.NewEncoder(w).Encode(a) //lint:ignore errcheck the asker has gone
}

// Client asks the process behind one socket.
type Client struct{ http http.Client }

// NewClient makes a client of the process that listens on socket. Every call opens a connection of its own, because
// the process may be another image by the next call.
func NewClient(socket string) *Client {
	return &Client{http: http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}}
}

// Call sends in (nil for nothing) and decodes the answer's value into out (nil to ignore it). An error that the
// process answered comes back with its text; any other error means that it was not reached.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader

	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}

		body = bytes.NewReader(b)
	}

	req, err := http.NewRequestWithContext(ctx, method, "http://lab"+path, body)
	if err != nil {
		return err
	}

	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()

	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return fmt.Errorf("reading the answer to %s %s: %w", method, path, err)
	}

	if a.Error != "" {
		return errors.New(a.Error)
	}

	if out == nil || a.Value == nil {
		return nil
	}

	return json.Unmarshal(a.Value, out)
}
