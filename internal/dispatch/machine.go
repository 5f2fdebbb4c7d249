package dispatch

import "time"

// Role is a machine's role in its cluster.
type Role string

// Roles that Talos gives a machine. Control planes are observed, never targets.
const (
	ControlPlane Role = "controlplane"
	Worker       Role = "worker"
)

// Machine is one node, as its timeline tells. It is identified by (ClusterID, NodeID) alone; HostName and UUID are
// shown and never matched on.
type Machine struct {
	ID        string `json:"id"`         // m-..., the id of its scope
	Name      string `json:"name"`       // what users type after node/; unique
	Cluster   string `json:"cluster"`    // the cluster's name, for people
	ClusterID string `json:"cluster_id"` // Talos' cluster.id
	NodeID    string `json:"node_id"`    // Talos' Identity/local nodeId
	HostName  string `json:"host_name,omitempty"`
	UUID      string `json:"uuid,omitempty"`

	Assignment         Assignment `json:"assignment"`
	AssignmentRevision int64      `json:"assignment_revision"` // of the entry that set it

	Desired         string `json:"desired,omitempty"` // digest of the selected artifact; authorizes nothing
	DesiredRevision int64  `json:"desired_revision,omitempty"`

	Applied          string `json:"applied,omitempty"`        // digest of the last verified configuration
	AppliedSource    string `json:"applied_source,omitempty"` // op-... that completed or adopted it
	BaselineRevision int64  `json:"baseline_revision"`        // moves with every change of Applied; 0 before the first

	Frozen       bool   `json:"frozen,omitempty"`
	FreezeReason string `json:"freeze_reason,omitempty"`
	FrozenBy     string `json:"frozen_by,omitempty"`

	Drift *Drift `json:"drift,omitempty"` // the open drift record

	Recovery      RecoveryMark `json:"recovery,omitempty"`       // where the machine stands after a restore
	ReleasedEpoch string       `json:"released_epoch,omitempty"` // the epoch in which its gate is open
}

// Assignment binds a machine to a role and an address set in a cluster.
type Assignment struct {
	Role      Role     `json:"role"`
	Addresses []string `json:"addresses"` // sorted; the first one asked for is not implied by the order
}

// Equal says whether both bind the same role and address set.
func (a Assignment) Equal(b Assignment) bool {
	if a.Role != b.Role || len(a.Addresses) != len(b.Addresses) {
		return false
	}
	for i := range a.Addresses {
		if a.Addresses[i] != b.Addresses[i] {
			return false
		}
	}
	return true
}

// RecoveryMark is a machine's place in a recovery after a restore.
type RecoveryMark string

// Recovery marks. The zero mark is a machine that no restore touched, or that was released.
const (
	NoRecovery         RecoveryMark = ""
	PreRestore         RecoveryMark = "unaccounted" // its pre-restore sends are not accounted for
	RecoveryReady      RecoveryMark = "ready"
	RecoveryBlocked    RecoveryMark = "blocked"
	RecoveryUnresolved RecoveryMark = "unresolved"
)

// Drift is a machine drift record: Observed differs from Applied while nothing held the scope.
type Drift struct {
	ID             string `json:"id"`
	OpenedRevision int64  `json:"opened_revision"`
	Digest         string `json:"digest"` // of the newest differing read
	ClosedRevision int64  `json:"closed_revision,omitempty"`
	ClosedAs       string `json:"closed_as,omitempty"` // adopted, reverted, returned
}

// Ways in which a drift record closes.
const (
	DriftAdopted  = "adopted"
	DriftReverted = "reverted"
	DriftReturned = "returned"
)

// Resource is one of the two machine configuration resources of a node. A resource that is not there has Present
// false and nothing else. Version counts in the node's memory: it restarts at every boot and moves on identical
// re-applies.
type Resource struct {
	Present bool      `json:"present"`
	Digest  string    `json:"digest,omitempty"`
	Version uint64    `json:"version,omitempty"`
	Created time.Time `json:"created,omitzero"`
}

// Reading is what one read of a node showed, all of it on one connection.
type Reading struct {
	ClusterID    string   `json:"cluster_id"`
	NodeID       string   `json:"node_id"`
	HostName     string   `json:"host_name,omitempty"`
	UUID         string   `json:"uuid,omitempty"`
	Role         Role     `json:"role"`
	Addresses    []string `json:"addresses,omitempty"`
	Omni         bool     `json:"omni,omitempty"` // managed by Omni
	TalosVersion string   `json:"talos_version"`
	Stage        string   `json:"stage"`
	Ready        bool     `json:"ready"`
	Unmet        []string `json:"unmet,omitempty"` // names of unmet health conditions
	BootID       string   `json:"boot_id"`
	Active       Resource `json:"active"`     // resource id v1alpha1
	Persistent   Resource `json:"persistent"` // resource id persistent
}

// Quiescent says whether no staged or try change is pending: the bytes of the two resources agree, or persistent is
// absent, which is normal after a boot from disk.
func (r Reading) Quiescent() bool {
	return r.Active.Present && (!r.Persistent.Present || r.Persistent.Digest == r.Active.Digest)
}

// InTransition says whether the node is on its way down or up again, where an accepted configuration may be lost.
func (r Reading) InTransition() bool {
	switch r.Stage {
	case "rebooting", "upgrading", "shutting down", "shuttingDown", "shutting-down", "resetting":
		return true
	}
	return false
}

// Purpose says why a read was made.
type Purpose string

// Purposes of reads.
const (
	ForImport     Purpose = "import"
	ForPlanning   Purpose = "planning"
	ForEvidence   Purpose = "evidence"   // before a commitment or a retry
	ForCompletion Purpose = "completion" // after a response: reads every postcondition
	ForAccounting Purpose = "accounting" // the two late reads of accounting by evidence
	ForRecovery   Purpose = "recovery"   // frames a decision
	ForDrift      Purpose = "drift"
	ForAdoption   Purpose = "adoption"
)

// Observation is a recorded reading. It is ordered by Basis, the revision of the entry written before its read began:
// a reading says nothing about what was recorded after its basis. StartedAt is that entry's time; ages run from it.
type Observation struct {
	Machine     string    `json:"machine"`
	Basis       int64     `json:"basis"`
	Revision    int64     `json:"revision"` // of the entry that records the reading
	StartedAt   time.Time `json:"started_at"`
	Purpose     Purpose   `json:"purpose"`
	Plan        string    `json:"plan,omitempty"`
	Operation   string    `json:"operation,omitempty"`
	Instance    string    `json:"instance"`
	Route       Route     `json:"route"`
	LocalAddr   string    `json:"local_addr,omitempty"`  // of the connection that read
	RemoteAddr  string    `json:"remote_addr,omitempty"` // its next hop
	ReadAddress string    `json:"read_address,omitempty"`
	Reading     Reading   `json:"reading"`
}
