package store

import (
	"context"
	"errors"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

// Where a race decides, the row itself refuses what Step and the comparisons have refused before. These tests go past
// those, to the last layer.

var errUndo = errors.New("undo")

// inDepth runs a test in a transaction that holds one machine with a committed operation, and rolls back.
func inDepth(t *testing.T, test func(t *testing.T, tx *Tx, op dispatch.Operation)) {
	t.Helper()
	onEach(t, func(t *testing.T, s *Store) {
		err := s.update(context.Background(), locks{}, "a test", func(tx *Tx) error {
			m := dispatch.Machine{ID: "m-1", Name: "w1", ClusterID: "c", NodeID: "n"}
			if added, err := tx.insertMachine(m); err != nil || !added {
				t.Fatal(added, err)
			}
			op := dispatch.Operation{
				ID: "op-1", Plan: "p-1", Machine: "m-1", Kind: dispatch.KindApply, State: dispatch.Committed, Revision: 1,
				Owner: dispatch.Owner{Instance: "i-1", Generation: 1, Epoch: "e-1"},
			}
			for _, id := range []string{"p-1", "p-2"} {
				row := planRow{Plan: dispatch.Plan{ID: id, Machine: "m-1"}, Standing: dispatch.Standing{State: dispatch.PlanApproved}}
				if added, err := tx.insertPlan(row); err != nil || !added {
					t.Fatal(added, err)
				}
			}
			if added, err := tx.insertOperation(op, "token"); err != nil || !added {
				t.Fatal(added, err)
			}
			test(t, tx, op)
			return errUndo
		})
		if !errors.Is(err, errUndo) {
			t.Fatal(err)
		}
	})
}

func TestI1I12TheIndexesKeepASecondOperationOut(t *testing.T) {
	inDepth(t, func(t *testing.T, tx *Tx, op dispatch.Operation) {
		second := op
		second.ID = "op-2"
		st := dispatch.Standing{State: dispatch.PlanCommitted, Operation: "op-2"}
		r, _ := refusal.As(tx.insertAdmitted(second, "", st))
		if r == nil || r.Comparison != 0 { // I12
			t.Errorf("a second operation of the plan: %v", r)
		}
		second.Plan = "p-2"
		r, _ = refusal.As(tx.insertAdmitted(second, "", st))
		if r == nil || r.Comparison != 4 { // I1
			t.Errorf("a second operation of the machine: %v", r)
		}
		op.State, op.EndedRev = dispatch.Cancelled, 2
		if err := tx.saveOperation(op); err != nil {
			t.Fatal(err)
		}
		if err := tx.insertAdmitted(second, "", st); err != nil {
			t.Errorf("after the first has ended: %v", err)
		}
		r, _ = refusal.As(tx.insertAdmitted(dispatch.Operation{ID: "op-3", Plan: "p-2", Machine: "m-1", State: dispatch.Committed}, "", st))
		if r == nil || r.Comparison != 0 {
			t.Errorf("once more: %v", r)
		}
	})
}

func TestI12ThePlansRowIsCommittedFromApprovedOnly(t *testing.T) {
	inDepth(t, func(t *testing.T, tx *Tx, op dispatch.Operation) {
		op.State, op.EndedRev = dispatch.Cancelled, 2
		if err := tx.saveOperation(op); err != nil {
			t.Fatal(err)
		}
		if err := tx.saveStanding("p-2", dispatch.Standing{State: dispatch.PlanRevoked, RevokedRev: 3}); err != nil {
			t.Fatal(err)
		}
		second := dispatch.Operation{ID: "op-2", Plan: "p-2", Machine: "m-1", State: dispatch.Committed}
		r, _ := refusal.As(tx.insertAdmitted(second, "", dispatch.Standing{State: dispatch.PlanCommitted, Operation: "op-2"}))
		if r == nil || r.Comparison != 1 {
			t.Errorf("got %v", r)
		}
	})
}

// I2 I8: the row is taken for sending only by its owner, at its generation and epoch, from a state that admits it.
func TestI2TheRowIsTakenForSendingByItsOwnerOnly(t *testing.T) {
	unresolved := func(o *dispatch.Operation) { o.State = dispatch.Unresolved }
	classified := func(o *dispatch.Operation) {
		o.State = dispatch.Unresolved
		o.Retry = &dispatch.Classification{Revision: 5, By: o.Owner, Basis: 4}
	}
	cases := []struct {
		name  string
		row   func(o *dispatch.Operation) // what the row says by now
		read  func(o *dispatch.Operation) // what was read of it
		taken bool
	}{
		{name: "committed", taken: true},
		{name: "another owner", row: func(o *dispatch.Operation) { o.Owner.Instance = "i-2" }},
		{name: "the next generation", row: func(o *dispatch.Operation) { o.Owner.Generation = 2 }},
		{name: "another epoch", row: func(o *dispatch.Operation) { o.Owner.Epoch = "e-2" }},
		{name: "unresolved, not classified", row: unresolved, read: unresolved},
		{name: "unresolved, classified", row: classified, read: classified, taken: true},
		{name: "its classification is gone", row: unresolved, read: classified},
		{name: "classified anew", read: classified, row: func(o *dispatch.Operation) { classified(o); o.Retry.Revision = 9 }},
		{name: "sending", row: func(o *dispatch.Operation) { o.State = dispatch.Sending }},
		{name: "verifying", row: func(o *dispatch.Operation) { o.State = dispatch.Verifying }},
		{name: "ended", row: func(o *dispatch.Operation) { o.State, o.EndedRev = dispatch.Completed, 9 }},
	}
	inDepth(t, func(t *testing.T, tx *Tx, op dispatch.Operation) {
		for _, c := range cases {
			row, read := op, op
			if c.row != nil {
				c.row(&row)
			}
			if c.read != nil {
				c.read(&read)
			}
			if err := tx.saveOperation(row); err != nil {
				t.Fatal(err)
			}
			next := read
			next.State, next.Retry = dispatch.Sending, nil
			err := tx.takeForSending(read, next, op.Owner)
			r, refused := refusal.As(err)
			if refused == c.taken || (refused && r.Comparison != 7) || (!refused && err != nil) {
				t.Errorf("%s: %v", c.name, err)
			}
			got, err := tx.operation(op.ID)
			if err != nil || (got.State == dispatch.Sending && !c.taken && row.State != dispatch.Sending) {
				t.Errorf("%s: the row is %s, %v", c.name, got.State, err)
			}
		}
	})
}

// I16: the number of an attempt is checked by the row against the bound that its plan gave it.
func TestI16TheRowChecksTheBound(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		for number, fits := range map[int]bool{1: true, 2: true, 3: false} {
			err := s.update(context.Background(), locks{}, "a test", func(tx *Tx) error {
				if _, err := tx.insertMachine(dispatch.Machine{ID: "m-1", Name: "w1", ClusterID: "c", NodeID: "n"}); err != nil {
					return err
				}
				row := planRow{Plan: dispatch.Plan{ID: "p-1", Machine: "m-1"}, Standing: dispatch.Standing{State: dispatch.PlanApproved}}
				if _, err := tx.insertPlan(row); err != nil {
					return err
				}
				op := dispatch.Operation{ID: "op-1", Plan: "p-1", Machine: "m-1", State: dispatch.Committed}
				if _, err := tx.insertOperation(op, ""); err != nil {
					return err
				}
				if err := tx.insertAttempt(dispatch.Attempt{Operation: "op-1", Number: number}, "", 2); err != nil {
					return err
				}
				if err := tx.flush(); err != nil {
					return err
				}
				return errUndo
			})
			if errors.Is(err, errUndo) != fits {
				t.Errorf("attempt %d of 2: %v", number, err)
			}
		}
	})
}

// A response and an accounting are written once: the row does not let them change.
func TestTheRowKeepsAResponse(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		first := dispatch.Attempt{Operation: "op-1", Number: 1, Response: &dispatch.Response{Class: dispatch.Inconclusive, Revision: 4}}
		accounted := first
		accounted.Accounting = &dispatch.Accounting{Kind: dispatch.ByDecision, Revision: 5}
		answered := first
		answered.Response = &dispatch.Response{Class: dispatch.Accepted, Revision: 6}
		forgotten := first
		forgotten.Response = nil
		for name, c := range map[string]struct {
			then dispatch.Attempt
			fits bool
		}{"accounted": {accounted, true}, "answered otherwise": {answered, false}, "forgotten": {forgotten, false}} {
			err := s.update(context.Background(), locks{}, "a test", func(tx *Tx) error {
				_, err := tx.insertMachine(dispatch.Machine{ID: "m-1", Name: "w1", ClusterID: "c", NodeID: "n"})
				if err != nil {
					return err
				}
				row := planRow{Plan: dispatch.Plan{ID: "p-1", Machine: "m-1"}, Standing: dispatch.Standing{State: dispatch.PlanApproved}}
				if _, err := tx.insertPlan(row); err != nil {
					return err
				}
				op := dispatch.Operation{ID: "op-1", Plan: "p-1", Machine: "m-1", State: dispatch.Committed}
				if _, err := tx.insertOperation(op, ""); err != nil {
					return err
				}
				if err := tx.insertAttempt(dispatch.Attempt{Operation: "op-1", Number: 1}, "", 2); err != nil {
					return err
				}
				if err := tx.saveAttempt(first); err != nil {
					return err
				}
				if err := tx.saveAttempt(c.then); err != nil {
					return err
				}
				if err := tx.flush(); err != nil {
					return err
				}
				return errUndo
			})
			if errors.Is(err, errUndo) != c.fits {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
