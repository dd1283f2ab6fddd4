-- All delivered segments of some request ids, one delivery of each.
-- Index: primary key (tenant, hour, request_id), then the bloom filter on request_id: a few granules a day.
SELECT {{columns}}
FROM streams
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
ORDER BY request_id, tier, attempt, emitter, started_at, seq, version DESC
LIMIT 1 BY request_id, tier, attempt, emitter, started_at, seq
LIMIT {limit:UInt32}
