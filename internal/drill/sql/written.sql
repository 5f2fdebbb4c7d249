-- reads: plans!, artifacts!, operations!, selections!
SELECT 'plans', COUNT(*) FROM plans;
SELECT 'artifacts', COUNT(*) FROM artifacts;
SELECT 'operations', COUNT(*) FROM operations;
SELECT 'selections', COUNT(*) FROM entries WHERE kind IN ('machine.selected', 'machine.registered', 'machine.assigned');
