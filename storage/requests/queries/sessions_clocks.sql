-- What all requests of some pages say of their clocks; of a page with more rows, and of all pages where there are more, so many
-- that it shows. Versions of a row are told apart by the reader.
-- Index: primary key (tenant, session_id, time_origin): the asked pages' granules.
SELECT {{columns}}
FROM session_clocks
WHERE tenant = {tenant:String} AND (session_id, time_origin) IN (SELECT arrayJoin(arrayZip({sessions:Array(String)}, {origins:Array(UInt64)})))
LIMIT {most:UInt32} BY session_id, time_origin
LIMIT {limit:UInt32}
