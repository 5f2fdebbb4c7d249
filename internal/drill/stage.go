package drill

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/lab/pgserver"
	"github.com/clewops/clew/internal/store"
)

// patience bounds every wait for what has to happen; a loaded machine may need much of it.
const patience = 90 * time.Second

// Stage is where one row plays, on one store over one net. Its helpers end the script when they cannot do what they are
// asked; they are called by the script's goroutine only.
type Stage struct {
	Row   Row
	Store config.Engine
	Net   lab.LinkMode

	ctx    context.Context
	dir    string // of this row alone
	run    *run
	lab    *lab.Lab // nil where the row plays on a machine of the user's own
	real   *Real
	server *pgserver.Server // nil on SQLite
	log    *transcript

	place    place
	ledger   *store.Store
	people   map[string]bool
	machines []*Machine
	plans    []*Plan
	procs    []*Process
	readings Readings
	undo     []func()
	disk     bool   // the row has a file system mounted
	clock    string // file that says how far the executors' clock is off; "" leaves them the real one
}

// stopped is what a helper panics with to end the script; play recovers it and nothing else.
type stopped struct{ err error }

// Fail ends the script: the cell is an error.
func (s *Stage) Fail(format string, args ...any) {
	panic(stopped{fmt.Errorf(format, args...)})
}

// must ends the script when err is one.
func (s *Stage) must(err error, format string, args ...any) {
	if err != nil {
		panic(stopped{fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)})
	}
}

// Context ends with the drill.
func (s *Stage) Context() context.Context { return s.ctx }

// Dir is a directory of this row alone; it is gone after the run and is no part of the evidence.
func (s *Stage) Dir() string { return s.dir }

// Lab is the lab that the row's machines are lent from.
func (s *Stage) Lab() *lab.Lab { return s.lab }

// Server is the PostgreSQL server of the row's store. Only a row with OwnServer may break it.
func (s *Stage) Server() *pgserver.Server {
	if s.server == nil {
		s.Fail("there is no server on %s", s.Store)
	}
	return s.server
}

// Machine is one of the row's machines.
func (s *Stage) Machine(i int) *Machine {
	if i >= len(s.machines) {
		s.Fail("the row asks for %d machines", len(s.machines))
	}
	return s.machines[i]
}

// Note writes a line into the transcript.
func (s *Stage) Note(format string, args ...any) { s.log.note(format, args...) }

// Set records a reading. It has to come from a reader.
func (s *Stage) Set(name string, value any) {
	r := Reading{clean(name), clean(fmt.Sprint(value))}
	if _, again := s.readings.Get(r.Name); again {
		s.Fail("reading %q is made twice", r.Name)
	}
	s.readings = append(s.readings, r)
	s.log.reading(s.Row, s.Store, s.Net, r)
}

// Until waits until a reading is as it should be, by asking again: a lock that is waited for, a state, a count. It never
// waits for time alone.
func (s *Stage) Until(what string, holds func() bool) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	s.until(ctx, what, holds)
}

func (s *Stage) until(ctx context.Context, what string, holds func() bool) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.Fail("waiting until %s: %w", what, ctx.Err())
		}
	}
}

// Background runs what must go on while the script does something else, such as a revocation that waits for a lock. The
// function that it returns waits for its end and gives its error.
func (s *Stage) Background(what string, f func(ctx context.Context) error) (wait func() error) {
	done := make(chan error, 1)
	s.Note("%s: begins", what)
	go func() { done <- f(s.ctx) }()
	var ended bool
	var result error
	end := func() error {
		if !ended {
			ended, result = true, <-done
			s.Note("%s: ended (%v)", what, result)
		}
		return result
	}
	s.undo = append(s.undo, func() { _ = end() }) // its error is the script's to see
	return end
}

// play runs the row and returns its cell. What the script leaves running is ended, and what it broke is mended.
func (s *Stage) play() Cell {
	cell := Cell{Row: s.Row.ID, Control: s.Row.Control, Store: s.Store, Net: s.Net, Expectation: s.Row.Expect}
	s.log.begin(s.Row, s.Store, s.Net)
	err := s.guarded(func() {
		s.prepare()
		s.Row.Script(s)
		s.readAll()
	})
	err = errors.Join(err, s.guarded(s.end))
	cell.Readings = s.readings
	var no *lab.NotOfferedError
	if errors.As(err, &no) {
		cell.Verdict, cell.Reason = Skipped, clean(no.Reason)
	} else if err != nil {
		cell.Verdict, cell.Reason = Errored, clean(s.run.hide(err.Error()))
	} else {
		cell.judge()
	}
	s.log.verdict(cell)
	return cell
}

// guarded runs a part of the row and turns its end by a helper into an error.
func (s *Stage) guarded(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			st, ours := p.(stopped)
			if !ours {
				panic(p)
			}
			err = st.err
		}
	}()
	f()
	return nil
}

// prepare makes the ledger, its people, and imports the machines.
func (s *Stage) prepare() {
	s.openLedger()
	if s.Row.Bare {
		return
	}
	for _, m := range s.machines {
		s.Import(m)
	}
}

// readAll asks the readers of everything that the script made.
func (s *Stage) readAll() {
	for _, p := range s.procs {
		if !p.ended {
			s.Fail("the script left executor %s running", p.Name)
		}
	}
	for _, p := range s.plans {
		s.readPlan(p)
	}
	for i, m := range s.machines {
		s.readMachine(i, m)
	}
}

// end stops what still runs, exports the ledger and closes it.
func (s *Stage) end() {
	defer s.unmountDisk()
	for _, p := range s.procs {
		p.discard()
	}
	for i := len(s.undo) - 1; i >= 0; i-- {
		s.undo[i]()
	}
	if s.ledger == nil {
		return
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), patience)
		defer cancel()
		s.must(s.ledger.Close(ctx), "closing the ledger")
	}()
	s.must(s.run.exportLedger(s), "exporting the ledger")
}

// name is the stage's part of file names.
func (s *Stage) name() string { return s.Row.ID + "." + string(s.Store) + "." + string(s.Net) }

func (s *Stage) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}
