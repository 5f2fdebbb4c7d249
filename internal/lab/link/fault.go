package link

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Kind of a fault.
type Kind string

// The kinds. Cut is Hold in both directions and takes no Direction.
const (
	Heal  Kind = "heal"
	Cut   Kind = "cut"
	Hold  Kind = "hold"
	Drop  Kind = "drop"
	Delay Kind = "delay"
)

// Direction of bytes; empty means Both.
type Direction string

// The directions.
const (
	Both     Direction = "both"
	ToNode   Direction = "to-node"
	FromNode Direction = "from-node"
)

// Fault is an order for one link. It replaces whatever was ordered before for the same direction; Delay adds to it.
type Fault struct {
	Kind      Kind          `json:"kind"`
	Direction Direction     `json:"direction,omitempty"`
	Delay     time.Duration `json:"delay,omitempty"`
}

// Validate refuses orders that make no sense.
func (f Fault) Validate() error {
	if !slices.Contains([]Kind{Heal, Cut, Hold, Drop, Delay}, f.Kind) {
		return fmt.Errorf("%q is no fault of a link", f.Kind)
	}

	if !slices.Contains([]Direction{"", Both, ToNode, FromNode}, f.Direction) {
		return fmt.Errorf("%q is no direction", f.Direction)
	}

	if f.Kind == Delay && f.Delay <= 0 {
		return fmt.Errorf("a delay is longer than nothing")
	}

	return nil
}

// mode of one direction.
type mode int

const (
	pass mode = iota
	hold
	drop
)

// state is one link's faults. changed is closed, and replaced, at every order.
type state struct {
	mu      sync.Mutex
	modes   map[Direction]mode
	delay   time.Duration
	changed chan struct{}
}

func newState() *state {
	return &state{modes: map[Direction]mode{}, changed: make(chan struct{})}
}

func (s *state) order(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()

	directions := []Direction{f.Direction}
	if f.Direction == "" || f.Direction == Both || f.Kind == Cut || f.Kind == Heal {
		directions = []Direction{ToNode, FromNode}
	}

	for _, d := range directions {
		switch f.Kind {
		case Cut, Hold:
			s.modes[d] = hold
		case Drop:
			s.modes[d] = drop
		case Heal:
			s.modes[d] = pass
			s.delay = 0
		case Delay:
			s.delay = f.Delay
		}
	}

	close(s.changed)
	s.changed = make(chan struct{})
}

// look returns what holds for one direction now, and what is closed when that may have changed.
func (s *state) look(d Direction) (mode, time.Duration, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.modes[d], s.delay, s.changed
}

// Report is a link's faults as others see them.
type Report struct {
	From     string        `json:"from"`
	To       string        `json:"to"`
	ToNode   string        `json:"to_node"`
	FromNode string        `json:"from_node"`
	Delay    time.Duration `json:"delay,omitempty"`
}

func (s *state) report(k key) Report {
	names := map[mode]string{pass: "pass", hold: "hold", drop: "drop"}
	to, delay, _ := s.look(ToNode)
	from, _, _ := s.look(FromNode)

	return Report{From: k.from, To: k.to, ToNode: names[to], FromNode: names[from], Delay: delay}
}

// Faulty says whether anything is ordered for the link.
func (r Report) Faulty() bool { return r.ToNode != "pass" || r.FromNode != "pass" || r.Delay > 0 }

// CutReport is the report of a link that is cut.
func CutReport(from, to string) Report {
	return Report{From: from, To: to, ToNode: "cut", FromNode: "cut"}
}
