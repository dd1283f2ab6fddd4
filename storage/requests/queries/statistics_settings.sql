-- Which settings of column statistics the server has.
SELECT name FROM system.settings WHERE name IN ('allow_statistics_optimize', 'use_statistics') ORDER BY name
