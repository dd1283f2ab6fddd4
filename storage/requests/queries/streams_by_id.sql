-- All delivered segments of some request ids. Deliveries of one identity are told apart by Assemble.
-- Index: primary key (tenant, hour, request_id), then the bloom filter on request_id: a few granules a day.
SELECT {{columns}}
FROM streams
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
LIMIT {limit:UInt32}
