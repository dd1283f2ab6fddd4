-- Which of the settings that a look-up switches off the server has: column statistics, and the analyzer that goes through
-- the expressions of all computed columns of a table.
SELECT name FROM system.settings WHERE name IN ('allow_statistics_optimize', 'enable_analyzer', 'use_statistics') ORDER BY name
