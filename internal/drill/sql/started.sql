-- reads: state!, generation!
SELECT 'state', CAST(e.body AS @json@) -> 'operation' ->> 'state' FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND e.kind = 'operation.taken-over' AND CAST(e.body AS @json@) -> 'operation' ->> 'id' = o.id;
SELECT 'generation', CAST(e.body AS @json@) -> 'operation' -> 'owner' ->> 'generation' FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND e.kind = 'operation.taken-over' AND CAST(e.body AS @json@) -> 'operation' ->> 'id' = o.id;
