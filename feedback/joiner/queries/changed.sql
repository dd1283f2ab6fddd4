-- Requests that got rows within some seconds, with a sum over the rows of each second, by which later looks tell whether
-- others have come, and whether all of them were of streams that
-- still run. The skip indexes on inserted_at leave the newest granules; the ids of new rows are a set that the key of
-- aliases is asked for.
WITH
    arrived AS
    (
        SELECT tenant, request_id, 'streams' AS source, inserted_at, version, NOT final AND isNull(end_us) AS running
        FROM streams
        WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64})
        UNION ALL
        SELECT tenant, request_id, 'gateways' AS source, inserted_at, version, false AS running
        FROM gateways
        WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64})
        UNION ALL
        SELECT tenant, request_id, 'clients' AS source, inserted_at, version, false AS running
        FROM clients
        WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64}) AND request_id != ''
        UNION ALL
        -- A gateway's findings, to be attributed.
        SELECT tenant, request_id, 'findings' AS source, inserted_at, version, false AS running
        FROM findings
        WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64})
            AND origin = 'stream' AND tier = 'gateway'
    ),
    -- A page or gateway may know the request by its own id and the engine only by the answer's, or the other way round.
    answers AS
    (
        SELECT tenant, request_id, alias
        FROM aliases
        WHERE kind = 'response_id' AND (tenant, alias) IN (SELECT tenant, request_id FROM arrived WHERE source IN ('streams', 'clients'))
    )
SELECT tenant, request_id, source, toInt64(toUnixTimestamp(inserted_at)) AS second, sumWithOverflow(cityHash64(version)) AS sum, min(running) AS running
FROM
(
    SELECT * FROM arrived
    UNION ALL
    SELECT a.tenant AS tenant, a.request_id AS request_id, 'answers' AS source, r.inserted_at AS inserted_at, r.version AS version, r.running AS running
    FROM arrived AS r INNER JOIN answers AS a ON r.tenant = a.tenant AND r.request_id = a.alias
    WHERE r.source IN ('streams', 'clients')
)
WHERE {shards:UInt32} = 1 OR cityHash64(request_id) % {shards:UInt32} = {shard:UInt32}
GROUP BY tenant, request_id, source, second
