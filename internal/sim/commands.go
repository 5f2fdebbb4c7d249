package sim

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// command is one thing that can happen.
type command struct {
	least, most int // words after its name
	options     []string
	do          func(s *Sim, a args) (string, error)
	quiet       bool // it writes nothing to the store, or says itself when it does
}

// commands is everything that can happen, by name. Scripts type these, and random histories consist of them.
var commands map[string]command

func init() {
	commands = map[string]command{}
	for _, group := range []map[string]command{peopleCommands, processCommands, directCommands, recoveryCommands} {
		maps.Copy(commands, group)
	}
	for _, group := range []map[string]command{requestCommands, worldCommands} {
		for name, c := range group {
			c.quiet = true
			commands[name] = c
		}
	}
}

// args are a command's words and options.
type args struct {
	s       *Sim
	words   []string
	options map[string]string
}

// has says whether an option was given.
func (a args) has(option string) bool { _, ok := a.options[option]; return ok }

// text is an option, or what stands for it when it is not given.
func (a args) text(option, otherwise string) string {
	if v, ok := a.options[option]; ok {
		return v
	}
	return otherwise
}

func (a args) number(option string, otherwise int) int {
	if v, err := strconv.Atoi(a.options[option]); err == nil {
		return v
	}
	return otherwise
}

func (a args) duration(option string, otherwise time.Duration) time.Duration {
	if v, err := time.ParseDuration(a.options[option]); err == nil {
		return v
	}
	return otherwise
}

// word is the nth word, "" when there is none.
func (a args) word(n int) string {
	if n < len(a.words) {
		return a.words[n]
	}
	return ""
}

func (a args) proc(n int) (*proc, error) {
	for _, p := range a.s.procs {
		if p.name == a.words[n] {
			return p, nil
		}
	}
	return nil, misuse("no process is called %s", a.words[n])
}

// living is a process that runs.
func (a args) living(n int) (*proc, error) {
	p, err := a.proc(n)
	if err == nil && !p.alive {
		err = misuse("%s has ended", p.name)
	}
	return p, err
}

// idle is a process that runs and has nothing to do.
func (a args) idle(n int) (*proc, error) {
	p, err := a.living(n)
	if err == nil && p.job != "" {
		err = misuse("%s is busy with %s", p.name, p.job)
	}
	return p, err
}

// machine is the id of a machine.
func (a args) machine(n int) (string, error) {
	if id, ok := a.s.place.names.machines[a.words[n]]; ok {
		return id, nil
	}
	return "", misuse("no machine is called %s", a.words[n])
}

func (a args) node(n int) (*node, error) {
	for _, x := range a.s.nodes {
		if x.name == a.words[n] {
			return x, nil
		}
	}
	return nil, misuse("no machine is called %s", a.words[n])
}

// record is the id of a plan or an operation.
func (a args) record(n int) (string, error) {
	if id, ok := a.s.ids[a.words[n]]; ok {
		return id, nil
	}
	return "", misuse("there is no %s", a.words[n])
}

// recorded is the id of the plan or operation that an option names, "" without it.
func (a args) recorded(option string) (string, error) {
	v := a.options[option]
	if v == "" {
		return "", nil
	}
	if id, ok := a.s.ids[v]; ok {
		return id, nil
	}
	return "", misuse("there is no %s", v)
}

// operation is an operation as the ledger has it.
func (a args) operation(n int) (dispatch.Operation, *dispatch.Records, error) {
	id, err := a.record(n)
	if err != nil {
		return dispatch.Operation{}, nil, err
	}
	op, rec := a.s.operation(id)
	if rec == nil {
		return op, nil, misuse("the store holds no %s", a.words[n])
	}
	return op, rec, nil
}

func (a args) flight(n int) (*flight, error) {
	for _, f := range a.s.flights {
		if f.name == a.words[n] {
			return f, nil
		}
	}
	return nil, misuse("no request is called %s", a.words[n])
}

// operation is an operation as the ledger has it, nil records when it has none of that id.
func (s *Sim) operation(id string) (dispatch.Operation, *dispatch.Records) {
	for _, n := range s.nodes {
		rec := s.follow.Records(s.place.names.machines[n.name])
		if op, ok := rec.Operations[id]; ok {
			return op, rec
		}
	}
	return dispatch.Operation{}, nil
}

// plan is a plan as the ledger has it, nil records when it has none of that id.
func (s *Sim) plan(id string) (dispatch.Plan, *dispatch.Records) {
	for _, n := range s.nodes {
		rec := s.follow.Records(s.place.names.machines[n.name])
		if p, ok := rec.Plans[id]; ok {
			return p, rec
		}
	}
	return dispatch.Plan{}, nil
}

// home is where people's commands run.
const home = desk

var background = context.Background

// actor is a person as what a decision records.
func actor(name, role string) ledger.Actor {
	return ledger.Actor{Identity: name, Role: role, Assurance: ledger.Asserted}
}
