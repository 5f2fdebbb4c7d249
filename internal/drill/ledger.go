package drill

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/clewops/clew/internal/artifact"
	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

// place is where a row's store lives.
type place struct {
	location config.Location
	database string // PostgreSQL: its name
}

// founder is the first identity of every ledger, with all roles; people with fewer are made as they are needed.
const founder = "drill"

// approver approves the plans that name nobody else.
const approver = "approver"

var databases atomic.Int64

// openLedger makes the row's store, without the guards that the row takes away, and opens it for those who plan, approve
// and revoke. Guards' indexes can only be taken away before anything is registered.
func (s *Stage) openLedger() {
	s.must(os.MkdirAll(s.path("home"), 0o700), "making the row's directory")
	switch s.Store {
	case config.SQLite:
		s.place.location = config.Location{Engine: s.Store, Path: filepath.Join(s.storeDir(), "store.db")}
	case config.Postgres:
		s.place.database = fmt.Sprintf("%s%s_%d", databasePrefix, strings.ToLower(s.Row.ID), databases.Add(1))
		u, err := s.Server().CreateDatabase(s.ctx, s.place.database)
		s.must(err, "making the row's database")
		s.place.location = config.Location{Engine: s.Store, URL: u}
	}
	s.reopenLedger()
	_, err := s.ledger.EnsureLocalIdentity(s.ctx, founder)
	s.must(err, "naming the ledger's first identity")
	s.people = map[string]bool{founder: true}
	s.Person(approver, store.RoleApprover)
	for i := range operators {
		s.Person(operator(i), store.RoleOperator)
	}
}

// reopenLedger opens the row's store, after closeLedger once more.
func (s *Stage) reopenLedger() {
	var err error
	s.ledger, err = store.Open(s.ctx, store.Config{
		Location: s.place.location, StateDir: s.stateDir(), Without: s.Row.Without,
	})
	s.must(err, "opening the row's store")
}

// closeLedger closes the row's store in this process: a row that does something to its file does not do it under an open one.
func (s *Stage) closeLedger() {
	l := s.ledger
	s.ledger = nil
	s.must(l.Close(s.ctx), "closing the row's store")
}

// operators is how many executors of a row have an identity from the start. It is not made when they start, because
// another one may hold the ledger's locks then.
const operators = 4

func operator(i int) string { return fmt.Sprintf("operator-%d", i+1) }

// stateDir is the state directory that the row's executors have too.
func (s *Stage) stateDir() string { return s.path("home", ".local", "state", "clew") }

// Ledger is the row's store as those who plan, approve and revoke use it. No reader does.
func (s *Stage) Ledger() *store.Store { return s.ledger }

// As is a person in a role, as the ledger's methods take it.
func (s *Stage) As(name, role string) store.Who {
	return store.Who{Identity: name, Role: role, Assurance: ledger.Asserted}
}

// Person admits a person with these roles, once, and returns the name.
func (s *Stage) Person(name string, roles ...string) string {
	if !s.people[name] {
		_, err := s.ledger.CreateIdentity(s.ctx, s.As(founder, store.RoleRecoveryAdmin), name, ledger.Asserted, roles)
		s.must(err, "admitting %s", name)
		s.people[name] = true
	}
	return name
}

// keeper is the row's key for configurations.
func (s *Stage) keeper() *artifact.Keeper {
	k, err := artifact.Create(s.keyFile())
	s.must(err, "opening the row's key")
	return k
}

func (s *Stage) keyFile() string { return s.path("artifact.key") }

// credentials are the lab's, or the user's, as the product reads them.
func (s *Stage) credentials() *talos.Config {
	if s.real != nil {
		return s.real.config
	}
	c, err := talos.LoadConfig(s.lab.Talosconfig(), "")
	s.must(err, "reading the lab's talosconfig")
	return c
}

func (s *Stage) talosconfig() string {
	if s.real != nil {
		return s.real.Talosconfig
	}
	return s.lab.Talosconfig()
}

// usualRoute is the way to the machines where a row says nothing else.
func (s *Stage) usualRoute() dispatch.Route {
	if s.real != nil {
		return s.real.Route
	}
	return dispatch.Direct
}

func (s *Stage) clusterName() string {
	if s.real != nil {
		return "real"
	}
	return lab.ClusterName
}

// asInstance runs f as an instance of the ledger, which ends with it: the drill's process must never be what keeps a
// machine from being recovered.
func (s *Stage) asInstance(f func(instance string)) {
	host, err := talos.LocalHost()
	s.must(err, "finding out which host this is")
	id, err := s.ledger.StartInstance(s.ctx, host, os.Getpid(), "", 0, 0)
	s.must(err, "starting an instance")
	defer func() { s.must(s.ledger.EndInstance(context.WithoutCancel(s.ctx), id), "ending an instance") }()
	f(id)
}

// databaseURL splits a PostgreSQL URL into one without its password, and the password.
func databaseURL(u config.DatabaseURL) (plain, password string, err error) {
	parsed, err := url.Parse(u.Reveal())
	if err != nil {
		return "", "", errors.New("the database's URL cannot be read")
	}
	password, _ = parsed.User.Password()
	parsed.User = url.User(parsed.User.Username())
	return parsed.String(), password, nil
}

// read makes one recorded reading of a machine for a purpose, on a connection of its own.
func (s *Stage) read(instance string, m *Machine, o dispatch.Observation) (dispatch.Observation, []byte) {
	conn, err := talos.Dial(s.ctx, s.credentials(), talos.Target{Address: m.Address(), Route: o.Route}, talos.Options{})
	s.must(err, "reaching %s", m.Name())
	defer conn.Abort()
	o.Machine, o.Instance, o.ReadAddress = m.ID, instance, m.Address()
	o.LocalAddr, o.RemoteAddr = conn.LocalAddr(), conn.RemoteAddr()
	o.Basis, err = s.ledger.StartRead(s.ctx, o)
	s.must(err, "recording that a read of %s begins", m.Name())
	reading, bytes, err := conn.Read(s.ctx)
	s.must(err, "reading %s", m.Name())
	o.Reading = reading
	o, _, err = s.ledger.RecordRead(s.ctx, o)
	s.must(err, "recording a reading of %s", m.Name())
	return o, bytes.Reveal()
}
