package probe

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/clewops/clew/internal/notice"
)

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestLook(t *testing.T) {
	t.Parallel()
	unwell := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	secure := httptest.NewTLSServer(unwell)
	t.Cleanup(secure.Close)
	bare := httptest.NewServer(unwell)
	t.Cleanup(bare.Close)
	strict := httptest.NewUnstartedServer(unwell)
	strict.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	strict.StartTLS()
	t.Cleanup(strict.Close)
	silent := listener(t) // accepts, and says nothing
	gone := listener(t)
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	rude := listener(t)
	go func() {
		for {
			c, err := rude.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	for name, c := range map[string]struct {
		server string
		found  notice.Answered
		detail string
	}{
		"any answer":                 {secure.URL, notice.Fine, ""},
		"without TLS":                {bare.URL, notice.Fine, ""},
		"another protocol":           {"https" + bare.URL[len("http"):], notice.Fine, ""},
		"a certificate is asked for": {strict.URL, notice.Fine, ""},
		"refused":                    {"https://" + gone.Addr().String(), notice.Disturbed, "refused"},
		"silent":                     {"https://" + silent.Addr().String(), notice.Disturbed, "timeout"},
		"closed":                     {"https://" + rude.Addr().String(), notice.Disturbed, "reset"},
		"no address":                 {"what", notice.NoAnswer, "no address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Probe{Server: c.server}.Look()
			if got.Found != c.found || got.Detail != c.detail || got.At.IsZero() {
				t.Errorf("got %+v", got)
			}
			if got.Took > Longest+2*time.Second {
				t.Errorf("it took %v", got.Took)
			}
		})
	}
}

func TestBehindAProxyNothingIsKnown(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, c := range []struct {
		server string
		env    func(string) string
		want   bool
	}{
		{"https://api.example:6443", env(), false},
		{"https://api.example:6443", env("HTTPS_PROXY", "http://p"), true},
		{"https://api.example:6443", env("https_proxy", "http://p"), true},
		{"http://api.example:6443", env("HTTPS_PROXY", "http://p"), false},
		{"https://api.example:6443", env("HTTPS_PROXY", "http://p", "NO_PROXY", "x,.example"), false},
		{"https://10.1.2.3:6443", env("HTTPS_PROXY", "http://p", "no_proxy", "10.0.0.0/8"), false},
		{"https://10.1.2.3:6443", env("HTTPS_PROXY", "http://p", "no_proxy", "10.1.2.4"), true},
		{"https://127.0.0.1:6443", env("HTTPS_PROXY", "http://p"), false},
	} {
		u, err := url.Parse(c.server)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Probe{Env: c.env}).proxied(u); got != c.want {
			t.Errorf("%s: %t", c.server, got)
		}
	}
}
