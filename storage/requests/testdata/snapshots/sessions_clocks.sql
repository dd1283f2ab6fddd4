-- What the requests of some sessions, in a stretch of their time, say of their pages' clocks.
-- Index: primary key (tenant, session_id, time_origin, submit_us): the asked sessions' granules.
SELECT `tenant`, `session_id`, `time_origin`, `submit_us`, `request_id`, `tier`, `version`, `peer`, toUnixTimestamp64Micro(`started_at`), `theta_us`, `lower_at_us`, `lower_us`, `upper_at_us`, `upper_us`, `wall_us`
FROM session_clocks
WHERE tenant = {tenant:String} AND session_id IN {sessions:Array(String)} AND submit_us >= {from:UInt64} AND submit_us <= {until:UInt64}
LIMIT {most:UInt32} BY session_id, time_origin
LIMIT {limit:UInt32}
