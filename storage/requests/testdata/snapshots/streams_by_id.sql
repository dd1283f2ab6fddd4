-- All delivered segments of some request ids. Deliveries of one identity are told apart by Assemble.
-- Index: primary key (tenant, hour, request_id), then the bloom filter on request_id: a few granules a day.
SELECT `tenant`, `request_id`, `tier`, `attempt`, `emitter`, toUnixTimestamp64Micro(`started_at`), `seq`, `version`, `deployment`, `model`, `max_gap_us`, `gaps_us`, `bytes`, `tokens`, `kind_runs`, `labels`, `numbers`, `detail`, `chunk_detail`
FROM streams
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
LIMIT {limit:UInt32}
