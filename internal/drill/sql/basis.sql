-- reads: basis!, accounting!
SELECT 'basis', MAX(basis) FROM observations WHERE machine = @machine@ AND purpose = 'drift';
SELECT 'accounting', COALESCE(MAX(e.revision), 0) FROM entries e WHERE e.scope_kind = 'machine' AND e.scope_id = @machine@ AND e.kind = 'operation.accounted';
