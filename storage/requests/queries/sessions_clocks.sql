-- What the requests of some sessions, in a stretch of their time, say of their pages' clocks.
-- Index: primary key (tenant, session_id, time_origin, submit_us): the asked sessions' granules.
SELECT {{columns}}
FROM session_clocks
WHERE tenant = {tenant:String} AND session_id IN {sessions:Array(String)} AND submit_us >= {from:UInt64} AND submit_us <= {until:UInt64}
LIMIT {most:UInt32} BY session_id, time_origin
LIMIT {limit:UInt32}
