-- The database's clock, µs, and how long the longest insert has been running, s: its rows get the time at which it began.
SELECT toUnixTimestamp64Micro(now64(6)), toFloat64(max(elapsed)) FROM system.processes WHERE query_kind = 'Insert'
