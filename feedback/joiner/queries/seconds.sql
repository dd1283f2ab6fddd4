-- How many rows arrived in each second since the last look, the oldest first. Reads one column of the newest parts.
SELECT toInt64(toUnixTimestamp(inserted_at)) AS second, count()
FROM
(
    SELECT inserted_at FROM streams WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64})
    UNION ALL
    SELECT inserted_at FROM gateways WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64})
    UNION ALL
    SELECT inserted_at FROM clients WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64})
    UNION ALL
    SELECT inserted_at FROM findings WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64})
)
GROUP BY second
ORDER BY second
LIMIT {limit:UInt32}
