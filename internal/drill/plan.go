package drill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

// Plan is a plan of the row.
type Plan struct {
	Name    string // prefix of its readings, "" for none
	ID      string
	Machine *Machine

	config []byte
	digest string // of its configuration, as the drill's own reader computes it
	sum    string // SHA-256 of the very bytes, as the node's journal has it
}

// Terms changes what a plan binds, before it is recorded.
type Terms func(p *dispatch.Plan)

// Attempts bounds the attempts.
func Attempts(n int) Terms { return func(p *dispatch.Plan) { p.MaxAttempts = n } }

// Via is the route through the lab's endpoint.
func (s *Stage) Via() dispatch.Route {
	if s.real != nil && s.real.Route.Endpoint() == "" {
		s.labOnly("the route is the one that --route names")
	}
	if s.real != nil {
		return s.real.Route
	}
	return dispatch.Via(s.lab.Nodes()[0].Address())
}

// Route is the way that reads and the send take.
func Route(r dispatch.Route) Terms { return func(p *dispatch.Plan) { p.Route = r } }

// Deadlines are the transport's and the verification's.
func Deadlines(transport, verify time.Duration) Terms {
	return func(p *dispatch.Plan) { p.TransportDeadline, p.VerifyDeadline = transport, verify }
}

// InRollout binds a rollout.
func InRollout(id string, limit, maxFailed int) Terms {
	return func(p *dispatch.Plan) { p.Rollout = &dispatch.Rollout{ID: id, Limit: limit, MaxFailed: maxFailed} }
}

// Expires bounds the plan's life from now on.
func Expires(d time.Duration) Terms {
	return func(p *dispatch.Plan) { p.ExpiresAt = time.Now().Add(d) }
}

// Plan makes a plan for the row's first machine and approves it; see PlanOn.
func (s *Stage) Plan(name string, terms ...Terms) *Plan {
	return s.PlanOn(s.Machine(0), name, terms...)
}

// PlanOn makes and approves a plan that changes one node label to a value that no other plan has.
func (s *Stage) PlanOn(m *Machine, name string, terms ...Terms) *Plan {
	p := s.Propose(m, name, nil, terms...)
	s.Approve(p, approver)
	return p
}

// Propose makes a plan and leaves it proposed. patch is a Talos patch on what the ledger last accepted; nil is the label.
func (s *Stage) Propose(m *Machine, name string, patch []byte, terms ...Terms) *Plan {
	if patch == nil {
		patch = fmt.Appendf(nil, "machine:\n  nodeLabels:\n    drill: \"%s-%d\"\n", s.Row.ID, s.run.plans.Add(1))
	}
	changed, err := talos.ApplyPatches(secret.Of(m.config), [][]byte{patch})
	s.must(err, "making the configuration of plan %q", name)
	return s.ProposeConfig(m, name, changed.Reveal(), terms...)
}

// ProposeConfig is Propose with a whole configuration, which nobody checks before it is recorded.
func (s *Stage) ProposeConfig(m *Machine, name string, config []byte, terms ...Terms) *Plan {
	p := &Plan{Name: name, Machine: m, config: config}
	sum := sha256.Sum256(p.config)
	p.digest, p.sum = readDigest(p.config), hex.EncodeToString(sum[:])
	s.asInstance(func(instance string) {
		var draft dispatch.Plan
		route := s.usualRoute()
		for _, t := range terms {
			t(&draft)
		}
		if draft.Route != "" {
			route = draft.Route
		}
		o, _ := s.read(instance, m, dispatch.Observation{Purpose: dispatch.ForPlanning, Route: route})
		d := s.terms(m, o, p.config)
		for _, t := range terms {
			t(&d)
		}
		p.ID = s.record(d, o, p.config).ID
	})
	s.plans = append(s.plans, p)
	s.Note("plan %q is %s for %s", name, p.ID, m.Name())
	return p
}

// terms are what a plan binds where the row says nothing else.
func (s *Stage) terms(m *Machine, o dispatch.Observation, config []byte) dispatch.Plan {
	known, err := s.ledger.Machine(s.ctx, m.ID)
	s.must(err, "reading the record of %s", m.Name())
	now, err := s.ledger.Now(s.ctx)
	s.must(err, "reading the store's time")
	digest := dispatch.Digest(config)
	p := dispatch.Plan{
		Machine: m.ID, Kind: dispatch.KindApply, ClusterID: known.ClusterID, NodeID: known.NodeID, Artifact: digest,
		AssignmentRevision: known.AssignmentRevision, BaselineRevision: known.BaselineRevision, DesiredRevision: known.DesiredRevision,
		Expected: known.Applied, Operation: dispatch.OperationApplyConfig, Mode: dispatch.ModeNoReboot,
		Route: o.Route, Address: o.ReadAddress, MaxAge: 5 * time.Minute,
		Pre:               dispatch.Preconditions{Stage: "running", Ready: true},
		Post:              dispatch.Postconditions{Stage: "running", Digest: digest},
		TransportDeadline: 15 * time.Second, VerifyDeadline: time.Minute, MaxAttempts: 2, ExpiresAt: now.Add(time.Hour),
		Policy:  dispatch.Policy{Approvals: 1, SelfApproval: true},
		Creator: founder, CreatorRole: store.RoleAuthor, Authors: []string{founder},
	}
	if s.real != nil && s.real.AllowStage {
		p.Pre.Stage, p.Pre.Ready, p.Post.Stage = s.real.stage, false, s.real.stage
	}
	if known.Drift != nil {
		p.Drift, p.Expected = known.Drift.ID, known.Drift.Digest
	}
	return p
}

// Approve approves a plan as a person, who is admitted as an approver if the ledger does not know them.
func (s *Stage) Approve(p *Plan, by string) {
	s.Person(by, store.RoleApprover)
	s.approve(p.ID, by)
}

// Revoke takes the plan's approvals back and returns when that is committed.
func (s *Stage) Revoke(p *Plan) {
	s.must(s.RevokeWith(s.ctx, p), "revoking the approval of %s", p.ID)
	s.Note("the approval of %s is revoked", p.ID)
}

// RevokeWith is Revoke for Background: it waits for whoever holds the machine.
func (s *Stage) RevokeWith(ctx context.Context, p *Plan) error {
	return s.ledger.RevokeApproval(ctx, s.As(approver, store.RoleApprover), p.ID, "the drill takes it back")
}
