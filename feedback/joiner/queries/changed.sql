-- Requests that got rows since the last look, with how many in which second, where more than one record can tell something:
-- those of pages and gateways; new streams of which a page or a gateway told within the last hour, or that are two under
-- one id; gateways' findings, to be attributed. The skip indexes on inserted_at leave the newest granules; the ids of
-- new streams are a set that the key and the bloom filter of the other tables are asked for.
WITH
    new_streams AS
    (
        SELECT tenant, request_id, tier, attempt, emitter, started_at, inserted_at
        FROM streams
        WHERE inserted_at >= fromUnixTimestamp({from:Int64})
    ),
    joinable AS
    (
        SELECT tenant, request_id
        FROM clients
        WHERE inserted_at >= now() - {late:Int64} AND (tenant, request_id) IN (SELECT tenant, request_id FROM new_streams)
        UNION DISTINCT
        SELECT tenant, request_id
        FROM gateways
        WHERE inserted_at >= now() - {late:Int64} AND (tenant, request_id) IN (SELECT tenant, request_id FROM new_streams)
        UNION DISTINCT
        SELECT tenant, request_id
        FROM streams
        WHERE inserted_at >= fromUnixTimestamp({from:Int64}) - 60 AND (tenant, request_id) IN (SELECT tenant, request_id FROM new_streams)
        GROUP BY tenant, request_id
        HAVING min(tier) != max(tier) OR min(started_at) != max(started_at)
    ),
    -- A page or gateway may know the request by its own id and the engine only by the answer's.
    answers AS
    (
        SELECT tenant, request_id, alias
        FROM aliases
        WHERE kind = 'response_id' AND (tenant, alias) IN (SELECT tenant, request_id FROM new_streams)
    )
SELECT tenant, request_id, source, inserted_at, count() AS n
FROM
(
    SELECT tenant, request_id, 'clients' AS source, inserted_at FROM clients
    WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND request_id != ''
    UNION ALL
    SELECT tenant, request_id, 'gateways' AS source, inserted_at FROM gateways
    WHERE inserted_at >= fromUnixTimestamp({from:Int64})
    UNION ALL
    SELECT tenant, request_id, 'streams' AS source, inserted_at FROM new_streams
    WHERE (tenant, request_id) IN (SELECT tenant, request_id FROM joinable)
    UNION ALL
    SELECT a.tenant AS tenant, a.request_id AS request_id, 'answers' AS source, s.inserted_at AS inserted_at
    FROM new_streams AS s INNER JOIN answers AS a ON s.tenant = a.tenant AND s.request_id = a.alias
    UNION ALL
    SELECT tenant, request_id, 'findings' AS source, inserted_at FROM findings
    WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND origin = 'stream' AND tier = 'gateway'
)
GROUP BY tenant, request_id, source, inserted_at
ORDER BY inserted_at
LIMIT {limit:UInt32}
