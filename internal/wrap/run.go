package wrap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/wrap/ancestry"
	"github.com/clewops/clew/internal/wrap/child"
	"github.com/clewops/clew/internal/wrap/journal"
	"github.com/clewops/clew/internal/wrap/recogniserfile"
)

// run is one command on its way.
type run struct {
	argv []string
	env  []string
	path string // of the real tool

	nested  bool // a wrapper above this one keeps the act
	facts   act.Facts
	dirs    config.Dirs
	dirsErr error

	recognised act.Recognised
	session    act.Session
	known      map[string]string
	place      act.Place
	placed     bool
	targets    []act.Target

	journal *journal.Journal // nil: not recorded
	dir     string           // that the journal is in
	key     string
	missing string // what is not recorded, for people; empty: nothing is missing
}

func (r *run) getenv(name string) string {
	for _, v := range r.env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// find finds the real tool. The status is not 0 if there is none.
func (r *run) find() int {
	r.dirs, r.dirsErr = config.FindDirs(r.getenv)
	if r.dirsErr == nil {
		r.known = ancestry.Remembered(JournalDir(r.dirs))
	}
	r.facts = ancestry.Gather(r.env, r.known)
	own, _ := os.Executable()
	n := above(r.facts.Ancestors, own, r.argv)
	r.nested = n > 0
	path, err := lookUp(r.argv[0], r.getenv("PATH"), shimTest(os.Args[0]), n)
	if err != nil {
		say(fmt.Sprintf("clew: %s: %v\n", filepath.Base(r.argv[0]), err))
		if errors.Is(err, fs.ErrPermission) {
			return exitCannotStart
		}
		return exitNotFound
	}
	r.path = path
	return 0
}

// childArgv are the tool's arguments: its name as it was typed, unless that was a path of the shim.
func (r *run) childArgv() []string {
	if !strings.Contains(r.argv[0], "/") || r.argv[0] == r.path {
		return r.argv
	}
	return append([]string{r.path}, r.argv[1:]...)
}

// understand says what the command means and whose it is.
func (r *run) understand() {
	dir := ""
	if r.dirsErr == nil {
		dir = RecogniserDir(r.dirs)
	}
	// A mistake in the user's file is what `clew recogniser check` is for; the shipped recogniser stands in.
	found, _ := recogniserfile.Find(dir, r.argv[0])
	r.recognised = act.Recognised{Class: act.Unknown, Doubts: []act.Doubt{act.DoubtTool}}
	if found != nil {
		r.recognised = found.Match(r.argv[1:], r.getenv)
	}
	if r.recognised.Local {
		return
	}
	id := act.Identify(r.facts, act.Programs())
	r.session = act.Session{
		ID: id.ID, Name: id.Name, Kind: id.Kind, Identity: id.User, Assurance: act.Asserted, Host: r.facts.Host,
		Source: id.Source, Aliases: id.Aliases, LastSeen: time.Now().UTC(),
	}
	r.place, r.placed = r.resolve(smallConfig)
	r.targets = r.recognised.WithPlace(r.place)
}

// begin records the act. That it cannot is no reason not to run the command.
func (r *run) begin() {
	if r.recognised.Local {
		return
	}
	if err := r.open(); err != nil {
		r.missing = fmt.Sprintf("this session's commands are not recorded (%v), so others are not told of them", err)
		return
	}
	r.key = journal.NewKey()
	holder := r.journal.Hold(journal.Holder{PID: os.Getpid(), Start: journal.StartOf(os.Getpid()), Boot: r.facts.BootID})
	now := time.Now().UTC()
	rec := journal.Record{
		Kind: journal.Begin, Key: r.key, At: now, Session: &r.session, Act: r.observed(now),
		Open: r.recognised.TargetsOpen, Observe: r.recognised.Outcome, Holder: &holder,
	}
	if err := r.journal.Append(rec, r.recognised.Class != act.Read); err != nil {
		r.notRecorded(err)
	}
}

func (r *run) notRecorded(err error) {
	r.missing = fmt.Sprintf("this session's commands are not recorded (%v), so others are not told of them", cause(err))
	r.journal = nil
}

// cause is what the system said, without the path before it, which says nothing to people.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// observed is the act as far as it is known before the command.
func (r *run) observed(now time.Time) *act.Observed {
	x := r.recognised
	tool := x.Tool
	if tool == "" {
		tool = act.ProgramName(r.argv[0])
	}
	return &act.Observed{
		Session: r.session.ID, Tool: tool, Operation: x.Operation, Class: x.Class, Effect: x.Effect, Targets: r.targets,
		Place: r.place, Recorded: x.Recorded, Envelope: x.Envelope, Tail: x.Tail, Recogniser: x.Recogniser, Start: now,
	}
}

// open opens the journal: in the state directory, or where that cannot be written below $TMPDIR.
func (r *run) open() error {
	err := r.dirsErr
	if err == nil {
		r.dir = JournalDir(r.dirs)
		if r.journal, err = journal.Open(r.dir, r.session.ID); err == nil {
			// The next command finds the session by its variable, too.
			_ = ancestry.Remember(r.dir, act.Identified{ID: r.session.ID, Aliases: r.session.Aliases}, r.known)
			return nil
		}
	}
	r.journal = nil
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return cause(err)
	}
	dir := TempDir(r.getenv)
	j, second := journal.Open(dir, r.session.ID)
	if second != nil {
		return cause(second)
	}
	r.journal, r.dir = j, dir
	why := "HOME is not set"
	if r.dirsErr == nil {
		why = cause(err).Error()
	}
	r.missing = fmt.Sprintf("this session's commands are not recorded for others: the state directory cannot be written (%s); kept in %s", why, dir)
	return nil
}

// notStarted ends an act whose command could not be started.
func (r *run) notStarted() {
	if r.journal != nil {
		_ = r.journal.Append(journal.Record{Kind: journal.End, Key: r.key, At: time.Now().UTC(), Exit: &act.Exit{Status: exitCannotStart}}, false)
	}
}

// placeLate finds out in the background where the command works, if that was too much to read before it.
func (r *run) placeLate() <-chan struct{} {
	done := make(chan struct{})
	if r.nested || r.placed || r.recognised.Local {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		place, ok := r.resolve(largestConfig)
		if !ok {
			return
		}
		r.place, r.targets = place, r.recognised.WithPlace(place)
		if r.journal != nil {
			if err := r.journal.Append(journal.Record{Kind: journal.Placed, Key: r.key, At: time.Now().UTC(), Place: &r.place, Targets: r.targets}, false); err != nil {
				r.notRecorded(err)
			}
		}
	}()
	return done
}

// end records the exit and says what is to be said.
func (r *run) end(exit child.Exit) {
	if r.nested || r.recognised.Local {
		return
	}
	e := act.Exit{Status: exit.Status}
	if exit.Signal != 0 {
		e.Signal = unix.SignalName(exit.Signal)
	}
	if r.journal != nil {
		if err := r.journal.Append(journal.Record{Kind: journal.End, Key: r.key, At: time.Now().UTC(), Exit: &e}, false); err != nil {
			r.notRecorded(err)
		}
	}
	child.WriteAsBackground()
	if r.missing != "" && r.first(r.missing) {
		say(oneLine("clew: "+r.missing) + "\n")
	}
	r.after(e)
}
