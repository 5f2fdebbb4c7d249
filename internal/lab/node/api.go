package node

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// apidGrace is how long running calls may go on once apid stops; a node waits longer, nothing else differs.
const apidGrace = 500 * time.Millisecond

// api is the two servers of a boot: apid on the network and machined behind it.
type api struct {
	boot   *boot
	apid   *grpc.Server
	inner  *grpc.Server
	router *router
	local  *grpc.ClientConn

	mu        sync.Mutex
	addr      string
	listeners map[string]*muteListener // by address; all but addr are muted
	serving   sync.WaitGroup
}

// startAPI brings both servers up; from then on the node answers.
func startAPI(b *boot) (*api, error) {
	a := &api{boot: b, listeners: map[string]*muteListener{}, inner: newMachinedServer(&machined{settings: b.settings, log: b.log, boot: b})}

	inside, err := listenMachined(b.settings.machinedSocket())
	if err != nil {
		return nil, err
	}

	a.serve(a.inner, inside)

	backend, conn, err := newLocal(b.settings.machinedSocket())
	if err != nil {
		return nil, err
	}

	a.local = conn

	identity, err := clientTLS(b)
	if err != nil {
		return nil, err
	}

	a.router = &router{local: backend, isSelf: b.isSelf, tls: identity, source: b.sourceAddress}

	if a.apid, err = newApidServer(b, a.router); err != nil {
		return nil, err
	}

	b.api = a

	listen := b.settings.Listen
	if b.settings.LinkSocket == "" && listen != "" {
		listen = b.address() // a node that has moved stays where it moved to
	}

	return a, a.listen(listen)
}

// listen serves on another address; the one before falls silent.
func (a *api) listen(addr string) error {
	a.mu.Lock()
	defer a.mu.Unlock()

	if lost := a.listeners[addr]; lost != nil {
		closeOnce(lost.freed)
		lost.Close()
	}

	l, err := net.Listen("tcp", apiAddress(addr))
	if err != nil {
		return err
	}

	if old := a.listeners[a.addr]; old != nil {
		closeOnce(old.muted)
	}

	a.addr, a.listeners[addr] = addr, newMuteListener(l)
	a.serve(a.apid, a.listeners[addr])

	return nil
}

func (a *api) serve(srv *grpc.Server, l net.Listener) {
	a.serving.Add(1)

	go func() {
		defer a.serving.Done()
		// An error here means that the listener was closed: on purpose, or by a failure that clients see for themselves.
		if err := srv.Serve(l); err != nil {
			a.boot.log.Info("a listener ended", "address", l.Addr().String(), "error", err)
		}
	}()
}

// stop takes the API away: event streams end, then running calls get their grace.
func (a *api) stop() {
	a.boot.events.close()

	ctx, cancel := context.WithTimeout(context.Background(), apidGrace)
	defer cancel()

	a.mu.Lock()
	for _, l := range a.listeners {
		closeOnce(l.freed)
	}
	a.mu.Unlock()

	gracefulStop(ctx, a.apid)
	a.router.close()
	a.local.Close()
	a.inner.Stop()
	a.serving.Wait()
}
