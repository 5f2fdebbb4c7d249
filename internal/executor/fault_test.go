package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

// mode is what goes wrong at a step.
type mode int

const (
	none  mode = iota
	fails      // it does not happen, and that is known
	lost       // it does not happen, and no answer comes
	took       // it takes effect, and no answer comes
	crash      // it takes effect, and the process ends there
	gone       // it does not happen, and the process ends there; sends only
)

func (m mode) String() string {
	return [...]string{"nothing", "fails", "lost", "took effect", "crash after", "crash before"}[m]
}

// errInjected is what a step answers that was made to fail.
var errInjected = errors.New("injected")

// fault is one step that goes wrong: the nth of its name in its process.
type fault struct {
	step string
	nth  int
	mode mode
}

// process is one executor, with a store handle and a lock file of its own, whose steps go wrong where a case says so. It
// runs in a goroutine of its own, which a crash ends.
type process struct {
	*Executor
	c      *faultCase
	st     *store.Store
	lock   *os.File
	faults []fault

	mu   sync.Mutex
	seen map[string]int
	hit  []string
	dead bool
	err  error // why it gave up
}

// at counts a step and says what goes wrong at it.
func (p *process) at(step string) mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[step]++
	for _, f := range p.faults {
		if f.step == step && (f.nth == p.seen[step] || f.nth == 0) {
			p.hit = append(p.hit, step)
			return f.mode
		}
	}
	return none
}

// committing is the seam of every write transaction.
func (p *process) committing(what string, commit func() (bool, error)) (bool, error) {
	m := p.at(transactionOf(what))
	switch m {
	case fails:
		return false, errInjected
	case lost:
		return true, errInjected
	case took, crash:
		if open, err := commit(); err != nil {
			return open, err
		}
		if m == crash {
			p.dead = true
		}
		return true, errInjected
	case none, gone:
	}
	return commit()
}

// alive ends the goroutine of a process that crashed inside the call that just came back: nothing more is done by it.
func (p *process) alive() {
	if p.dead {
		runtime.Goexit()
	}
}

// must gives up on an error, as a command does.
func (p *process) must(err error) {
	p.alive()
	if err != nil {
		p.err = err
		runtime.Goexit()
	}
}

// remote runs one step on the network.
func (p *process) remote(step string, do func() error) error {
	switch p.at(step) {
	case fails, lost:
		return errCut
	case took:
		_ = do()
		return errCut
	case crash:
		_ = do()
		p.dead = true
		runtime.Goexit()
	case none, gone:
	}
	return do()
}

// local runs one step on the own host, or one read of the store: with it the answer is lost.
func (p *process) local(step string, do func() error) error {
	if err := p.remote(step, do); !errors.Is(err, errCut) {
		return err
	}
	return errInjected
}

// start begins a process. Its lock file says that it runs.
func (c *faultCase) start(faults ...fault) *process {
	c.t.Helper()
	p := &process{c: c, faults: faults, seen: map[string]int{}}
	p.st = c.w.Open(func(cfg *store.Config) { cfg.Committing = p.committing })
	f, err := os.Create(filepath.Join(c.t.TempDir(), "lock"))
	if err != nil {
		c.t.Fatal(err)
	}
	p.lock = f
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		c.t.Fatal(err)
	}
	p.Executor = &Executor{
		Store: faultStore{p.st, p}, Nodes: faultNodes{p}, Keeper: keeper{}, Host: c.host, Elapsed: c.clock.elapsed,
		Token: world.Token, SettleFloor: dispatch.MinimumSettle,
		Pause: func(ctx context.Context, d time.Duration) error {
			c.clock.advance(d)
			c.w.Pass(d)
			return ctx.Err()
		},
	}
	return p
}

// run runs what the process does until it is done, gives up or crashes. Then the process is over, and its lock is free.
func (p *process) run(do func(p *process)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.instance()
		do(p)
	}()
	<-done
	_ = p.lock.Close()
}

// instance records that the process runs.
func (p *process) instance() {
	info, err := p.lock.Stat()
	p.must(err)
	st := info.Sys().(*syscall.Stat_t)
	p.Instance, err = p.st.StartInstance(context.Background(), p.c.host, os.Getpid(), p.lock.Name(), uint64(st.Dev), st.Ino)
	p.must(err)
}

// faultNodes are the links to the case's node.
type faultNodes struct{ p *process }

func (n faultNodes) Dial(ctx context.Context, t Target) (Conn, error) {
	var c Conn
	err := n.p.remote("dial", func() (err error) {
		c, err = n.p.c.node.Dial(ctx, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &faultConn{c, n.p}, nil
}

func (n faultNodes) CannotArrive(ctx context.Context, t Target, a dispatch.Attempt) (v SocketVerdict, err error) {
	err = n.p.remote("sockets", func() (err error) {
		v, err = n.p.c.node.CannotArrive(ctx, t, a)
		return err
	})
	return v, err
}

type faultConn struct {
	Conn
	p *process
}

func (c *faultConn) Read(ctx context.Context) (r dispatch.Reading, b secret.Bytes, err error) {
	err = c.p.remote("read", func() (err error) {
		r, b, err = c.Conn.Read(ctx)
		return err
	})
	return r, b, err
}

func (c *faultConn) Baseline(ctx context.Context) (b json.RawMessage, err error) {
	err = c.p.remote("baseline", func() (err error) {
		b, err = c.Conn.Baseline(ctx)
		return err
	})
	return b, err
}

// Apply fails without a byte sent, is lost on the way, or lands and nobody hears of it.
func (c *faultConn) Apply(ctx context.Context, config secret.Bytes, mode string) Outcome {
	n := c.p.c.node
	m := c.p.at("send")
	if f, wrong := sendFates[m]; wrong {
		n.mu.Lock()
		n.fates = append([]fate{f}, n.fates...)
		n.mu.Unlock()
	}
	out := c.Conn.Apply(ctx, config, mode)
	if m == crash || m == gone {
		c.p.dead = true
		runtime.Goexit()
	}
	return out
}

var sendFates = map[mode]fate{fails: unsent, lost: lostIn, took: lostAfter, crash: lostAfter, gone: lostIn}

// transactionOf is the name of a transaction: the longest one that what begins with.
func transactionOf(what string) string {
	best := ""
	for _, name := range transactionNames {
		if strings.HasPrefix(what, name) && len(name) > len(best) {
			best = name
		}
	}
	if best == "" {
		return what
	}
	return best
}

// faultCase is one case: a machine of a world that other cases use too.
type faultCase struct {
	t     *testing.T
	w     *world.World
	m     *world.Machine
	node  *node
	clock *clock
	host  dispatch.Host
	key   string               // idempotency key of the case's plan
	adapt func(*dispatch.Plan) // what is special about it
	draft *dispatch.Plan       // what is asked for; made once, as a person's second try asks for the same
	plan  string               // its id, once known
	who   store.Who            // who approves it
	first *process             // that ran before the one whose step goes wrong; nil where none did
	note  string               // what a scenario hands from one process to the next
}

func (c *faultCase) actor(w store.Who) ledger.Actor {
	return ledger.Actor{Identity: w.Identity, Role: w.Role, Assurance: w.Assurance}
}

// state is what the reloaded store says of the case: the operation's state, or the plan's where there is none.
func (c *faultCase) state(st *store.Store) string {
	plans, err := st.Plans(context.Background(), store.PlanFilter{Machine: c.m.ID})
	if err != nil {
		c.t.Fatal(err)
	}
	i := slices.IndexFunc(plans, func(v store.PlanView) bool { return v.Plan.IdempotencyKey == c.key })
	if i < 0 {
		return "no plan"
	}
	v := plans[i]
	c.plan = v.Plan.ID
	if v.Operation == nil {
		return string(v.Standing.State)
	}
	return string(v.Operation.State)
}

func (c *faultCase) String() string { return fmt.Sprintf("machine %s, plan %s", c.m.Name, c.plan) }
