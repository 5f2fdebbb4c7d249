package sim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

// Sim is one history under way: the real store, and around it what the store only hears of: processes, nodes, requests
// on their way, and time. Everything that happens is a command in words, see Do; names stand for the store's random ids:
// machines m1.., processes x1.., and plans p1.., operations o1.. and requests f1.. in the order in which they came to be.
type Sim struct {
	place   *Place
	lockDir string
	elapsed time.Duration // the clock that counts suspend, of all hosts
	nodes   []*node
	procs   []*proc
	flights []*flight
	ports   int
	saved   snapshot // of the store, to be put back

	follow    *dispatch.Follower
	reader    *reader
	wrote     bool              // something may have been written since entries were read
	ids       map[string]string // by name: of plans and operations
	names     map[string]string // by id: of everything
	order     map[string][]string
	appeared  map[string]int // by operation and plan id: the step in which it came to be
	rereading bool           // entries are read that were judged before
	stale     bool           // the store was restored, and no recovery was entered since
	restores  int

	steps  []string // the commands so far
	said   []string // what each came to
	moved  []string // what the current step moved
	broken []Fault  // what did not hold, the first first
}

// New begins a history at the place.
func New(p *Place) (*Sim, error) {
	s := &Sim{place: p, lockDir: filepath.Join(p.dir, "locks")}
	p.setClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Second))
	if err := errors.Join(p.pushClock(), p.reset()); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.lockDir, 0o700); err != nil {
		return nil, err
	}
	for i, name := range machineNames {
		s.nodes = append(s.nodes, &node{name: name, address: address(i), reading: firstReading(i), shown: map[string]int{}})
	}
	return s, s.follows()
}

// follows begins to read the entries from the first on.
func (s *Sim) follows() error {
	s.follow, s.reader = dispatch.NewFollower(s.problem), &reader{after: s.place.after}
	if s.names == nil {
		s.ids, s.names, s.order, s.appeared = map[string]string{}, map[string]string{}, map[string][]string{}, map[string]int{}
		for name, id := range s.place.names.machines {
			s.names[id] = name
		}
		s.names[s.place.names.clerk] = "clerk"
	}
	s.wrote, s.rereading = true, true
	err := s.judge()
	s.rereading, s.moved = false, nil
	if len(s.steps) == 0 { // what every history begins with has no part in it
		for id, name := range s.names {
			if s.ids[name] == id {
				s.names[id] = "first-" + name
			}
		}
		clear(s.ids)
		clear(s.order)
	}
	return err
}

// Close ends the history. The place is ready for the next one.
func (s *Sim) Close() error {
	var errs []error
	for _, p := range s.procs {
		if p.alive {
			errs = append(errs, p.crash())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(s.lockDir))...)
}

// Fault is an invariant that did not hold, or 0 for a rule of the contract without a number.
type Fault struct {
	Invariant int
	Text      string
}

// Broken is what did not hold, the first first.
func (s *Sim) Broken() []Fault {
	for i := range s.broken {
		s.broken[i].Text = s.named(s.broken[i].Text)
	}
	return s.broken
}

// named is a text with names instead of random ids.
func (s *Sim) named(text string) string {
	for id, name := range s.names {
		text = strings.ReplaceAll(text, id, name)
	}
	return text
}

// Script is the history so far as a script that can be run again.
func (s *Sim) Script() string { return "history\n" + strings.Join(s.steps, "\n") + "\n----\n" }

// tick is how much time passes with every step.
const tick = 20 * time.Millisecond

// Do lets one thing happen, and says what came of it. Every invariant is checked after it.
func (s *Sim) Do(line string) string {
	s.steps = append(s.steps, line)
	s.moved = nil
	s.pass(tick)
	text, err := s.command(line)
	if jerr := s.judge(); jerr != nil {
		s.fails(jerr)
	}
	if err != nil {
		text = s.say(err)
	}
	if len(s.moved) > 0 {
		text += "; " + strings.Join(s.moved, ", ")
	}
	text = strings.TrimPrefix(text, "; ")
	s.said = append(s.said, text)
	return text
}

func (s *Sim) command(line string) (string, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", nil
	}
	c, ok := commands[words[0]]
	if !ok {
		return "", misuse("no command is called %q", words[0])
	}
	a := args{s: s}
	for _, w := range words[1:] {
		if k, v, isOption := strings.Cut(w, "="); isOption {
			if !slices.Contains(c.options, k) {
				return "", misuse("%s has no option %q", words[0], k)
			}
			if a.options == nil {
				a.options = map[string]string{}
			}
			a.options[k] = v
			continue
		}
		a.words = append(a.words, w)
	}
	if len(a.words) < c.least || len(a.words) > c.most {
		return "", misuse("%s takes %d to %d words", words[0], c.least, c.most)
	}
	if err := s.place.pushClock(); err != nil {
		return "", err
	}
	s.wrote = s.wrote || !c.quiet
	return c.do(s, a)
}

// pass lets time pass, on the wall and on the clock that counts suspend.
func (s *Sim) pass(d time.Duration) {
	s.elapsed += max(d, 0)
	s.place.setClock(s.place.clock.Add(d))
	if err := s.place.pushClock(); err != nil {
		s.fails(err)
	}
}

// fails is a mistake of the simulation itself, which must not pass for a history that holds.
func (s *Sim) fails(err error) {
	s.broken = append(s.broken, Fault{Text: "the simulation failed: " + err.Error()})
}

func (s *Sim) store(host string) *store.Store {
	got, err := s.place.store(host)
	if err != nil {
		panic(err)
	}
	return got
}

func (p *proc) store() *store.Store { return p.s.store(p.host) }

// misused is a command that cannot be understood: a mistake of a script's writer.
type misused string

func (m misused) Error() string { return string(m) }

func misuse(format string, args ...any) error { return misused(fmt.Sprintf(format, args...)) }

// say is an error in words that hold no random ids.
func (s *Sim) say(err error) string {
	var restored *store.LooksRestored
	var behind *store.ClockBehind
	var m misused
	if r, ok := refusal.As(err); ok {
		if r.Comparison == refusal.None {
			return "refused: " + r.Code
		}
		return fmt.Sprintf("refused by %d: %s", r.Comparison, r.Code)
	}
	_, unknown := refusal.AsUnknown(err)
	switch {
	case errors.As(err, &m):
		return "cannot: " + m.Error()
	case unknown:
		return "unknown"
	case errors.As(err, &restored):
		return "failed: the store looks restored"
	case errors.As(err, &behind):
		return "failed: the clock is behind"
	case errors.Is(err, errAway), errors.Is(err, errCut), errors.Is(err, errDown):
		return "failed: " + lastError(err)
	case errors.Is(err, store.ErrNotFound):
		return "failed: not found"
	}
	return s.named("failed: " + err.Error())
}

// lastError is what stands at the end of an error's chain, without what wraps it.
func lastError(err error) string {
	for _, e := range []error{errAway, errCut, errDown} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return err.Error()
}

// nodeOf is the machine's node.
func (s *Sim) nodeOf(machine string) *node {
	for _, n := range s.nodes {
		if s.place.names.machines[n.name] == machine {
			return n
		}
	}
	return nil
}
