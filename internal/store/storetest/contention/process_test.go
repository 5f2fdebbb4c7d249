package contention

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

// order is what a process is started with, on its standard input.
type order struct {
	Process  int                `json:"process"`
	Engine   config.Engine      `json:"engine"`
	Path     string             `json:"path"` // the file, or the URL
	StateDir string             `json:"state_dir"`
	Dir      string             `json:"dir"` // where the processes tell each other of plans
	Host     dispatch.Host      `json:"host"`
	Drafts   []dispatch.Plan    `json:"drafts"` // of each machine
	Nodes    []dispatch.Reading `json:"nodes"`  // of each machine
	Seconds  int                `json:"seconds"`
	Seed     uint64             `json:"seed"`
}

// Processes, and plans that are worked on at a time on each machine.
const (
	processes = 8
	slots     = 2
)

// leastTurns are made however slow the machine is, or what comes rarely would not come at all; longestWork bounds that.
const (
	leastTurns  = 600
	longestWork = 2 * time.Minute
)

// process works on the store until its time is over, and writes down every call.
type process struct {
	order
	st       *store.Store
	rand     *rand.Rand
	instance string
	epoch    string
	out      *json.Encoder
	last     map[string]seen  // what it last saw of each plan
	sent     map[string]int64 // its attempts that were not answered: plan to generation
	looked   map[string]bool  // plans that it made a reading for
	made     int
}

// work is a process's main function.
func work() error {
	var p process
	if err := json.NewDecoder(os.Stdin).Decode(&p.order); err != nil {
		return err
	}
	ctx := context.Background()
	location := config.Location{Engine: p.Engine, Path: p.Path}
	if p.Engine == config.Postgres {
		url, err := config.ParseDatabaseURL(p.Path)
		if err != nil {
			return err
		}
		location = config.Location{Engine: p.Engine, URL: url}
	}
	var err error
	if p.st, err = store.Open(ctx, store.Config{Location: location, StateDir: p.StateDir}); err != nil {
		return err
	}
	if p.instance, err = p.st.StartInstance(ctx, p.Host, os.Getpid(), "", 0, 0); err != nil {
		return err
	}
	if p.epoch, _, err = p.st.Epoch(ctx); err != nil {
		return err
	}
	w := bufio.NewWriter(os.Stdout)
	p.out, p.rand = json.NewEncoder(w), rand.New(rand.NewPCG(p.Seed, uint64(p.Process)))
	p.last, p.sent, p.looked = map[string]seen{}, map[string]int64{}, map[string]bool{}
	begin := time.Now()
	for turns := 0; ; turns++ {
		worked := time.Since(begin)
		if worked > longestWork || worked > time.Duration(p.Seconds)*time.Second && turns >= leastTurns {
			break
		}
		if err := p.turn(ctx); err != nil {
			return fmt.Errorf("process %d: %w", p.Process, err)
		}
	}
	return errors.Join(w.Flush(), p.st.Close(ctx))
}

// turn makes one call, chosen at random, on one plan, chosen at random.
func (p *process) turn(ctx context.Context) error {
	if p.rand.IntN(50) == 0 {
		return p.people(ctx)
	}
	m, slot := p.rand.IntN(len(p.Drafts)), p.rand.IntN(slots)
	current := filepath.Join(p.Dir, fmt.Sprintf("%d-%d", m, slot))
	mine := (m*slots+slot)%processes == p.Process // who makes the plans of the slot
	id, err := os.ReadFile(current)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	planID := string(id)
	saw := p.last[planID]
	over := planID == "" || saw.Plan == dispatch.PlanRevoked || saw.State.Terminal()
	switch {
	case over && mine:
		return p.newPlan(ctx, m, current)
	case planID == "":
		return nil
	}
	return p.onPlan(ctx, m, planID, saw)
}

// onPlan does what the state that was last seen invites to, or something else.
func (p *process) onPlan(ctx context.Context, m int, planID string, saw seen) error {
	c := call{Machine: m, Plan: planID, Instance: p.instance, Operation: saw.Operation, Generation: saw.Generation}
	by := dispatch.Owner{Instance: p.instance, Generation: saw.Generation, Epoch: p.epoch}
	if generation, waits := p.sent[planID]; waits && p.rand.IntN(4) == 0 {
		c.Generation, by.Generation = generation, generation
		err := p.call(answer, c, func(*call) error {
			_, err := p.st.RecordResponse(ctx, saw.Operation, 1, by, dispatch.Response{Class: dispatch.RejectedDef, Code: "InvalidArgument"})
			return err
		})
		delete(p.sent, planID)
		return err
	}
	kinds := []string{read, read, read, approve}
	owns := saw.Owner == p.instance
	switch {
	case saw.Plan == dispatch.PlanApproved:
		kinds = append(kinds, claim, claim, claim, claim)
	case saw.State == dispatch.Committed && owns:
		kinds = []string{attempt, attempt, attempt, read}
	case saw.State == dispatch.Committed:
		kinds = append(kinds, attempt, claim)
	case owns:
		kinds = append(kinds, reject, cancel, reject, cancel)
	}
	kind := kinds[p.rand.IntN(len(kinds))]
	if saw.Plan != dispatch.PlanProposed && p.rand.IntN(8) == 0 {
		kind = []string{revoke, takeOver, takeOver, attempt, reject, cancel}[p.rand.IntN(6)]
	}
	if saw.Operation == "" && kind != read && kind != approve && kind != revoke && kind != claim {
		kind = read
	}
	return p.do(ctx, kind, c, by)
}

func (p *process) do(ctx context.Context, kind string, c call, by dispatch.Owner) error {
	if kind == claim {
		c.Generation, by.Generation = 1, 1
		p.looked[c.Plan] = true
		if err := p.reading(ctx, c.Machine, dispatch.ForEvidence, c.Plan, nil); err != nil {
			return err
		}
	}
	c.Evidence = p.looked[c.Plan]
	if kind == read {
		c.Generation, c.Operation = 0, ""
	}
	return p.call(kind, c, func(c *call) error { return p.one(ctx, kind, c, by) })
}

// one makes the one call to the store that is timed and checked.
func (p *process) one(ctx context.Context, kind string, c *call, by dispatch.Owner) (err error) {
	person := store.Who{Identity: "approver-" + strconv.Itoa(p.Process), Assurance: ledger.Asserted}
	switch kind {
	case read:
		var v store.PlanView
		v, err = p.st.Plan(ctx, c.Plan)
		c.Saw = shown(v)
		p.last[c.Plan] = c.Saw
	case approve:
		_, _, err = p.st.Approve(ctx, person, c.Plan, store.ApproveOptions{})
	case revoke:
		err = p.st.RevokeApproval(ctx, person, c.Plan, "no")
	case claim:
		var op dispatch.Operation
		op, err = p.st.Commit(ctx, dispatch.CommitRequest{Plan: c.Plan, By: by, Request: p.request(c.Machine), Token: store.NewToken()})
		c.Operation = op.ID
		p.learn(c, err, op)
	case attempt:
		var r dispatch.AttemptResult
		r, err = p.st.Attempt(ctx, dispatch.AttemptRequest{
			Operation: c.Operation, By: by, Request: p.request(c.Machine), Token: store.NewToken(), Host: p.Host,
		})
		if err == nil {
			p.sent[c.Plan] = by.Generation
		}
		p.learn(c, err, r.Operation)
	case takeOver:
		var op dispatch.Operation
		op, err = p.st.TakeOver(ctx, c.Operation, c.Generation, p.instance, "an operator says so")
		p.learn(c, err, op)
	case reject:
		_, err = p.st.LateReject(ctx, c.Operation, by)
	case cancel:
		_, err = p.st.CancelOperation(ctx, c.Operation, by, nil, "nothing was attempted")
	}
	return err
}

// learn keeps what a call that moved the operation says of it.
func (p *process) learn(c *call, err error, op dispatch.Operation) {
	if err == nil {
		p.last[c.Plan] = seen{dispatch.PlanCommitted, op.ID, op.State, op.Owner.Instance, op.Owner.Generation}
	}
}

func (p *process) request(m int) dispatch.Request {
	d := p.Drafts[m]
	return dispatch.Request{Artifact: d.Artifact, Operation: d.Operation, Mode: d.Mode, Route: d.Route, Address: d.Address}
}

// newPlan makes the next plan of a slot and tells the others.
func (p *process) newPlan(ctx context.Context, m int, current string) error {
	var o dispatch.Observation
	if err := p.reading(ctx, m, dispatch.ForPlanning, "", &o); err != nil {
		return err
	}
	p.made++
	draft := p.Drafts[m]
	draft.IdempotencyKey = fmt.Sprintf("%d-%d", p.Process, p.made)
	var made dispatch.Plan
	err := p.call(create, call{Machine: m, Instance: p.instance}, func(c *call) (err error) {
		made, _, err = p.st.CreatePlan(ctx, store.Who{Identity: "ben", Assurance: ledger.Asserted}, draft, o)
		c.Plan = made.ID
		return err
	})
	if err != nil || made.ID == "" {
		return err
	}
	if err := os.WriteFile(current+".new", []byte(made.ID), 0o600); err != nil {
		return err
	}
	return os.Rename(current+".new", current)
}

// reading records what the machine's node shows.
func (p *process) reading(ctx context.Context, m int, purpose dispatch.Purpose, planID string, out *dispatch.Observation) error {
	o := dispatch.Observation{
		Machine: p.Drafts[m].Machine, Purpose: purpose, Plan: planID, Instance: p.instance, Route: dispatch.Direct, ReadAddress: p.Drafts[m].Address,
	}
	err := p.call(beginRead, call{Machine: m}, func(*call) (err error) {
		o.Basis, err = p.st.StartRead(ctx, o)
		return err
	})
	if err != nil {
		return err
	}
	o.Reading = p.Nodes[m]
	err = p.call(endRead, call{Machine: m}, func(*call) (err error) {
		o, _, err = p.st.RecordRead(ctx, o)
		return err
	})
	if out != nil {
		*out = o
	}
	return err
}

// people admits somebody and revokes them: what every commitment and attempt has to wait for, and must not keep waiting.
func (p *process) people(ctx context.Context) error {
	admin := store.Who{Identity: "ada", Assurance: ledger.Asserted}
	p.made++
	name := fmt.Sprintf("guest-%d-%d", p.Process, p.made)
	err := p.call(admit, call{}, func(*call) error {
		_, err := p.st.CreateIdentity(ctx, admin, name, ledger.Asserted, []string{store.RoleApprover})
		return err
	})
	if err != nil {
		return err
	}
	return p.call(dismiss, call{}, func(*call) error {
		_, err := p.st.RevokeIdentity(ctx, admin, name, "left")
		return err
	})
}

// call makes one call and writes it down. A refusal is an answer; everything else ends the process.
func (p *process) call(kind string, c call, do func(c *call) error) error {
	c.Process, c.Kind, c.Start = p.Process, kind, now()
	err := do(&c)
	c.End, c.OK = now(), err == nil
	if r, refused := refusal.As(err); refused {
		c.Comparison, c.Code = r.Comparison, r.Code
	} else if err != nil {
		return fmt.Errorf("%s of %s: %w", kind, c.Plan, err)
	}
	return p.out.Encode(c)
}

// now is one clock for all processes of the host.
func now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}
