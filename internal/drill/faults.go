package drill

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/clewops/clew/internal/lab"
)

// injections is injections.log: one begin and one done line for each fault that the drill itself makes.
type injections struct {
	mu   sync.Mutex
	file *os.File
	next int
}

func (i *injections) line(n int, what, cell, target, kind, arg string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, err := fmt.Fprintf(i.file, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", stamp(), n, what, cell, clean(target), clean(kind), clean(arg))
	return err
}

func (i *injections) number() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next++
	return i.next
}

// inject writes the begin line of a fault and returns what writes its done line.
func (s *Stage) inject(target, kind, arg string) (done func(result string)) {
	n := s.run.injections.number()
	s.must(s.run.injections.line(n, "begin", s.name(), target, kind, arg), "writing injections.log")
	s.Note("fault %d: %s %s %s", n, target, kind, arg)
	return func(result string) {
		s.must(s.run.injections.line(n, "done", s.name(), target, kind, result), "writing injections.log")
	}
}

// Fault carries out an order of the lab: a fault of a node or a link, or its heal. Links of the row's machines are healed
// and nodes mended when it ends.
func (s *Stage) Fault(o lab.Order) string {
	if !s.Row.Needs.Faults && !s.Row.Needs.Crash {
		s.Fail("the row does not say that it needs faults")
	}
	done := s.inject(o.Target, o.Kind, o.Arg)
	told, err := s.lab.Do(s.ctx, o)
	s.must(err, "%s of %s", o.Kind, o.Target)
	done(told)
	return told
}

// ClientLink names the link by which the executors reach a machine, for Fault.
func (s *Stage) ClientLink(m *Machine) string { return lab.Client + ":" + m.Name() }

// EndpointLink names the link by which the endpoint reaches a machine, for Fault.
func (s *Stage) EndpointLink(m *Machine) string { return s.lab.Nodes()[0].Name() + ":" + m.Name() }

// KillServer ends the row's own PostgreSQL server with SIGKILL; RestartServer brings it back.
func (s *Stage) KillServer() {
	s.ownServer()
	done := s.inject("postgres", "kill", fmt.Sprint(s.server.PID()))
	s.must(s.server.Kill(), "killing the database")
	done("")
}

// RestartServer starts the row's own server again, on its data and port.
func (s *Stage) RestartServer() {
	s.ownServer()
	done := s.inject("postgres", "restart", "")
	s.must(s.server.Restart(s.ctx), "restarting the database")
	done(fmt.Sprint(s.server.PID()))
}

func (s *Stage) ownServer() {
	if !s.Row.OwnServer {
		s.Fail("the row does not say that it breaks its database")
	}
	s.Server()
}

// stamp is a time as the drill's files have it.
func stamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000Z") }
