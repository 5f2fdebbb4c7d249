package sim

import "github.com/clewops/clew/internal/dispatch"

// requestCommands are what becomes of a request that left.
var requestCommands = map[string]command{
	// deliver REQUEST: it lands; the answer reaches its sender, if that still listens
	"deliver": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		return s.arrive(a, landed, &dispatch.Response{Class: dispatch.Accepted, Code: "OK"})
	}},
	// land REQUEST: it lands, and the answer is lost
	"land": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) { return s.arrive(a, landed, nil) }},
	// reject REQUEST: the node refuses it
	"reject": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		return s.arrive(a, rejected, &dispatch.Response{Class: dispatch.RejectedDef, Code: "InvalidArgument"})
	}},
	// refuse REQUEST: the node refuses it, and the answer is lost
	"refuse": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) { return s.arrive(a, rejected, nil) }},
	// drop REQUEST: the network loses it
	"drop": {least: 1, most: 1, do: func(_ *Sim, a args) (string, error) {
		f, err := a.pending(0)
		if err == nil {
			f.at = dropped
		}
		return "dropped", err
	}},
	// forward REQUEST: it leaves the sender's kernel, and is on its way where no abort reaches it
	"forward": {least: 1, most: 1, do: func(_ *Sim, a args) (string, error) {
		f, err := a.pending(0)
		if err == nil {
			f.at = onTheWay
		}
		return "on the way", err
	}},
	// give-up PROCESS: its wait for the answer is over
	"give-up": {least: 1, most: 1, do: func(_ *Sim, a args) (string, error) {
		p, err := a.living(0)
		if err == nil {
			p.gaveUp = true
		}
		return "ok", err
	}},
	// break PROCESS: the connection of its next send breaks before the first byte
	"break": {least: 1, most: 1, do: func(_ *Sim, a args) (string, error) {
		p, err := a.living(0)
		if err == nil {
			p.unsent = true
		}
		return "ok", err
	}},
}

// pending is a request that can still arrive.
func (a args) pending(n int) (*flight, error) {
	f, err := a.flight(n)
	if err == nil && !f.pending() {
		err = misuse("%s has arrived, or never will", f.name)
	}
	return f, err
}

// arrive brings a request to its node.
func (s *Sim) arrive(a args, to place, answer *dispatch.Response) (string, error) {
	f, err := a.pending(0)
	if err != nil {
		return "", err
	}
	if f.machine.down {
		return "", misuse("%s is down", f.machine.name)
	}
	s.arrives(f)
	f.at = to
	text := "refused"
	if to == landed {
		f.machine.runs(f.artifact)
		text = "landed"
	}
	if answer != nil && f.conn.p.alive && !f.conn.closed {
		f.answer = answer
		text += ", answered"
	}
	return text, nil
}
