-- The last state of every finding of some requests, in the order in which they began. The bloom filter on request_id
-- leaves a granule or two.
SELECT /*columns*/
FROM
(
    SELECT *
    FROM findings
    WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
    ORDER BY version DESC, withdrawn DESC, open ASC
    LIMIT 1 BY tenant, request_id, id
)
ORDER BY at, id
LIMIT 10000
