package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

var ctx = context.Background()

// without is the setting of a control: these guards are taken away.
func without(guards ...dispatch.Guard) func(*store.Config) {
	return func(c *store.Config) { c.Without = guards }
}

// wantRefusal fails the test unless err is a refusal by the comparison, with the code.
func wantRefusal(t *testing.T, err error, comparison int, code string) {
	t.Helper()
	r, ok := refusal.As(err)
	if !ok {
		t.Fatalf("got %v, want a refusal (%s)", err, code)
	}
	if r.Comparison != comparison || r.Code != code {
		t.Fatalf("refused by comparison %d, code %s (%s), want comparison %d, code %s", r.Comparison, r.Code, r.Message, comparison, code)
	}
	if strings.Contains(err.Error(), "not recorded") {
		t.Fatalf("the refusal was not recorded: %v", err)
	}
}

func wantState(t *testing.T, w *world.World, op dispatch.Operation, want dispatch.State) dispatch.Operation {
	t.Helper()
	got := w.View(op).Operation
	if got.State != want {
		t.Fatalf("operation %s is %s (%s), want %s", op.ID, got.State, got.Reason, want)
	}
	return got
}

// bodies are the bodies of a machine's entries of these kinds, oldest first.
func bodies(t *testing.T, w *world.World, machine string, kinds ...string) []dispatch.Body {
	t.Helper()
	var out []dispatch.Body
	for _, e := range w.Entries(machine, kinds...) {
		var b dispatch.Body
		if err := json.Unmarshal(e.Body, &b); err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// last is the newest body of a machine's entries of a kind.
func last(t *testing.T, w *world.World, machine, kind string) dispatch.Body {
	t.Helper()
	all := bodies(t, w, machine, kind)
	if len(all) == 0 {
		t.Fatalf("no entry of kind %s is on the timeline", kind)
	}
	return all[len(all)-1]
}

// wantRecorded fails the test unless the newest refusal on the timeline is this one.
func wantRecorded(t *testing.T, w *world.World, machine string, comparison int, code string) {
	t.Helper()
	b := last(t, w, machine, dispatch.EntryRefused)
	got := refusal.None
	if b.Comparison != nil {
		got = *b.Comparison
	}
	if got != comparison || b.Code != code {
		t.Fatalf("recorded is a refusal by comparison %d, code %s, want %d, %s", got, b.Code, comparison, code)
	}
}

func standing(t *testing.T, w *world.World, p dispatch.Plan) dispatch.Standing {
	t.Helper()
	v, err := w.Store.Plan(ctx, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	return v.Standing
}

// fine fails the test on an error and gives the result on.
func fine[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestADispatchFromPlanToCompletion(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		before := m.Record()
		plan := m.Approved(w.Config("next"))
		op := m.Complete(p, plan)
		after := m.Record()
		if op.State != dispatch.Completed || op.EndedRev == 0 {
			t.Fatalf("the operation ended %s at %d", op.State, op.EndedRev)
		}
		if after.Applied != plan.Artifact || after.AppliedSource != op.ID || after.BaselineRevision != op.EndedRev { // I3
			t.Fatalf("applied is %s by %s at baseline %d", after.Applied, after.AppliedSource, after.BaselineRevision)
		}
		if before.BaselineRevision >= after.BaselineRevision || after.Desired != plan.Artifact {
			t.Fatalf("baseline went from %d to %d, desired is %s", before.BaselineRevision, after.BaselineRevision, after.Desired)
		}
		v := w.View(op)
		if len(v.Attempts) != 1 || v.Attempts[0].Response.Class != dispatch.Accepted || v.Attempts[0].Response.Late {
			t.Fatalf("attempts: %+v", v.Attempts)
		}
		if st := standing(t, w, plan); st.State != dispatch.PlanCommitted || st.Operation != op.ID {
			t.Fatalf("the plan stands %+v", st)
		}
	})
}

func TestWhatDoesNotExistIsSaidSo(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		p := w.Process()
		_, commit := w.Store.Commit(ctx, dispatch.CommitRequest{Plan: "p-none", By: p.Owner(), Token: world.Token()})
		_, attempt := w.Store.Attempt(ctx, dispatch.AttemptRequest{Operation: "op-none", By: p.Owner(), Token: world.Token()})
		_, machine := w.Store.Machine(ctx, "none")
		_, _, approve := w.Store.Approve(ctx, w.Approver, "p-none", store.ApproveOptions{})
		for name, err := range map[string]error{"commit": commit, "attempt": attempt, "machine": machine, "approve": approve} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: got %v, want ErrNotFound", name, err)
			}
		}
	})
}
