package world

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

// Base is the name of the configuration that every machine of a world has accepted, see World.Config.
const Base = "base"

// Machine is a registered worker and what its node would show.
type Machine struct {
	w    *World
	ID   string
	Name string
	Node dispatch.Reading // what the node shows now; tests change it
}

// Machine registers a worker and adopts the configuration Base, which its node shows.
func (w *World) Machine(name string) *Machine {
	w.T.Helper()
	m := w.Unadopted(name)
	m.Adopt(w.Process())
	return m
}

// Unadopted registers a worker without a baseline; its node shows Base.
func (w *World) Unadopted(name string) *Machine {
	w.T.Helper()
	base := w.Config(Base)
	m := &Machine{w: w, Name: name, Node: dispatch.Reading{
		ClusterID: "cluster-1", NodeID: "node-of-" + name, HostName: name, Role: dispatch.Worker, Addresses: []string{"10.5.0.2"},
		TalosVersion: "v1.13.6", Stage: "running", Ready: true, BootID: "boot-1",
		Active:     dispatch.Resource{Present: true, Digest: base, Version: 1},
		Persistent: dispatch.Resource{Present: true, Digest: base, Version: 1},
	}}
	got, err := w.Store.RegisterMachine(context.Background(), w.Author, dispatch.Machine{
		Name: name, Cluster: "lab", ClusterID: m.Node.ClusterID, NodeID: m.Node.NodeID, HostName: name,
		Assignment: dispatch.Assignment{Role: dispatch.Worker, Addresses: m.Node.Addresses},
	}, m.Node)
	w.no(err)
	m.ID = got.ID
	return m
}

// Runs makes the node show a configuration, as an apply does: both resources, their versions moved by one.
func (m *Machine) Runs(digest string) {
	m.Node.Active.Digest, m.Node.Persistent.Digest = digest, digest
	m.Node.Active.Version++
	m.Node.Persistent.Version++
}

// Record is the machine as the store has it.
func (m *Machine) Record() dispatch.Machine {
	m.w.T.Helper()
	got, err := m.w.Store.Machine(context.Background(), m.ID)
	m.w.no(err)
	return got
}

// Read records what the node shows, read by the process. link names the plan and the operation that it is for.
func (m *Machine) Read(p *Process, purpose dispatch.Purpose, link ...string) dispatch.Observation {
	m.w.T.Helper()
	return m.End(m.Begin(p, purpose, link...))
}

// Begin starts a read.
func (m *Machine) Begin(p *Process, purpose dispatch.Purpose, link ...string) dispatch.Observation {
	m.w.T.Helper()
	o := dispatch.Observation{
		Machine: m.ID, Purpose: purpose, Instance: p.ID, Route: dispatch.Direct, ReadAddress: m.Node.Addresses[0],
		LocalAddr: "10.5.0.1:40000", RemoteAddr: m.Node.Addresses[0] + ":50000",
	}
	if len(link) > 0 {
		o.Plan = link[0]
	}
	if len(link) > 1 {
		o.Operation = link[1]
	}
	basis, err := m.w.Store.StartRead(context.Background(), o)
	m.w.no(err)
	o.Basis = basis
	return o
}

// End records a started read with what the node shows now.
func (m *Machine) End(o dispatch.Observation) dispatch.Observation {
	m.w.T.Helper()
	o.Reading = m.Node
	o, _, err := m.w.Store.RecordRead(context.Background(), o)
	m.w.no(err)
	return o
}

// Draft is a plan to apply a configuration, ready for CreatePlan.
func (m *Machine) Draft(artifact string) dispatch.Plan {
	m.w.T.Helper()
	rec := m.Record()
	p := dispatch.Plan{
		Machine: m.ID, Kind: dispatch.KindApply, Artifact: artifact, Expected: rec.Applied,
		Operation: dispatch.OperationApplyConfig, Mode: dispatch.ModeNoReboot, Route: dispatch.Direct, Address: m.Node.Addresses[0],
		MaxAge: time.Hour, Pre: dispatch.Preconditions{Stage: "running", Ready: true},
		Post:              dispatch.Postconditions{Stage: "running", Digest: artifact},
		TransportDeadline: time.Second, VerifyDeadline: time.Minute, MaxAttempts: 2, ExpiresAt: m.w.Now().Add(24 * time.Hour),
		Policy: dispatch.Policy{Approvals: 1},
	}
	if rec.Drift != nil {
		p.Drift, p.Expected = rec.Drift.ID, rec.Drift.Digest
	}
	return p
}

// Plan records a plan to apply a configuration, from a fresh reading. change adjusts the draft first.
func (m *Machine) Plan(artifact string, change ...func(*dispatch.Plan)) dispatch.Plan {
	m.w.T.Helper()
	o := m.Read(m.w.Process(), dispatch.ForPlanning)
	p := m.Draft(artifact)
	for _, f := range change {
		f(&p)
	}
	p, _, err := m.w.Store.CreatePlan(context.Background(), m.w.Author, p, o)
	m.w.no(err)
	return p
}

// Approved is Plan, approved.
func (m *Machine) Approved(artifact string, change ...func(*dispatch.Plan)) dispatch.Plan {
	m.w.T.Helper()
	p := m.Plan(artifact, change...)
	m.w.Approve(p)
	return p
}

// Approve approves a plan by the world's approver.
func (w *World) Approve(p dispatch.Plan) dispatch.Approval {
	w.T.Helper()
	a, _, err := w.Store.Approve(context.Background(), w.Approver, p.ID, store.ApproveOptions{})
	w.no(err)
	return a
}

// AdoptionPlan records and approves a plan to adopt what the node shows.
func (m *Machine) AdoptionPlan(change ...func(*dispatch.Plan)) dispatch.Plan {
	m.w.T.Helper()
	return m.Approved(m.Node.Active.Digest, append([]func(*dispatch.Plan){func(p *dispatch.Plan) {
		p.Kind, p.Operation, p.Mode, p.Expected = dispatch.KindAdopt, "", "", m.Node.Active.Digest
		p.Post, p.Pre.Ready = dispatch.Postconditions{}, false
	}}, change...)...)
}

// Adopt accepts what the node shows as the machine's baseline.
func (m *Machine) Adopt(p *Process) dispatch.Operation {
	m.w.T.Helper()
	plan := m.AdoptionPlan()
	o := m.Read(p, dispatch.ForAdoption, plan.ID)
	op, err := m.w.Store.Adopt(context.Background(), plan.ID, p.Owner(), o.Basis)
	m.w.no(err)
	return op
}

// Request is what an executor would hold in its hands for the plan.
func Request(p dispatch.Plan) dispatch.Request {
	return dispatch.Request{Artifact: p.Artifact, Operation: p.Operation, Mode: p.Mode, Route: p.Route, Address: p.Address}
}

// Commit gathers evidence and commits the plan.
func (m *Machine) Commit(p *Process, plan dispatch.Plan) dispatch.Operation {
	m.w.T.Helper()
	m.Read(p, dispatch.ForEvidence, plan.ID)
	op, err := m.TryCommit(p, plan)
	m.w.no(err)
	return op
}

// TryCommit commits the plan on the evidence that there is.
func (m *Machine) TryCommit(p *Process, plan dispatch.Plan) (dispatch.Operation, error) {
	m.w.T.Helper()
	return m.w.Store.Commit(context.Background(), dispatch.CommitRequest{Plan: plan.ID, By: p.Owner(), Request: Request(plan), Token: Token()})
}

// Attempt records an attempt of the operation, by its owner.
func (m *Machine) Attempt(p *Process, op dispatch.Operation) dispatch.AttemptResult {
	m.w.T.Helper()
	r, err := m.TryAttempt(p, op)
	m.w.no(err)
	return r
}

// TryAttempt asks for an attempt as the owner that op names.
func (m *Machine) TryAttempt(p *Process, op dispatch.Operation) (dispatch.AttemptResult, error) {
	m.w.T.Helper()
	v, err := m.w.Store.Plan(context.Background(), op.Plan)
	m.w.no(err)
	return m.w.Store.Attempt(context.Background(), dispatch.AttemptRequest{
		Operation: op.ID, By: op.Owner, Request: Request(v.Plan), Token: Token(), LocalAddr: "10.5.0.1:40000",
		RemoteAddr: v.Plan.Address + ":50000", Host: p.Host,
	})
}

// Sending is an operation with its first attempt recorded.
func (m *Machine) Sending(p *Process, plan dispatch.Plan) dispatch.Operation {
	m.w.T.Helper()
	return m.Attempt(p, m.Commit(p, plan)).Operation
}

// Respond records a response of this class to an attempt.
func (m *Machine) Respond(op dispatch.Operation, attempt int, class dispatch.ResponseClass) dispatch.Operation {
	m.w.T.Helper()
	got, err := m.w.Store.RecordResponse(context.Background(), op.ID, attempt, op.Owner, Response(class))
	m.w.no(err)
	return got
}

// Response is a response of a class, with the code that comes with it.
func Response(class dispatch.ResponseClass) dispatch.Response {
	code := map[dispatch.ResponseClass]string{
		dispatch.Accepted: "OK", dispatch.RejectedDef: "InvalidArgument", dispatch.Inconclusive: "Unavailable",
	}[class]
	return dispatch.Response{Class: class, Code: code}
}

// Complete runs the plan to its end: sent, accepted, landed, verified.
func (m *Machine) Complete(p *Process, plan dispatch.Plan) dispatch.Operation {
	m.w.T.Helper()
	op := m.Respond(m.Sending(p, plan), 1, dispatch.Accepted)
	m.Runs(plan.Artifact)
	o := m.Read(p, dispatch.ForCompletion, plan.ID, op.ID)
	op, err := m.w.Store.Finish(context.Background(), op.ID, op.Owner, o.Basis)
	m.w.no(err)
	return op
}

// View is the operation as the store has it.
func (w *World) View(op dispatch.Operation) dispatch.OperationView {
	w.T.Helper()
	v, err := w.Store.Operation(context.Background(), op.ID)
	w.no(err)
	return v
}

func decode(t testing.TB, raw json.RawMessage, to any) {
	t.Helper()
	if len(raw) == 0 {
		return
	}
	if err := json.Unmarshal(raw, to); err != nil {
		t.Fatal(err)
	}
}
