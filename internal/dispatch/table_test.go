package dispatch

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// contract is the transition table as it was agreed on, typed here by hand. A pair that is not in it is refused.
var contract = map[State]map[EventKind]State{
	Absent: {
		Commit:      Committed,
		AdoptRecord: Completed,
	},
	Committed: {
		RecordAttempt:  Sending,
		AttemptRefused: Unresolved,
		Takeover:       Unresolved,
	},
	Sending: {
		Accept:   Verifying,
		Reject:   Rejected, // or unresolved, while an earlier attempt has no rejection
		Lose:     Unresolved,
		Takeover: Unresolved,
	},
	Verifying: {
		Complete:   Completed,
		Contradict: Failed,
		Overdue:    Unresolved,
		Takeover:   Unresolved,
	},
	Unresolved: {
		Complete:      Completed,
		Contradict:    Failed,
		LateReject:    Rejected,
		RecordAttempt: Sending,
		Cancel:        Cancelled,
		Takeover:      Unresolved,
	},
	Completed: {}, Rejected: {}, Failed: {}, Cancelled: {},
}

// offered is an event with everything in place that it asks for, in whatever state the operation is.
func offered(s State, kind EventKind) (Case, Event) {
	e := Event{Kind: kind, By: executor1, Revision: 90, Reason: "a test says so"}
	c := someCase(s)
	switch kind {
	case RecordAttempt:
		c.Op.Retry = &Classification{Revision: 42, By: executor1, Basis: 40}
	case AttemptRefused:
		e.Comparison = 3
	case Accept, Overdue:
		c.Attempts = []Attempt{answered(1, 30, Accepted)}
	case Reject, LateReject:
		c.Attempts = []Attempt{answered(1, 30, RejectedDef)}
	case Lose:
		c.Attempts = []Attempt{lostAttempt(1, 30)}
	case Takeover:
		e.NewOwner, e.By = "x2", Owner{}
	case Complete:
		c.Attempts = []Attempt{answered(1, 30, Accepted)}
		e.Observation = observed(50, shows(someReading()))
	case Contradict:
		c.Attempts = []Attempt{answered(1, 30, Accepted)}
		e.Observation = observed(50, someReading())
	case Cancel:
		c.Standing.CancelledRev = 60
	case Commit, AdoptRecord:
	}
	if s == Verifying && len(c.Attempts) == 0 {
		c.Attempts = []Attempt{answered(1, 30, Accepted)}
	}
	return c, e
}

func TestTableEveryPair(t *testing.T) {
	if len(contract) != len(States) {
		t.Fatalf("the contract speaks of %d states, there are %d", len(contract), len(States))
	}
	for _, from := range States {
		for _, kind := range Events {
			t.Run(fmt.Sprintf("%s %s", orAbsent(from), kind), func(t *testing.T) {
				c, e := offered(from, kind)
				before := asText(t, c)
				op, fx, r := Step(c, e)
				if asText(t, c) != before {
					t.Error("what was handed in changed")
				}
				want, known := contract[from][kind]
				if !known {
					if r == nil || r.Code != "no-transition" {
						t.Errorf("got %v, want no such transition", r)
					}
					if asText(t, op) != asText(t, c.Op) || fx != (Effects{}) {
						t.Errorf("a refusal changed something: %+v, %+v", op, fx)
					}
					return
				}
				if r != nil {
					t.Fatalf("refused: %v", r)
				}
				checkStep(t, c, e, op, fx, want)
			})
		}
	}
}

// checkStep checks everything that a transition brings with it.
func checkStep(t *testing.T, c Case, e Event, op Operation, fx Effects, want State) {
	t.Helper()
	if op.State != want {
		t.Errorf("it is %s, want %s", op.State, want)
	}
	if op.Reason != e.Reason || op.ID != c.Op.ID || op.Plan != c.Op.Plan || op.Revision != c.Op.Revision {
		t.Errorf("the operation became another one: %+v", op)
	}
	end := want == Completed || want == Rejected || want == Failed || want == Cancelled
	if fx.Release != end || (op.EndedRev == e.Revision) != end {
		t.Errorf("released %v, ended at %d", fx.Release, op.EndedRev)
	}
	applied := ""
	if want == Completed {
		applied = newDigest
	}
	if fx.Applied != applied {
		t.Errorf("applied becomes %q, want %q", fx.Applied, applied)
	}
	owner := c.Op.Owner
	if e.Kind == Takeover {
		owner = Owner{Instance: "x2", Generation: 2, Epoch: epoch1}
	}
	if op.Owner != owner {
		t.Errorf("its owner is %+v, want %+v", op.Owner, owner)
	}
	if e.Kind == Accept && !op.VerifyUntil.Equal(noon.Add(time.Minute)) {
		t.Errorf("it verifies until %s", op.VerifyUntil)
	}
	if (e.Kind == RecordAttempt || e.Kind == Takeover || end) && op.Retry != nil {
		t.Error("a classification stays in force")
	}
}

func asText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The table of the code names the same states, with the second end of a rejection.
func TestTableSaysTheSame(t *testing.T) {
	for from, events := range Table {
		for kind, to := range events {
			want := []State{contract[from][kind]}
			if from == Sending && kind == Reject {
				want = append(want, Unresolved)
			}
			if fmt.Sprint(to) != fmt.Sprint(want) {
				t.Errorf("%s %s leads to %v, want %v", orAbsent(from), kind, to, want)
			}
		}
	}
}

func TestStates(t *testing.T) {
	want := map[State][2]bool{ // holding, terminal
		Absent: {}, Committed: {true, false}, Sending: {true, false}, Verifying: {true, false}, Unresolved: {true, false},
		Completed: {false, true}, Rejected: {false, true}, Failed: {false, true}, Cancelled: {false, true},
	}
	for _, s := range States {
		if got := [2]bool{s.Holding(), s.Terminal()}; got != want[s] {
			t.Errorf("%s: holding and terminal %v, want %v", orAbsent(s), got, want[s])
		}
	}
}
