package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest/world"
)

func actorOf(w store.Who) *ledger.Actor {
	return &ledger.Actor{Identity: w.Identity, Role: w.Role, Assurance: w.Assurance}
}

// lost is an operation whose attempt had no answer.
func lost(w *world.World, m *world.Machine, p *world.Process, change ...func(*dispatch.Plan)) dispatch.Operation {
	return m.Respond(m.Sending(p, m.Approved(w.Config("next of "+m.Name), change...)), 1, dispatch.Inconclusive)
}

// decide accounts by decision of the world's first identity, with the smallest settle floor.
func decide(w *world.World, op dispatch.Operation, basis int64, change ...func(*dispatch.Decision)) (dispatch.Operation, error) {
	d := dispatch.Decision{Reason: "the cable was out", Basis: basis, SettleFloor: dispatch.MinimumSettle}
	for _, f := range change {
		f(&d)
	}
	return w.Store.AccountByDecision(ctx, op.ID, 1, *actorOf(w.Admin), d)
}

// I6 I11: a decision stands on an ended sender, the settle time, a framing observation, a recovery-admin and a reason.
func TestI6ADecisionNeedsAllItsConditions(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := lost(w, m, p)
		heir := w.Process()
		op = fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, 1, heir.ID, "an operator forced it"))
		frame := func() int64 { return m.Read(heir, dispatch.ForRecovery, op.Plan, op.ID).Basis }

		_, err := decide(w, op, frame())
		wantRefusal(t, err, refusal.None, "sender-running") // a takeover is not enough
		p.End()
		_, err = decide(w, op, frame())
		wantRefusal(t, err, refusal.None, "settle-time") // its reads began before the deadline
		w.Pass(2 * time.Second)
		_, err = decide(w, op, frame())
		wantRefusal(t, err, refusal.None, "settle-time") // the first read after the deadline: the time runs
		w.Pass(20 * time.Second)
		_, err = decide(w, op, frame())
		wantRefusal(t, err, refusal.None, "settle-time")
		w.Pass(20 * time.Second)

		_, err = w.Store.AccountByDecision(ctx, op.ID, 1, *actorOf(w.Author), dispatch.Decision{Reason: "x", Basis: frame(), SettleFloor: dispatch.MinimumSettle})
		wantRefusal(t, err, refusal.None, "role-missing")
		_, err = decide(w, op, frame(), func(d *dispatch.Decision) { d.Reason = "" })
		wantRefusal(t, err, refusal.None, "no-reason")
		_, err = decide(w, op, frame(), func(d *dispatch.Decision) { d.SettleFloor = time.Second })
		wantRefusal(t, err, refusal.None, "settle-floor")
		_, err = decide(w, op, frame(), func(d *dispatch.Decision) { d.RouteGone = "it burned" })
		wantRefusal(t, err, refusal.None, "no-endpoint")
		_, err = decide(w, op, m.Read(heir, dispatch.ForDrift).Basis)
		wantRefusal(t, err, refusal.None, "not-framed")
		old := frame()
		m.Read(heir, dispatch.ForDrift)
		_, err = decide(w, op, old)
		wantRefusal(t, err, refusal.None, "not-framed")

		basis := frame()
		got := fine[dispatch.Operation](t)(decide(w, op, basis))
		acc := w.View(op).Attempts[0].Accounting
		if got.State != dispatch.Unresolved || acc == nil || acc.Kind != dispatch.ByDecision || acc.By != w.Admin.Identity ||
			acc.Basis != basis || acc.Reason != "the cable was out" {
			t.Fatalf("accounted: %s, %+v", got.State, acc)
		}
		_, err = decide(w, op, frame())
		wantRefusal(t, err, refusal.None, "accounted")
	})
}

// The settle time is as long as the send was away from the first read, when that is more than the floor.
func TestASettleTimeGrowsWithTheSilence(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := lost(w, m, p)
		p.End()
		w.Pass(100 * time.Second)
		m.Read(w.Process(), dispatch.ForDrift)
		w.Pass(60 * time.Second)
		_, err := decide(w, op, m.Read(w.Process(), dispatch.ForRecovery).Basis)
		wantRefusal(t, err, refusal.None, "settle-time")
		w.Pass(45 * time.Second)
		fine[dispatch.Operation](t)(decide(w, op, m.Read(w.Process(), dispatch.ForRecovery).Basis))
	})
}

// Only reads on the attempt's own route say that its route works again.
func TestASettleTimeRunsOnTheAttemptsOwnRoute(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := lost(w, m, p, func(p *dispatch.Plan) { p.Route = dispatch.Via("10.5.0.9") })
		p.End()
		w.Pass(time.Minute)
		m.Read(w.Process(), dispatch.ForDrift) // direct
		w.Pass(3 * time.Minute)
		_, err := decide(w, op, m.Read(w.Process(), dispatch.ForRecovery).Basis)
		wantRefusal(t, err, refusal.None, "settle-time")
		// The endpoint is attested to be gone: then its route needs no reading.
		got := fine[dispatch.Operation](t)(decide(w, op, m.Read(w.Process(), dispatch.ForRecovery).Basis,
			func(d *dispatch.Decision) { d.RouteGone = "the endpoint was reinstalled" }))
		var kept struct {
			RouteGone string `json:"route_gone"`
		}
		if err := json.Unmarshal(w.View(got).Attempts[0].Accounting.Evidence, &kept); err != nil || kept.RouteGone == "" {
			t.Errorf("the attestation is not kept: %+v, %v", kept, err)
		}
	})
}

// An agent and a token decide nothing, whatever they claim.
func TestI11OnlyAPersonDecides(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := lost(w, m, p)
		p.End()
		_, _, err := w.Store.CreateToken(ctx, w.Admin, store.TokenSpec{Name: "bot", Kind: store.Agent, Roles: []string{store.RoleAuthor}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Store.AccountByDecision(ctx, op.ID, 1, ledger.Actor{Identity: "bot", Role: store.RoleRecoveryAdmin}, dispatch.Decision{Reason: "x"})
		wantRefusal(t, err, refusal.None, "not-a-person")
		plan := m.Plan(w.Config("other"))
		agent := w.Approver
		agent.Agent = true
		_, _, err = w.Store.Approve(ctx, agent, plan.ID, noBreakGlass)
		wantRefusal(t, err, refusal.None, "agent")
		_, _, err = w.Store.Approve(ctx, store.Who{Identity: "bot"}, plan.ID, noBreakGlass)
		wantRefusal(t, err, refusal.None, "not-a-person")
	})
}

// evidence is an accounting by evidence on the two last readings for accounting.
func evidence(basis int64) dispatch.Accounting {
	return dispatch.Accounting{Kind: dispatch.CannotArrive, Basis: basis, Evidence: json.RawMessage(`{"hop1":"gone"}`), Reason: "gone"}
}

// I6: evidence comes from the sending host, boot and network namespace, after the sender ended or from itself, with two
// late reads that agree.
func TestI6EvidenceNeedsAllItsConditions(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := lost(w, m, p)
		read := func(p *world.Process) int64 { return m.Read(p, dispatch.ForAccounting, op.Plan, op.ID).Basis }
		account := func(by dispatch.Owner, basis int64) error {
			_, err := w.Store.AccountByEvidence(ctx, op.ID, 1, by, evidence(basis))
			return err
		}
		wantRefusal(t, account(op.Owner, read(p)), refusal.None, "late-reads")
		wantRefusal(t, account(op.Owner, read(p)), refusal.None, "late-reads") // not five seconds apart
		w.Pass(6 * time.Second)
		m.Node.BootID = "boot-2"
		wantRefusal(t, account(op.Owner, read(p)), refusal.None, "late-reads") // another boot
		w.Pass(6 * time.Second)
		basis := read(p)
		_, err := w.Store.AccountByEvidence(ctx, op.ID, 1, op.Owner, dispatch.Accounting{Kind: dispatch.CannotArrive, Basis: basis})
		wantRefusal(t, err, refusal.None, "no-evidence")
		_, err = w.Store.AccountByEvidence(ctx, op.ID, 1, op.Owner, dispatch.Accounting{Kind: dispatch.ByDecision, Basis: basis})
		wantRefusal(t, err, refusal.None, "accounting-kind")
		other := op.Owner
		other.Instance = w.Process().ID
		wantRefusal(t, account(other, basis), 7, "not-owner")

		// Another process of the host, which owns it now: only once the sender has ended.
		heir := w.Process()
		taken := fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, 1, heir.ID, "an operator forced it"))
		read(heir)
		w.Pass(6 * time.Second)
		basis = read(heir)
		wantRefusal(t, account(taken.Owner, basis), refusal.None, "sender-running")
		p.End()
		if err := account(taken.Owner, basis); err != nil {
			t.Fatal(err)
		}
		if acc := w.View(op).Attempts[0].Accounting; acc == nil || acc.Kind != dispatch.CannotArrive || acc.By != heir.ID {
			t.Fatalf("accounted: %+v", acc)
		}
	})
}

func TestI6EvidenceFromAnotherHostIsNone(t *testing.T) {
	world.Each(t, func(t *testing.T, w *world.World) {
		m, p := w.Machine("w1"), w.Process()
		op := lost(w, m, p)
		for _, h := range []dispatch.Host{
			{Name: "other", ID: "host-2", BootID: p.Host.BootID, NetNS: p.Host.NetNS},
			{Name: p.Host.Name, ID: p.Host.ID, BootID: "a later boot", NetNS: p.Host.NetNS},
			{Name: p.Host.Name, ID: p.Host.ID, BootID: p.Host.BootID, NetNS: "net-2"},
		} {
			heir := w.ProcessOn(h)
			op = fine[dispatch.Operation](t)(w.Store.TakeOver(ctx, op.ID, op.Owner.Generation, heir.ID, "an operator forced it"))
			m.Read(heir, dispatch.ForAccounting, op.Plan, op.ID)
			w.Pass(6 * time.Second)
			_, err := w.Store.AccountByEvidence(ctx, op.ID, 1, op.Owner, evidence(m.Read(heir, dispatch.ForAccounting, op.Plan, op.ID).Basis))
			wantRefusal(t, err, refusal.None, "other-host")
		}
	})
}
