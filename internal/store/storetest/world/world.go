// Package world makes, for tests, a store with people, a machine and processes in it, so that a case begins where it gets
// interesting: with an approved plan and evidence. It goes through the store's exported methods only. Every world checks,
// when its test ends, that its history holds every invariant (see Unchecked).
package world

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest"
)

// World is one store and who acts in it.
type World struct {
	T     testing.TB
	Store *store.Store
	Place storetest.Place

	Admin    store.Who // the first identity: all roles
	Author   store.Who // author and operator
	Approver store.Who
	Second   store.Who // another approver

	*state
}

// state is what a world and its views of subtests share.
type state struct {
	clock     *clock // nil on PostgreSQL, whose clock is its own
	unchecked string
}

// In is the world for a subtest, whose errors are the subtest's.
func (w *World) In(t testing.TB) *World {
	sub := *w
	sub.T = t
	return &sub
}

// clock is a host clock that a test moves. It runs on by itself, so that ages and deadlines behave.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// Each runs a test in a fresh world of every engine.
func Each(t *testing.T, test func(t *testing.T, w *World), adjust ...func(*store.Config)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, p storetest.Place) { test(t, New(t, p, adjust...)) })
}

// New opens a store at a fresh place and admits its people.
func New(t testing.TB, p storetest.Place, adjust ...func(*store.Config)) *World {
	t.Helper()
	w := &World{T: t, Place: p, state: &state{}}
	if p.Location.Engine == config.SQLite {
		w.clock = &clock{}
	}
	w.Store = w.Open(adjust...)
	t.Cleanup(w.check)
	ctx := context.Background()
	w.Admin = store.Who{Identity: "ada", Assurance: ledger.Asserted}
	w.no(w.second(w.Store.EnsureLocalIdentity(ctx, "ada")))
	w.Author = w.Person("ben", store.RoleAuthor, store.RoleOperator)
	w.Approver = w.Person("cleo", store.RoleApprover)
	w.Second = w.Person("dora", store.RoleApprover)
	return w
}

// Open opens the world's store once more, as another process would. It is closed when the test ends.
func (w *World) Open(adjust ...func(*store.Config)) *store.Store {
	w.T.Helper()
	// Nothing but the test writes, however long it takes: a background anchor would move heads that it compares.
	cfg := store.Config{Location: w.Place.Location, StateDir: w.Place.StateDir, AnchorEvery: time.Hour}
	if w.clock != nil {
		cfg.Clock = w.clock.now
	}
	for _, f := range adjust {
		f(&cfg)
	}
	s, err := store.Open(context.Background(), cfg)
	if err != nil {
		w.T.Fatalf("open the store: %v", err)
	}
	w.T.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			w.T.Errorf("close the store: %v", err)
		}
	})
	return s
}

// Person admits somebody with these roles.
func (w *World) Person(name string, roles ...string) store.Who {
	w.T.Helper()
	w.no(w.second(w.Store.CreateIdentity(context.Background(), w.Admin, name, ledger.Asserted, roles)))
	return store.Who{Identity: name, Assurance: ledger.Asserted}
}

// Unchecked says that the world's history need not hold, and why: a control broke it, or time was moved in it.
func (w *World) Unchecked(why string) { w.unchecked = why }

// no fails the test on an error.
func (w *World) no(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// second drops a result beside an error.
func (w *World) second(_ any, err error) error { return err }

// Now is the store's time.
func (w *World) Now() time.Time {
	w.T.Helper()
	now, err := w.Store.Now(context.Background())
	w.no(err)
	return now
}

// Entries are the entries of a machine's timeline of these kinds (none: all), with their bodies.
func (w *World) Entries(machine string, kinds ...string) []ledger.Entry {
	w.T.Helper()
	scope := ledger.Scope{Kind: ledger.Machine, ID: machine}
	entries, err := w.Store.Entries(context.Background(), store.EntryFilter{Scope: &scope, Kinds: kinds})
	w.no(err)
	return entries
}

// check verifies the store and fails the test for everything that does not hold.
func (w *World) check() {
	for _, p := range w.Problems() {
		if w.unchecked == "" {
			w.T.Errorf("the store does not verify: %s", p)
		}
	}
}

// Problems is what the store's verification finds: broken chains, rows that say something else than the entries, and
// invariants that do not hold.
func (w *World) Problems() []dispatch.Problem {
	w.T.Helper()
	r, err := w.Store.Verify(context.Background(), store.VerifyOptions{})
	if err != nil {
		w.T.Errorf("verify the store: %v", err)
	}
	return r.Problems
}

// Process is a process that may own operations.
type Process struct {
	w    *World
	ID   string
	Host dispatch.Host
}

// host is where the world's processes run, unless a test says otherwise.
var host = dispatch.Host{Name: "desk", ID: "host-1", BootID: "boot-of-desk", NetNS: "net-1"}

// Process starts a process on the world's host.
func (w *World) Process() *Process { return w.ProcessOn(host) }

// ProcessOn starts a process on a host.
func (w *World) ProcessOn(h dispatch.Host) *Process {
	w.T.Helper()
	id, err := w.Store.StartInstance(context.Background(), h, 1, "", 0, 0)
	w.no(err)
	return &Process{w: w, ID: id, Host: h}
}

// End records the process's end.
func (p *Process) End() {
	p.w.T.Helper()
	p.w.no(p.w.Store.EndInstance(context.Background(), p.ID))
}

// Owner is the process as the first owner of an operation.
func (p *Process) Owner() dispatch.Owner {
	p.w.T.Helper()
	var epoch string
	for _, e := range p.w.installation() {
		var b store.InstallationBody
		decode(p.w.T, e.Body, &b)
		epoch = cmp.Or(b.Epoch, epoch)
	}
	return dispatch.Owner{Instance: p.ID, Generation: 1, Epoch: epoch}
}

func (w *World) installation() []ledger.Entry {
	w.T.Helper()
	entries, err := w.Store.Entries(context.Background(), store.EntryFilter{
		Scopes: []string{ledger.Installation},
		Kinds:  []string{dispatch.EntryInstalled, dispatch.EntryRecoveryEntered},
	})
	w.no(err)
	return entries
}

// Config is a stand-in for a machine configuration: its digest, with ciphertext kept for it.
func (w *World) Config(name string) string {
	w.T.Helper()
	d := dispatch.Digest([]byte("version: v1alpha1 # " + name))
	armored := "-----BEGIN AGE ENCRYPTED FILE-----\n" + name + "\n-----END AGE ENCRYPTED FILE-----\n"
	w.no(w.Store.PutArtifact(context.Background(), d, armored, len(name), w.Author.Identity))
	return d
}

// Token is a random transaction token.
func Token() string { return store.NewToken() }

// String names the world for messages.
func (w *World) String() string { return fmt.Sprintf("a %s world", w.Place.Location.Engine) }
