-- All client records of some request ids, one delivery of each.
-- Index: as streams_by_id.
SELECT {{columns}}
FROM clients
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
ORDER BY request_id, session_id, has_submit, submit_us, seq, version DESC
LIMIT 1 BY request_id, session_id, has_submit, submit_us, seq
LIMIT {limit:UInt32}
