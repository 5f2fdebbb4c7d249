package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

// RegisterMachine adds a node that a reading showed, workers and control planes alike. It has no baseline: an adoption
// gives it the first one. m gives its names and assignment. A node that is registered already, or that Omni manages, is
// refused.
func (s *Store) RegisterMachine(ctx context.Context, who Who, m dispatch.Machine, r dispatch.Reading) (dispatch.Machine, error) {
	m = dispatch.Machine{
		Name: m.Name, Cluster: m.Cluster, ClusterID: m.ClusterID, NodeID: m.NodeID, HostName: m.HostName, UUID: m.UUID,
		Assignment: sorted(m.Assignment),
	}
	if why := unregistrable(m, r); why != "" {
		return m, refusal.New("registration", "node", why, "")
	}
	l := locks{identities: shared}
	err := s.update(ctx, l, "the registration of "+m.Name, func(tx *Tx) error {
		actor, err := tx.acting(who, RoleOperator)
		if err != nil {
			return err
		}
		if m.ID, err = tx.newID(MachinePrefix, "machines", "id"); err != nil {
			return err
		}
		if m.AssignmentRevision, err = tx.next(machineScope(m.ID)); err != nil {
			return err
		}
		added, err := tx.insertMachine(m)
		if err != nil {
			return err
		}
		if !added {
			return refusal.New("registration", "already-registered",
				fmt.Sprintf("the node, or another one called %s, is registered already", m.Name), "clew machine list")
		}
		_, err = tx.append(machineScope(m.ID), dispatch.EntryRegistered, actor, nil, dispatch.Body{Machine: &m})
		return err
	})
	return m, err
}

// unregistrable says why the node of a reading cannot be registered as m, "" when it can.
func unregistrable(m dispatch.Machine, r dispatch.Reading) string {
	switch {
	case m.Name == "" || m.ClusterID == "" || m.NodeID == "":
		return "a machine needs a name, a cluster id and a node id"
	case strings.ContainsAny(m.Name, "/ \t\n"):
		return fmt.Sprintf("%q cannot be a machine's name", m.Name)
	case m.Assignment.Role != dispatch.Worker && m.Assignment.Role != dispatch.ControlPlane:
		return fmt.Sprintf("%q is no role of a machine", m.Assignment.Role)
	case len(m.Assignment.Addresses) == 0:
		return "a machine needs an address"
	case r.Omni:
		return m.Name + " is managed by Omni"
	case r.ClusterID != m.ClusterID || r.NodeID != m.NodeID || r.Role != m.Assignment.Role:
		return "the reading shows another node"
	}
	return ""
}

func sorted(a dispatch.Assignment) dispatch.Assignment {
	a.Addresses = slices.Compact(slices.Sorted(slices.Values(a.Addresses)))
	return a
}

// MachineUpdate is what may change of a machine beside its assignment; empty fields keep what is.
type MachineUpdate struct {
	Name     string
	Cluster  string // the cluster's name
	HostName string
}

// ChangeAssignment records that a machine has another role or other addresses, and its new names. It is refused while an
// operation holds the machine. Nothing is written when nothing changes. I9
func (s *Store) ChangeAssignment(ctx context.Context, who Who, machineID string, a dispatch.Assignment, u MachineUpdate) (dispatch.Machine, error) {
	var m dispatch.Machine
	l := locks{machines: []string{machineID}, identities: shared}
	err := s.update(ctx, l, "the assignment of "+machineID, func(tx *Tx) error {
		actor, err := tx.acting(who, RoleOperator)
		if err != nil {
			return err
		}
		if m, err = tx.machine(machineID); err != nil {
			return err
		}
		holder, err := tx.holderOf(machineID, "")
		if err != nil {
			return err
		}
		if holder != nil { // I9
			return refusal.New("assignment", "scope-held",
				fmt.Sprintf("operation %s of %s is %s: the assignment does not change meanwhile", holder.ID, m.Name, holder.State),
				"clew settle "+holder.ID)
		}
		return tx.reassign(&m, sorted(a), u, func(after dispatch.Machine) error {
			_, err := tx.append(machineScope(m.ID), dispatch.EntryAssigned, actor, nil, dispatch.Body{Machine: &after})
			return err
		})
	})
	return m, err
}

func (tx *Tx) reassign(m *dispatch.Machine, a dispatch.Assignment, u MachineUpdate, write func(dispatch.Machine) error) error {
	after := *m
	for to, from := range map[*string]string{&after.Name: u.Name, &after.Cluster: u.Cluster, &after.HostName: u.HostName} {
		if from != "" {
			*to = from
		}
	}
	if len(a.Addresses) == 0 || (a.Role != dispatch.Worker && a.Role != dispatch.ControlPlane) {
		return refusal.New("assignment", "incomplete", "an assignment is a role and at least one address", "")
	}
	if !a.Equal(m.Assignment) {
		rev, err := tx.next(machineScope(m.ID))
		if err != nil {
			return err
		}
		after.Assignment, after.AssignmentRevision = a, rev
	} else if after.Name == m.Name && after.Cluster == m.Cluster && after.HostName == m.HostName {
		return nil
	}
	if after.Name != m.Name {
		if _, err := tx.machineNamed(after.Name); !errors.Is(err, ErrNotFound) {
			if err != nil {
				return err
			}
			return refusal.New("assignment", "name-taken", fmt.Sprintf("another machine is called %s", after.Name), "clew machine list")
		}
	}
	if err := write(after); err != nil {
		return err
	}
	*m = after
	return tx.saveMachine(after)
}

// Freeze closes a machine's gate until an approver lifts the freeze. It does not stop a recorded attempt.
func (s *Store) Freeze(ctx context.Context, who Who, machineID, reason string) (dispatch.Machine, error) {
	return s.setFrozen(ctx, who, machineID, reason, true)
}

// Unfreeze lifts a freeze; it takes an approver.
func (s *Store) Unfreeze(ctx context.Context, who Who, machineID, reason string) (dispatch.Machine, error) {
	return s.setFrozen(ctx, who, machineID, reason, false)
}

func (s *Store) setFrozen(ctx context.Context, who Who, machineID, reason string, frozen bool) (dispatch.Machine, error) {
	kind, role := dispatch.EntryFrozen, RoleOperator
	if !frozen {
		kind, role = dispatch.EntryUnfrozen, RoleApprover
	}
	if frozen && reason == "" {
		return dispatch.Machine{}, refusal.New("freeze", "no-reason", "a freeze needs a reason", "")
	}
	var m dispatch.Machine
	l := locks{machines: []string{machineID}, identities: shared, remember: true}
	err := s.update(ctx, l, "the freeze of "+machineID, func(tx *Tx) error {
		actor, err := tx.acting(who, role)
		if err != nil {
			return err
		}
		if m, err = tx.machine(machineID); err != nil {
			return err
		}
		if m.Frozen == frozen {
			return nil
		}
		m.Frozen, m.FreezeReason, m.FrozenBy = frozen, "", ""
		if frozen {
			m.FreezeReason, m.FrozenBy = reason, actor.Identity
		}
		if _, err := tx.append(machineScope(m.ID), kind, actor, nil, dispatch.Body{Machine: &m, Text: reason}); err != nil {
			return err
		}
		return tx.saveMachine(m)
	})
	return m, err
}

// Machines are all registered machines, by name.
func (s *Store) Machines(ctx context.Context) ([]dispatch.Machine, error) {
	var out []dispatch.Machine
	err := s.view(ctx, func(tx *Tx) (err error) {
		out, err = list(tx, scanMachine, selectMachine+` ORDER BY m.name`)
		return err
	})
	return out, err
}

// Machine finds a machine by its name or its id. ErrNotFound is in the error's chain when there is none.
func (s *Store) Machine(ctx context.Context, nameOrID string) (dispatch.Machine, error) {
	var m dispatch.Machine
	err := s.view(ctx, func(tx *Tx) (err error) {
		if m, err = tx.machineNamed(nameOrID); errors.Is(err, ErrNotFound) {
			m, err = tx.machine(nameOrID)
		}
		return err
	})
	return m, err
}

func (tx *Tx) machineNamed(name string) (dispatch.Machine, error) {
	m, err := scanMachine(tx.row(selectMachine+` WHERE m.name = $1`, name).Scan)
	return m, found(err, "machine", name)
}
