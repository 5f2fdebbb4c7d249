package drill

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

// workers is how many commit at once.
const workers = 50

func init() {
	const after = "workers=50; committed-after=0; refused-after>=1; seen:committed-before; seen:passed-first; seen:took; attempts=0; landings=0; answered=none"
	register(Row{
		ID: "052a", Stores: []config.Engine{config.Postgres}, Bare: true, Takes: 15 * time.Second,
		Case:   "50 workers in commitments while the approver's identity is revoked: revoked within a second, and nothing is committed after it",
		Expect: "within-a-second=yes; " + after,
		Script: revokedUnderLoad,
	})
	register(Row{
		ID: "052b", Stores: []config.Engine{config.SQLite}, Bare: true, Takes: 15 * time.Second,
		Case:   "50 workers in commitments while the approver's identity is revoked: at most 50 commitments pass first, and none is committed after it",
		Expect: "passed-first<=50; " + after,
		Script: revokedUnderLoad,
	})
}

// revokedUnderLoad has every worker commit over and over, each for a machine of its own that only the ledger knows, while
// another process's store revokes who approved all of it. Nothing is sent.
func revokedUnderLoad(s *Stage) {
	s.asInstance(func(instance string) {
		requests := s.ledgerOnly(instance)
		revoker, err := store.Open(s.ctx, store.Config{Location: s.place.location, StateDir: s.stateDir()})
		s.must(err, "opening the revoker's store")
		var committed, again atomic.Int64
		load, stop := context.WithCancel(s.ctx)
		var group sync.WaitGroup
		failed := make(chan error, workers)
		for _, q := range requests {
			group.Go(func() { failed <- s.commitOverAndOver(load, q, &committed, &again) })
		}
		end := sync.OnceFunc(func() { stop(); group.Wait() })
		defer end()
		s.Until("every worker is at work", func() bool { return committed.Load() >= 10 })
		asked, began := s.Now(), time.Now()
		_, err = revoker.RevokeIdentity(s.ctx, s.As(founder, store.RoleApprover), approver, "the drill revokes it")
		took := time.Since(began)
		s.must(err, "revoking an identity under load")
		before := again.Load()
		s.Until("every worker has asked again", func() bool { return again.Load() >= before+2*workers })
		end()
		for range workers {
			s.must(<-failed, "committing")
		}
		s.must(revoker.Close(s.ctx), "closing the revoker's store")
		s.Set("workers", workers)
		s.Set("took", took.Round(time.Millisecond))
		s.Set("within-a-second", map[bool]string{true: "yes", false: "no"}[took < time.Second])
		for name, value := range s.Query("revoked.sql", "asked", strconv.FormatInt(asked.UnixMicro(), 10)) {
			s.Set(name, value)
		}
	})
}

// commitOverAndOver asks for the same commitment again and again: it is recorded once at most, and then refused, each time
// in a transaction under the same locks.
func (s *Stage) commitOverAndOver(ctx context.Context, q dispatch.CommitRequest, committed, asked *atomic.Int64) error {
	for i := 0; ; i++ {
		q.Token = fmt.Sprintf("drill-%s-%d", q.Plan, i)
		_, err := s.ledger.Commit(ctx, q)
		_, refused := refusal.As(err)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			committed.Add(1)
		case !refused:
			return err
		}
		asked.Add(1)
	}
}

// ledgerOnly registers a machine for each worker, as the row's node shows itself but for its name and identity, has its
// configuration accepted, and makes an approved plan with evidence for it.
func (s *Stage) ledgerOnly(instance string) []dispatch.CommitRequest {
	m := s.Machine(0)
	s.Register(m)
	shown, running := s.read(instance, m, dispatch.Observation{Purpose: dispatch.ForImport, Route: dispatch.Direct})
	m.config = running
	planned := s.labelled(m, "drill")
	epoch, _, err := s.ledger.Epoch(s.ctx)
	s.must(err, "reading the epoch")
	by := dispatch.Owner{Instance: instance, Generation: 1, Epoch: epoch}
	var requests []dispatch.CommitRequest
	for i := range workers {
		p := s.ledgerOnlyPlan(i, by, shown, running, planned)
		requests = append(requests, dispatch.CommitRequest{
			Plan: p.ID, By: by, Who: ledger.Actor{Identity: operator(0), Role: store.RoleOperator, Assurance: ledger.Asserted},
			Request: dispatch.Request{Artifact: p.Artifact, Operation: p.Operation, Mode: p.Mode, Route: p.Route, Address: p.Address},
		})
	}
	return requests
}

func (s *Stage) ledgerOnlyPlan(i int, by dispatch.Owner, shown dispatch.Observation, running, planned []byte) dispatch.Plan {
	r := shown.Reading
	r.NodeID, r.HostName, r.UUID = fmt.Sprintf("%s-%d", r.NodeID, i), fmt.Sprintf("ledger-only-%d", i), ""
	known, err := s.ledger.RegisterMachine(s.ctx, s.As(founder, store.RoleOperator), dispatch.Machine{
		Name: r.HostName, Cluster: "ledger-only", ClusterID: r.ClusterID, NodeID: r.NodeID, HostName: r.HostName,
		Assignment: dispatch.Assignment{Role: r.Role, Addresses: []string{shown.ReadAddress}},
	}, r)
	s.must(err, "registering a machine of the ledger alone")
	m := &Machine{Node: s.Machine(0).Node, ID: known.ID, config: running}
	read := func(o dispatch.Observation) dispatch.Observation {
		o.Machine, o.Instance, o.Route, o.ReadAddress = known.ID, by.Instance, dispatch.Direct, shown.ReadAddress
		var err error
		o.Basis, err = s.ledger.StartRead(s.ctx, o)
		s.must(err, "beginning a reading")
		o.Reading = r
		o, _, err = s.ledger.RecordRead(s.ctx, o)
		s.must(err, "recording a reading")
		return o
	}
	adopt := s.terms(m, read(dispatch.Observation{Purpose: dispatch.ForPlanning}), running)
	adopt.Kind, adopt.Operation, adopt.Mode, adopt.Post = dispatch.KindAdopt, "", "", dispatch.Postconditions{}
	adopt.Pre.Ready, adopt.Expected = false, r.Active.Digest
	adopt = s.record(adopt, read(dispatch.Observation{Purpose: dispatch.ForPlanning}), running)
	s.approve(adopt.ID, approver)
	_, err = s.ledger.Adopt(s.ctx, adopt.ID, by, read(dispatch.Observation{Purpose: dispatch.ForAdoption, Plan: adopt.ID}).Basis)
	s.must(err, "accepting a configuration")
	o := read(dispatch.Observation{Purpose: dispatch.ForPlanning})
	p := s.record(s.terms(m, o, planned), o, planned)
	s.approve(p.ID, approver)
	read(dispatch.Observation{Purpose: dispatch.ForEvidence, Plan: p.ID})
	return p
}
