-- All client records of some request ids. Deliveries of one identity are told apart by Assemble.
-- Index: as streams_by_id.
SELECT {{columns}}
FROM clients
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
LIMIT {limit:UInt32}
