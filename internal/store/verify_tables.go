package store

import (
	"strconv"

	"github.com/clewops/clew/internal/dispatch"
)

// projected is a table that entries tell: its columns, of which the first keys identify a row.
type projected struct {
	name    string
	columns string
	keys    int
}

// The projected tables. observations are compared in their own way: they are many, and each is told by one entry.
var (
	machinesTable = projected{"machines", `id, name, cluster, cluster_id, node_id, host_name, uuid, role, addresses,
		assignment_revision, desired, desired_revision, applied, applied_source, baseline_revision, frozen, freeze_reason,
		frozen_by, recovery, released_epoch`, 1}
	driftsTable = projected{"drifts", `id, machine, opened_revision, digest, closed_revision, closed_as`, 1}
	plansTable  = projected{"plans", `id, machine, revision, kind, rollout, idempotency_key, content, content_hash, expires_at, state,
		cancelled_revision, revoked_revision, expired_revision, operation`, 1}
	approvalsTable = projected{"approvals", `id, plan, plan_revision, approver, role, epoch, at, revision, self, break_glass,
		assurance, revoked_revision`, 1}
	operationsTable = projected{"operations", `id, plan, machine, kind, state, instance, generation, epoch, revision,
		ended_revision, rollout, retry, send_boot, verify_until, pre_restore, reason, token`, 1}
	attemptsTable = projected{"attempts", `operation, number, instance, generation, epoch, revision, started_at, route, evidence,
		local_addr, remote_addr, host, sockets, approvals, identities, installation, response, accounting, token,
		max_attempts`, 2}
	rolloutsTable   = projected{"rollouts", `id, rlimit, max_failed, opened_revision, open_operations, failed`, 1}
	identitiesTable = projected{"identities", `name, kind, assurance, roles, responsible, token_hash, created_revision,
		revoked_revision, revision`, 1}
	instancesTable = projected{"instances", `id, host, pid, lock_path, lock_dev, lock_ino, epoch, started_at, ended_revision,
		attested_by, revision`, 1}
	installationTable = projected{"installation", `id, epoch, in_recovery, entered_revision, entered_at, last_before, database_identity,
		era`, 1}
	anchoredTable = projected{"anchored", `kind, id, revision`, 2}
)

// machineRows are the rows that a machine's timeline tells, by table, each in the order of the table's columns.
func machineRows(machine string, rec *dispatch.Records) map[string][][]any {
	rows := map[string][][]any{}
	add := func(t projected, row ...any) { rows[t.name] = append(rows[t.name], row) }
	if m := rec.Machine; m != nil {
		add(machinesTable, m.ID, m.Name, m.Cluster, m.ClusterID, m.NodeID, m.HostName, m.UUID, m.Assignment.Role,
			asJSON(m.Assignment.Addresses), m.AssignmentRevision, m.Desired, m.DesiredRevision, m.Applied, m.AppliedSource,
			m.BaselineRevision, m.Frozen, m.FreezeReason, m.FrozenBy, m.Recovery, m.ReleasedEpoch)
	}
	for _, d := range rec.Drifts {
		add(driftsTable, d.ID, machine, d.OpenedRevision, d.Digest, d.ClosedRevision, d.ClosedAs)
	}
	for id, p := range rec.Plans {
		var rollout string
		if p.Rollout != nil {
			rollout = p.Rollout.ID
		}
		s := rec.Standings[id]
		add(plansTable, p.ID, p.Machine, p.Revision, p.Kind, rollout, p.IdempotencyKey, asJSON(p), rec.Asked[id], p.ExpiresAt,
			s.State, s.CancelledRev, s.RevokedRev, s.ExpiredRev, s.Operation)
	}
	for _, a := range rec.Approvals {
		add(approvalsTable, a.ID, a.Plan, a.PlanRevision, a.Approver, a.Role, a.Epoch, a.At, a.Revision, a.Self, a.BreakGlass,
			a.Assurance, a.RevokedRevision)
	}
	for _, o := range rec.Operations {
		add(operationsTable, o.ID, o.Plan, o.Machine, o.Kind, o.State, o.Owner.Instance, o.Owner.Generation, o.Owner.Epoch,
			o.Revision, o.EndedRev, o.Rollout, asJSON(o.Retry), o.SendBoot, o.VerifyUntil, o.PreRestore, o.Reason,
			rec.OperationTokens[o.ID])
	}
	for key, a := range rec.Attempts {
		add(attemptsTable, a.Operation, a.Number, a.By.Instance, a.By.Generation, a.By.Epoch, a.Revision, a.StartedAt, a.Route,
			a.Evidence, a.LocalAddr, a.RemoteAddr, asJSON(a.Host), asJSON(a.Sockets), asJSON(a.Approvals), asJSON(a.Identities),
			a.Installation, asJSON(a.Response), asJSON(a.Accounting), rec.AttemptTokens[key],
			rec.Plans[rec.Operations[a.Operation].Plan].MaxAttempts)
	}
	return rows
}

func identityRow(b IdentityBody, tokenHash string) []any {
	i := b.Identity
	return []any{
		i.Name, string(i.Kind), string(i.Assurance), asJSON(i.Roles), i.Responsible, tokenHash, i.CreatedRevision,
		i.RevokedRevision, i.Revision,
	}
}

func instanceRow(i Instance) []any {
	return []any{
		i.ID, asJSON(i.Host), i.PID, i.LockPath, strconv.FormatUint(i.LockDevice, 10), strconv.FormatUint(i.LockInode, 10),
		i.Epoch, i.StartedAt, i.EndedRevision, i.AttestedBy, i.Revision,
	}
}

func rolloutColumns(r dispatch.RolloutRow) []any {
	return []any{r.ID, r.Limit, r.MaxFailed, r.OpenedRevision, asJSON(r.Open), r.Failed}
}
