-- +goose Up

-- The truth: one row per entry, never updated, never deleted.
CREATE TABLE entries (
    scope_kind TEXT   NOT NULL,
    scope_id   TEXT   NOT NULL,
    revision   BIGINT NOT NULL,
    kind       TEXT   NOT NULL,
    at         BIGINT NOT NULL,
    actor      TEXT   NOT NULL,
    links      TEXT   NOT NULL,
    body       TEXT   NOT NULL,
    prev       TEXT   NOT NULL,
    hash       TEXT   NOT NULL,
    CONSTRAINT entries_key PRIMARY KEY (scope_kind, scope_id, revision),
    CONSTRAINT entries_revision CHECK (revision > 0)
);
CREATE INDEX entries_at ON entries (at);

-- The head of each scope. Locking a row orders the scope's revisions. Revision 0: created for its lock, no entry yet.
CREATE TABLE scopes (
    kind     TEXT   NOT NULL,
    id       TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    hash     TEXT   NOT NULL,
    at       BIGINT NOT NULL,
    era      BIGINT NOT NULL,
    CONSTRAINT scopes_key PRIMARY KEY (kind, id),
    CONSTRAINT scopes_revision CHECK (revision >= 0)
);

-- The revision of each scope that the installation chain has recorded. A table of its own: anchoring runs beside the
-- transactions that hold scope rows and must never wait for one.
CREATE TABLE anchored (
    kind     TEXT   NOT NULL,
    id       TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    CONSTRAINT anchored_key PRIMARY KEY (kind, id)
);

CREATE TABLE installation (
    id                BIGINT NOT NULL,
    epoch             TEXT   NOT NULL,
    in_recovery       BIGINT NOT NULL,
    entered_revision  BIGINT NOT NULL,
    entered_at        BIGINT NOT NULL,
    last_before       BIGINT NOT NULL,
    database_identity TEXT   NOT NULL,
    era               BIGINT NOT NULL,
    CONSTRAINT installation_key PRIMARY KEY (id),
    CONSTRAINT installation_one CHECK (id = 1)
);

CREATE TABLE identities (
    name             TEXT   NOT NULL,
    kind             TEXT   NOT NULL,
    assurance        TEXT   NOT NULL,
    roles            TEXT   NOT NULL,
    responsible      TEXT   NOT NULL,
    token_hash       TEXT   NOT NULL,
    created_revision BIGINT NOT NULL,
    revoked_revision BIGINT NOT NULL,
    revision         BIGINT NOT NULL,
    CONSTRAINT identities_key PRIMARY KEY (name),
    CONSTRAINT identities_kind CHECK (kind IN ('person', 'token', 'agent'))
);
CREATE UNIQUE INDEX identities_token ON identities (token_hash) WHERE token_hash <> '';

CREATE TABLE instances (
    id             TEXT   NOT NULL,
    host           TEXT   NOT NULL,
    pid            BIGINT NOT NULL,
    lock_path      TEXT   NOT NULL,
    lock_dev       TEXT   NOT NULL,
    lock_ino       TEXT   NOT NULL,
    epoch          TEXT   NOT NULL,
    started_at     BIGINT NOT NULL,
    ended_revision BIGINT NOT NULL,
    attested_by    TEXT   NOT NULL,
    revision       BIGINT NOT NULL,
    CONSTRAINT instances_key PRIMARY KEY (id)
);

CREATE TABLE machines (
    id                  TEXT   NOT NULL,
    name                TEXT   NOT NULL,
    cluster             TEXT   NOT NULL,
    cluster_id          TEXT   NOT NULL,
    node_id             TEXT   NOT NULL,
    host_name           TEXT   NOT NULL,
    uuid                TEXT   NOT NULL,
    role                TEXT   NOT NULL,
    addresses           TEXT   NOT NULL,
    assignment_revision BIGINT NOT NULL,
    desired             TEXT   NOT NULL,
    desired_revision    BIGINT NOT NULL,
    applied             TEXT   NOT NULL,
    applied_source      TEXT   NOT NULL,
    baseline_revision   BIGINT NOT NULL,
    frozen              BIGINT NOT NULL,
    freeze_reason       TEXT   NOT NULL,
    frozen_by           TEXT   NOT NULL,
    recovery            TEXT   NOT NULL,
    released_epoch      TEXT   NOT NULL,
    CONSTRAINT machines_key PRIMARY KEY (id),
    CONSTRAINT machines_name UNIQUE (name),
    CONSTRAINT machines_node UNIQUE (cluster_id, node_id)
);

CREATE TABLE drifts (
    id              TEXT   NOT NULL,
    machine         TEXT   NOT NULL REFERENCES machines (id),
    opened_revision BIGINT NOT NULL,
    digest          TEXT   NOT NULL,
    closed_revision BIGINT NOT NULL,
    closed_as       TEXT   NOT NULL,
    CONSTRAINT drifts_key PRIMARY KEY (id),
    CONSTRAINT drifts_closed CHECK ((closed_revision = 0) = (closed_as = ''))
);
CREATE UNIQUE INDEX drifts_one_open ON drifts (machine) WHERE closed_revision = 0;

-- A read that began: revision is 0 until it is recorded, failed says why it never will be.
CREATE TABLE observations (
    machine      TEXT   NOT NULL REFERENCES machines (id),
    basis        BIGINT NOT NULL,
    revision     BIGINT NOT NULL,
    started_at   BIGINT NOT NULL,
    purpose      TEXT   NOT NULL,
    plan         TEXT   NOT NULL,
    operation    TEXT   NOT NULL,
    instance     TEXT   NOT NULL,
    route        TEXT   NOT NULL,
    local_addr   TEXT   NOT NULL,
    remote_addr  TEXT   NOT NULL,
    read_address TEXT   NOT NULL,
    reading      TEXT   NOT NULL,
    failed       TEXT   NOT NULL,
    CONSTRAINT observations_key PRIMARY KEY (machine, basis),
    CONSTRAINT observations_order CHECK (revision = 0 OR revision > basis)
);

CREATE TABLE artifacts (
    digest     TEXT   NOT NULL,
    ciphertext TEXT   NOT NULL,
    size       BIGINT NOT NULL,
    author     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT artifacts_key PRIMARY KEY (digest)
);

CREATE TABLE plans (
    id                 TEXT   NOT NULL,
    machine            TEXT   NOT NULL REFERENCES machines (id),
    revision           BIGINT NOT NULL,
    kind               TEXT   NOT NULL,
    rollout            TEXT   NOT NULL,
    idempotency_key    TEXT   NOT NULL,
    content            TEXT   NOT NULL,
    content_hash       TEXT   NOT NULL,
    expires_at         BIGINT NOT NULL,
    state              TEXT   NOT NULL,
    cancelled_revision BIGINT NOT NULL,
    revoked_revision   BIGINT NOT NULL,
    expired_revision   BIGINT NOT NULL,
    operation          TEXT   NOT NULL,
    CONSTRAINT plans_key PRIMARY KEY (id),
    CONSTRAINT plans_state CHECK (state IN ('proposed', 'approved', 'committed', 'revoked', 'cancelled', 'expired'))
);
CREATE UNIQUE INDEX plans_idempotency ON plans (idempotency_key) WHERE idempotency_key <> '';
CREATE INDEX plans_machine ON plans (machine, revision);
CREATE INDEX plans_open ON plans (expires_at) WHERE state IN ('proposed', 'approved');

CREATE TABLE approvals (
    id               TEXT   NOT NULL,
    plan             TEXT   NOT NULL REFERENCES plans (id),
    plan_revision    BIGINT NOT NULL,
    approver         TEXT   NOT NULL,
    role             TEXT   NOT NULL,
    epoch            TEXT   NOT NULL,
    at               BIGINT NOT NULL,
    revision         BIGINT NOT NULL,
    self             BIGINT NOT NULL,
    break_glass      TEXT   NOT NULL,
    assurance        TEXT   NOT NULL,
    revoked_revision BIGINT NOT NULL,
    CONSTRAINT approvals_key PRIMARY KEY (id)
);
CREATE INDEX approvals_plan ON approvals (plan);
CREATE INDEX approvals_approver ON approvals (approver);

CREATE TABLE operations (
    id             TEXT   NOT NULL,
    plan           TEXT   NOT NULL REFERENCES plans (id),
    machine        TEXT   NOT NULL REFERENCES machines (id),
    kind           TEXT   NOT NULL,
    state          TEXT   NOT NULL,
    instance       TEXT   NOT NULL,
    generation     BIGINT NOT NULL,
    epoch          TEXT   NOT NULL,
    revision       BIGINT NOT NULL,
    ended_revision BIGINT NOT NULL,
    rollout        TEXT   NOT NULL,
    retry          TEXT   NOT NULL,
    send_boot      TEXT   NOT NULL,
    verify_until   BIGINT NOT NULL,
    pre_restore    BIGINT NOT NULL,
    reason         TEXT   NOT NULL,
    token          TEXT   NOT NULL,
    CONSTRAINT operations_key PRIMARY KEY (id),
    CONSTRAINT operations_state CHECK (state IN
        ('committed', 'sending', 'verifying', 'unresolved', 'completed', 'rejected', 'failed', 'cancelled')),
    CONSTRAINT i5_ended CHECK ((state IN ('completed', 'rejected', 'failed', 'cancelled')) = (ended_revision > 0))
);
CREATE UNIQUE INDEX i12_one_operation_per_plan ON operations (plan);
CREATE UNIQUE INDEX i1_one_uncertain_operation ON operations (machine)
    WHERE state IN ('committed', 'sending', 'verifying', 'unresolved');
CREATE INDEX operations_machine ON operations (machine, ended_revision);
CREATE INDEX operations_rollout ON operations (rollout) WHERE rollout <> '';

CREATE TABLE attempts (
    operation    TEXT   NOT NULL REFERENCES operations (id),
    number       BIGINT NOT NULL,
    instance     TEXT   NOT NULL,
    generation   BIGINT NOT NULL,
    epoch        TEXT   NOT NULL,
    revision     BIGINT NOT NULL,
    started_at   BIGINT NOT NULL,
    route        TEXT   NOT NULL,
    evidence     BIGINT NOT NULL,
    local_addr   TEXT   NOT NULL,
    remote_addr  TEXT   NOT NULL,
    host         TEXT   NOT NULL,
    sockets      TEXT   NOT NULL,
    approvals    TEXT   NOT NULL,
    identities   TEXT   NOT NULL,
    installation BIGINT NOT NULL,
    response     TEXT   NOT NULL,
    accounting   TEXT   NOT NULL,
    token        TEXT   NOT NULL,
    max_attempts BIGINT NOT NULL,
    CONSTRAINT attempts_key PRIMARY KEY (operation, number),
    CONSTRAINT i16_within_the_bound CHECK (number >= 1 AND number <= max_attempts)
);

CREATE TABLE rollouts (
    id              TEXT   NOT NULL,
    rlimit          BIGINT NOT NULL,
    max_failed      BIGINT NOT NULL,
    opened_revision BIGINT NOT NULL,
    open_operations TEXT   NOT NULL,
    failed          BIGINT NOT NULL,
    CONSTRAINT rollouts_key PRIMARY KEY (id)
);

-- Deliveries and other work that an entry causes, at least once, each with a key that makes a repeat harmless.
CREATE TABLE outbox (
    id              TEXT   NOT NULL,
    scope_kind      TEXT   NOT NULL,
    scope_id        TEXT   NOT NULL,
    revision        BIGINT NOT NULL,
    kind            TEXT   NOT NULL,
    payload         TEXT   NOT NULL,
    idempotency_key TEXT   NOT NULL,
    due_at          BIGINT NOT NULL,
    tries           BIGINT NOT NULL,
    done_at         BIGINT NOT NULL,
    CONSTRAINT outbox_key PRIMARY KEY (id),
    CONSTRAINT outbox_once UNIQUE (idempotency_key)
);
CREATE INDEX outbox_due ON outbox (due_at) WHERE done_at = 0;
