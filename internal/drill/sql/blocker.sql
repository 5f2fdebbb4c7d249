-- reads: port!
SELECT DISTINCT 'port', b.client_port
  FROM pg_stat_activity w CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS blocking(pid) JOIN pg_stat_activity b ON b.pid = blocking.pid
  WHERE w.datname = current_database();
