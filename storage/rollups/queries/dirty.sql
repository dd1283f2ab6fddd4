-- Minutes of server streams that got a record since they were computed, oldest first.
-- Index: minmax on inserted_at; the rollup by its primary key.
SELECT s.tenant, s.m
FROM
(
    SELECT tenant, toStartOfMinute(started_at) AS m, max(inserted_at) AS arrived
    FROM streams
    WHERE tier = 'server' AND inserted_at >= toDateTime({since:String}, 'UTC')
    GROUP BY tenant, m
) AS s
LEFT JOIN
(
    SELECT tenant, minute, max(generation) AS computed
    FROM icl_minute
    GROUP BY tenant, minute
) AS r ON s.tenant = r.tenant AND s.m = r.minute
WHERE s.arrived >= toDateTime(r.computed, 'UTC')
ORDER BY s.m, s.tenant
LIMIT {limit:UInt32}
