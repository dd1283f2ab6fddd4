-- Minutes of server streams that got a record within some seconds of arrival and are not known to hold it, oldest first; each
-- with its last generation. A minute read up to a second that is still to come was computed before the clock was set back.
-- Index: minmax on inserted_at; the rollup by its primary key.
SELECT s.tenant, s.m, toUnixTimestamp64Micro(r.generation) AS last
FROM
(
    SELECT tenant, toStartOfMinute(started_at) AS m, toUnixTimestamp(max(inserted_at)) AS arrived
    FROM streams
    WHERE tier = 'server' AND inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64})
    GROUP BY tenant, m
) AS s
LEFT JOIN
(
    SELECT tenant, minute, max(icl_minute.generation) AS generation, argMax(read_before, icl_minute.generation) AS known
    FROM icl_minute
    GROUP BY tenant, minute
) AS r ON s.tenant = r.tenant AND s.m = r.minute
WHERE s.arrived >= r.known OR r.known > {until:Int64}
ORDER BY s.m, s.tenant
LIMIT {limit:UInt32}
