package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store"
)

// Who there is in every history. The administrator holds every role and cannot be revoked, being the only one.
const (
	admin    = "ada"
	author   = "ben"
	approver = "cleo"
	second   = "dora"
)

func who(name string) store.Who { return store.Who{Identity: name, Assurance: ledger.Asserted} }

// machineNames are the machines of every history; each has accepted configuration c0.
var machineNames = []string{"m1", "m2", "m3"}

// configs is how many configurations there are, c0 to c4.
const configs = 5

// marker stands in every configuration. It is what must never be seen in the store. I7
const marker = "sim-plaintext-secret"

func configName(n int) string { return fmt.Sprintf("c%d", n) }
func configBytes(name string) []byte {
	return []byte("version: v1alpha1\ntoken: " + marker + "\nname: " + name + "\n")
}
func digestOf(name string) string { return dispatch.Digest(configBytes(name)) }

// keeper turns what the store keeps of a configuration into its bytes.
type keeper struct{}

const armor = "-----BEGIN AGE ENCRYPTED FILE-----\n%s\n-----END AGE ENCRYPTED FILE-----\n"

// Unseal implements executor.Keeper.
func (keeper) Unseal(armored string) (secret.Bytes, error) {
	var name string
	if _, err := fmt.Sscanf(armored, armor, &name); err != nil {
		return secret.Bytes{}, err
	}
	return secret.Of(configBytes(name)), nil
}

// names are the random ids of what every history begins with.
type names struct {
	machines map[string]string // by name
	clerk    string            // the process, long ended, that reads machines when people plan
}

func address(machine int) string { return fmt.Sprintf("10.5.0.%d", machine+1) }

// firstReading is what a machine's node shows at the beginning.
func firstReading(machine int) dispatch.Reading {
	name := machineNames[machine]
	c0 := dispatch.Resource{Present: true, Digest: digestOf(configName(0)), Version: 1}
	return dispatch.Reading{
		ClusterID: "cluster-1", NodeID: "node-of-" + name, HostName: name, Role: dispatch.Worker,
		Addresses: []string{address(machine)}, TalosVersion: "v1.13.6", Stage: "running", Ready: true, BootID: "boot-1",
		Active: c0, Persistent: c0,
	}
}

// begin makes the records that every history begins with.
func begin(p *Place) (names, error) {
	n := names{machines: map[string]string{}}
	ctx := context.Background()
	s := p.stores[desk]
	if _, err := s.EnsureLocalIdentity(ctx, admin); err != nil {
		return n, err
	}
	for name, roles := range map[string][]string{
		author: {store.RoleAuthor, store.RoleOperator}, approver: {store.RoleApprover}, second: {store.RoleApprover},
	} {
		if _, err := s.CreateIdentity(ctx, who(admin), name, ledger.Asserted, roles); err != nil {
			return n, err
		}
	}
	for i := range configs {
		name := configName(i)
		if err := s.PutArtifact(ctx, digestOf(name), fmt.Sprintf(armor, name), len(configBytes(name)), author); err != nil {
			return n, err
		}
	}
	var err error
	if n.clerk, err = s.StartInstance(ctx, hostFacts(desk), 1, "", 0, 0); err != nil {
		return n, err
	}
	for i := range machineNames {
		if err := n.adopt(ctx, p, i); err != nil {
			return n, fmt.Errorf("%s: %w", machineNames[i], err)
		}
	}
	return n, s.EndInstance(ctx, n.clerk)
}

// adopt registers a machine and accepts what it runs.
func (n names) adopt(ctx context.Context, p *Place, i int) error {
	s, r := p.stores[desk], firstReading(i)
	m, err := s.RegisterMachine(ctx, who(author), dispatch.Machine{
		Name: machineNames[i], Cluster: "lab", ClusterID: r.ClusterID, NodeID: r.NodeID, HostName: r.HostName,
		Assignment: dispatch.Assignment{Role: dispatch.Worker, Addresses: r.Addresses},
	}, r)
	if err != nil {
		return err
	}
	n.machines[m.Name] = m.ID
	read := func(purpose dispatch.Purpose, plan string) (dispatch.Observation, error) {
		o := dispatch.Observation{Machine: m.ID, Purpose: purpose, Plan: plan, Instance: n.clerk, Route: dispatch.Direct}
		if o.Basis, err = s.StartRead(ctx, o); err != nil {
			return o, err
		}
		o.Reading = r
		o, _, err := s.RecordRead(ctx, o)
		return o, err
	}
	o, err := read(dispatch.ForImport, "")
	if err != nil {
		return err
	}
	plan, _, err := s.CreatePlan(ctx, who(author), dispatch.Plan{
		Machine: m.ID, Kind: dispatch.KindAdopt, Artifact: r.Active.Digest, Expected: r.Active.Digest, Route: dispatch.Direct,
		Address: r.Addresses[0], MaxAge: time.Hour, Pre: dispatch.Preconditions{Stage: "running"}, MaxAttempts: 1,
		ExpiresAt: p.clock.Add(time.Hour), Policy: dispatch.Policy{Approvals: 1},
	}, o)
	if err != nil {
		return err
	}
	if _, _, err := s.Approve(ctx, who(approver), plan.ID, store.ApproveOptions{}); err != nil {
		return err
	}
	if o, err = read(dispatch.ForAdoption, plan.ID); err != nil {
		return err
	}
	epoch, _, err := s.Epoch(ctx)
	if err != nil {
		return err
	}
	_, err = s.Adopt(ctx, plan.ID, dispatch.Owner{Instance: n.clerk, Generation: 1, Epoch: epoch}, o.Basis)
	return err
}
