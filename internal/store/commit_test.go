package store

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab/pgserver"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store/storetest"
)

// pgProxy forwards to a PostgreSQL server and can cut, at a chosen moment of one connection: before the COMMIT reaches
// the server, or between the server's answer and the client.
type pgProxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	cut   string // "", "request" or "answer"
	armed bool   // the COMMIT has passed, its answer is to be swallowed
	conns []net.Conn
}

func startProxy(t *testing.T, target string) *pgProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pgProxy{listener: l, target: target}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.closeAll()
		wg.Wait()
	})
	return p
}

func (p *pgProxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, client, server)
	p.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { p.pump(server, client, p.request) })
	p.pump(client, server, p.answer)
	wg.Wait()
}

// pump copies until either side ends, or look says that the bytes are not to be passed on.
func (p *pgProxy) pump(to, from net.Conn, look func(b []byte) bool) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if !look(b[:n]) {
				return
			}
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// request sees what clients send. The simple protocol's message carries the text as it is.
func (p *pgProxy) request(b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut == "" || !containsCommit(b) {
		return true
	}
	if p.cut == "request" {
		p.cut = ""
		return false
	}
	p.armed = true
	return true
}

func (p *pgProxy) answer([]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.armed {
		return true
	}
	p.armed, p.cut = false, ""
	return false
}

// containsCommit looks for the message's whole text; BEGIN ISOLATION LEVEL READ COMMITTED is not one.
func containsCommit(b []byte) bool { return bytes.Contains(b, []byte("COMMIT\x00")) }

func (p *pgProxy) cutNext(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = what
}

func (p *pgProxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// proxied is a PostgreSQL store behind a proxy, and the same store without it.
func proxied(t *testing.T) (*pgProxy, *Store, *Store) {
	t.Helper()
	place := storetestPostgres(t)
	direct := openAt(t, place)
	proxy := startProxy(t, fmt.Sprintf("127.0.0.1:%d", storetest.Server(t).Port()))
	place.Location.URL = place.Location.URL.WithHost(proxy.listener.Addr().String())
	return proxy, openAt(t, place), direct
}

// storetestPostgres is a place on PostgreSQL, for what only it can do.
func storetestPostgres(t *testing.T) storetest.Place {
	t.Helper()
	if !onEngine(t, config.Postgres) {
		t.Skip("this run is narrowed to SQLite")
	}
	return storetest.New(t, config.Postgres)
}

func onEngine(t *testing.T, e config.Engine) bool {
	for _, have := range storetest.Engines(t) {
		if have == e {
			return true
		}
	}
	return false
}

func tryWrite(s *Store, inside func()) error {
	return s.update(context.Background(), locks{}, "a test entry", func(tx *Tx) error {
		_, err := tx.append(testScope, "test.written", identityActor, nil, nil)
		if inside != nil {
			inside()
		}
		return err
	})
}

// The answer to the COMMIT is lost: it happened, and only a look shows it. Then the COMMIT itself is lost: the same
// words, and nothing happened.
func TestALostCommitIsUnknown(t *testing.T) {
	for cut, want := range map[string]int{"answer": 1, "request": 0} {
		t.Run(cut, func(t *testing.T) {
			proxy, s, direct := proxied(t)
			proxy.cutNext(cut)
			err := tryWrite(s, nil)
			if _, ok := refusal.AsUnknown(err); !ok {
				t.Fatalf("got %v", err)
			}
			if got := checkChain(t, direct, testScope); len(got) != want {
				t.Fatalf("%d entries, want %d", len(got), want)
			}
			write(t, s, testScope, 1) // the store goes on, on a new connection
			checkChain(t, direct, testScope)
		})
	}
}

// A connection that is lost before the COMMIT leaves nothing open: it is a failure.
func TestALostStatementIsAFailure(t *testing.T) {
	proxy, s, direct := proxied(t)
	err := s.update(context.Background(), locks{}, "a test entry", func(tx *Tx) error {
		if _, err := tx.append(testScope, "test.written", identityActor, nil, nil); err != nil {
			return err
		}
		proxy.closeAll()
		_, err := tx.append(testScope, "test.written", identityActor, nil, nil)
		return err
	})
	if err == nil {
		t.Fatal("no error")
	}
	if _, ok := refusal.AsUnknown(err); ok {
		t.Fatalf("a failure is called unknown: %v", err)
	}
	if got := checkChain(t, direct, testScope); len(got) != 0 {
		t.Fatalf("%d entries", len(got))
	}
}

func TestAServerKilledBeforeTheCommitIsNotSuccess(t *testing.T) {
	if !onEngine(t, config.Postgres) {
		t.Skip("this run is narrowed to SQLite")
	}
	ctx := context.Background()
	server, err := pgserver.Start(ctx, pgserver.Options{}) // its own: it is killed
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	url, err := server.CreateDatabase(ctx, "killed")
	if err != nil {
		t.Fatal(err)
	}
	s := openAt(t, storetest.Place{Location: config.Location{Engine: config.Postgres, URL: url}, StateDir: t.TempDir()})
	write(t, s, testScope, 1)
	err = tryWrite(s, func() {
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
	})
	want := 1
	if err == nil { // a session can outlive its server by a moment: what it then answers for is lasting
		want = 2
	}
	if err := tryWrite(s, nil); err == nil {
		t.Fatal("a killed server answers")
	} else if _, ok := refusal.AsUnknown(err); ok {
		t.Fatalf("nothing was sent, and it is called unknown: %v", err)
	}
	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if got := checkChain(t, s, testScope); len(got) != want {
		t.Fatalf("%d entries after the restart, want %d", len(got), want)
	}
	if err := s.Restored(); err != nil {
		t.Fatalf("a crash is taken for a restore: %v", err)
	}
	write(t, s, testScope, 1)
}
