-- All gateway records of some request ids. Deliveries of one identity are told apart by Assemble.
-- Index: as streams_by_id.
SELECT `tenant`, `request_id`, `emitter`, toUnixTimestamp64Micro(`received_at`), `version`, `deployment`, `model`, `labels`, `numbers`, `detail`
FROM gateways
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
LIMIT {limit:UInt32}
