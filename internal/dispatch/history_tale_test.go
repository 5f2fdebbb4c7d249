package dispatch

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/clewops/clew/internal/ledger"
)

// tale writes histories for the tests by hand: it knows the shape of entries and nothing of the rules. before and edit
// are keyed by a label that each entry gets ("committed", "attempt 1", ...): before writes further entries right before
// it, edit changes it.
type tale struct {
	t       testing.TB
	now     time.Time
	entries map[ledger.Scope][]ledger.Entry
	before  map[string]func(*tale)
	edit    map[string]func(*ledger.Entry, *Body)

	m         Machine
	plan      Plan
	standing  Standing
	approvals []Approval
	op        Operation
	attempts  []Attempt
	rollout   RolloutRow
	seen      Observation // the newest reading
	epoch     string
	installed int64
	ids       map[string]int64
	runs      string // what the node shows
	boot      string
}

var (
	taleInstallation = ledger.Scope{Kind: ledger.Installation}
	taleMachine      = ledger.Scope{Kind: ledger.Machine, ID: "m-1"}
	taleRollout      = ledger.Scope{Kind: ledger.Rollout, ID: "weekly"}
	taleHost         = Host{Name: "desk", ID: "h1", BootID: "hb1", NetNS: "ns1"}
)

func identityScope(name string) ledger.Scope { return ledger.Scope{Kind: ledger.Identity, ID: name} }
func instanceScope(id string) ledger.Scope   { return ledger.Scope{Kind: ledger.Instance, ID: id} }

const (
	oldDigest = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	newDigest = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	strange   = "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
)

func newTale(t testing.TB) *tale {
	return &tale{
		t: t, now: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), entries: map[ledger.Scope][]ledger.Entry{},
		before: map[string]func(*tale){}, edit: map[string]func(*ledger.Entry, *Body){},
		ids: map[string]int64{}, runs: oldDigest, boot: "b1", epoch: "e1",
	}
}

func (s *tale) pass(d time.Duration) { s.now = s.now.Add(d) }

func (s *tale) next(scope ledger.Scope) int64 { return int64(len(s.entries[scope])) + 1 }

// put appends an entry with any body and returns its revision.
func (s *tale) put(scope ledger.Scope, kind string, actor ledger.Actor, body any) int64 {
	b, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.pass(10 * time.Millisecond)
	rev := s.next(scope)
	s.entries[scope] = append(s.entries[scope], ledger.Entry{Scope: scope, Revision: rev, Kind: kind, At: s.now, Actor: actor, Body: b})
	return rev
}

// tell appends an entry of the contract under a label. make builds the body once the revision is known.
func (s *tale) tell(label string, scope ledger.Scope, kind string, actor ledger.Actor, make func(rev int64, at time.Time) Body) {
	if f := s.before[label]; f != nil {
		delete(s.before, label)
		f(s)
	}
	s.pass(10 * time.Millisecond)
	rev := s.next(scope)
	e := ledger.Entry{Scope: scope, Revision: rev, Kind: kind, At: s.now, Actor: actor}
	body := make(rev, s.now)
	var err error
	if e.Body, err = json.Marshal(body); err != nil {
		s.t.Fatal(err)
	}
	if f := s.edit[label]; f != nil {
		var own Body // not the records that the tale goes on with
		if err := json.Unmarshal(e.Body, &own); err != nil {
			s.t.Fatal(err)
		}
		f(&e, &own)
		if e.Body, err = json.Marshal(own); err != nil {
			s.t.Fatal(err)
		}
	}
	s.entries[scope] = append(s.entries[scope], e)
}

func person(name, role string) ledger.Actor {
	return ledger.Actor{Identity: name, Role: role, Assurance: ledger.Asserted}
}

func (s *tale) executor(instance string) ledger.Actor {
	return ledger.Actor{Instance: instance, Generation: s.op.Owner.Generation, Epoch: s.epoch}
}

func (s *tale) owner() ledger.Actor { return s.executor(s.op.Owner.Instance) }

// install writes what stands before the first machine.
func (s *tale) install() {
	s.installed = s.put(taleInstallation, EntryInstalled, ledger.Actor{Epoch: "e1"}, worldBody{Epoch: "e1"})
	for _, name := range []string{"ann", "ben", "cas", "rex"} {
		s.ids[name] = s.put(identityScope(name), EntryIdentityCreated, person("ann", ""), map[string]string{"name": name})
	}
	for _, id := range []string{"x1", "x2"} {
		s.put(instanceScope(id), EntryInstanceStarted, ledger.Actor{Instance: id, Epoch: "e1"}, worldBody{Host: taleHost, Epoch: "e1"})
	}
}

// register adds the machine, unaccepted.
func (s *tale) register() {
	s.tell("registered", taleMachine, EntryRegistered, person("ann", "operator"), func(rev int64, _ time.Time) Body {
		s.m = Machine{
			ID: "m-1", Name: "worker-1", ClusterID: "c1", NodeID: "n1", AssignmentRevision: rev,
			Assignment: Assignment{Role: Worker, Addresses: []string{"10.0.0.1"}},
		}
		return Body{Machine: &s.m}
	})
}

// propose makes a plan for the machine as it stands.
func (s *tale) propose(id string, kind PlanKind, artifact string, change func(*Plan)) {
	s.approvals, s.attempts, s.op = nil, nil, Operation{}
	s.tell("planned "+id, taleMachine, EntryPlanned, person("ann", "author"), func(rev int64, at time.Time) Body {
		s.plan = Plan{
			ID: id, Machine: "m-1", Kind: kind, ClusterID: "c1", NodeID: "n1", Artifact: artifact,
			AssignmentRevision: s.m.AssignmentRevision, BaselineRevision: s.m.BaselineRevision, DesiredRevision: rev,
			Expected: s.runs, Operation: OperationApplyConfig, Mode: ModeNoReboot, Route: Direct, Address: "10.0.0.1",
			MaxAge: time.Minute, Pre: Preconditions{Stage: "running"}, Post: Postconditions{Stage: "running", Digest: artifact},
			TransportDeadline: 10 * time.Second, VerifyDeadline: time.Minute, MaxAttempts: 2, ExpiresAt: at.Add(24 * time.Hour),
			Policy: Policy{Approvals: 1}, Creator: "ann", CreatorRole: "author", Revision: rev, CreatedAt: at,
		}
		if s.m.Drift != nil {
			s.plan.Drift = s.m.Drift.ID
		}
		if change != nil {
			change(&s.plan)
		}
		s.standing = Standing{State: PlanProposed}
		s.m.Desired, s.m.DesiredRevision = artifact, rev
		return Body{Plan: &s.plan, PlanID: id, Standing: &s.standing, Machine: &s.m}
	})
}

// bindRollout writes that the rollout has a member.
func (s *tale) bindRollout(limit, maxFailed int) {
	s.tell("bound", taleRollout, EntryRolloutBound, person("ann", "author"), func(int64, time.Time) Body {
		s.rollout = RolloutRow{ID: "weekly", Limit: limit, MaxFailed: maxFailed}
		return Body{Rollout: &s.rollout}
	})
}

func (s *tale) approve(who string) {
	s.tell("approved by "+who, taleMachine, EntryApproved, person(who, "approver"), func(rev int64, at time.Time) Body {
		a := Approval{
			ID: "a-" + who + "-" + s.plan.ID, Plan: s.plan.ID, PlanRevision: s.plan.Revision, Approver: who, Role: "approver",
			Epoch: s.epoch, At: at, Revision: rev, Assurance: "asserted",
		}
		s.approvals = append(s.approvals, a)
		if len(s.approvals) >= s.plan.Policy.Approvals {
			s.standing.State = PlanApproved
		}
		return Body{Approval: &a, PlanID: s.plan.ID, Standing: &s.standing}
	})
}

// read records a reading by the instance, of what the node runs.
func (s *tale) read(instance string, purpose Purpose, change func(*Observation)) {
	o := Observation{Machine: "m-1", Purpose: purpose, Plan: s.plan.ID, Operation: s.op.ID, Instance: instance, Route: Direct}
	actor := ledger.Actor{Instance: instance, Epoch: s.epoch}
	s.tell(fmt.Sprintf("read %s started", purpose), taleMachine, EntryReadStarted, actor, func(rev int64, at time.Time) Body {
		o.Basis, o.StartedAt = rev, at
		started := o
		return Body{Observation: &started}
	})
	s.tell(fmt.Sprintf("read %s", purpose), taleMachine, EntryRead, actor, func(rev int64, _ time.Time) Body {
		o.Revision = rev
		o.Reading = Reading{
			ClusterID: "c1", NodeID: "n1", Role: Worker, TalosVersion: "v1.13.6", Stage: "running", Ready: true, BootID: s.boot,
			Active: Resource{Present: true, Digest: s.runs, Version: 1}, Persistent: Resource{Present: true, Digest: s.runs, Version: 1},
		}
		if change != nil {
			change(&o)
		}
		s.seen = o
		return Body{Observation: &o}
	})
}

func (s *tale) readIdentities() map[string]int64 {
	out := map[string]int64{}
	for _, a := range s.approvals {
		out[a.Approver] = s.ids[a.Approver]
	}
	return out
}

func (s *tale) commit(id, instance string) {
	s.tell("committed", taleMachine, EntryCommitted, s.executor(instance), func(rev int64, _ time.Time) Body {
		s.op = Operation{
			ID: id, Plan: s.plan.ID, Machine: "m-1", Kind: s.plan.Kind, State: Committed, Revision: rev,
			Owner: Owner{Instance: instance, Generation: 1, Epoch: s.epoch},
		}
		if s.plan.Rollout != nil {
			s.op.Rollout = s.plan.Rollout.ID
		}
		s.standing.State, s.standing.Operation = PlanCommitted, id
		return Body{
			Operation: &s.op, PlanID: s.plan.ID, Standing: &s.standing, Event: Commit, Token: "t-" + id, Evidence: s.seen.Basis,
			Identities: s.readIdentities(), Installation: s.installed,
		}
	})
	if s.op.Rollout != "" {
		s.tell("taken", taleRollout, EntryRolloutTaken, s.owner(), func(int64, time.Time) Body {
			s.rollout.Open = append(s.rollout.Open, id)
			return Body{Rollout: &s.rollout}
		})
	}
}

func (s *tale) attempt() {
	s.tell(fmt.Sprintf("attempt %d", len(s.attempts)+1), taleMachine, EntryAttempt, s.owner(), func(rev int64, at time.Time) Body {
		a := Attempt{
			Operation: s.op.ID, Number: len(s.attempts) + 1, By: s.op.Owner, Revision: rev, StartedAt: at, Route: s.plan.Route,
			Evidence: s.seen.Basis, LocalAddr: "10.9.9.9:4000", RemoteAddr: "10.0.0.1:50000", Host: taleHost,
			Identities: s.readIdentities(), Installation: s.installed,
		}
		s.attempts = append(s.attempts, a)
		s.op.State, s.op.Retry, s.op.SendBoot = Sending, nil, s.boot
		return Body{Attempt: &a, Operation: &s.op, Event: RecordAttempt, Token: fmt.Sprintf("t-%s-%d", s.op.ID, a.Number)}
	})
}

// respond records a response to the newest attempt.
func (s *tale) respond(class ResponseClass, code string) {
	n := len(s.attempts)
	s.tell(fmt.Sprintf("response %d", n), taleMachine, EntryResponse, s.executor(s.attempts[n-1].By.Instance), func(rev int64, at time.Time) Body {
		s.attempts[n-1].Response = &Response{Class: class, Code: code, Revision: rev, At: at}
		a := s.attempts[n-1]
		return Body{Attempt: &a}
	})
}

// account accounts for the newest attempt.
func (s *tale) account(kind AccountingKind, actor ledger.Actor, change func(*Accounting)) {
	n := len(s.attempts)
	s.tell(fmt.Sprintf("accounted %d", n), taleMachine, EntryAccounted, actor, func(rev int64, at time.Time) Body {
		by := actor.Identity
		if by == "" {
			by = actor.Instance
		}
		acc := &Accounting{Kind: kind, Revision: rev, At: at, By: by, Reason: "it was lost", Basis: s.seen.Basis}
		if change != nil {
			change(acc)
		}
		s.attempts[n-1].Accounting = acc
		a := s.attempts[n-1]
		return Body{Attempt: &a}
	})
}

// move writes a transition.
func (s *tale) move(event EventKind, to State, actor ledger.Actor, change func(*Body)) {
	s.tell(string(event), taleMachine, EntryMoved, actor, func(rev int64, at time.Time) Body {
		b := Body{Operation: &s.op, Event: event, From: s.op.State}
		s.op.State = to
		if event == Accept {
			s.op.VerifyUntil = at.Add(s.plan.VerifyDeadline)
		}
		if to.Terminal() {
			s.op.EndedRev, s.op.Retry = rev, nil
		}
		if event == Complete {
			s.applied(rev)
			b.Machine, b.Evidence = &s.m, s.seen.Basis
		}
		if change != nil {
			change(&b)
		}
		return b
	})
	if to.Terminal() && s.op.Rollout != "" {
		s.free()
	}
}

func (s *tale) free() {
	s.tell("freed", taleRollout, EntryRolloutFreed, s.owner(), func(int64, time.Time) Body {
		s.rollout.Open = difference(s.rollout.Open, []string{s.op.ID})
		if s.op.State == Failed || s.op.State == Rejected {
			s.rollout.Failed++
		}
		return Body{Rollout: &s.rollout}
	})
}

func (s *tale) applied(rev int64) {
	s.m.Applied, s.m.AppliedSource, s.m.BaselineRevision = s.plan.Artifact, s.op.ID, rev
}

func (s *tale) takeOver(instance string) {
	s.tell("taken over", taleMachine, EntryTakenOver, s.executor(instance), func(int64, time.Time) Body {
		from := s.op.State
		s.op.State, s.op.Retry = Unresolved, nil
		s.op.Owner = Owner{Instance: instance, Generation: s.op.Owner.Generation + 1, Epoch: s.epoch}
		return Body{Operation: &s.op, Event: Takeover, From: from, Takeover: "recorded its end"}
	})
}

func (s *tale) classify() {
	s.tell("classified", taleMachine, EntryClassified, s.owner(), func(rev int64, _ time.Time) Body {
		s.op.Retry = &Classification{Revision: rev, By: s.op.Owner, Basis: s.seen.Basis}
		return Body{Operation: &s.op, Evidence: s.seen.Basis}
	})
}

func (s *tale) freeze(frozen bool, by ledger.Actor) {
	kind, label := EntryFrozen, "frozen"
	if !frozen {
		kind, label = EntryUnfrozen, "unfrozen"
	}
	s.tell(label, taleMachine, kind, by, func(int64, time.Time) Body {
		s.m.Frozen, s.m.FrozenBy, s.m.FreezeReason = frozen, by.Identity, "maintenance"
		if !frozen {
			s.m.FrozenBy, s.m.FreezeReason = "", ""
		}
		return Body{Machine: &s.m}
	})
}

func (s *tale) openDrift(id, digest string) {
	s.tell("drift opened", taleMachine, EntryDriftOpened, s.executor("x1"), func(rev int64, _ time.Time) Body {
		d := Drift{ID: id, OpenedRevision: rev, Digest: digest}
		s.m.Drift = &d
		return Body{Drift: &d, Machine: &s.m}
	})
}

func (s *tale) closeDrift(as string) {
	s.tell("drift closed", taleMachine, EntryDriftClosed, s.executor("x1"), func(rev int64, _ time.Time) Body {
		d := *s.m.Drift
		d.ClosedRevision, d.ClosedAs = rev, as
		s.m.Drift = nil
		return Body{Drift: &d, Machine: &s.m}
	})
}

// adopt accepts what runs, as an import does.
func (s *tale) adopt() {
	s.propose("p-adopt", KindAdopt, s.runs, nil)
	s.approve("ben")
	s.read("x1", ForAdoption, nil)
	s.adoptNow("op-adopt")
}

// adoptNow records the adoption that the plan asks for.
func (s *tale) adoptNow(id string) {
	s.tell("adopted", taleMachine, EntryAdopted, s.executor("x1"), func(rev int64, _ time.Time) Body {
		s.op = Operation{
			ID: id, Plan: s.plan.ID, Machine: "m-1", Kind: KindAdopt, State: Completed, Revision: rev, EndedRev: rev,
			Owner: Owner{Instance: "x1", Generation: 1, Epoch: s.epoch},
		}
		s.standing.State, s.standing.Operation = PlanCommitted, s.op.ID
		s.applied(rev)
		return Body{
			Operation: &s.op, PlanID: s.plan.ID, Standing: &s.standing, Machine: &s.m, Event: AdoptRecord, Token: "t-" + id,
			Evidence: s.seen.Basis, Identities: s.readIdentities(), Installation: s.installed,
		}
	})
}

// check reads the whole tale and returns the problems.
func (s *tale) check() []Problem {
	s.t.Helper()
	for label := range s.before {
		s.t.Errorf("no entry was labelled %q", label)
	}
	var got []Problem
	h := NewHistory(func(p Problem) { got = append(got, p) })
	for _, kind := range HistoryOrder {
		for scope, entries := range s.entries {
			if scope.Kind != kind {
				continue
			}
			for _, e := range entries {
				if err := h.Add(e); err != nil {
					s.t.Fatal(err)
				}
			}
		}
	}
	h.End()
	return got
}
