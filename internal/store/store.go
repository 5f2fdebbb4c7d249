package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// Config says where the store is and what stands around it. Only Location is needed.
type Config struct {
	Location config.Location

	// StateDir is where the head file of a PostgreSQL store lives: a local directory that outlives restores of the
	// database. Unused with SQLite, whose head file lies beside the store.
	StateDir string

	// Host is where this process runs, to show which other processes of the host have stopped. StartInstance sets it
	// too. Without it only recorded ends and attestations show one.
	Host dispatch.Host

	// Clock is the host's clock, and with it the time of an SQLite store; nil is time.Now. PostgreSQL has its own.
	Clock func() time.Time

	// Inspect opens a store only to verify it: nothing is created, repaired or anchored, so that what was taken out of it
	// still shows. Nothing may be written through such a store.
	Inspect bool

	// Log hears of what failed beside the work that was asked for, such as an anchor; nil hears nothing.
	Log *slog.Logger

	// AnchorEvery is how often an open store looks for heads that are not anchored; 0 is 30 s. The contract says at least
	// every minute, and tests that compare states want it longer.
	AnchorEvery time.Duration

	// Gate, when set, is called inside the commitment ("commit") and the attempt ("attempt") after every comparison,
	// with their locks held. Only drills set it. An error rolls back.
	Gate func(ctx context.Context, name string) error

	// Committing, when set, stands around the COMMIT of every write transaction: what says what is being written, as errors
	// do, and commit makes the COMMIT. It answers as a COMMIT does: open says that its outcome is not known. Only tests and
	// drills set it, to let a COMMIT fail, get lost, or be the last thing that a process does.
	Committing func(what string, commit func() (open bool, err error)) (open bool, err error)

	// Without takes guards away, for controls. Empty in the product.
	Without dispatch.Without
}

// Store is an open store. Its methods are safe for concurrent use, and for use beside other processes.
type Store struct {
	cfg      Config
	engine   engine
	head     *headFile
	restored atomic.Pointer[LooksRestored]
	here     atomic.Pointer[dispatch.Host]
	moved    atomic.Bool // this process appended something that it has not anchored

	// take takes a transaction's locks: Tx.take, unless a control of the one order of locks takes another.
	take func(tx *Tx, what string, l locks) error

	stop     context.CancelFunc
	anchorer sync.WaitGroup
}

// Who is the person, token or agent that acts. It is an explicit parameter wherever someone decides.
type Who struct {
	Identity  string
	Role      string
	Assurance ledger.Assurance
	Agent     bool // acts inside a known agent's environment
}

// Open opens the store, creating it (SQLite) and its schema (both) on first use. It fails for a schema newer than this
// binary, a network file system and a server that does not commit synchronously. A store that looks restored opens:
// reading works, and Restored says why commitments and attempts fail.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.AnchorEvery == 0 {
		cfg.AnchorEvery = anchorEvery
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{cfg: cfg, take: func(tx *Tx, _ string, l locks) error { return tx.take(l) }}
	s.here.Store(&cfg.Host)
	if err := s.openEngine(ctx); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store: %w", err), s.engine.close())
	}
	return s, nil
}

func (s *Store) openEngine(ctx context.Context) (err error) {
	l := s.cfg.Location
	switch l.Engine {
	case config.SQLite:
		if !filepath.IsAbs(l.Path) {
			return fmt.Errorf("the store's path %q is not absolute", l.Path)
		}
		var e *sqliteEngine
		if e, err = openSQLite(ctx, l.Path, s.cfg.Inspect, s.cfg.Clock); err == nil {
			s.engine, s.head = e, &headFile{path: e.path + ".head"}
		}
	case config.Postgres:
		if s.cfg.StateDir == "" {
			return errors.New("a PostgreSQL store needs a local state directory, to notice a restore")
		}
		s.head = &headFile{path: filepath.Join(s.cfg.StateDir, "heads", headName(l.URL))}
		var e *postgresEngine
		if e, err = openPostgres(ctx, l.URL); err == nil {
			s.engine = e
		}
	default:
		err = fmt.Errorf("no store engine is called %q", l.Engine)
	}
	return err
}

func (s *Store) begin(ctx context.Context) error {
	if err := s.engine.migrate(ctx, s.cfg.Inspect); err != nil || s.cfg.Inspect {
		return err
	}
	if err := s.install(ctx); err != nil {
		return err
	}
	if err := s.dropIndexes(ctx); err != nil {
		return err
	}
	if err := s.checkHeadFile(ctx); err != nil {
		return err
	}
	s.startAnchoring()
	return nil
}

// install creates the installation's row and the first entry of its chain, once in the life of a store.
func (s *Store) install(ctx context.Context) error {
	err := s.view(ctx, func(tx *Tx) error {
		_, err := tx.installation()
		return err
	})
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return s.update(ctx, locks{installation: exclusive}, "the creation of the store", func(tx *Tx) error {
		if _, err := tx.installation(); !errors.Is(err, sql.ErrNoRows) {
			return err // another process was first
		}
		id, err := tx.store.engine.identity(tx.ctx, tx.conn)
		if err != nil {
			return tx.note(err)
		}
		epoch := random128()
		if _, err := tx.exec(`INSERT INTO installation
			(id, epoch, in_recovery, entered_revision, entered_at, last_before, database_identity, era)
			VALUES (1, $1, 0, 0, 0, 0, $2, 1)`,
			epoch, id); err != nil {
			return err
		}
		_, err = tx.append(installationScope, dispatch.EntryInstalled, ledger.Actor{Epoch: epoch}, nil,
			InstallationBody{Epoch: epoch, Database: id, Era: 1})
		return err
	})
}

// InstallationBody is the body of entries of the installation's chain other than anchors.
type InstallationBody struct {
	Epoch    string   `json:"epoch,omitempty"`    // in force after the entry
	Previous []string `json:"previous,omitempty"` // recovery entered: the epochs that ended, in the database and as last seen here
	Database string   `json:"database,omitempty"` // the database's identity that the epoch is bound to
	Era      int64    `json:"era,omitempty"`      // clock era in force after the entry
	Text     string   `json:"text,omitempty"`

	// LastBefore is the time of the last entry before recovery was entered: what a restore lost was sent after it.
	LastBefore time.Time `json:"last_before,omitzero"`
}

// Close ends the store's use. What this process appended is anchored first.
func (s *Store) Close(ctx context.Context) error {
	s.stopAnchoring(ctx)
	return errors.Join(s.head.close(), s.engine.close())
}

// Engine is "sqlite" or "postgres".
func (s *Store) Engine() string { return s.engine.name() }

// Now is the time that transactions see: the database's, or on SQLite the host's.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.view(ctx, func(tx *Tx) error {
		now = tx.Now()
		return nil
	})
	return now, err
}

// Epoch is the recovery epoch in force, and whether recovery is under way.
func (s *Store) Epoch(ctx context.Context) (epoch string, inRecovery bool, err error) {
	err = s.lookup(ctx, func(tx *Tx) error {
		i, err := tx.installation()
		if err == nil {
			epoch, inRecovery = i.epoch, i.inRecovery
		}
		return err
	})
	return epoch, inRecovery, err
}

// committed follows a COMMIT that is known to have happened.
func (s *Store) committed(tx *Tx, l locks) {
	for _, h := range tx.heads {
		if h.changed && h.Scope != installationScope {
			s.moved.Store(true)
			break
		}
	}
	if !l.guarded && !l.remember {
		return
	}
	if err := s.syncHeads(tx, l.machines); err != nil {
		// What was committed is committed. SyncHead tries again before anything is sent.
		s.cfg.Log.Warn("the head file was not written", "error", err)
	}
}
