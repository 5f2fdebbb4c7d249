package node

import (
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// Faults are what a node does wrong when it is asked for a configuration change. The zero value does nothing.
type Faults struct {
	// Times is how many ApplyConfiguration calls the knobs below act on; zero means every one until they are replaced.
	// FreezePersistence is not counted: it lasts until it is replaced.
	Times int `json:"times,omitempty"`
	// DelayBefore and DelayAfter wait before the checks and after the change, inside the lock of ApplyConfiguration.
	// Replacing the knobs ends a wait that is going on.
	DelayBefore time.Duration `json:"delay_before,omitempty"`
	DelayAfter  time.Duration `json:"delay_after,omitempty"`
	// DieBefore and DieAfter end the process with SIGKILL at the same places, after the delays.
	DieBefore bool `json:"die_before,omitempty"`
	DieAfter  bool `json:"die_after,omitempty"`
	// DropResponse makes the change and never answers.
	DropResponse bool `json:"drop_response,omitempty"`
	// ErrorAfter makes the change and answers with code Unknown.
	ErrorAfter bool `json:"error_after,omitempty"`
	// Refuse answers with this gRPC code, such as "FAILED_PRECONDITION" or "FailedPrecondition", before any check.
	Refuse string `json:"refuse,omitempty"`
	// ApplyInProgress holds the lock of ApplyConfiguration, as another call in progress would.
	ApplyInProgress bool `json:"apply_in_progress,omitempty"`
	// MoveAfter makes the change and then loses the address before it answers; the node goes on under another one.
	MoveAfter bool `json:"move_after,omitempty"`
	// FreezePersistence keeps the accepted configuration out of STATE, so that a kill loses it.
	FreezePersistence bool `json:"freeze_persistence,omitempty"`
}

// ParseCode turns "UNAVAILABLE", "Unavailable" or "14" into a gRPC code.
func ParseCode(name string) (codes.Code, error) {
	var c codes.Code
	if err := c.UnmarshalJSON([]byte(name)); err == nil {
		return c, nil
	}

	if err := c.UnmarshalJSON([]byte(`"` + name + `"`)); err == nil {
		return c, nil
	}

	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if c.String() == name {
			return c, nil
		}
	}

	return codes.Unknown, fmt.Errorf("%q is no gRPC code", name)
}

// Validate refuses settings that cannot work.
func (f Faults) Validate() error {
	if f.Refuse != "" {
		c, err := ParseCode(f.Refuse)
		if err != nil {
			return err
		}

		if c == codes.OK {
			return fmt.Errorf("a refusal cannot have code OK")
		}
	}

	if f.Times < 0 || f.DelayBefore < 0 || f.DelayAfter < 0 {
		return fmt.Errorf("times and delays are not negative")
	}

	return nil
}

// knobs holds the faults in force.
type knobs struct {
	mu     sync.Mutex
	faults Faults
	left   int
	frozen chan struct{} // closed when persistence is free
	// changed is closed, and replaced, when the knobs are replaced.
	changed chan struct{}
}

func newKnobs() *knobs {
	k := &knobs{frozen: make(chan struct{}), changed: make(chan struct{})}
	close(k.frozen)

	return k
}

func (k *knobs) set(f Faults) {
	k.mu.Lock()
	defer k.mu.Unlock()

	was, is := k.faults.FreezePersistence, f.FreezePersistence
	if was && !is {
		close(k.frozen)
	} else if !was && is {
		k.frozen = make(chan struct{})
	}

	k.faults, k.left = f, f.Times
	close(k.changed)
	k.changed = make(chan struct{})
}

// wait lasts d, or until the knobs are replaced.
func (k *knobs) wait(d time.Duration) {
	if d <= 0 {
		return
	}

	k.mu.Lock()
	changed := k.changed
	k.mu.Unlock()

	select {
	case <-time.After(d):
	case <-changed:
	}
}

func (k *knobs) get() Faults {
	k.mu.Lock()
	defer k.mu.Unlock()

	return k.faults
}

// take returns the faults for one call and counts it.
func (k *knobs) take() Faults {
	k.mu.Lock()
	defer k.mu.Unlock()

	f := k.faults

	if k.left > 0 {
		k.left--
		if k.left == 0 {
			k.faults = Faults{FreezePersistence: f.FreezePersistence}
		}
	}

	return f
}

// thawed is closed while persistence is not frozen.
func (k *knobs) thawed() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()

	return k.frozen
}

// Names names what is in force, for people.
func (f Faults) Names() []string {
	var names []string

	for _, x := range []struct {
		on   bool
		name string
	}{
		{f.DelayBefore > 0, "delay-before " + f.DelayBefore.String()},
		{f.DelayAfter > 0, "delay-after " + f.DelayAfter.String()},
		{f.DieBefore, "die-before"},
		{f.DieAfter, "die-after"},
		{f.DropResponse, "drop-response"},
		{f.ErrorAfter, "error-after"},
		{f.Refuse != "", "refuse " + f.Refuse},
		{f.ApplyInProgress, "apply-in-progress"},
		{f.MoveAfter, "move-after"},
		{f.FreezePersistence, "freeze-persistence"},
	} {
		if x.on {
			names = append(names, x.name)
		}
	}

	return names
}
