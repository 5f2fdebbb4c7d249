package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

// wired is what commands open when they need it, and only then: a store, an executor's instance, the artifacts' key.
type wired struct {
	store    *store.Store
	executor *executor.Executor
	key      theKey
	lines    *bufio.Reader // of a terminal; answers typed ahead stay for the next question
	talos    talosFlags
}

// closeTimeout bounds what a command still writes when it ends, also after an interrupt.
const closeTimeout = 10 * time.Second

// open opens the store and creates it on first use.
func (a *app) open(ctx context.Context) (*store.Store, error) {
	if a.wired.store != nil {
		return a.wired.store, nil
	}
	l, err := a.place()
	if err != nil {
		return nil, err
	}
	c, err := a.settings()
	if err != nil {
		return nil, err
	}
	open := store.Config{Location: l, StateDir: c.Dirs.State, Inspect: a.inspecting}
	if err := a.drillStore(&open); err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, open)
	if errors.Is(err, syscall.EROFS) {
		err = fmt.Errorf("%w: SQLite needs to write beside the store, also to read it; work on a copy", err)
	}
	if err != nil {
		return nil, withNext(fmt.Errorf("%w (the store is %s, from %s)", err, l, l.Source), "clew --store FILE")
	}
	a.wired.store = st
	a.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		return st.Close(ctx)
	})
	if err := st.Restored(); err != nil && !a.inspecting {
		a.note("clew: %v", err)
	}
	return st, nil
}

// place is where the store is.
func (a *app) place() (config.Location, error) {
	if a.flags.server != "" {
		return config.Location{}, usagef("--server: this version works on a store; use --store with a SQLite file or a PostgreSQL URL")
	}
	return a.storeLocation()
}

// openExisting opens the store for looking. ok is false when it is a SQLite file that does not exist yet: looking
// creates nothing.
func (a *app) openExisting(ctx context.Context) (st *store.Store, ok bool, err error) {
	l, err := a.place()
	if err != nil {
		return nil, false, err
	}
	if l.Engine == config.SQLite {
		if _, err := os.Stat(l.Path); errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
	}
	st, err = a.open(ctx)
	return st, err == nil, err
}

// mustExist opens the store for a command about a record: without a store there is none.
func (a *app) mustExist(ctx context.Context) (*store.Store, error) {
	st, ok, err := a.openExisting(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, withNext(errors.New("nothing is recorded yet"), "clew machine import --talosconfig FILE")
	}
	return st, nil
}

// osUser is the name that the operating system knows this user by.
func (a *app) osUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := a.getenv("USER"); name != "" {
		return name
	}
	return "uid-" + strconv.Itoa(os.Getuid())
}

// myName is the identity that the user asserts, by default the operating system's user.
func (a *app) myName() (string, error) {
	name, err := a.identity()
	if err == nil && name == "" {
		name = a.osUser()
	}
	return name, err
}

// who is the acting person in a role that they hold. The first identity of a store is made here and holds every role; a
// later one has to exist.
func (a *app) who(ctx context.Context, st *store.Store, role string) (store.Who, error) {
	name, err := a.myName()
	if err != nil {
		return store.Who{}, err
	}
	i, err := st.EnsureLocalIdentity(ctx, name)
	if err != nil {
		return store.Who{}, err
	}
	if r := store.Authorize(i, role); r != nil {
		return store.Who{}, r
	}
	_, agent := a.agent()
	return store.Who{Identity: i.Name, Role: role, Assurance: ledger.Asserted, Agent: agent != ""}, nil
}

// theExecutor starts this process's executor: an instance with a lock file that is held as long as the process lives.
func (a *app) theExecutor(ctx context.Context, st *store.Store) (*executor.Executor, error) {
	if a.wired.executor != nil {
		return a.wired.executor, nil
	}
	if a.flags.offline {
		return nil, usagef("--offline contacts nothing, and this command has to reach a node")
	}
	if a.wired.talos.path != "" { // a wrong file is told before anything is written
		if _, err := a.credentials(""); err != nil {
			return nil, err
		}
	}
	floor, err := a.settleFloor()
	if err != nil {
		return nil, err
	}
	outliveReaders()
	instance, host, err := a.startInstance(ctx, st)
	if err != nil {
		return nil, err
	}
	a.wired.executor = &executor.Executor{
		Store: st, Nodes: &nodes{app: a}, Keeper: lateKeeper{ctx: ctx, app: a, store: st}, Instance: instance, Host: host,
		Elapsed: executor.BootClock, Token: store.NewToken, SettleFloor: floor,
		Progress: a.progress, Log: slog.New(slog.DiscardHandler),
	}
	a.drillExecutor(a.wired.executor)
	return a.wired.executor, nil
}

// takeOver makes this executor the owner of what stopped ones left behind, and says so.
func (a *app) takeOver(ctx context.Context, e *executor.Executor) error {
	taken, err := e.Recover(ctx)
	for _, op := range taken {
		a.mention("%s was left by an executor that has stopped: taken over", op)
	}
	return err
}

// envSettleFloor is the deployment's least settle time, outside the database so that no one who can write there can
// shorten it.
const envSettleFloor = "CLEW_SETTLE_FLOOR"

func (a *app) settleFloor() (time.Duration, error) {
	v := a.getenv(envSettleFloor)
	if v == "" {
		return dispatch.MinimumSettle, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < dispatch.MinimumSettle {
		return 0, fmt.Errorf("%s is %q: it has to be a duration of at least %s", envSettleFloor, shorten(v), dispatch.MinimumSettle)
	}
	return d, nil
}

// progress tells a person what the executor does. It must not wait for them.
func (a *app) progress(p executor.Progress) {
	subject := p.Machine
	if p.Operation != "" {
		subject += " " + p.Operation
	}
	a.mention("%s: %s", subject, p.Text)
}

// isRefused says whether err is a refusal with that code.
func isRefused(err error, code string) bool {
	r, ok := refusal.As(err)
	return ok && r.Code == code
}
