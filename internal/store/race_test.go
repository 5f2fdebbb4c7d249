package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

const contestants = 6

// contest runs f of every contestant at once, each on a store of its own as processes would, and returns the errors.
func contest(w *world.World, f func(s *store.Store, i int) error) []error {
	stores := make([]*store.Store, contestants)
	for i := range stores {
		stores[i] = w.Open()
	}
	errs := make([]error, contestants)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			<-start
			errs[i] = f(stores[i], i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// oneWinner fails the test unless exactly one had no error and the others were refused by the comparison.
func oneWinner(t *testing.T, errs []error, comparison int, code string) {
	t.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		wantRefusal(t, err, comparison, code)
	}
	if won != 1 {
		t.Errorf("%d of %d won", won, len(errs))
	}
}

// I12: of several commitments of one plan exactly one happens.
func TestI12ARaceToCommitOnePlan(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m := w.Machine("w1")
		plan := m.Approved(w.Config("next"))
		owners := make([]dispatch.Owner, contestants)
		for i := range owners {
			p := w.Process()
			m.Read(p, dispatch.ForEvidence, plan.ID)
			owners[i] = p.Owner()
		}
		errs := contest(w, func(s *store.Store, i int) error {
			_, err := s.Commit(ctx, dispatch.CommitRequest{Plan: plan.ID, By: owners[i], Request: world.Request(plan), Token: world.Token()})
			return err
		})
		oneWinner(t, errs, 0, "operation-exists")
	})
}

// I1: of commitments of several plans of one machine exactly one happens.
func TestI1ARaceToCommitOnOneMachine(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plans := make([]dispatch.Plan, contestants)
		for i := range plans {
			plans[i] = m.Approved(w.Config(fmt.Sprintf("plan %d", i)))
			m.Read(p, dispatch.ForEvidence, plans[i].ID)
		}
		by := p.Owner()
		errs := contest(w, func(s *store.Store, i int) error {
			_, err := s.Commit(ctx, dispatch.CommitRequest{Plan: plans[i].ID, By: by, Request: world.Request(plans[i]), Token: world.Token()})
			return err
		})
		oneWinner(t, errs, 4, "scope-held")
	})
}

// I2: concurrent takeovers of one generation have one winner.
func TestI2ARaceToTakeOver(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := m.Commit(p, m.Approved(w.Config("next")))
		p.End()
		heirs := make([]*world.Process, contestants)
		for i := range heirs {
			heirs[i] = w.Process()
		}
		errs := contest(w, func(s *store.Store, i int) error {
			_, err := s.TakeOver(ctx, op.ID, 1, heirs[i].ID, "it recorded its end")
			return err
		})
		oneWinner(t, errs, 7, "not-owner")
		if got := wantState(t, w, op, dispatch.Unresolved); got.Owner.Generation != 2 {
			t.Errorf("the generation is %d", got.Owner.Generation)
		}
	})
}

// I2: of concurrent attempts of one owner exactly one is recorded.
func TestI2ARaceToAttempt(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		plan := m.Approved(w.Config("next"), func(p *dispatch.Plan) { p.MaxAttempts = contestants })
		op := m.Commit(p, plan)
		errs := contest(w, func(s *store.Store, _ int) error {
			_, err := s.Attempt(ctx, dispatch.AttemptRequest{Operation: op.ID, By: op.Owner, Request: world.Request(plan), Token: world.Token(), Host: p.Host})
			return err
		})
		oneWinner(t, errs, 3, "no-evidence") // for the others it would be a retry, which needs evidence of its own
		if n := len(w.View(op).Attempts); n != 1 {
			t.Errorf("%d attempts are recorded", n)
		}
	})
}

// revoker is one way to take an approval's worth away while an attempt is under way.
var revokers = map[string]func(s *store.Store, w *world.World, who store.Who, plan dispatch.Plan) error{
	"approval": func(s *store.Store, w *world.World, _ store.Who, plan dispatch.Plan) error {
		return s.RevokeApproval(ctx, w.Second, plan.ID, "no")
	},
	"identity": func(s *store.Store, w *world.World, who store.Who, _ dispatch.Plan) error {
		_, err := s.RevokeIdentity(ctx, w.Admin, who.Identity, "no")
		return err
	},
}

// I13: a revocation that begins while an attempt is held waits for it, and the attempt stands; one that was committed
// before lets no attempt pass. Both orders are forced, for an approval and for an identity.
func TestI13RevocationAgainstAttempt(t *testing.T) {
	for name, revoke := range revokers {
		t.Run(name, func(t *testing.T) {
			t.Run("attempt first", func(t *testing.T) {
				world.Each(t, func(t *testing.T, w *world.World) {
					who := w.Person("zoe", store.RoleApprover)
					m, p := w.Machine("w1"), w.Process()
					plan := m.Plan(w.Config("next"))
					fine[dispatch.Approval](t)(first(w.Store.Approve(ctx, who, plan.ID, noBreakGlass)))
					op := m.Commit(p, plan)
					held, release := make(chan struct{}), make(chan struct{})
					gated := w.Open(func(c *store.Config) {
						c.Gate = func(_ context.Context, name string) error {
							if name == "attempt" {
								close(held)
								<-release
							}
							return nil
						}
					})
					attempted, revoked := make(chan error, 1), make(chan error, 1)
					go func() {
						_, err := gated.Attempt(ctx, dispatch.AttemptRequest{Operation: op.ID, By: op.Owner, Request: world.Request(plan), Token: world.Token(), Host: p.Host})
						attempted <- err
					}()
					<-held
					go func() { revoked <- revoke(w.Store, w, who, plan) }()
					select {
					case err := <-revoked:
						t.Errorf("the revocation did not wait: %v", err)
					case err := <-attempted:
						t.Errorf("the attempt did not wait at its gate: %v", err)
					case <-w.Waiting():
					}
					close(release)
					if err := <-attempted; err != nil {
						t.Errorf("the attempt that was first: %v", err)
					}
					if err := <-revoked; err != nil {
						t.Errorf("the revocation: %v", err)
					}
					wantState(t, w, op, dispatch.Sending)
				})
			})
			t.Run("revocation first", func(t *testing.T) {
				world.Each(t, func(t *testing.T, w *world.World) {
					who := w.Person("zoe", store.RoleApprover)
					m, p := w.Machine("w1"), w.Process()
					plan := m.Plan(w.Config("next"))
					fine[dispatch.Approval](t)(first(w.Store.Approve(ctx, who, plan.ID, noBreakGlass)))
					op := m.Commit(p, plan)
					if err := revoke(w.Store, w, who, plan); err != nil {
						t.Fatal(err)
					}
					_, err := m.TryAttempt(p, op)
					if r, ok := refusal.As(err); !ok || r.Comparison != 1 {
						t.Fatalf("got %v, want a refusal by comparison 1", err)
					}
					wantState(t, w, op, dispatch.Unresolved)
					if n := len(w.View(op).Attempts); n != 0 {
						t.Errorf("%d attempts are recorded", n)
					}
					done := fine[dispatch.Operation](t)(w.Store.CancelOperation(ctx, op.ID, op.Owner, nil, "revoked"))
					if done.State != dispatch.Cancelled {
						t.Errorf("the operation is %s", done.State)
					}
				})
			})
		})
	}
}

// I13, without placing anything: whoever comes first, no attempt is recorded after a committed revocation. The world's
// history check says so by the revisions that the attempts recorded.
func TestI13ManyAttemptsAgainstARevocation(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		who := w.Person("zoe", store.RoleApprover)
		p := w.Process()
		ops := make([]dispatch.Operation, contestants)
		plans := make([]dispatch.Plan, contestants)
		for i := range ops {
			m := w.Machine(fmt.Sprintf("m%d", i))
			plans[i] = m.Plan(w.Config("next of " + m.Name))
			fine[dispatch.Approval](t)(first(w.Store.Approve(ctx, who, plans[i].ID, noBreakGlass)))
			ops[i] = m.Commit(p, plans[i])
		}
		errs := contest(w, func(s *store.Store, i int) error {
			if i == contestants/2 {
				_, err := s.RevokeIdentity(ctx, w.Admin, who.Identity, "no")
				return err
			}
			_, err := s.Attempt(ctx, dispatch.AttemptRequest{Operation: ops[i].ID, By: ops[i].Owner, Request: world.Request(plans[i]), Token: world.Token(), Host: p.Host})
			return err
		})
		for i, err := range errs {
			if err != nil {
				wantRefusal(t, err, 1, "approvals-missing")
				wantState(t, w, ops[i], dispatch.Unresolved)
			}
		}
		_, err := w.Store.Attempt(ctx, dispatch.AttemptRequest{
			Operation: ops[contestants/2].ID, By: ops[contestants/2].Owner,
			Request: world.Request(plans[contestants/2]), Token: world.Token(), Host: p.Host,
		})
		wantRefusal(t, err, 1, "approvals-missing")
	})
}
