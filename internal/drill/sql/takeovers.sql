-- reads: takeovers!, by, why
SELECT 'takeovers', COUNT(*) FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND e.kind = 'operation.taken-over' AND CAST(e.body AS @json@) -> 'operation' ->> 'id' = o.id;
SELECT 'by', i.pid FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  JOIN instances i ON i.id = CAST(e.body AS @json@) -> 'operation' -> 'owner' ->> 'instance'
  WHERE o.plan = @plan@ AND e.kind = 'operation.taken-over' AND CAST(e.body AS @json@) -> 'operation' ->> 'id' = o.id ORDER BY e.revision;
SELECT 'why', CAST(e.body AS @json@) ->> 'takeover' FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND e.kind = 'operation.taken-over' AND CAST(e.body AS @json@) -> 'operation' ->> 'id' = o.id ORDER BY e.revision;
