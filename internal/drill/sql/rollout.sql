-- reads: admitted!, open!, completed!, refused!
SELECT 'admitted', COUNT(*) FROM operations WHERE rollout = @rollout@;
SELECT 'open', COUNT(*) FROM operations WHERE rollout = @rollout@ AND state IN ('committed', 'sending', 'verifying', 'unresolved');
SELECT 'completed', COUNT(*) FROM operations WHERE rollout = @rollout@ AND state = 'completed';
SELECT 'refused', COUNT(*) FROM entries e JOIN plans p ON p.machine = e.scope_id AND e.scope_kind = 'machine'
  WHERE p.rollout = @rollout@ AND e.kind = 'refused' AND CAST(e.body AS @json@) ->> 'plan_id' = p.id
    AND CAST(CAST(e.body AS @json@) ->> 'comparison' AS TEXT) = '5';
