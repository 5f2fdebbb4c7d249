-- reads: committed-before!, committed-after!, refused-after!, passed-first!, attempts!
SELECT 'committed-before', COUNT(*) FROM entries WHERE kind = 'operation.committed'
  AND at < (SELECT at FROM entries WHERE kind = 'identity.revoked');
SELECT 'committed-after', COUNT(*) FROM entries WHERE kind = 'operation.committed'
  AND at >= (SELECT at FROM entries WHERE kind = 'identity.revoked');
SELECT 'refused-after', COUNT(*) FROM entries WHERE kind = 'refused'
  AND at >= (SELECT at FROM entries WHERE kind = 'identity.revoked');
SELECT 'passed-first', COUNT(*) FROM entries WHERE kind IN ('operation.committed', 'refused') AND at > CAST(@asked@ AS BIGINT)
  AND at < (SELECT at FROM entries WHERE kind = 'identity.revoked');
SELECT 'attempts', COUNT(*) FROM attempts;
