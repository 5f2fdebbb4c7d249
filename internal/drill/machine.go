package drill

import (
	"slices"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/talos"
)

// Machine is a worker of the lab as the row has it.
type Machine struct {
	*lab.Node // nil for a machine of the user's own

	real *Real
	ID   string // in the row's ledger, once imported

	journal int    // lines that the node's journal had when the row began
	before  string // digest of what ran when the row began, as the drill's own reader found it

	beforeVersion string // of the active configuration then

	config []byte // what the ledger last accepted; patches are made on it
}

// Name is the machine's name.
func (m *Machine) Name() string {
	if m.real != nil {
		return m.real.name
	}
	return m.Node.Name()
}

// Address is where the machine is reached now.
func (m *Machine) Address() string {
	if m.real != nil {
		return m.real.Address
	}
	return m.Node.Address()
}

// Import registers a machine and has what it runs accepted as its baseline: read, planned, approved, read again, recorded.
func (s *Stage) Import(m *Machine) {
	s.Register(m)
	s.Adopt(m)
}

// Register makes a machine known to the ledger, without a baseline.
func (s *Stage) Register(m *Machine) {
	conn, err := talos.Dial(s.ctx, s.credentials(), talos.Target{Address: m.Address(), Route: s.usualRoute()}, talos.Options{})
	s.must(err, "reaching %s", m.Name())
	defer conn.Abort()
	r, _, err := conn.Read(s.ctx)
	s.must(err, "reading %s", m.Name())
	addresses := slices.Clone(r.Addresses)
	if !slices.Contains(addresses, m.Address()) {
		addresses = append(addresses, m.Address())
	}
	known, err := s.ledger.RegisterMachine(s.ctx, s.As(founder, store.RoleOperator), dispatch.Machine{
		Name: m.Name(), Cluster: s.clusterName(), ClusterID: r.ClusterID, NodeID: r.NodeID, HostName: r.HostName, UUID: r.UUID,
		Assignment: dispatch.Assignment{Role: r.Role, Addresses: addresses},
	}, r)
	s.must(err, "registering %s", m.Name())
	m.ID = known.ID
}

// Adopt has what a registered machine runs accepted as its baseline. Whatever drift record is open is bound by it.
func (s *Stage) Adopt(m *Machine) {
	s.asInstance(func(instance string) {
		o, config := s.read(instance, m, dispatch.Observation{Purpose: dispatch.ForPlanning, Route: s.usualRoute()})
		p := s.terms(m, o, config)
		p.Kind, p.Operation, p.Mode, p.Post = dispatch.KindAdopt, "", "", dispatch.Postconditions{}
		p.Pre.Ready, p.Expected = false, o.Reading.Active.Digest
		p = s.record(p, o, config)
		s.approve(p.ID, approver)
		shown, _ := s.read(instance, m, dispatch.Observation{Purpose: dispatch.ForAdoption, Route: s.usualRoute(), Plan: p.ID})
		epoch, _, err := s.ledger.Epoch(s.ctx)
		s.must(err, "reading the epoch")
		_, err = s.ledger.Adopt(s.ctx, p.ID, dispatch.Owner{Instance: instance, Generation: 1, Epoch: epoch}, shown.Basis)
		s.must(err, "accepting what %s runs", m.Name())
		m.config = config
	})
}

// record keeps a configuration and the plan that is made of it.
func (s *Stage) record(p dispatch.Plan, o dispatch.Observation, config []byte) dispatch.Plan {
	armored, err := s.keeper().Seal(secret.Of(config))
	s.must(err, "encrypting a configuration")
	s.must(s.ledger.PutArtifact(s.ctx, p.Artifact, armored, len(config), founder), "keeping a configuration")
	p, _, err = s.ledger.CreatePlan(s.ctx, s.As(founder, store.RoleAuthor), p, o)
	s.must(err, "recording a plan")
	return p
}

func (s *Stage) approve(plan, by string) {
	_, _, err := s.ledger.Approve(s.ctx, s.As(by, store.RoleApprover), plan, store.ApproveOptions{})
	s.must(err, "approving %s", plan)
}
