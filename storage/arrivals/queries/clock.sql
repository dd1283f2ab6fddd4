-- The database's clock, µs, and how long the longest insert into some tables has been running, s: its rows get the time at
-- which it began. Other inserts, of whomever, hold nothing up.
SELECT toUnixTimestamp64Micro(now64(6)), toFloat64(max(elapsed))
FROM system.processes
WHERE query_kind = 'Insert' AND current_database = currentDatabase()
    AND match(query, {inserts:String})
