-- reads: drifts, added!, digest
SELECT 'drifts', CASE WHEN closed_revision = 0 THEN 'open' ELSE closed_as END FROM drifts WHERE machine = @machine@ ORDER BY opened_revision;
SELECT 'added', COUNT(*) FROM entries WHERE scope_kind = 'machine' AND scope_id = @machine@ AND kind = 'drift.added';
SELECT 'digest', digest FROM drifts WHERE machine = @machine@ AND closed_revision = 0;
