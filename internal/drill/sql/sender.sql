-- reads: local!
SELECT 'local', a.local_addr FROM attempts a JOIN operations o ON o.id = a.operation WHERE o.plan = @plan@
  AND a.number = (SELECT MAX(b.number) FROM attempts b WHERE b.operation = o.id);
