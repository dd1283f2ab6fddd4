-- All client records of some request ids. Deliveries of one identity are told apart by Assemble.
-- Index: as streams_by_id.
SELECT `tenant`, `request_id`, `session_id`, `has_submit`, `submit_us`, `seq`, toUnixTimestamp64Micro(`received_at`), `version`, `page`, `browser`, `country`, `time_origin`, `recv_gaps_us`, `recv_bytes`, `recv_kind_runs`, `dom_gaps_us`, `dom_bytes`, `paint_gaps_us`, `paint_bytes`, `labels`, `numbers`, `detail`
FROM clients
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
LIMIT {limit:UInt32}
