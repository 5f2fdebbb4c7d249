package store

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
)

const selectMachine = `SELECT m.id, m.name, m.cluster, m.cluster_id, m.node_id, m.host_name, m.uuid, m.role, m.addresses,
	m.assignment_revision, m.desired, m.desired_revision, m.applied, m.applied_source, m.baseline_revision, m.frozen,
	m.freeze_reason, m.frozen_by, m.recovery, m.released_epoch,
	COALESCE(d.id, ''), COALESCE(d.opened_revision, 0), COALESCE(d.digest, '')
	FROM machines m LEFT JOIN drifts d ON d.machine = m.id AND d.closed_revision = 0`

func scanMachine(scan func(...any) error) (dispatch.Machine, error) {
	var m dispatch.Machine
	var d dispatch.Drift
	err := scan(&m.ID, &m.Name, &m.Cluster, &m.ClusterID, &m.NodeID, &m.HostName, &m.UUID, &m.Assignment.Role,
		intoJSON(&m.Assignment.Addresses), &m.AssignmentRevision, &m.Desired, &m.DesiredRevision, &m.Applied,
		&m.AppliedSource, &m.BaselineRevision, intoBool(&m.Frozen), &m.FreezeReason, &m.FrozenBy, &m.Recovery,
		&m.ReleasedEpoch, &d.ID, &d.OpenedRevision, &d.Digest)
	if d.ID != "" {
		m.Drift = &d
	}
	return m, err
}

// ErrNotFound is in the chain of errors about a record that does not exist.
var ErrNotFound = errors.New("no such record")

func unknownRecord(what, id string) error {
	return fmt.Errorf("there is no %s %q: %w", what, id, ErrNotFound)
}

// found turns the absence of a row into an error that names the record.
func found(err error, what, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return unknownRecord(what, id)
	}
	return err
}

const machineByID = selectMachine + ` WHERE m.id = $1`

// machine is the machine with its open drift record.
func (tx *Tx) machine(id string) (dispatch.Machine, error) {
	m, err := scanMachine(tx.row(machineByID, id).Scan)
	return m, found(err, "machine", id)
}

// insertMachine adds a machine; false means that its name or its node is registered already.
func (tx *Tx) insertMachine(m dispatch.Machine) (bool, error) {
	n, err := tx.exec(`INSERT INTO machines (id, name, cluster, cluster_id, node_id, host_name, uuid, role, addresses,
		assignment_revision, desired, desired_revision, applied, applied_source, baseline_revision, frozen, freeze_reason,
		frozen_by, recovery, released_epoch)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
		ON CONFLICT DO NOTHING`,
		m.ID, m.Name, m.Cluster, m.ClusterID, m.NodeID, m.HostName, m.UUID, m.Assignment.Role,
		asJSON(m.Assignment.Addresses), m.AssignmentRevision, m.Desired, m.DesiredRevision, m.Applied, m.AppliedSource,
		m.BaselineRevision, m.Frozen, m.FreezeReason, m.FrozenBy, m.Recovery, m.ReleasedEpoch)
	return n == 1, err
}

// saveMachine writes everything of the machine but its drift record, which saveDrift writes.
func (tx *Tx) saveMachine(m dispatch.Machine) error {
	return tx.exec1(`UPDATE machines SET name = $1, cluster = $2, host_name = $3, uuid = $4, role = $5, addresses = $6,
		assignment_revision = $7, desired = $8, desired_revision = $9, applied = $10, applied_source = $11,
		baseline_revision = $12, frozen = $13, freeze_reason = $14, frozen_by = $15, recovery = $16, released_epoch = $17
		WHERE id = $18`,
		m.Name, m.Cluster, m.HostName, m.UUID, m.Assignment.Role, asJSON(m.Assignment.Addresses), m.AssignmentRevision,
		m.Desired, m.DesiredRevision, m.Applied, m.AppliedSource, m.BaselineRevision, m.Frozen, m.FreezeReason, m.FrozenBy,
		m.Recovery, m.ReleasedEpoch, m.ID)
}

// saveDrift writes a drift record, new or changed.
func (tx *Tx) saveDrift(machine string, d dispatch.Drift) error {
	return tx.exec1(`INSERT INTO drifts (id, machine, opened_revision, digest, closed_revision, closed_as)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, closed_revision = excluded.closed_revision,
		closed_as = excluded.closed_as`,
		d.ID, machine, d.OpenedRevision, d.Digest, d.ClosedRevision, d.ClosedAs)
}

func scanDrift(scan func(...any) error) (dispatch.Drift, error) {
	var d dispatch.Drift
	err := scan(&d.ID, &d.OpenedRevision, &d.Digest, &d.ClosedRevision, &d.ClosedAs)
	return d, err
}

// drifts are all drift records of a machine, oldest first.
func (tx *Tx) drifts(machine string) ([]dispatch.Drift, error) {
	return list(tx, scanDrift, `SELECT id, opened_revision, digest, closed_revision, closed_as FROM drifts
		WHERE machine = $1 ORDER BY opened_revision`, machine)
}
