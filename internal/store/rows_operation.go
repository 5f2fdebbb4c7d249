package store

import (
	"database/sql"
	"errors"

	"github.com/clewops/clew/internal/dispatch"
)

// holding is the SQL list of the states that hold a machine's scope and a rollout's slot.
const holding = `('committed', 'sending', 'verifying', 'unresolved')`

const selectOperation = `SELECT id, plan, machine, kind, state, instance, generation, epoch, revision, ended_revision, rollout,
	retry, send_boot, verify_until, pre_restore, reason FROM operations`

func scanOperation(scan func(...any) error) (dispatch.Operation, error) {
	var o dispatch.Operation
	err := scan(&o.ID, &o.Plan, &o.Machine, &o.Kind, &o.State, &o.Owner.Instance, &o.Owner.Generation, &o.Owner.Epoch,
		&o.Revision, &o.EndedRev, &o.Rollout, intoJSON(&o.Retry), &o.SendBoot, intoTime(&o.VerifyUntil),
		intoBool(&o.PreRestore), &o.Reason)
	return o, err
}

func (tx *Tx) operation(id string) (dispatch.Operation, error) {
	o, err := scanOperation(tx.row(selectOperation+` WHERE id = $1`, id).Scan)
	return o, found(err, "operation", id)
}

// oneOperation is the first operation of a query, nil when there is none.
func (tx *Tx) oneOperation(query string, args ...any) (*dispatch.Operation, error) {
	o, err := scanOperation(tx.row(query, args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &o, nil
}

const (
	operationByPlan = selectOperation + ` WHERE plan = $1 ORDER BY revision LIMIT 1`
	holderByMachine = selectOperation + ` WHERE machine = $1 AND id <> $2 AND state IN ` + holding + ` ORDER BY revision LIMIT 1`
	attemptsOf      = selectAttempt + ` WHERE a.operation = $1 ORDER BY a.number`
)

// operationOf is the plan's operation, nil before its commitment.
func (tx *Tx) operationOf(plan string) (*dispatch.Operation, error) {
	return tx.oneOperation(operationByPlan, plan)
}

// holderOf is an operation that holds the machine's scope, other than the named one; nil when there is none.
func (tx *Tx) holderOf(machine, other string) (*dispatch.Operation, error) {
	return tx.oneOperation(holderByMachine, machine, other)
}

// heldSince are the machine's operations that hold its scope or ended after the revision.
func (tx *Tx) heldSince(machine string, revision int64) ([]dispatch.Operation, error) {
	return list(tx, scanOperation, selectOperation+` WHERE machine = $1 AND (ended_revision = 0 OR ended_revision > $2)
		ORDER BY revision`, machine, revision)
}

// insertOperation adds an operation; false means that a unique index refuses it. I1 I12
func (tx *Tx) insertOperation(o dispatch.Operation, token string) (bool, error) {
	n, err := tx.exec(`INSERT INTO operations (id, plan, machine, kind, state, instance, generation, epoch, revision,
		ended_revision, rollout, retry, send_boot, verify_until, pre_restore, reason, token)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) ON CONFLICT DO NOTHING`,
		o.ID, o.Plan, o.Machine, o.Kind, o.State, o.Owner.Instance, o.Owner.Generation, o.Owner.Epoch, o.Revision, o.EndedRev,
		o.Rollout, asJSON(o.Retry), o.SendBoot, o.VerifyUntil, o.PreRestore, o.Reason, token)
	return n == 1, err
}

const updateOperation = `UPDATE operations SET state = $1, instance = $2, generation = $3, epoch = $4, ended_revision = $5,
	retry = $6, send_boot = $7, verify_until = $8, pre_restore = $9, reason = $10 WHERE id = $11`

func operationColumns(o dispatch.Operation) []any {
	return []any{
		o.State, o.Owner.Instance, o.Owner.Generation, o.Owner.Epoch, o.EndedRev, asJSON(o.Retry), o.SendBoot, o.VerifyUntil,
		o.PreRestore, o.Reason, o.ID,
	}
}

// saveOperation writes what may change of an operation.
func (tx *Tx) saveOperation(o dispatch.Operation) error {
	return tx.exec1(updateOperation, operationColumns(o)...)
}

const selectAttempt = `SELECT a.operation, a.number, a.instance, a.generation, a.epoch, a.revision, a.started_at, a.route,
	a.evidence, a.local_addr, a.remote_addr, a.host, a.sockets, a.approvals, a.identities, a.installation, a.response,
	a.accounting FROM attempts a`

func attemptColumns(a *dispatch.Attempt) []any {
	return []any{
		&a.Operation, &a.Number, &a.By.Instance, &a.By.Generation, &a.By.Epoch, &a.Revision, intoTime(&a.StartedAt), &a.Route,
		&a.Evidence, &a.LocalAddr, &a.RemoteAddr, intoJSON(&a.Host), intoJSON(&a.Sockets), intoJSON(&a.Approvals),
		intoJSON(&a.Identities), &a.Installation, intoJSON(&a.Response), intoJSON(&a.Accounting),
	}
}

func scanAttempt(scan func(...any) error) (dispatch.Attempt, error) {
	var a dispatch.Attempt
	err := scan(attemptColumns(&a)...)
	return a, err
}

// attempts are an operation's, in order.
func (tx *Tx) attempts(operation string) ([]dispatch.Attempt, error) {
	return list(tx, scanAttempt, attemptsOf, operation)
}

// attemptByToken is the machine's attempt that a transaction with this token recorded, nil when there is none.
func (tx *Tx) attemptByToken(machine, token string) (*dispatch.Attempt, error) {
	a, err := scanAttempt(tx.row(selectAttempt+` JOIN operations o ON o.id = a.operation WHERE o.machine = $1 AND a.token = $2`,
		machine, token).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// sentTo are all attempts ever recorded for a machine, with the digests that they carried.
func (tx *Tx) sentTo(machine string) ([]dispatch.Sent, error) {
	rows, err := list(tx, func(scan func(...any) error) (dispatch.Sent, error) {
		var s dispatch.Sent
		var plan dispatch.Plan
		err := scan(append(attemptColumns(&s.Attempt), intoJSON(&plan))...)
		s.Artifact = plan.Artifact
		return s, err
	}, `SELECT a.operation, a.number, a.instance, a.generation, a.epoch, a.revision, a.started_at, a.route, a.evidence,
		a.local_addr, a.remote_addr, a.host, a.sockets, a.approvals, a.identities, a.installation, a.response, a.accounting,
		p.content FROM attempts a JOIN operations o ON o.id = a.operation JOIN plans p ON p.id = o.plan
		WHERE o.machine = $1 ORDER BY a.revision`, machine)
	return rows, err
}

// insertAttempt adds an attempt; bound is the most that a check lets its number be. I16
func (tx *Tx) insertAttempt(a dispatch.Attempt, token string, bound int) error {
	return tx.exec1(`INSERT INTO attempts (operation, number, instance, generation, epoch, revision, started_at, route, evidence,
		local_addr, remote_addr, host, sockets, approvals, identities, installation, response, accounting, token, max_attempts)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
		a.Operation, a.Number, a.By.Instance, a.By.Generation, a.By.Epoch, a.Revision, a.StartedAt, a.Route, a.Evidence,
		a.LocalAddr, a.RemoteAddr, asJSON(a.Host), asJSON(a.Sockets), asJSON(a.Approvals), asJSON(a.Identities), a.Installation,
		asJSON(a.Response), asJSON(a.Accounting), token, bound)
}

// saveAttempt writes what may be recorded of an attempt after it: its response and its accounting, each at most once.
func (tx *Tx) saveAttempt(a dispatch.Attempt) error {
	return tx.exec1(`UPDATE attempts SET response = $1, accounting = $2 WHERE operation = $3 AND number = $4
		AND (response = '' OR response = $1) AND (accounting = '' OR accounting = $2)`,
		asJSON(a.Response), asJSON(a.Accounting), a.Operation, a.Number)
}
