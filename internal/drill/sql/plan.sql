-- reads: plan!, operation, states, generation, attempts!, stale-attempts!, accepted!, responses, accounted, refused, revocation!, attempts-after-revocation!, drift!
SELECT 'plan', state FROM plans WHERE id = @plan@;
SELECT 'operation', state FROM operations WHERE plan = @plan@;
SELECT 'generation', generation FROM operations WHERE plan = @plan@;
SELECT 'states', CAST(e.body AS @json@) -> 'operation' ->> 'state'
  FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND CAST(e.body AS @json@) -> 'operation' ->> 'id' = o.id
  ORDER BY e.revision;
SELECT 'attempts', COUNT(*) FROM attempts a JOIN operations o ON o.id = a.operation WHERE o.plan = @plan@;
SELECT 'stale-attempts', COUNT(*) FROM attempts a JOIN operations o ON o.id = a.operation
  WHERE o.plan = @plan@ AND EXISTS (
    SELECT 1 FROM entries e
    WHERE e.scope_kind = 'machine' AND e.scope_id = o.machine AND e.kind = 'operation.taken-over' AND e.revision < a.revision
      AND CAST(e.body AS @json@) -> 'operation' ->> 'id' = o.id
      AND CAST(CAST(e.body AS @json@) -> 'operation' -> 'owner' ->> 'generation' AS BIGINT) > a.generation);
SELECT 'accepted', COUNT(*) FROM attempts a JOIN operations o ON o.id = a.operation
  WHERE o.plan = @plan@ AND CAST(NULLIF(a.response, '') AS @json@) ->> 'class' = 'accepted';
SELECT 'responses', CAST(a.response AS @json@) ->> 'class' FROM attempts a JOIN operations o ON o.id = a.operation
  WHERE o.plan = @plan@ AND a.response <> '' AND a.response <> 'null' ORDER BY a.number;
SELECT 'accounted', CAST(a.accounting AS @json@) ->> 'kind' FROM attempts a JOIN operations o ON o.id = a.operation
  WHERE o.plan = @plan@ AND a.accounting <> '' AND a.accounting <> 'null' ORDER BY a.number;
SELECT 'refused', (CAST(e.body AS @json@) ->> 'transaction') || ' ' || COALESCE(CAST(e.body AS @json@) ->> 'comparison', CAST(e.body AS @json@) ->> 'code')
  FROM entries e JOIN plans p ON p.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE p.id = @plan@ AND e.kind = 'refused' AND CAST(e.body AS @json@) ->> 'plan_id' = @plan@
  ORDER BY e.revision;
SELECT 'revocation', CASE
    WHEN v.revision = 0 THEN 'none'
    WHEN o.revision IS NULL OR v.revision < o.revision THEN 'before commitment'
    WHEN v.attempt IS NULL OR v.revision < v.attempt THEN 'before attempt'
    ELSE 'after attempt' END
  FROM (SELECT COALESCE(MAX(p.revoked_revision), 0) AS revision,
      (SELECT MIN(a.revision) FROM attempts a JOIN operations x ON x.id = a.operation WHERE x.plan = @plan@) AS attempt
    FROM approvals p WHERE p.plan = @plan@) v
  LEFT JOIN operations o ON o.plan = @plan@;
SELECT 'attempts-after-revocation', COUNT(*) FROM attempts a JOIN operations o ON o.id = a.operation
  WHERE o.plan = @plan@ AND EXISTS (
    SELECT 1 FROM approvals p WHERE p.plan = @plan@ AND p.revoked_revision > 0 AND p.revoked_revision < a.revision);
SELECT 'drift', CASE WHEN COUNT(*) = 0 THEN 'none' ELSE 'open' END
  FROM drifts d JOIN plans p ON p.machine = d.machine WHERE p.id = @plan@ AND d.closed_revision = 0;
