package sim

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
)

// proc is one executor process. Its job runs as a coroutine that stops before every call to the store that matters, and
// goes on when it is told to: what happens in between is what the other processes, people and nodes do.
type proc struct {
	s       *Sim
	name    string
	id      string // of its instance
	host    string
	ex      *executor.Executor
	lock    *os.File // held as long as it lives
	alive   bool
	stopped bool // suspended: it does not step
	conns   []*conn
	job     string // what it does, "" when idle
	at      string // the step before which it waits
	result  string
	resume  func() (string, bool)
	stop    func()
	yield   func(string) bool
	fault   fault // of its next call to the store
	gaveUp  bool  // its wait for an answer is over
	unsent  bool  // its connection breaks before the next request
	sending dispatch.AttemptKey
	sentBy  dispatch.Owner
	beganAt time.Duration // when it began the attempt transaction, by the clock that counts suspend
}

// fault is what goes wrong with one call to the store.
type fault int

const (
	noFault  fault = iota
	failing        // nothing happens, and the process knows
	lostGone       // the COMMIT is lost: nothing took effect, and the process does not know
	lostKept       // the COMMIT's answer is lost: it took effect, and the process does not know
)

// killed ends the coroutine of a process that crashed.
type killed struct{}

// start makes a new process on a host.
func (s *Sim) start(name, host string) (*proc, error) {
	p := &proc{s: s, name: name, host: host, alive: true}
	path := filepath.Join(s.lockDir, fmt.Sprintf("%s.lock", name))
	var err error
	if p.lock, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(p.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, p.lock.Close())
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(p.lock.Fd()), &st); err != nil {
		return nil, errors.Join(err, p.lock.Close())
	}
	p.id, err = s.store(host).StartInstance(context.Background(), hostFacts(host), len(s.procs)+1, path, uint64(st.Dev), st.Ino)
	if err != nil {
		return nil, errors.Join(err, p.lock.Close())
	}
	p.ex = &executor.Executor{
		Store: &steps{p}, Nodes: p, Keeper: keeper{}, Instance: p.id, Host: hostFacts(host),
		Who:     ledger.Actor{Identity: author, Role: store.RoleOperator, Assurance: ledger.Asserted},
		Elapsed: func() time.Duration { return s.elapsed },
		Pause: func(_ context.Context, d time.Duration) error {
			p.pause("wait")
			s.pass(nap(d))
			return nil
		},
		Token: store.NewToken, SettleFloor: dispatch.MinimumSettle,
		Gate: func(_ context.Context, name string) error {
			if name == "guard" {
				p.pause("the send guard")
			}
			return nil
		},
		Without: s.place.without,
	}
	return p, nil
}

// nap is how long a pause takes here: short ones are random in the executor, and a history must repeat exactly.
func nap(d time.Duration) time.Duration {
	if d < 3*time.Second {
		return time.Second
	}
	return d
}

// run begins a job, up to its first step.
func (p *proc) run(job string, body func(ctx context.Context) string) {
	p.job, p.result = job, ""
	p.resume, p.stop = iter.Pull(func(yield func(string) bool) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(killed); !ok {
					panic(r)
				}
			}
		}()
		p.yield = yield
		p.result = body(context.Background())
	})
	p.step()
}

// step lets the job go on to its next step, or to its end.
func (p *proc) step() {
	at, more := p.resume()
	p.at = at
	if !more {
		p.endJob()
	}
}

func (p *proc) endJob() {
	p.job, p.at, p.resume, p.stop, p.yield = "", "", nil, nil, nil
	p.gaveUp, p.unsent, p.fault = false, false, noFault
}

// pause stops the job before a step. It returns when the process goes on, and not at all when it crashes.
func (p *proc) pause(step string) {
	if p.yield == nil {
		panic(errStuck)
	}
	if !p.yield(step) {
		panic(killed{})
	}
}

// crash ends the process where it stands. What it sent stays with the kernel.
func (p *proc) crash() error {
	p.alive = false
	if p.stop != nil {
		p.stop()
		p.endJob()
	}
	return p.lock.Close()
}
