-- The last state of every finding of some requests, in the order in which they began; of each request the latest so many
-- of each origin, and as many that were withdrawn. The bloom filter on request_id leaves a granule or two.
SELECT /*columns*/
FROM
(
    SELECT *
    FROM
    (
        SELECT *
        FROM findings
        WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
        ORDER BY version DESC, withdrawn DESC, open ASC
        LIMIT 1 BY tenant, request_id, id
    )
    ORDER BY at DESC, id DESC
    LIMIT {most:UInt32} BY request_id, origin, withdrawn
)
ORDER BY at, id
