-- reads: assignment!, baseline!, frozen!
SELECT 'assignment', assignment_revision FROM machines WHERE id = @machine@;
SELECT 'baseline', baseline_revision FROM machines WHERE id = @machine@;
SELECT 'frozen', frozen FROM machines WHERE id = @machine@;
