-- What the requests of one page that lie nearest in time say of its clock, the last version of each.
-- Index: primary key (tenant, session_id, time_origin, submit_us), read in order from the asked request both ways: a
-- granule or two a part, however long the session is.
SELECT *
FROM
(
    SELECT {{columns}}
    FROM session_clocks
    WHERE tenant = {tenant:String} AND session_id = {session:String} AND time_origin = {origin:UInt64} AND submit_us <= {at:UInt64}
    ORDER BY tenant DESC, session_id DESC, time_origin DESC, submit_us DESC, request_id DESC, tier DESC, version DESC
    LIMIT 1 BY submit_us, request_id, tier
    LIMIT {limit:UInt32}
)
UNION ALL
SELECT *
FROM
(
    SELECT {{columns}}
    FROM session_clocks
    WHERE tenant = {tenant:String} AND session_id = {session:String} AND time_origin = {origin:UInt64} AND submit_us > {at:UInt64}
    ORDER BY tenant, session_id, time_origin, submit_us, request_id, tier, version DESC
    LIMIT 1 BY submit_us, request_id, tier
    LIMIT {limit:UInt32}
)
