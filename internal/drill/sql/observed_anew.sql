-- reads: observed-anew!
SELECT 'observed-anew', CASE WHEN COUNT(*) > 0 THEN 'yes' ELSE 'no' END
  FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND e.kind = 'observation.started' AND e.revision > (
    SELECT MAX(t.revision) FROM entries t WHERE t.scope_kind = 'machine' AND t.scope_id = o.machine AND t.kind = 'operation.taken-over');
