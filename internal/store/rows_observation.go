package store

import (
	"database/sql"
	"errors"

	"github.com/clewops/clew/internal/dispatch"
)

const selectObservation = `SELECT machine, basis, revision, started_at, purpose, plan, operation, instance, route, local_addr,
	remote_addr, read_address, reading FROM observations`

func scanObservation(scan func(...any) error) (dispatch.Observation, error) {
	var o dispatch.Observation
	err := scan(&o.Machine, &o.Basis, &o.Revision, intoTime(&o.StartedAt), &o.Purpose, &o.Plan, &o.Operation, &o.Instance,
		&o.Route, &o.LocalAddr, &o.RemoteAddr, &o.ReadAddress, intoJSON(&o.Reading))
	return o, err
}

// oneObservation is the first observation of a query, nil when there is none.
func (tx *Tx) oneObservation(where string, args ...any) (*dispatch.Observation, error) {
	o, err := scanObservation(tx.row(selectObservation+where, args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// observation is the recorded reading with this basis, nil when there is none.
func (tx *Tx) observation(machine string, basis int64) (*dispatch.Observation, error) {
	return tx.oneObservation(` WHERE machine = $1 AND basis = $2 AND revision > 0`, machine, basis)
}

// newestObservation is the recorded reading of the highest basis, nil before the first.
func (tx *Tx) newestObservation(machine string) (*dispatch.Observation, error) {
	return tx.oneObservation(` WHERE machine = $1 AND revision > 0 ORDER BY basis DESC LIMIT 1`, machine)
}

// observationBefore is the recorded reading of the highest basis below basis, nil when there is none.
func (tx *Tx) observationBefore(machine string, basis int64) (*dispatch.Observation, error) {
	return tx.oneObservation(` WHERE machine = $1 AND basis < $2 AND revision > 0 ORDER BY basis DESC LIMIT 1`, machine, basis)
}

// observationsAfter asks for the recorded readings whose basis is higher.
func observationsAfter(to *[]dispatch.Observation, machine string, basis int64) ask {
	return into(to, scanObservation, selectObservation+` WHERE machine = $1 AND basis > $2 AND revision > 0 ORDER BY basis`, machine, basis)
}

func (tx *Tx) observationsAfter(machine string, basis int64) ([]dispatch.Observation, error) {
	var out []dispatch.Observation
	err := tx.together(observationsAfter(&out, machine, basis))
	return out, err
}

// evidenceOf asks for the newest reading that an instance recorded as evidence for a plan or its operation.
func evidenceOf(to *[]dispatch.Observation, machine, instance, plan, operation string) ask {
	if operation != "" {
		return into(to, scanObservation, selectObservation+` WHERE machine = $1 AND instance = $2 AND (plan = $3 OR operation = $4)
			AND revision > 0 ORDER BY basis DESC LIMIT 1`, machine, instance, plan, operation)
	}
	return into(to, scanObservation, selectObservation+` WHERE machine = $1 AND instance = $2 AND plan = $3 AND revision > 0
		ORDER BY basis DESC LIMIT 1`, machine, instance, plan)
}

func (tx *Tx) insertObservation(o dispatch.Observation) error {
	return tx.exec1(`INSERT INTO observations (machine, basis, revision, started_at, purpose, plan, operation, instance, route,
		local_addr, remote_addr, read_address, reading, failed)
		VALUES ($1, $2, 0, $3, $4, $5, $6, $7, $8, $9, $10, $11, '', '')`,
		o.Machine, o.Basis, o.StartedAt, o.Purpose, o.Plan, o.Operation, o.Instance, o.Route, o.LocalAddr, o.RemoteAddr,
		o.ReadAddress)
}

// endRead records a started read's reading; false means that it was recorded or failed already.
func (tx *Tx) endRead(o dispatch.Observation) (bool, error) {
	n, err := tx.exec(`UPDATE observations SET revision = $1, local_addr = $2, remote_addr = $3, read_address = $4, reading = $5
		WHERE machine = $6 AND basis = $7 AND revision = 0 AND failed = ''`,
		o.Revision, o.LocalAddr, o.RemoteAddr, o.ReadAddress, asJSON(o.Reading), o.Machine, o.Basis)
	return n == 1, err
}
