-- reads: late, alerts!, classified!, orphans
SELECT 'late', CAST(a.response AS @json@) ->> 'late' FROM attempts a JOIN operations o ON o.id = a.operation
  WHERE o.plan = @plan@ AND a.response <> '' AND a.response <> 'null' ORDER BY a.number;
SELECT 'alerts', COUNT(*) FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND e.kind = 'alert' AND CAST(e.body AS @json@) ->> 'code' = 'late-response';
SELECT 'classified', CASE WHEN COUNT(*) > 0 THEN 'yes' ELSE 'no' END
  FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND e.kind = 'operation.classified';
SELECT 'orphans', CAST(e.body AS @json@) -> 'attempt' -> 'response' ->> 'class'
  FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND e.kind = 'operation.response' AND CAST(e.body AS @json@) ->> 'orphan' IS NOT NULL
    AND CAST(e.body AS @json@) -> 'attempt' ->> 'operation' = o.id
  ORDER BY e.revision;
