-- All gateway records of some request ids, one delivery of each.
-- Index: as streams_by_id.
SELECT {{columns}}
FROM gateways
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
ORDER BY request_id, emitter, received_at, version DESC
LIMIT 1 BY request_id, emitter, received_at
LIMIT {limit:UInt32}
