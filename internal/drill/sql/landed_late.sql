-- reads: late, accounting-linked!
SELECT 'late', e.kind FROM entries e JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND e.links LIKE '%"late-landing"%' AND e.links LIKE '%' || o.id || '%' ORDER BY e.revision;
SELECT 'accounting-linked', CASE WHEN COUNT(*) > 0 THEN 'yes' ELSE 'no' END FROM entries e
  JOIN operations o ON o.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE o.plan = @plan@ AND e.links LIKE '%"late-landing"%' AND e.links LIKE '%"accounting"%';
