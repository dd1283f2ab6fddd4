-- What all requests of some pages say of their clocks; of a page with more rows, and of all pages where there are more, so many
-- that it shows. Versions of a row are told apart by the reader.
-- Index: primary key (tenant, session_id, time_origin): the asked pages' granules.
SELECT `tenant`, `session_id`, `time_origin`, `submit_us`, `request_id`, `tier`, `version`, `peer`, toUnixTimestamp64Micro(`started_at`), `theta_us`, `lower_at_us`, `lower_us`, `upper_at_us`, `upper_us`, `wall_us`
FROM session_clocks
WHERE tenant = {tenant:String} AND (session_id, time_origin) IN (SELECT arrayJoin(arrayZip({sessions:Array(String)}, {origins:Array(UInt64)})))
LIMIT {most:UInt32} BY session_id, time_origin
LIMIT {limit:UInt32}
