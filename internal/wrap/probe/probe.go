// Package probe asks an API server or a machine whether it is there: TLS and one request, without credentials. Any answer
// means that it is. Nothing that comes back is believed but that it came.
package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/clewops/clew/internal/notice"
)

// Longest is how long a probe takes at most: a failed command's end waits for it.
const Longest = 280 * time.Millisecond

// Probe is a question to one server.
type Probe struct {
	Server string // scheme, host and port
	Env    func(string) string
}

// Result is what it found.
type Result struct {
	Found  notice.Answered
	At     time.Time
	Took   time.Duration
	Detail string // refused, timeout; or why it could not tell
}

// Look asks once.
func (p Probe) Look() Result {
	start := time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), start.Add(Longest))
	defer cancel()
	found, detail := p.ask(ctx)
	return Result{Found: found, At: start, Took: time.Since(start), Detail: detail}
}

func (p Probe) ask(ctx context.Context) (notice.Answered, string) {
	u, err := url.Parse(p.Server)
	if err != nil || u.Hostname() == "" {
		return notice.NoAnswer, "no address"
	}
	if p.proxied(u) {
		return notice.NoAnswer, "behind a proxy"
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{true: "80", false: "443"}[u.Scheme == "http"]
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return classify(err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return notice.NoAnswer, "no deadline"
	}
	if u.Scheme != "http" {
		// Who answers is not the question, and nothing is sent that anybody may not read.
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: u.Hostname(), MinVersion: tls.VersionTLS12})
	}
	_, err = fmt.Fprintf(conn, "GET /readyz HTTP/1.1\r\nHost: %s\r\nUser-Agent: clewx\r\nConnection: close\r\n\r\n", u.Host)
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 1))
	}
	if err != nil {
		return classify(err)
	}
	return notice.Fine, ""
}

// classify reads an error by its type. An alert of TLS is an answer.
func classify(err error) (notice.Answered, string) {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var op *net.OpError
	var timeout net.Error
	var name *net.DNSError
	switch {
	case errors.As(err, &alert), errors.As(err, &record), errors.As(err, &op) && op.Op == "remote error":
		return notice.Fine, ""
	case errors.As(err, &name):
		return notice.NoAnswer, "its name was not found"
	case errors.Is(err, syscall.ECONNREFUSED):
		return notice.Disturbed, "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return notice.Disturbed, "reset"
	case errors.Is(err, syscall.EHOSTUNREACH):
		return notice.Disturbed, "no route"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return notice.Disturbed, "timeout"
	default:
		return notice.NoAnswer, "no network"
	}
}

// proxied says whether the tool reaches the server by a proxy, so that a direct question says nothing.
func (p Probe) proxied(u *url.URL) bool {
	if p.Env == nil {
		return false
	}
	either := func(name string) string {
		if v := p.Env(name); v != "" {
			return v
		}
		return p.Env(strings.ToLower(name))
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return false // as Go's clients have it
	}
	if either(strings.ToUpper(u.Scheme)+"_PROXY") == "" {
		return false
	}
	for entry := range strings.SplitSeq(either("NO_PROXY"), ",") {
		entry = strings.TrimPrefix(strings.TrimSpace(entry), ".")
		if entry == "*" || entry != "" && (host == entry || strings.HasSuffix(host, "."+entry)) {
			return false
		}
		if _, network, err := net.ParseCIDR(entry); err == nil && network.Contains(net.ParseIP(host)) {
			return false
		}
	}
	return true
}
