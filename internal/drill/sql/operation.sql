-- reads: id!
SELECT 'id', id FROM operations WHERE plan = @plan@;
