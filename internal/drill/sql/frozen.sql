-- reads: frozen!
SELECT 'frozen', CASE WHEN frozen = 0 THEN 'no' ELSE 'yes' END FROM machines WHERE id = @machine@;
