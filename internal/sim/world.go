package sim

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// worldCommands are what nodes, hosts and clocks do by themselves, and what others do to nodes.
var worldCommands = map[string]command{
	// edit MACHINE CONFIG: somebody applies a configuration past this program
	"edit": {least: 2, most: 2, do: func(_ *Sim, a args) (string, error) {
		n, err := a.node(0)
		if err == nil {
			n.runs(digestOf(a.words[1]))
		}
		return "runs " + a.words[1], err
	}},
	// stage MACHINE CONFIG: the same, for the next boot
	"stage": {least: 2, most: 2, do: func(_ *Sim, a args) (string, error) {
		n, err := a.node(0)
		if err == nil {
			n.reading.Persistent.Digest, n.reading.Persistent.Present = digestOf(a.words[1]), true
			n.reading.Persistent.Version++
		}
		return "staged", err
	}},
	// boot MACHINE
	"boot": {least: 1, most: 1, do: func(_ *Sim, a args) (string, error) {
		n, err := a.node(0)
		if err != nil {
			return "", err
		}
		if n.reading.Persistent.Present {
			n.reading.Active = n.reading.Persistent
		}
		n.reading.BootID += "+"
		n.reading.Active.Version = 1
		n.reading.Persistent.Present, n.reading.Persistent.Digest, n.reading.Persistent.Version = false, "", 0
		n.reading.Stage = "running"
		return "booted", nil
	}},
	// shows MACHINE STAGE: e.g. rebooting, running
	"shows": {least: 2, most: 2, do: func(_ *Sim, a args) (string, error) {
		n, err := a.node(0)
		if err == nil {
			n.reading.Stage = a.words[1]
		}
		return "ok", err
	}},
	"down": {least: 1, most: 1, do: func(_ *Sim, a args) (string, error) {
		n, err := a.node(0)
		if err == nil {
			n.down = true
		}
		return "down", err
	}},
	"up": {least: 1, most: 1, do: func(_ *Sim, a args) (string, error) {
		n, err := a.node(0)
		if err == nil {
			n.down = false
		}
		return "up", err
	}},
	// clock DURATION: so much time passes; a negative one is a clock that is set back
	"clock": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		d, err := time.ParseDuration(a.words[0])
		if err != nil {
			return "", misuse("%s is no duration", a.words[0])
		}
		s.pass(d)
		return "ok", nil
	}},
	// reopen HOST: the processes of a host crash, and its next one opens the store anew
	"reopen": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		if s.place.dirs[a.words[0]] == "" {
			return "", misuse("no host is called %s", a.words[0])
		}
		s.wrote = true // a store that is closed anchors what it left
		ended := 0
		for _, p := range s.procs {
			if p.host == a.words[0] && p.alive {
				ended++
				if err := p.crash(); err != nil {
					return "", err
				}
			}
		}
		return strconv.Itoa(ended) + " crashed", s.place.reopen(a.words[0])
	}},
}

func sortedKeys[V any](m map[int64]V) []int64 { return slices.Sorted(maps.Keys(m)) }
