-- reads: failed-reads!
SELECT 'failed-reads', COUNT(*) FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND e.kind = 'observation.failed' AND e.revision > o.revision;
