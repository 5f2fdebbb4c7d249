-- reads: page!, size!, entries!, ends!
SELECT 'page', rootpage FROM sqlite_schema WHERE type = 'table' AND name = @table@;
SELECT 'size', page_size FROM pragma_page_size;
SELECT 'entries', COUNT(*) FROM entries WHERE scope_kind = 'machine';
SELECT 'ends', COUNT(*) FROM entries WHERE kind = 'instance.ended';
